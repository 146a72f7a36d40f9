/* SPDX-License-Identifier: Apache-2.0 */
/* Not NCCL: a fake for tests (nccl.cc), as much as runtime/device/nccl.c uses. */
#ifndef TESTS_FAKE_CUDA_NCCL_H
#define TESTS_FAKE_CUDA_NCCL_H

#include "tests/fake/cuda/cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_comm *ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
typedef enum { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidArgument = 4,
	ncclInProgress = 7 } ncclResult_t;
typedef enum { ncclUint8 = 1, ncclInt32 = 2, ncclInt64 = 4, ncclFloat16 = 6,
	ncclFloat32 = 7, ncclFloat64 = 8, ncclBfloat16 = 9 } ncclDataType_t;
typedef enum { ncclSum = 0, ncclMax = 2, ncclMin = 3 } ncclRedOp_t;

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int world, ncclUniqueId id,
    int rank);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
const char *ncclGetErrorString(ncclResult_t code);
ncclResult_t ncclAllReduce(const void *in, void *out, size_t n,
    ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t s);
ncclResult_t ncclBroadcast(const void *in, void *out, size_t n,
    ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t s);
ncclResult_t ncclAllGather(const void *in, void *out, size_t n,
    ncclDataType_t type, ncclComm_t comm, cudaStream_t s);
ncclResult_t ncclReduceScatter(const void *in, void *out, size_t n,
    ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
