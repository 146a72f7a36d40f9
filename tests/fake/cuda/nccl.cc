/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not NCCL: collectives of processes on one host, by a file that all map, for
 * tests.  An operation is work on its stream: when the stream comes to it, it
 * meets the other ranks' and has the result.  Sums go from rank 0 to the last.
 * Refuses memory that is not the "GPU's".  As the real one it makes connections
 * in the first operation, and the host stands still meanwhile.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/half.h"
#include "tests/fake/cuda/launch.hh"
#include "tests/fake/cuda/nccl.h"

enum { RANKS = 4 };
static const size_t PIECE = 1 << 16;

struct shared {
	std::atomic<unsigned> came, round;
	char	piece[RANKS][PIECE];
};

struct fake_comm {
	shared	*all;
	int	 world, rank;
	std::atomic<bool> aborted;
	bool	 connected;
};

/* All ranks at one point: true when they are, to be asked until then. */
struct meeting {
	bool	 came;
	unsigned round;

	bool
	over(fake_comm *c)
	{
		if (c->aborted)
			return true;
		if (!came) {
			came = true;
			round = c->all->round;
			if (++c->all->came == (unsigned)c->world) {
				c->all->came = 0;
				c->all->round++;
			}
		}
		if (c->all->round == round)
			return false;
		came = false;
		return true;
	}
};

/* An operation on n bytes, piece by piece: each rank shows its own, and when all
 * have, takes what it needs of all. */
static void
exchange(fake_comm *c, cudaStream_t stream, size_t n,
    std::function<void(size_t at, size_t k)> show,
    std::function<void(size_t at, size_t k)> take)
{
	size_t at = 0;
	int stage = 0;
	meeting m = {};
	const char *dies = getenv("FAKE_NCCL_DIES");	/* a rank, there */

	if (!c->connected && dies != nullptr &&
	    c->rank == (int)strtol(dies, nullptr, 10))
		raise(SIGKILL);
	while (!c->connected)
		if (!(c->connected = m.over(c)))
			sched_yield();

	fake_enqueue(stream, [=]() mutable {
		for (; at < n; at += PIECE) {
			size_t k = n - at < PIECE ? n - at : PIECE;

			if (stage == 0) {
				show(at, k);
				stage = 1;
			}
			if (stage == 1) {
				if (!m.over(c))
					return false;
				if (!c->aborted)
					take(at, k);
				stage = 2;
			}
			if (!m.over(c))
				return false;
			stage = 0;
		}
		return true;
	});
}

static size_t
size_of(ncclDataType_t type)
{
	switch (type) {
	case ncclFloat64:
	case ncclInt64:
		return 8;
	case ncclFloat16:
	case ncclBfloat16:
		return 2;
	case ncclUint8:
		return 1;
	default:
		return 4;
	}
}

template <typename T>
static T
both(T x, T y, ncclRedOp_t op)
{
	return op == ncclSum ? (T)(x + y) : op == ncclMax ? (x > y ? x : y) :
	    (x < y ? x : y);
}

/* Element i of x: with that of y. */
static void
reduce_one(void *x, const void *y, size_t i, ncclDataType_t type,
    ncclRedOp_t op)
{
	uint16_t *h = (uint16_t *)x + i, k = ((const uint16_t *)y)[i];

#define BOTH(T) ((T *)x)[i] = both(((T *)x)[i], ((const T *)y)[i], op)
	switch (type) {
	case ncclFloat32:
		BOTH(float);
		break;
	case ncclFloat64:
		BOTH(double);
		break;
	case ncclInt32:
		BOTH(int32_t);
		break;
	case ncclInt64:
		BOTH(int64_t);
		break;
	case ncclUint8:
		BOTH(uint8_t);
		break;
	case ncclFloat16:
		*h = f16_of(both(f16_value(*h), f16_value(k), op));
		break;
	case ncclBfloat16:
		*h = bf16_of(both(bf16_value(*h), bf16_value(k), op));
		break;
	}
}

static bool
ours(const void *p)
{
	cudaPointerAttributes at;

	return cudaPointerGetAttributes(&at, p) == cudaSuccess &&
	    at.type == cudaMemoryTypeDevice;
}

ncclResult_t
ncclAllReduce(const void *in, void *out, size_t n, ncclDataType_t type,
    ncclRedOp_t op, ncclComm_t c, cudaStream_t stream)
{
	size_t size = size_of(type);

	if (!ours(in) || !ours(out))
		return ncclInvalidArgument;
	exchange(c, stream, n * size, [=](size_t at, size_t k) {
		memcpy(c->all->piece[c->rank], (const char *)in + at, k);
	}, [=](size_t at, size_t k) {
		char *to = (char *)out + at;

		memcpy(to, c->all->piece[0], k);
		for (int r = 1; r < c->world; r++)
			for (size_t i = 0; i < k / size; i++)
				reduce_one(to, c->all->piece[r], i, type, op);
	});
	return ncclSuccess;
}

ncclResult_t
ncclBroadcast(const void *in, void *out, size_t n, ncclDataType_t type,
    int root, ncclComm_t c, cudaStream_t stream)
{
	if (!ours(in) || !ours(out))
		return ncclInvalidArgument;
	exchange(c, stream, n * size_of(type), [=](size_t at, size_t k) {
		memcpy(c->all->piece[c->rank], (const char *)in + at, k);
	}, [=](size_t at, size_t k) {
		memcpy((char *)out + at, c->all->piece[root], k);
	});
	return ncclSuccess;
}

ncclResult_t
ncclAllGather(const void *in, void *out, size_t n, ncclDataType_t type,
    ncclComm_t c, cudaStream_t stream)
{
	if (!ours(in) || !ours(out))
		return ncclInvalidArgument;
	n *= size_of(type);
	exchange(c, stream, n, [=](size_t at, size_t k) {
		memcpy(c->all->piece[c->rank], (const char *)in + at, k);
	}, [=](size_t at, size_t k) {
		for (int r = 0; r < c->world; r++)
			memcpy((char *)out + (size_t)r * n + at,
			    c->all->piece[r], k);
	});
	return ncclSuccess;
}

/* libaccel has no use for it yet. */
ncclResult_t
ncclReduceScatter(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
    ncclComm_t, cudaStream_t)
{
	return ncclInvalidArgument;
}

ncclResult_t
ncclGetUniqueId(ncclUniqueId *id)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "%.90s/fake-nccl-XXXXXX",
	    dir != nullptr ? dir : "/tmp");
	fd = mkstemp(id->internal);
	if (fd < 0 || ftruncate(fd, sizeof(shared)) != 0)
		return ncclSystemError;
	close(fd);
	return ncclSuccess;
}

ncclResult_t
ncclCommInitRank(ncclComm_t *comm, int world, ncclUniqueId id, int rank)
{
	int fd = open(id.internal, O_RDWR | O_CLOEXEC);
	void *map = fd < 0 || world > RANKS ? MAP_FAILED : mmap(nullptr,
	    sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return ncclSystemError;
	*comm = new fake_comm{ (shared *)map, world, rank, { false }, false };
	for (meeting m = {}; !m.over(*comm); )
		sched_yield();
	if (rank == 0)
		unlink(id.internal);
	return ncclSuccess;
}

ncclResult_t
ncclCommDestroy(ncclComm_t c)
{
	munmap(c->all, sizeof(*c->all));
	delete c;
	return ncclSuccess;
}

/* What it was in comes to its end, with whatever result. */
ncclResult_t
ncclCommAbort(ncclComm_t c)
{
	c->aborted = true;
	cudaDeviceSynchronize();
	return ncclCommDestroy(c);
}

ncclResult_t
ncclCommGetAsyncError(ncclComm_t, ncclResult_t *error)
{
	*error = ncclSuccess;
	return ncclSuccess;
}

const char *
ncclGetErrorString(ncclResult_t code)
{
	return code == ncclInvalidArgument ? "memory that is not the GPU's" :
	    "pretended";
}
