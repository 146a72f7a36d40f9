/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl: collectives on GPUs.  Buffers are device memory; work is ordered on a
 * stream of this file's own.  Compiled where NCCL is; it has not been run yet.
 */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/device/device.h"

#include "runtime/base/banned.h"

struct nccl {
	ncclComm_t	 comm;
	cudaStream_t	 stream;
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
	cu = cudaSetDevice(host->local_rank);
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

/* A request is an event behind the work. */
static int
started(struct nccl *s, ncclResult_t code, const char *call, void **req,
    struct err *err)
{
	cudaEvent_t event;
	cudaError_t cu;

	if (code != ncclSuccess)
		return nccl_failed(code, call, err);
	cu = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
	if (cu != cudaSuccess)
		return cuda_failed(cu, call, err);
	cu = cudaEventRecord(event, s->stream);
	if (cu != cudaSuccess) {
		cudaEventDestroy(event);
		return cuda_failed(cu, call, err);
	}
	*req = event;
	return 0;
}

static int
nccl_all_reduce(void *state, void *buf, size_t n, int type, int op,
    void **req, struct err *err)
{
	struct nccl *s = state;

	return started(s, ncclAllReduce(buf, buf, n, nccl_type(type),
	    nccl_op(op), s->comm, s->stream), "ncclAllReduce", req, err);
}

static int
nccl_broadcast(void *state, void *buf, size_t bytes, int root, void **req,
    struct err *err)
{
	struct nccl *s = state;

	return started(s, ncclBroadcast(buf, buf, bytes, ncclUint8, root,
	    s->comm, s->stream), "ncclBroadcast", req, err);
}

static int
nccl_all_gather(void *state, const void *in, void *out, size_t bytes,
    void **req, struct err *err)
{
	struct nccl *s = state;

	return started(s, ncclAllGather(in, out, bytes, ncclUint8, s->comm,
	    s->stream), "ncclAllGather", req, err);
}

static int
nccl_reduce_scatter(void *state, const void *in, void *out, size_t nout,
    int type, int op, void **req, struct err *err)
{
	struct nccl *s = state;

	return started(s, ncclReduceScatter(in, out, nout, nccl_type(type),
	    nccl_op(op), s->comm, s->stream), "ncclReduceScatter", req, err);
}

static int
nccl_test(void *state, void *req, int *done, struct err *err)
{
	struct nccl *s = state;
	ncclResult_t async = ncclSuccess;
	cudaError_t cu = cudaEventQuery(req);

	if (ncclCommGetAsyncError(s->comm, &async) == ncclSuccess &&
	    async != ncclSuccess && async != ncclInProgress)
		return nccl_failed(async, "NCCL", err);
	if (cu == cudaErrorNotReady)
		return 0;
	cudaEventDestroy(req);
	if (cu != cudaSuccess)
		return cuda_failed(cu, "cudaEventQuery", err);
	*done = 1;
	return 0;
}

const struct device_ops device_plugin = {
	DEVICE_ABI, "nccl", nccl_open, nccl_close, nccl_all_reduce,
	nccl_broadcast, nccl_all_gather, nccl_reduce_scatter, nccl_test, NULL,
};
