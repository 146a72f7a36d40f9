/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi: collectives on CPUs by MPICH, non-blocking ones alone: its blocking
 * ones never yield the core and cannot be left when a rank has died.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/base/half.h"
#include "runtime/device/cma.h"
#include "runtime/device/ctl.h"
#include "runtime/device/device.h"

#include "runtime/base/banned.h"

/* What CMA_CALL says; MPI's own codes are not negative. */
enum { GONE = -1 };

/* Larger all-reduces go in pieces: MPICH takes memory of a piece's size for
 * each, which malloc gets anew, page by page, from 32 MiB on. */
#define PIECE	((size_t)16 << 20)

struct mpi {
	MPI_Comm comm;
	MPI_Op	 f16_sum, bf16_sum, f32_sum;
	int	 world;
	int	 ours;		/* we initialised, we finalise */
	int	 level;		/* of threads */
	_Atomic int gone;	/* see cma.h: no call any more */
};

static int
failed(int code, const char *call, struct err *err)
{
	char text[MPI_MAX_ERROR_STRING];
	int n = 0;

	if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
		n = 0;
	return err_set(err, "%s: %.*s", call, n, text);
}

/* MPI 4 has no 16-bit floats: they travel as integers with sums of ours. */
static void
sum_f16(void *in, void *sum, MPI_Count *n, MPI_Datatype *type)
{
	(void)type;
	f16_add(sum, in, (size_t)*n);
}

static void
sum_bf16(void *in, void *sum, MPI_Count *n, MPI_Datatype *type)
{
	(void)type;
	bf16_add(sum, in, (size_t)*n);
}

static void
sum_f32(void *in, void *sum, MPI_Count *n, MPI_Datatype *type)
{
	(void)type;
	f32_add(sum, in, (size_t)*n);
}

static int
mpi_open(void **state, const struct device_host *host, struct err *err)
{
	struct mpi *m = calloc(1, sizeof(*m));
	MPI_Errhandler before;
	int up = 0, rank, size, rc;

	if (m == NULL)
		return err_nomem(err);
	MPI_Initialized(&up);
	if (!up) {
		/* Two hosts may both have a docker0 with one address; UCX
		 * must take the network that is known to reach the others. */
		if (host->netdev[0] != '\0')
			setenv("UCX_NET_DEVICES", host->netdev, 0);
		MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &m->level);
		m->ours = 1;
	}
	cma_guard();
	MPI_Query_thread(&m->level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank != host->rank || size != host->world) {
		err_set(err, "MPI says rank %d of %d, the environment says "
		    "rank %d of %d", rank, size, host->rank, host->world);
		err_hint(err, "start with one launcher alone");
		free(m);
		return -1;
	}
	/* As a rank may have died: the program's own handler would end us. */
	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rc = MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
	MPI_Errhandler_free(&before);
	if (rc != MPI_SUCCESS) {
		free(m);
		return failed(rc, "MPI_Comm_dup", err);
	}
	MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
	MPI_Op_create_c(sum_f16, 1, &m->f16_sum);
	MPI_Op_create_c(sum_bf16, 1, &m->bf16_sum);
	MPI_Op_create_c(sum_f32, 1, &m->f32_sum);
	m->world = size;
	*state = m;
	return 0;
}

static void
mpi_close(void *state, int dead)
{
	struct mpi *m = state;

	/* MPI_Finalize waits for all; with one gone it would for ever. */
	if (!dead) {
		MPI_Op_free(&m->f16_sum);
		MPI_Op_free(&m->bf16_sum);
		MPI_Op_free(&m->f32_sum);
		MPI_Comm_free(&m->comm);
		if (m->ours)
			MPI_Finalize();
	}
	free(m);
}

static MPI_Datatype
mpi_type(int type)
{
	switch (type) {
	case DEVICE_F64:
		return MPI_DOUBLE;
	case DEVICE_I32:
		return MPI_INT32_T;
	case DEVICE_I64:
		return MPI_INT64_T;
	case DEVICE_F16:
	case DEVICE_BF16:
		return MPI_UINT16_T;
	case DEVICE_U8:
		return MPI_UINT8_T;
	default:
		return MPI_FLOAT;
	}
}

static MPI_Op
mpi_op(const struct mpi *m, int type, int op)
{
	if (type == DEVICE_F16)
		return m->f16_sum;
	if (type == DEVICE_BF16)
		return m->bf16_sum;
	return op == DEVICE_MAX ? MPI_MAX : op == DEVICE_MIN ? MPI_MIN :
	    MPI_SUM;
}

/* One operation, or the pieces of one. */
struct request {
	int	    n, over;		/* the first so many are over */
	MPI_Request part[];
};

static struct request *
request(int n, void **req, struct err *err)
{
	struct request *r = malloc(sizeof(*r) +
	    (size_t)n * sizeof(r->part[0]));

	if (r == NULL) {
		err_nomem(err);
	} else {
		r->n = n;
		r->over = 0;
		for (int i = 0; i < n; i++)
			r->part[i] = MPI_REQUEST_NULL;
	}
	*req = r;
	return r;
}

static int
started(struct mpi *m, int code, const char *call, void **req,
    struct err *err)
{
	/* A request of who is gone never ends; who it was comes over the
	 * control connection. */
	if (code == GONE)
		m->gone = 1;
	if (code == MPI_SUCCESS || code == GONE)
		return 0;
	free(*req);
	*req = NULL;
	return failed(code, call, err);
}

/* Calls MPI unless a process of this host is gone. */
#define CALL(m, code, call) do {					\
	if ((m)->gone)							\
		(code) = GONE;						\
	else								\
		CMA_CALL(code, call);					\
} while (0)

/*
 * For a sum that is not its own MPICH sends arrays whole (recursive doubling)
 * rather than halves to and fro.  Between two ranks these are as many bytes in
 * one turn instead of two: measured 5 to 45 % faster, but around 16 KiB, where
 * halves go eagerly and wholes by rendezvous, and beyond what caches hold.
 */
static bool
better_whole(const struct mpi *m, size_t n, int type, int op)
{
	size_t bytes = n * sizeof(float);

	return m->world == 2 && type == DEVICE_F32 && op == DEVICE_SUM &&
	    bytes <= 2 << 20 && (bytes <= 8 << 10 || bytes >= 32 << 10);
}

static int
reduce_piece(struct mpi *m, void *buf, size_t n, int type, int op,
    MPI_Request *r)
{
	MPI_Op how = better_whole(m, n, type, op) ? m->f32_sum :
	    mpi_op(m, type, op);
	int code;

	CALL(m, code, MPI_Iallreduce_c(MPI_IN_PLACE, buf, (MPI_Count)n,
	    mpi_type(type), how, m->comm, r));
	return code;
}

static int
mpi_all_reduce(void *state, void *buf, size_t n, int type, int op,
    void **req, struct err *err)
{
	int size = 1, code = MPI_SUCCESS;
	struct mpi *m = state;
	struct request *r;
	size_t most, at = 0;

	MPI_Type_size(mpi_type(type), &size);
	most = PIECE / (size_t)size;
	r = request((int)((n + most - 1) / most), req, err);
	if (r == NULL)
		return -1;
	for (int i = 0; i < r->n && code == MPI_SUCCESS; i++, at += most)
		code = reduce_piece(m, (char *)buf + at * (size_t)size,
		    n - at < most ? n - at : most, type, op, &r->part[i]);
	return started(m, code, "MPI_Iallreduce", req, err);
}

static int
mpi_broadcast(void *state, void *buf, size_t bytes, int root, void **req,
    struct err *err)
{
	struct mpi *m = state;
	struct request *r = request(1, req, err);
	int code;

	if (r == NULL)
		return -1;
	CALL(m, code, MPI_Ibcast_c(buf, (MPI_Count)bytes, MPI_BYTE, root,
	    m->comm, r->part));
	return started(m, code, "MPI_Ibcast", req, err);
}

static int
mpi_all_gather(void *state, const void *in, void *out, size_t bytes,
    void **req, struct err *err)
{
	struct mpi *m = state;
	struct request *r = request(1, req, err);
	int code;

	if (r == NULL)
		return -1;
	CALL(m, code, MPI_Iallgather_c(in, (MPI_Count)bytes, MPI_BYTE, out,
	    (MPI_Count)bytes, MPI_BYTE, m->comm, r->part));
	return started(m, code, "MPI_Iallgather", req, err);
}

static int
mpi_reduce_scatter(void *state, const void *in, void *out, size_t nout,
    int type, int op, void **req, struct err *err)
{
	struct mpi *m = state;
	struct request *r = request(1, req, err);
	int code;

	if (r == NULL)
		return -1;
	CALL(m, code, MPI_Ireduce_scatter_block_c(in, out, (MPI_Count)nout,
	    mpi_type(type), mpi_op(m, type, op), m->comm, r->part));
	return started(m, code, "MPI_Ireduce_scatter", req, err);
}

static int
mpi_test(void *state, void *req, int *done, struct err *err)
{
	struct mpi *m = state;
	struct request *r = req;
	int code;

	for (; r->over < r->n; r->over++) {
		CALL(m, code, MPI_Test(&r->part[r->over], done,
		    MPI_STATUS_IGNORE));
		if (code == GONE) {
			m->gone = 1;
			*done = 0;
			return 0;
		}
		if (code != MPI_SUCCESS)
			return failed(code, "MPI_Test", err);
		if (!*done)
			return 0;
	}
	free(r);
	*done = 1;
	return 0;
}

/* A probe for what nobody sends: it drives all that is under way. */
static int
mpi_poke(void *state)
{
	struct mpi *m = state;
	int found, code;

	if (m->level < MPI_THREAD_SERIALIZED)
		return -1;
	CALL(m, code, MPI_Iprobe(MPI_ANY_SOURCE, 0, m->comm, &found,
	    MPI_STATUS_IGNORE));
	if (code == GONE)
		m->gone = 1;
	return 0;
}

const struct device_ops device_plugin = {
	DEVICE_ABI, "mpi", mpi_open, mpi_close, mpi_all_reduce, mpi_broadcast,
	mpi_all_gather, mpi_reduce_scatter, mpi_test, mpi_poke,
	NULL, NULL,
};
