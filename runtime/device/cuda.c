/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda: the memory of a GPU, and the loops over it, on the program's stream.
 * Compiled where nvcc is; tested with a pretended CUDA whose kernels are the
 * same source (tests/fake/cuda); no GPU has run it yet.
 *
 * To and from the host everything goes through two pieces of pinned memory, one
 * of which the GPU copies while the host copies the other.
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/device/cuda_kernels.h"
#include "runtime/device/mem.h"

#include "runtime/base/banned.h"

#define PIECE ((size_t)4 << 20)

struct cuda {
	struct mem	 mem;		/* first */
	cudaStream_t	 stream;	/* the program's */
	int		 gpu;
	cudaError_t	 code;		/* the first failure, and of what */
	const char	*call;
	char		*pinned[2];
	cudaEvent_t	 copied[2];	/* the GPU is through with it */
	struct kernel_sum *sum[2];	/* on the GPU */
	double		*room;		/* on the GPU, for Adafactor */
	size_t		 room_n;
};

static int
fail(cudaError_t code, const char *call, struct err *err)
{
	err_set(err, "%s: %s", call, cudaGetErrorString(code));
	if (code == cudaErrorIllegalAddress || code == cudaErrorLaunchFailure)
		err_hint(err, "a kernel before it went wrong: "
		    "compute-sanitizer names it");
	return -1;
}

/* Keeps it for cuda_failed. */
static void
note(struct cuda *c, cudaError_t code, const char *call)
{
	if (code != cudaSuccess && c->code == cudaSuccess) {
		c->code = code;
		c->call = call;
	}
}

/* Each thread begins with GPU 0 as its own; from here on it is this rank's. */
static struct cuda *
of(struct mem *m)
{
	struct cuda *c = (struct cuda *)(void *)m;
	int gpu;

	if (cudaGetDevice(&gpu) == cudaSuccess && gpu != c->gpu)
		note(c, cudaSetDevice(c->gpu), "cudaSetDevice");
	return c;
}

static int
cuda_failed(struct mem *m, struct err *err)
{
	struct cuda *c = of(m);
	cudaError_t code = c->code;

	c->code = cudaSuccess;
	return code == cudaSuccess ? 0 : fail(code, c->call, err);
}

/* ---- opening --------------------------------------------------------------- */

static void
cuda_close(struct mem *m)
{
	struct cuda *c = of(m);

	for (int i = 0; i < 2; i++) {
		cudaFree(c->sum[i]);
		cudaFreeHost(c->pinned[i]);
		if (c->copied[i] != NULL)
			cudaEventDestroy(c->copied[i]);
	}
	cudaFree(c->room);
	free(c);
}

static int
choose_gpu(struct cuda *c, int gpu, struct err *err)
{
	cudaError_t code;
	int count = 0;

	if (gpu >= 0) {
		code = cudaGetDeviceCount(&count);
		if (code != cudaSuccess || count == 0) {
			err_set(err, "no GPU: %s", code != cudaSuccess ?
			    cudaGetErrorString(code) : "CUDA sees none");
			return err_hint(err, "nvidia-smi shows which there "
			    "are, CUDA_VISIBLE_DEVICES which a program sees");
		}
		/* Who starts ranks may have left each its own alone. */
		if (count == 1)
			gpu = 0;
		if (gpu >= count) {
			err_set(err, "LOCAL_RANK is %d, and CUDA sees %d GPUs",
			    gpu, count);
			return err_hint(err, "start no more ranks on a host "
			    "than it has GPUs");
		}
		code = cudaSetDevice(gpu);
		if (code != cudaSuccess)
			return fail(code, "cudaSetDevice", err);
	}
	code = cudaGetDevice(&c->gpu);
	return code == cudaSuccess ? 0 : fail(code, "cudaGetDevice", err);
}

static int
cuda_open(struct mem **m, void *stream, int gpu, struct err *err)
{
	struct cuda *c = calloc(1, sizeof(*c));
	cudaError_t code = cudaSuccess;

	if (c == NULL)
		return err_nomem(err);
	c->mem.ops = &mem_plugin;
	c->stream = stream;
	if (choose_gpu(c, gpu, err) != 0) {
		cuda_close(&c->mem);
		return -1;
	}
	for (int i = 0; i < 2 && code == cudaSuccess; i++) {
		code = cudaMallocHost((void **)&c->pinned[i], PIECE);
		if (code == cudaSuccess)
			code = cudaEventCreateWithFlags(&c->copied[i],
			    cudaEventDisableTiming);
		if (code == cudaSuccess)
			code = cudaMalloc((void **)&c->sum[i],
			    sizeof(*c->sum[i]));
	}
	if (code != cudaSuccess) {
		cuda_close(&c->mem);
		return fail(code, "memory on the GPU", err);
	}
	*m = &c->mem;
	return 0;
}

/* ---- memory ---------------------------------------------------------------- */

static int
cuda_owns(struct mem *m, const void *p, struct err *err)
{
	struct cuda *c = of(m);
	struct cudaPointerAttributes at;

	if (cudaPointerGetAttributes(&at, p) != cudaSuccess) {
		cudaGetLastError();	/* it would be the next call's */
		at.type = cudaMemoryTypeUnregistered;
	}
	if (at.type == cudaMemoryTypeManaged ||
	    (at.type == cudaMemoryTypeDevice && at.device == c->gpu))
		return 1;
	if (at.type == cudaMemoryTypeDevice) {
		err_set(err, "in the memory of GPU %d, and this rank's is GPU "
		    "%d", at.device, c->gpu);
		err_hint(err, "cudaSetDevice comes before accel_init, and "
		    "config.stream is of that GPU");
		return 0;
	}
	err_set(err, "in the host's memory");
	err_hint(err, "get it by cudaMalloc, or leave config.memory at "
	    "ACCEL_HOST");
	return 0;
}

static void
cuda_zero(struct mem *m, void *p, size_t bytes)
{
	struct cuda *c = of(m);

	note(c, cudaMemsetAsync(p, 0, bytes, c->stream), "cudaMemsetAsync");
}

static void *
cuda_alloc(struct mem *m, size_t bytes)
{
	void *p;

	if (cudaMalloc(&p, bytes) != cudaSuccess) {
		cudaGetLastError();
		return NULL;
	}
	cuda_zero(m, p, bytes);
	return p;
}

static void
cuda_free(struct mem *m, void *p)
{
	note(of(m), cudaFree(p), "cudaFree");
}

static void
cuda_copy(struct mem *m, void *to, const void *from, size_t bytes)
{
	struct cuda *c = of(m);

	note(c, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
	    c->stream), "cudaMemcpyAsync");
}

static int
cuda_read(struct mem *m, void *host, const void *from, size_t bytes,
    struct err *err)
{
	struct cuda *c = of(m);
	cudaError_t code = cudaSuccess;
	size_t pieces = (bytes + PIECE - 1) / PIECE;

	/* Piece i begins its way before the host takes piece i - 1. */
	for (size_t i = 0; i <= pieces && code == cudaSuccess; i++) {
		size_t at = i * PIECE, n = bytes - at < PIECE ? bytes - at :
		    PIECE;

		if (i < pieces) {
			code = cudaMemcpyAsync(c->pinned[i % 2],
			    (const char *)from + at, n,
			    cudaMemcpyDeviceToHost, c->stream);
			if (code == cudaSuccess)
				code = cudaEventRecord(c->copied[i % 2],
				    c->stream);
		}
		if (i == 0 || code != cudaSuccess)
			continue;
		code = cudaEventSynchronize(c->copied[(i - 1) % 2]);
		at -= PIECE;
		n = bytes - at < PIECE ? bytes - at : PIECE;
		if (code == cudaSuccess)
			memcpy((char *)host + at, c->pinned[(i - 1) % 2], n);
	}
	return code == cudaSuccess ? 0 :
	    fail(code, "copying from the GPU", err);
}

static int
cuda_write(struct mem *m, void *to, const void *host, size_t bytes,
    struct err *err)
{
	struct cuda *c = of(m);
	cudaError_t code = cudaSuccess;

	for (size_t at = 0, n, i = 0; at < bytes && code == cudaSuccess;
	    at += n, i ^= 1) {
		n = bytes - at < PIECE ? bytes - at : PIECE;
		/* It may still be on its way from the last time. */
		code = cudaEventSynchronize(c->copied[i]);
		if (code != cudaSuccess)
			break;
		memcpy(c->pinned[i], (const char *)host + at, n);
		code = cudaMemcpyAsync((char *)to + at, c->pinned[i], n,
		    cudaMemcpyHostToDevice, c->stream);
		if (code == cudaSuccess)
			code = cudaEventRecord(c->copied[i], c->stream);
	}
	return code == cudaSuccess ? 0 : fail(code, "copying to the GPU", err);
}

/* ---- loops ----------------------------------------------------------------- */

static void
cuda_narrow(struct mem *m, uint16_t *to, const float *from, size_t n,
    int type)
{
	note(of(m), kernel_narrow(of(m)->stream, to, from, n, type),
	    "rounding to 16 bits");
}

static void
cuda_widen(struct mem *m, float *to, const uint16_t *from, size_t n,
    int type)
{
	note(of(m), kernel_widen(of(m)->stream, to, from, n, type),
	    "widening 16 bits");
}

static void
cuda_fold(struct mem *m, float *sum, const uint16_t *with, size_t n,
    int type)
{
	note(of(m), kernel_fold(of(m)->stream, sum, with, n, type),
	    "adding gradients up");
}

static void
cuda_scale(struct mem *m, void *x, size_t n, int type, double by)
{
	note(of(m), kernel_scale(of(m)->stream, x, n, type, by),
	    "scaling gradients");
}

static void
cuda_divide(struct mem *m, void *x, size_t n, int type, int by)
{
	note(of(m), kernel_divide(of(m)->stream, x, n, type, by),
	    "a mean over ranks");
}

static void
cuda_clamp(struct mem *m, void *x, size_t n, int type, float most)
{
	note(of(m), kernel_clamp(of(m)->stream, x, n, type, most),
	    "clipping by value");
}

static void
clear_sum(struct cuda *c, int i)
{
	note(c, cudaMemsetAsync(c->sum[i], 0, sizeof(*c->sum[i]), c->stream),
	    "clearing a sum");
}

static void
cuda_sum_begin(struct mem *m, struct mem_sum *s)
{
	*s = (struct mem_sum){ 0, 1 };
	clear_sum(of(m), 0);
}

static void
cuda_sum_add(struct mem *m, struct mem_sum *s, void *x, size_t n, int type,
    double by)
{
	struct cuda *c = of(m);

	(void)s;
	note(c, kernel_sum_add(c->stream, c->sum[0], x, n, type, by),
	    "adding squares up");
}

static int
cuda_sum_end(struct mem *m, struct mem_sum *s, struct err *err)
{
	struct cuda *c = of(m);
	struct kernel_total r;

	note(c, kernel_sum_fold(c->stream, c->sum[0]), "adding squares up");
	if (cuda_failed(m, err) != 0 || cuda_read(m, &r, &c->sum[0]->total,
	    sizeof(r), err) != 0)
		return -1;
	s->sum = r.sum;
	s->finite = !r.bad && r.sum - r.sum == 0;
	return 0;
}

/* ---- optimizers ------------------------------------------------------------- */

static void
cuda_adam(struct mem *m, const struct mem_update *u,
    const struct vec_adam *c)
{
	note(of(m), kernel_adam(of(m)->stream, u, c), "accel_adamw");
}

static void
cuda_sgd(struct mem *m, const struct mem_update *u, const struct vec_sgd *c)
{
	note(of(m), kernel_sgd(of(m)->stream, u, c), "accel_sgd");
}

static void
cuda_lion(struct mem *m, const struct mem_update *u,
    const struct vec_lion *c)
{
	note(of(m), kernel_lion(of(m)->stream, u, c), "accel_lion");
}

static int
cuda_adafactor(struct mem *m, const struct mem_update *u,
    const struct mem_adafactor *a, struct err *err)
{
	struct cuda *c = of(m);
	size_t n = kernel_adafactor_room(a);

	/* cudaFree waits for who still uses the old room. */
	if (n > c->room_n) {
		cudaFree(c->room);
		c->room_n = 0;
		c->room = cuda_alloc(m, n * sizeof(*c->room));
		if (c->room == NULL)
			return err_nomem(err);
		c->room_n = n;
	}
	clear_sum(c, 0);
	clear_sum(c, 1);
	note(c, kernel_adafactor(c->stream, u, a, c->sum[0], c->sum[1],
	    c->room), "accel_adafactor");
	return 0;
}

const struct mem_ops mem_plugin = {
	.abi = MEM_ABI, .name = "cuda", .open = cuda_open,
	.close = cuda_close, .failed = cuda_failed, .owns = cuda_owns,
	.alloc = cuda_alloc, .free = cuda_free, .zero = cuda_zero,
	.copy = cuda_copy, .read = cuda_read, .write = cuda_write,
	.narrow = cuda_narrow, .widen = cuda_widen, .fold = cuda_fold,
	.scale = cuda_scale, .divide = cuda_divide, .clamp = cuda_clamp,
	.sum_begin = cuda_sum_begin, .sum_add = cuda_sum_add,
	.sum_end = cuda_sum_end, .adam = cuda_adam, .sgd = cuda_sgd,
	.lion = cuda_lion, .adafactor = cuda_adafactor,
};
