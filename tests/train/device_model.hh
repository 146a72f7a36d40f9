/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_model: a model whose tensors lie on the host or on a GPU, and the runs
 * that device.cu makes of it.  Both sides compute an element by the same
 * functions; on the GPU they are kernels that are only enqueued.
 */
#ifndef TESTS_TRAIN_DEVICE_MODEL_HH
#define TESTS_TRAIN_DEVICE_MODEL_HH

#include <cuda_runtime.h>

#include <math.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "tests/tap.h"
#include "tests/train/folder.h"
#include "tests/train/port.h"
#include "tests/train/precision.h"

#ifndef LAUNCH
#define LAUNCH(kernel, blocks, threads, stream, ...)			\
	kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#endif

enum { STEPS = 5, NTENSOR = 5, NUNIT = 3, TOTAL = 7 + 40 * 25 + 1 + 2500 + 64,
	RUNS = 400, BYTES = TOTAL * 8, RANKS = 2 };

static const struct {
	int unit, n, ndim;
	int64_t shape[2];
} shape[NTENSOR] = { { 0, 7, 1, { 7 } }, { 0, 1000, 2, { 40, 25 } },
	{ 1, 1, 1, { 1 } }, { 1, 2500, 2, { 50, 50 } }, { 2, 64, 1, { 64 } } };

#ifdef __SANITIZE_ADDRESS__
extern "C" int __lsan_do_recoverable_leak_check(void);
#endif

/* ---- what runs there are ----------------------------------------------------- */

enum optimizer { OWN, ADAMW, ADAM, SGD, MOMENTUM, LION, ADAFACTOR, OPTIMIZERS };
enum clip { PLAIN, BY_VALUE, BY_NORM };
enum extra { NOTHING, LOCAL, HOOK, SAVED, LOOKED_AT, SKIPPING, EXTRAS };
enum mode { HOST1, CUDA1, HOST2, NCCL2, MPI2, MODES };

static const char *const mode_name[] = { "host", "GPU", "two ranks' hosts",
	"two GPUs by NCCL", "two GPUs by MPI" };

struct run {
	int p, optimizer, accum, clip, extra, bucket;
};

struct result {
	char error[300];
	float norm[STEPS], scale;
	int waits;			/* of the host, in steps */
	unsigned char data[BYTES];	/* of all tensors, one after the other */
	double mean;			/* a buffer */
};

static struct run runs[RUNS];
static int nrun;
static struct result *results;		/* [mode][rank][run] */

static struct result *
result_of(int mode, int rank, int run)
{
	return &results[((size_t)mode * RANKS + (size_t)rank) * RUNS +
	    (size_t)run];
}

static void
cases(void)
{
	static const int bucket[] = { 0, 2000 };

	for (int p = 0; p < PRECISIONS; p++)
		for (int o = 0; o < OPTIMIZERS; o++) {
			if (precision[p].dtype == ACCEL_F64 && o != OWN)
				continue;
			/* All kinds of clipping for two, one for the others. */
			for (int k = 0; k < 3; k++) {
				if (o > ADAMW && (o + p) % 3 != k)
					continue;
				runs[nrun++] = { p, o, k == 1 ? 3 : 1, k,
				    NOTHING, bucket[(o + k) % 2] };
			}
		}
	for (int p = 0; p < PRECISIONS; p++)
		for (int x = LOCAL; x < EXTRAS; x++)
			runs[nrun++] = { p, OWN, x == SAVED ? 2 : 1, PLAIN, x,
			    bucket[x % 2] };
}

/* ---- a model, on the host or on the GPU ---------------------------------------- */

struct model {
	accel *a;
	int on_gpu, step, micro, skip;
	struct run run;
	cudaStream_t stream;
	char *data[NTENSOR], *grad[NTENSOR];
	double *mean, here;		/* mean may be here */
};

static inline ON_DEVICE size_t
width(int dtype)
{
	return dtype == ACCEL_F64 ? 8 : dtype == ACCEL_F32 ? 4 : 2;
}

/* A gradient that looks like one, and is the same everywhere. */
static inline ON_DEVICE float
value(uint64_t sample, uint64_t t, uint64_t i)
{
	uint64_t x = sample * 1000003 + t * 10007 + i * 31;

	x *= 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9u;
	return (float)(x >> 40) / (1 << 23) - 1.0f;
}

static inline ON_DEVICE void
add_one(void *grad, int dtype, size_t i, float v)
{
	uint16_t *h = (uint16_t *)grad;

	if (dtype == ACCEL_F64)
		((double *)grad)[i] += (double)v;
	else if (dtype == ACCEL_F32)
		((float *)grad)[i] += v;
	else if (dtype == ACCEL_F16)
		h[i] = f16_of(f16_value(h[i]) + v);
	else
		h[i] = bf16_of(bf16_value(h[i]) + v);
}

static inline ON_DEVICE void
set_one(void *data, int dtype, size_t i, float v)
{
	uint16_t *h = (uint16_t *)data;

	if (dtype == ACCEL_F64)
		((double *)data)[i] = (double)v;
	else if (dtype == ACCEL_F32)
		((float *)data)[i] = v;
	else
		h[i] = dtype == ACCEL_F16 ? f16_of(v) : bf16_of(v);
}

struct batch {
	uint64_t sample;
	float scale;
	int infinite;
};

static __global__ void
add_gradient(void *grad, int dtype, int t, size_t n, struct batch b)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		add_one(grad, dtype, i, b.infinite && i == n / 2 ? INFINITY :
		    b.scale * value(b.sample, (uint64_t)t, i));
}

static __global__ void
first_values(void *data, int dtype, int t, size_t n, int rank)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		set_one(data, dtype, i, value((uint64_t)rank + 99,
		    (uint64_t)t, i));
}

static unsigned
blocks(size_t n)
{
	return (unsigned)((n + 63) / 64);
}

static accel_status
backward(void *user)
{
	struct model *m = (struct model *)user;
	int dtype = precision[m->run.p].dtype;
	struct batch b = { (uint64_t)(m->step * 100 + m->micro * 10 +
	    accel_rank(m->a)), accel_loss_scale(m->a), m->skip };
	accel_status st = ACCEL_OK;

	for (int u = NUNIT - 1; u >= 0 && st == ACCEL_OK; u--) {
		for (int t = 0; t < NTENSOR; t++) {
			size_t n = (size_t)shape[t].n;

			if (shape[t].unit != u)
				continue;
			if (m->on_gpu)
				LAUNCH(add_gradient, blocks(n), 64, m->stream,
				    m->grad[t], dtype, t, n, b);
			for (size_t i = 0; !m->on_gpu && i < n; i++)
				add_one(m->grad[t], dtype, i, b.infinite &&
				    i == n / 2 ? INFINITY : b.scale *
				    value(b.sample, (uint64_t)t, i));
		}
		st = accel_leave(m->a, u);
	}
	return st;
}

/* An optimizer of the program's own. */
static inline ON_DEVICE void
own_one(const accel_range *r, size_t i)
{
	if (r->dtype == ACCEL_F64) {
		double *p = (double *)r->param, *s = (double *)r->state[0];

		s[i] = 0.5 * s[i] + ((double *)r->grad)[i];
		p[i] -= 0.125 * s[i];
		return;
	}
	float *s = (float *)r->state[0], *p = r->master != NULL ? r->master :
	    (float *)r->param;

	s[i] = 0.5f * s[i] + ((float *)r->grad)[i];
	p[i] -= 0.125f * s[i];
	if (r->dtype != ACCEL_F32)
		set_one(r->param, r->dtype, i, p[i]);
}

static __global__ void
own_kernel(accel_range r)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < r.n)
		own_one(&r, i);
}

static accel_status
own(void *user, const accel_range *r, int n, int64_t)
{
	struct model *m = (struct model *)user;

	for (; n > 0; n--, r++) {
		if (m->on_gpu)
			LAUNCH(own_kernel, blocks(r->n), 64, m->stream, *r);
		for (size_t i = 0; !m->on_gpu && i < r->n; i++)
			own_one(r, i);
	}
	return ACCEL_OK;
}

static accel_status
make_step(struct model *m)
{
	accel_adamw_args adamw = ACCEL_ADAMW_INIT;
	accel_adam_args adam = ACCEL_ADAM_INIT;
	accel_sgd_args sgd = ACCEL_SGD_INIT;
	accel_lion_args lion = ACCEL_LION_INIT;
	accel_adafactor_args adafactor = ACCEL_ADAFACTOR_INIT;

	adamw.lr = adam.lr = lion.lr = adafactor.lr = 0.05;
	adam.weight_decay = 0.1;
	sgd.lr = 0.1;
	switch (m->run.optimizer) {
	case ADAMW:
		return accel_step(m->a, accel_adamw, &adamw);
	case ADAM:
		return accel_step(m->a, accel_adam, &adam);
	case MOMENTUM:
		sgd.momentum = 0.9;
		sgd.nesterov = 1;
		[[fallthrough]];
	case SGD:
		return accel_step(m->a, accel_sgd, &sgd);
	case LION:
		return accel_step(m->a, accel_lion, &lion);
	case ADAFACTOR:
		return accel_step(m->a, accel_adafactor, &adafactor);
	default:
		return accel_step(m->a, own, m);
	}
}

/* The program's own exchange: at once, or where the backend takes the memory as
 * it is, in a round that goes on by itself. */
static accel_status
hook(void *user, accel_bucket *b)
{
	struct model *m = (struct model *)user;
	bool staged = m->on_gpu && getenv("ACCEL_BACKEND") != NULL;

	if (b->round > 0)
		return ACCEL_OK;
	return (b->index % 2 || staged ? accel_all_reduce :
	    accel_hook_all_reduce)(m->a, b->data, b->n, b->dtype, ACCEL_SUM);
}

/* ---- memory ------------------------------------------------------------------- */

#define CUDA(call) do {							\
	cudaError_t code_ = (call);					\
	if (code_ != cudaSuccess) {					\
		fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,	\
		    #call, cudaGetErrorString(code_));			\
		exit(1);						\
	}								\
} while (0)

static char *
memory(const struct model *m, size_t bytes)
{
	void *p = NULL;

	if (m->on_gpu)
		CUDA(cudaMalloc(&p, bytes));
	else
		p = calloc(1, bytes);
	return (char *)p;
}

static void
release(const struct model *m, void *p)
{
	if (m->on_gpu)
		CUDA(cudaFree(p));
	else
		free(p);
}

static void
fetch(const struct model *m, void *to, const void *from, size_t bytes)
{
	if (!m->on_gpu) {
		memcpy(to, from, bytes);
		return;
	}
	CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
	    m->stream));
	CUDA(cudaStreamSynchronize(m->stream));
}

static void
model_open(struct model *m)
{
	int dtype = precision[m->run.p].dtype;

	/* Else it is the default stream. */
	if (m->on_gpu && m->run.extra != LOOKED_AT)
		CUDA(cudaStreamCreateWithFlags(&m->stream, 0));
	for (int t = 0; t < NTENSOR; t++) {
		size_t n = (size_t)shape[t].n;

		m->data[t] = memory(m, n * width(dtype));
		m->grad[t] = memory(m, n * width(dtype));
	}
	/* A buffer of the host's is one too. */
	m->mean = m->run.extra == HOOK ? &m->here :
	    (double *)(void *)memory(m, sizeof(double));
}

static void
model_close(struct model *m)
{
	for (int t = 0; t < NTENSOR; t++) {
		release(m, m->data[t]);
		release(m, m->grad[t]);
	}
	if (m->mean != &m->here)
		release(m, m->mean);
	if (m->stream != NULL)
		CUDA(cudaStreamDestroy(m->stream));
}
#endif
