/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NCCL backend over a CUDA and an NCCL that are pretended here: device
 * memory is memory that this file knows of, a copy to the host happens when the
 * event is there, and the second of two ranks always has what the first has.
 * What it can show: NCCL gets device memory alone, host arrays come back, nothing
 * leaks.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/nccl.c"
#include "tests/tap.h"

enum { MANY = 64 };

static struct { void *at; size_t bytes; } device[MANY];
static struct { void *to; const void *from; size_t bytes; } late[MANY];
static int	lates, pinned, events, polls;
static bool	strangers;	/* NCCL was given what is not the device's */

static bool
on_device(const void *p)
{
	const char *at = p;

	for (int i = 0; i < MANY; i++) {
		const char *begin = device[i].at;

		if (begin && at >= begin && at < begin + device[i].bytes)
			return true;
	}
	return false;
}

static int
in_use(void)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += device[i].at != NULL;
	return n;
}

static void *
device_alloc(size_t bytes)
{
	for (int i = 0; i < MANY; i++)
		if (!device[i].at) {
			device[i].bytes = bytes;
			return device[i].at = malloc(bytes);
		}
	abort();
}

cudaError_t
cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
	(void)stream;
	*p = device_alloc(bytes);
	return cudaSuccess;
}

cudaError_t
cudaFreeAsync(void *p, cudaStream_t stream)
{
	(void)stream;
	for (int i = 0; i < MANY; i++)
		if (device[i].at == p) {
			free(p);
			device[i].at = NULL;
			return cudaSuccess;
		}
	abort();
}

cudaError_t
cudaMallocHost(void **p, size_t bytes)
{
	pinned++;
	*p = malloc(bytes);
	return cudaSuccess;
}

cudaError_t
cudaFreeHost(void *p)
{
	pinned -= p != NULL;
	free(p);
	return cudaSuccess;
}

cudaError_t
cudaPointerGetAttributes(struct cudaPointerAttributes *at, const void *p)
{
	*at = (struct cudaPointerAttributes){ .type = on_device(p) ?
	    cudaMemoryTypeDevice : cudaMemoryTypeUnregistered };
	return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)stream;
	if (kind == cudaMemcpyHostToDevice) {
		memcpy(to, from, bytes);
		return cudaSuccess;
	}
	late[lates].to = to;
	late[lates].from = from;
	late[lates++].bytes = bytes;
	return cudaSuccess;
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	(void)event;
	if (polls++ == 0)
		return cudaErrorNotReady;
	while (lates > 0) {
		lates--;
		memcpy(late[lates].to, late[lates].from, late[lates].bytes);
	}
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	events++;
	*event = (cudaEvent_t)&events;
	return cudaSuccess;
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	(void)event;
	events--;
	return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned f)
{ (void)s, (void)e, (void)f; return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{ (void)e, (void)s; return cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t e) { (void)e; return "pretended"; }
cudaError_t cudaGetDevice(int *n) { *n = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int n) { (void)n; return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned f)
{ (void)f; *s = NULL; return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t s) { (void)s; return cudaSuccess; }

static void
seen(const void *in, const void *out)
{
	strangers = strangers || !on_device(in) || !on_device(out);
}

static ncclResult_t	answer = ncclSuccess;

ncclResult_t
ncclAllReduce(const void *in, void *out, size_t n, ncclDataType_t type,
    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)op, (void)comm, (void)stream;
	seen(in, out);
	for (size_t i = 0; i < n && type == ncclFloat32; i++)
		((float *)out)[i] = 2 * ((const float *)in)[i];
	return answer;
}

ncclResult_t
ncclBroadcast(const void *in, void *out, size_t n, ncclDataType_t type,
    int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)type, (void)root, (void)comm, (void)stream;
	seen(in, out);
	memmove(out, in, n);
	return answer;
}

ncclResult_t
ncclAllGather(const void *in, void *out, size_t n, ncclDataType_t type,
    ncclComm_t comm, cudaStream_t stream)
{
	(void)type, (void)comm, (void)stream;
	seen(in, out);
	memcpy(out, in, n);
	memcpy((char *)out + n, in, n);
	return answer;
}

ncclResult_t
ncclReduceScatter(const void *in, void *out, size_t n, ncclDataType_t type,
    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)type, (void)op, (void)comm, (void)stream;
	seen(in, out);
	for (size_t i = 0; i < n; i++)
		((float *)out)[i] = 2 * ((const float *)in)[i];
	return answer;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *e)
{ (void)c; *e = ncclSuccess; return ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t c) { (void)c; return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t c) { (void)c; return ncclSuccess; }
ncclResult_t ncclGetUniqueId(ncclUniqueId *i)
{ memset(i, 1, sizeof *i); return ncclSuccess; }
ncclResult_t ncclCommInitRank(ncclComm_t *c, int n, ncclUniqueId i, int r)
{ (void)c, (void)n, (void)i, (void)r; return ncclSuccess; }
const char *ncclGetErrorString(ncclResult_t r)
{ (void)r; return "pretended"; }

static struct nccl two = { .world = 2 };

/* Tests until it is done; how often that took. */
static int
finish(void *req)
{
	int done = 0, n = 0;

	polls = 0;
	while (!done && n++ < 10)
		if (nccl_test(&two, req, &done, NULL) < 0)
			return -1;
	return n;
}

static bool
clean(void)
{
	return !in_use() && !pinned && !events && !strangers;
}

int
main(void)
{
	float	sums[3] = { 1, 2, 3 }, all[4] = { 0, 0, 0, 0 };
	float	mine[2] = { 5, 6 }, four[4] = { 1, 2, 3, 4 };
	float	*there = device_alloc(2 * sizeof *there);
	void	*req;

	ok(nccl_all_reduce(&two, sums, 3, DEVICE_F32, DEVICE_SUM, &req,
	    NULL) == 0 && finish(req) == 2, "numbers of the host are summed");
	ok(sums[0] == 2 && sums[1] == 4 && sums[2] == 6,
	    "they come back where they were");
	ok(nccl_all_gather(&two, mine, all, sizeof mine, &req, NULL) == 0 &&
	    finish(req) == 2 && all[1] == 6 && all[2] == 5, "gathered");
	ok(nccl_reduce_scatter(&two, four, mine, 2, DEVICE_F32, DEVICE_SUM,
	    &req, NULL) == 0 && finish(req) == 2 && mine[0] == 2 &&
	    mine[1] == 4, "reduced and scattered");
	ok(nccl_broadcast(&two, mine, sizeof mine, 0, &req, NULL) == 0 &&
	    finish(req) == 2 && mine[1] == 4, "broadcast");

	there[0] = 7, there[1] = 8;
	ok(nccl_all_reduce(&two, there, 2, DEVICE_F32, DEVICE_SUM, &req,
	    NULL) == 0 && in_use() == 1 && !pinned,
	    "what is on the device is not copied");
	ok(finish(req) == 2 && there[0] == 14, "and summed in place");
	ok(nccl_all_gather(&two, there, all, 2 * sizeof *there, &req,
	    NULL) == 0 && finish(req) == 2 && all[3] == 16,
	    "gathered from the device to the host");
	answer = ncclSystemError;
	ok(nccl_all_reduce(&two, sums, 3, DEVICE_F32, DEVICE_SUM, &req,
	    NULL) == -1, "NCCL's own error is one");
	cudaFreeAsync(there, NULL);
	ok(clean(), "NCCL saw device memory alone, and all is freed");
	return tap_done();
}
