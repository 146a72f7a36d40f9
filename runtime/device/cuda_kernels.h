/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_kernels: the loops of runtime/device/mem.h as kernels.  Each function
 * puts work on the stream and says whether that could be begun.
 *
 * An element is computed by the functions of runtime/base/elem.h: the CPU's bits
 * (NaNs aside).  Sums go over LANES lanes, of which each takes every LANES-th
 * element, whatever the GPU: the same bits in each run and on each model, but
 * not the CPU's, whose lanes are fewer.
 */
#ifndef RUNTIME_DEVICE_CUDA_KERNELS_H
#define RUNTIME_DEVICE_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/device/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	KERNEL_THREADS = 256,		/* of a block */
	KERNEL_LANES = 512 * KERNEL_THREADS,
	KERNEL_ROW_LANES = 16,		/* of a row: vec.h's VEC_LANES */
	KERNEL_COLUMN = 64,		/* rows whose squares one thread adds */
};

/* A sum under way, in the GPU's memory. */
struct kernel_total {
	double	sum;			/* after kernel_sum_fold */
	int	bad;			/* an F64 was not finite */
};
struct kernel_sum {
	double	lane[KERNEL_LANES];
	struct kernel_total total;
};

cudaError_t kernel_narrow(cudaStream_t stream, uint16_t *to,
    const float *from, size_t n, int type);
cudaError_t kernel_widen(cudaStream_t stream, float *to,
    const uint16_t *from, size_t n, int type);
cudaError_t kernel_fold(cudaStream_t stream, float *sum,
    const uint16_t *with, size_t n, int type);
cudaError_t kernel_scale(cudaStream_t stream, void *x, size_t n, int type,
    double by);
cudaError_t kernel_divide(cudaStream_t stream, void *x, size_t n, int type,
    int by);
cudaError_t kernel_clamp(cudaStream_t stream, void *x, size_t n, int type,
    float most);

/* x *= by, and its squares are added to the lanes. */
cudaError_t kernel_sum_add(cudaStream_t stream, struct kernel_sum *s, void *x,
    size_t n, int type, double by);
/* The lanes become one sum, in one order. */
cudaError_t kernel_sum_fold(cudaStream_t stream, struct kernel_sum *s);

cudaError_t kernel_adam(cudaStream_t stream, const struct mem_update *u,
    const struct vec_adam *c);
cudaError_t kernel_sgd(cudaStream_t stream, const struct mem_update *u,
    const struct vec_sgd *c);
cudaError_t kernel_lion(cudaStream_t stream, const struct mem_update *u,
    const struct vec_lion *c);

/* "p" and "update" are cleared sums; "room" has as many doubles as
 * kernel_adafactor_room says. */
size_t kernel_adafactor_room(const struct mem_adafactor *c);
cudaError_t kernel_adafactor(cudaStream_t stream, const struct mem_update *u,
    const struct mem_adafactor *c, struct kernel_sum *p,
    struct kernel_sum *update, double *room);

#ifdef __cplusplus
}
#endif
#endif
