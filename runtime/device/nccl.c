/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl: collectives on GPUs.  Work is ordered on a stream of this file's own; where
 * the program computes on a stream of the GPU, behind what that has when the work
 * comes, and before what it gets after nccl_order.
 * Buffers are device memory; those of the host (norms, numbers that ranks agree
 * on, objects) are copied to the device and back.  Compiled where NCCL is, and
 * tested with a pretended one (tests/unit/nccl.c); no GPU has run it yet.
 */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/device/device.h"

#include "runtime/base/banned.h"

struct nccl {
	ncclComm_t	 comm;
	cudaStream_t	 stream;
	size_t		 world;
	int		 gpu;
	int		 on_gpu;	/* the program computes there, on */
	cudaStream_t	 program;
	cudaEvent_t	 before;	/* what "program" had so far */
};

/* A copy on the device of what the host has, by way of "pinned", so that no call
 * waits for the stream.  All NULL: it is there already. */
struct copy {
	void	*pinned, *device;
	size_t	 bytes;
};

struct request {
	cudaEvent_t	 event;		/* behind the work */
	struct copy	 in, out;	/* in place: "out" alone */
	void		*host;		/* where "out" goes, or NULL */
};

static int
cuda_failed(cudaError_t code, const char *call, struct err *err)
{
	return err_set(err, "%s: %s", call, cudaGetErrorString(code));
}

static int
nccl_failed(ncclResult_t code, const char *call, struct err *err)
{
	return err_set(err, "%s: %s", call, ncclGetErrorString(code));
}

static void
nccl_close(void *state, int dead)
{
	struct nccl *s = state;

	if (s->comm != NULL) {
		if (dead)
			ncclCommAbort(s->comm);
		else
			ncclCommDestroy(s->comm);
	}
	if (s->before != NULL)
		cudaEventDestroy(s->before);
	if (s->stream != NULL)
		cudaStreamDestroy(s->stream);
	free(s);
}

static int
nccl_open(void **state, const struct device_host *host, struct err *err)
{
	struct nccl *s = calloc(1, sizeof(*s));
	ncclUniqueId id;
	ncclResult_t rc;
	cudaError_t cu;

	if (s == NULL)
		return err_nomem(err);
	if (host->ctl == NULL) {
		err_set(err, "NCCL needs the control connection");
		err_hint(err, "set MASTER_ADDR and MASTER_PORT");
		goto fail;
	}
	s->on_gpu = host->on_gpu;
	s->program = host->stream;
	cu = s->on_gpu ? cudaEventCreateWithFlags(&s->before,
	    cudaEventDisableTiming) : cudaSetDevice(host->local_rank);
	if (cu == cudaSuccess)
		cu = cudaGetDevice(&s->gpu);
	if (cu == cudaSuccess)
		cu = cudaStreamCreateWithFlags(&s->stream,
		    cudaStreamNonBlocking);
	if (cu != cudaSuccess) {
		cuda_failed(cu, "CUDA device of this rank", err);
		goto fail;
	}
	if (host->rank == 0) {
		rc = ncclGetUniqueId(&id);
		if (rc != ncclSuccess) {
			nccl_failed(rc, "ncclGetUniqueId", err);
			goto fail;
		}
		if (host->put(host->ctl, "nccl/id", &id, sizeof(id), err) != 0)
			goto fail;
	}
	if (host->get(host->ctl, "nccl/id", &id, sizeof(id), err) != 0)
		goto fail;
	rc = ncclCommInitRank(&s->comm, host->world, id, host->rank);
	if (rc != ncclSuccess) {
		nccl_failed(rc, "ncclCommInitRank", err);
		goto fail;
	}
	s->world = (size_t)host->world;
	*state = s;
	return 0;
fail:
	nccl_close(s, 1);
	return -1;
}

static ncclDataType_t
nccl_type(int type)
{
	switch (type) {
	case DEVICE_F64:
		return ncclFloat64;
	case DEVICE_F16:
		return ncclFloat16;
	case DEVICE_BF16:
		return ncclBfloat16;
	case DEVICE_I32:
		return ncclInt32;
	case DEVICE_I64:
		return ncclInt64;
	case DEVICE_U8:
		return ncclUint8;
	default:
		return ncclFloat32;
	}
}

static ncclRedOp_t
nccl_op(int op)
{
	return op == DEVICE_MAX ? ncclMax : op == DEVICE_MIN ? ncclMin :
	    ncclSum;
}

static size_t
size_of(int type)
{
	switch (type) {
	case DEVICE_F64:
	case DEVICE_I64:
		return 8;
	case DEVICE_F16:
	case DEVICE_BF16:
		return 2;
	case DEVICE_U8:
		return 1;
	default:
		return 4;
	}
}

static int
on_host(const void *p)
{
	struct cudaPointerAttributes at;

	if (cudaPointerGetAttributes(&at, p) != cudaSuccess) {
		cudaGetLastError();	/* it would be the next call's */
		return 1;
	}
	return at.type == cudaMemoryTypeUnregistered ||
	    at.type == cudaMemoryTypeHost;
}

static int
make_copy(struct nccl *s, struct copy *c, size_t bytes, const void *from,
    struct err *err)
{
	cudaError_t cu;

	c->bytes = bytes;
	cu = cudaMallocHost(&c->pinned, bytes);
	if (cu == cudaSuccess)
		cu = cudaMallocAsync(&c->device, bytes, s->stream);
	if (cu == cudaSuccess && from != NULL) {
		memcpy(c->pinned, from, bytes);
		cu = cudaMemcpyAsync(c->device, c->pinned, bytes,
		    cudaMemcpyHostToDevice, s->stream);
	}
	return cu == cudaSuccess ? 0 :
	    cuda_failed(cu, "copying to the device", err);
}

static void
request_free(struct nccl *s, struct request *r)
{
	if (r->in.device != NULL)
		cudaFreeAsync(r->in.device, s->stream);
	if (r->out.device != NULL)
		cudaFreeAsync(r->out.device, s->stream);
	cudaFreeHost(r->in.pinned);
	cudaFreeHost(r->out.pinned);
	if (r->event != NULL)
		cudaEventDestroy(r->event);
	free(r);
}

/* The stream comes behind what the program's has so far. */
static int
follow(struct nccl *s, struct err *err)
{
	cudaError_t cu = cudaEventRecord(s->before, s->program);

	if (cu == cudaSuccess)
		cu = cudaStreamWaitEvent(s->stream, s->before, 0);
	return cu == cudaSuccess ? 0 :
	    cuda_failed(cu, "waiting for the program's stream", err);
}

/* Changes *in and *out to what is on the device; they are the same for work in
 * place. */
static struct request *
prepare(struct nccl *s, const void **in, size_t in_bytes, void **out,
    size_t out_bytes, struct err *err)
{
	struct request *r = calloc(1, sizeof(*r));
	int in_place = *in == *out, failed = 0;

	if (r == NULL) {
		err_nomem(err);
		return NULL;
	}
	/* Each thread begins with GPU 0 as its own. */
	cudaSetDevice(s->gpu);
	if (s->on_gpu && follow(s, err) != 0) {
		request_free(s, r);
		return NULL;
	}
	if (out_bytes > 0 && on_host(*out)) {
		failed = make_copy(s, &r->out, out_bytes,
		    in_place ? *in : NULL, err) != 0;
		r->host = *out;
		*out = r->out.device;
		if (in_place)
			*in = *out;
	}
	if (!failed && !in_place && in_bytes > 0 && on_host(*in)) {
		failed = make_copy(s, &r->in, in_bytes, *in, err) != 0;
		*in = r->in.device;
	}
	if (failed) {
		request_free(s, r);
		return NULL;
	}
	return r;
}

static int
started(struct nccl *s, struct request *r, ncclResult_t code,
    const char *call, void **req, struct err *err)
{
	cudaError_t cu = cudaSuccess;

	if (code != ncclSuccess) {
		request_free(s, r);
		return nccl_failed(code, call, err);
	}
	if (r->host != NULL)
		cu = cudaMemcpyAsync(r->out.pinned, r->out.device,
		    r->out.bytes, cudaMemcpyDeviceToHost, s->stream);
	if (cu == cudaSuccess)
		cu = cudaEventCreateWithFlags(&r->event,
		    cudaEventDisableTiming);
	if (cu == cudaSuccess)
		cu = cudaEventRecord(r->event, s->stream);
	if (cu != cudaSuccess) {
		request_free(s, r);
		return cuda_failed(cu, call, err);
	}
	*req = r;
	return 0;
}

static int
nccl_all_reduce(void *state, void *buf, size_t n, int type, int op,
    void **req, struct err *err)
{
	struct nccl *s = state;
	const void *in = buf;
	size_t bytes = n * size_of(type);
	struct request *r = prepare(s, &in, bytes, &buf, bytes, err);

	return r == NULL ? -1 : started(s, r, ncclAllReduce(in, buf, n,
	    nccl_type(type), nccl_op(op), s->comm, s->stream),
	    "ncclAllReduce", req, err);
}

static int
nccl_broadcast(void *state, void *buf, size_t bytes, int root, void **req,
    struct err *err)
{
	struct nccl *s = state;
	const void *in = buf;
	struct request *r = prepare(s, &in, bytes, &buf, bytes, err);

	return r == NULL ? -1 : started(s, r, ncclBroadcast(in, buf, bytes,
	    ncclUint8, root, s->comm, s->stream), "ncclBroadcast", req, err);
}

static int
nccl_all_gather(void *state, const void *in, void *out, size_t bytes,
    void **req, struct err *err)
{
	struct nccl *s = state;
	struct request *r = prepare(s, &in, bytes, &out, bytes * s->world,
	    err);

	return r == NULL ? -1 : started(s, r, ncclAllGather(in, out, bytes,
	    ncclUint8, s->comm, s->stream), "ncclAllGather", req, err);
}

static int
nccl_reduce_scatter(void *state, const void *in, void *out, size_t nout,
    int type, int op, void **req, struct err *err)
{
	struct nccl *s = state;
	size_t bytes = nout * size_of(type);
	struct request *r = prepare(s, &in, bytes * s->world, &out, bytes,
	    err);

	return r == NULL ? -1 : started(s, r, ncclReduceScatter(in, out, nout,
	    nccl_type(type), nccl_op(op), s->comm, s->stream),
	    "ncclReduceScatter", req, err);
}

static int
nccl_test(void *state, void *req, int *done, struct err *err)
{
	struct nccl *s = state;
	struct request *r = req;
	ncclResult_t async = ncclSuccess;
	cudaError_t cu = cudaEventQuery(r->event);

	if (ncclCommGetAsyncError(s->comm, &async) == ncclSuccess &&
	    async != ncclSuccess && async != ncclInProgress)
		return nccl_failed(async, "NCCL", err);
	if (cu == cudaErrorNotReady)
		return 0;
	if (cu == cudaSuccess && r->host != NULL)
		memcpy(r->host, r->out.pinned, r->out.bytes);
	request_free(s, r);
	if (cu != cudaSuccess)
		return cuda_failed(cu, "cudaEventQuery", err);
	*done = 1;
	return 0;
}

/* Else its kernels would wait for who is gone, and whoever waits for a stream or
 * frees memory would wait with them. */
static void
nccl_abandon(void *state)
{
	struct nccl *s = state;

	ncclCommAbort(s->comm);
	s->comm = NULL;
}

static int
nccl_order(void *state, void *req, struct err *err)
{
	struct nccl *s = state;
	struct request *r = req;
	cudaError_t cu = cudaStreamWaitEvent(s->program, r->event, 0);

	return cu == cudaSuccess ? 0 :
	    cuda_failed(cu, "having the program's stream wait", err);
}

const struct device_ops device_plugin = {
	DEVICE_ABI, "nccl", nccl_open, nccl_close, nccl_all_reduce,
	nccl_broadcast, nccl_all_gather, nccl_reduce_scatter, nccl_test, NULL,
	nccl_order, nccl_abandon,
};
