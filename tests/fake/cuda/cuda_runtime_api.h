/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not CUDA: a fake for tests on machines without a GPU (runtime.cc).  As much of
 * the interface as runtime/device/{cuda,nccl}.c and the tests use, declared as
 * they use it; where the toolkit is, the same sources compile against its own.
 */
#ifndef TESTS_FAKE_CUDA_RUNTIME_API_H
#define TESTS_FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
	cudaSuccess = 0, cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600,
	cudaErrorIllegalAddress = 700, cudaErrorLaunchFailure = 719
} cudaError_t;
enum cudaMemcpyKind {
	cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
enum cudaMemoryType {
	cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice,
	cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
};
typedef struct fake_stream *cudaStream_t;
typedef struct fake_event *cudaEvent_t;
#define cudaStreamNonBlocking 1u
#define cudaEventDisableTiming 2u

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaDeviceSynchronize(void);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *at,
    const void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes,
    cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
    unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

/* The fake's own.  What is in use: allocations of both kinds, streams and
 * events. */
int fake_cuda_in_use(void);
/* How often the host has waited for a stream or an event. */
int fake_cuda_waits(void);

#ifdef __cplusplus
}
#endif
#endif
