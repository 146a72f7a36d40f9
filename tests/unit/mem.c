/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops over a GPU's memory against those over the host's: the kernels of
 * libaccel-cuda under a fake CUDA (tests/fake/cuda).  Element for element the
 * same bits; sums the same in each run, and the host's but for the rounding of
 * their additions.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/device/device.h"
#include "runtime/device/mem.h"
#include "runtime/train/mem_host.h"
#include "tests/fake/cuda/cuda_runtime_api.h"
#include "tests/tap.h"

/* More than the lanes of a sum; rows and columns of a matrix. */
enum { N = 140003, ROWS = 70, COLS = 37, MATRIX = 2 * ROWS * COLS };

struct arrays {
	float		p[N], g[N], m[N], v[N];
	double		d[N];
	uint16_t	h[N];
};

static struct arrays start, want, got;
static struct mem host = { &mem_host_ops }, *gpu;
static struct arrays *there;

typedef double (*loop)(struct mem *m, struct arrays *x, size_t n, int type);

static double
narrow(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->narrow(m, x->h, x->p, n, type);
	return 0;
}

static double
widen(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->widen(m, x->p, x->h, n, type);
	return 0;
}

static double
fold(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->fold(m, x->p, x->h, n, type);
	return 0;
}

static void *
of_type(struct arrays *x, int type)
{
	return type == DEVICE_F64 ? (void *)x->d : x->p;
}

static double
scale(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->scale(m, of_type(x, type), n, type, 1.0 / 3);
	return 0;
}

static double
divide(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->divide(m, of_type(x, type), n, type, 3);
	return 0;
}

static double
clamp(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->clamp(m, of_type(x, type), n, type, 0.01f);
	return 0;
}

static double
zero(struct mem *m, struct arrays *x, size_t n, int type)
{
	m->ops->zero(m, of_type(x, type), n * device_size(type));
	return 0;
}

static double
copy(struct mem *m, struct arrays *x, size_t n, int type)
{
	(void)type;
	m->ops->copy(m, x->p, x->g, n * sizeof(float));
	return 0;
}

static double
sum_by(struct mem *m, struct arrays *x, size_t n, int type, double by)
{
	struct err err = ERR_INIT;
	struct mem_sum s;

	m->ops->sum_begin(m, &s);
	m->ops->sum_add(m, &s, of_type(x, type), n, type, by);
	m->ops->sum_add(m, &s, x->g, n / 2, DEVICE_F32, 1);
	if (m->ops->sum_end(m, &s, &err) != 0)
		printf("# %s\n", err.text);
	return s.finite ? s.sum : NAN;
}

static double
sum(struct mem *m, struct arrays *x, size_t n, int type)
{
	return sum_by(m, x, n, type, 1);
}

static double
scaled_sum(struct mem *m, struct arrays *x, size_t n, int type)
{
	return sum_by(m, x, n, type, 1.0 / 3);
}

static struct mem_update
update_of(struct arrays *x, size_t n, int type)
{
	return (struct mem_update){ x->p, x->g, { x->m, x->v }, n,
	    type == DEVICE_F32 ? NULL : x->h, type };
}

static double
adam(struct mem *m, struct arrays *x, size_t n, int type)
{
	struct vec_adam c = { 0.1f, 0.999f, 0.001f, 1.7f, 0.03f, 1e-8f,
	    0.99f, 0.01f };
	struct mem_update u = update_of(x, n, type);

	m->ops->adam(m, &u, &c);
	return 0;
}

static double
sgd(struct mem *m, struct arrays *x, size_t n, int type)
{
	struct vec_sgd c = { 0.1f, 0.01f, 0, 1, 0 };
	struct mem_update u = update_of(x, n, type);

	u.state[0] = NULL;
	m->ops->sgd(m, &u, &c);
	return 0;
}

static double
momentum(struct mem *m, struct arrays *x, size_t n, int type)
{
	struct vec_sgd c = { 0.1f, 0.01f, 0.9f, 0.7f, 1 };
	struct mem_update u = update_of(x, n, type);

	m->ops->sgd(m, &u, &c);
	return 0;
}

static double
lion(struct mem *m, struct arrays *x, size_t n, int type)
{
	struct vec_lion c = { 0.01f, 0.99f, 0.9f, 0.1f, 0.99f, 0.01f };
	struct mem_update u = update_of(x, n, type);

	m->ops->lion(m, &u, &c);
	return 0;
}

static const struct {
	const char *name;
	loop fn;
	int type;
} loops[] = {
	{ "to F16", narrow, DEVICE_F16 }, { "to BF16", narrow, DEVICE_BF16 },
	{ "from F16", widen, DEVICE_F16 }, { "from BF16", widen, DEVICE_BF16 },
	{ "adding F16", fold, DEVICE_F16 },
	{ "adding BF16", fold, DEVICE_BF16 },
	{ "scale", scale, DEVICE_F32 }, { "scale F64", scale, DEVICE_F64 },
	{ "divide", divide, DEVICE_F32 },
	{ "divide F64", divide, DEVICE_F64 },
	{ "clamp", clamp, DEVICE_F32 }, { "clamp F64", clamp, DEVICE_F64 },
	{ "zero", zero, DEVICE_F32 }, { "copy", copy, DEVICE_F32 },
	{ "sum of squares", sum, DEVICE_F32 },
	{ "sum of squares, F64", sum, DEVICE_F64 },
	{ "scale and sum of squares", scaled_sum, DEVICE_F32 },
	{ "scale and sum of squares, F64", scaled_sum, DEVICE_F64 },
	{ "Adam", adam, DEVICE_F32 }, { "Adam, F16", adam, DEVICE_F16 },
	{ "Adam, BF16", adam, DEVICE_BF16 }, { "SGD", sgd, DEVICE_F32 },
	{ "SGD, BF16", sgd, DEVICE_BF16 },
	{ "SGD with momentum", momentum, DEVICE_F32 },
	{ "SGD with momentum, F16", momentum, DEVICE_F16 },
	{ "Lion", lion, DEVICE_F32 }, { "Lion, BF16", lion, DEVICE_BF16 },
};

/* The loop over what "start" has, on the GPU; the arrays come back in "got". */
static double
run_there(loop fn, size_t n, int type)
{
	struct err err = ERR_INIT;
	double x = 0;

	if (gpu->ops->write(gpu, there, &start, sizeof(start), &err) == 0)
		x = fn(gpu, there, n, type);
	if (gpu->ops->failed(gpu, &err) != 0 ||
	    gpu->ops->read(gpu, &got, there, sizeof(got), &err) != 0)
		printf("# %s\n", err.text);
	return x;
}

static void
same(int i)
{
	static const size_t length[] = { 1, 255, 4097, N };
	double here, first, again, off = 0;
	int wrong = 0;

	for (size_t k = 0; k < sizeof(length) / sizeof(*length); k++) {
		size_t n = length[k];

		want = start;
		here = loops[i].fn(&host, &want, n, loops[i].type);
		first = run_there(loops[i].fn, n, loops[i].type);
		wrong += memcmp(&want, &got, sizeof(want)) != 0;
		again = run_there(loops[i].fn, n, loops[i].type);
		wrong += memcmp(&first, &again, sizeof(first)) != 0;
		if (here != 0)
			off = fmax(off, fabs(first / here - 1));
		else
			wrong += memcmp(&start, &want, sizeof(want)) == 0;
	}
	ok(wrong == 0 && off < 1e-13, "%s: the host's bits%s", loops[i].name,
	    off > 0 ? ", and the sum within 1e-13" : "");
}

/* ---- Adafactor: its sums are added in another order ------------------------- */

static double
adafactor(struct mem *m, struct arrays *x, size_t n, int type)
{
	struct mem_adafactor c = { .nmat = 2, .rows = ROWS, .cols = COLS,
	    .row = x->v, .col = x->v + 2 * ROWS, .weight = 0.3,
	    .eps1 = 1e-7f, .eps2 = 1e-3, .d = 1, .rate = 0.01,
	    .keep = 0.999f };
	struct mem_update u = update_of(x, n, type);
	struct err err = ERR_INIT;

	if (n != MATRIX)
		c = (struct mem_adafactor){ .nmat = 1, .rows = 1, .cols = n,
		    .col = x->v, .weight = 0.3, .eps1 = 1e-7f, .eps2 = 1e-3,
		    .d = 1, .rate = 0.01, .keep = 0.999f };
	if (m->ops->adafactor(m, &u, &c, &err) != 0)
		printf("# %s\n", err.text);
	return 0;
}

static double
apart(const float *x, const float *y, const float *was, size_t n)
{
	double most = 0, moved = 0;

	for (size_t i = 0; i < n; i++) {
		most = fmax(most, fabs((double)x[i] - (double)y[i]));
		moved = fmax(moved, fabs((double)x[i] - (double)was[i]));
	}
	return moved > 0 ? most / moved : INFINITY;
}

static void
near(const char *name, size_t n, int type)
{
	struct arrays *first = malloc(sizeof(*first));
	double off;

	want = start;
	adafactor(&host, &want, n, type);
	run_there(adafactor, n, type);
	*first = got;
	off = fmax(apart(want.p, got.p, start.p, n),
	    apart(want.v, got.v, start.v, 100));
	run_there(adafactor, n, type);
	ok(off < 1e-5 && memcmp(first, &got, sizeof(got)) == 0 &&
	    (type == DEVICE_F32 || memcmp(start.h, got.h, sizeof(got.h)) != 0),
	    "Adafactor, %s: within 1e-5 of the host's step (%.1e), and the "
	    "same bits again", name, off);
	free(first);
}

/* ---- */

static void
not_finite(void)
{
	static const float bad[] = { INFINITY, NAN };
	float was = start.p[N - 1];
	double d = start.d[N - 1];
	int seen = 0;

	for (int i = 0; i < 2; i++) {
		start.p[N - 1] = bad[i];
		seen += isnan(run_there(sum, N, DEVICE_F32));
		start.p[N - 1] = was;
		start.d[N - 1] = (double)bad[i];
		seen += isnan(run_there(scaled_sum, N, DEVICE_F64));
		start.d[N - 1] = d;
	}
	ok(seen == 4 && !isnan(run_there(sum, N, DEVICE_F64)),
	    "an infinity or NaN shows in a sum, and in none after it");
}

static void
pieces(void)
{
	static const size_t length[] = { 1, 4 << 20, (4 << 20) + 1,
	    (12 << 20) + 5 };
	size_t most = (12 << 20) + 5;
	char *from = malloc(most), *to = malloc(most), *p;
	struct err err = ERR_INIT;
	int wrong = 0;

	p = gpu->ops->alloc(gpu, most);
	wrong += p == NULL || gpu->ops->read(gpu, to, p, most, &err) != 0;
	for (size_t i = 0; i < most; i++)
		wrong += to[i] != 0;
	ok(wrong == 0, "new memory is zeroed");
	for (int k = 0; k < 4; k++) {
		for (size_t i = 0; i < most; i++)
			from[i] = (char)(i * 7 + i / 4096 + (size_t)k);
		wrong += gpu->ops->write(gpu, p, from, length[k], &err) != 0;
		/* The host may change it at once. */
		memset(to, 0, most);
		for (size_t i = 0; i < length[k]; i++) {
			to[i] = from[i];
			from[i] = 0;
		}
		wrong += gpu->ops->read(gpu, from, p, length[k], &err) != 0 ||
		    memcmp(from, to, length[k]) != 0;
	}
	ok(wrong == 0, "any number of bytes comes there and back");
	gpu->ops->free(gpu, p);
	free(from);
	free(to);
}

static void
words(void)
{
	struct err err = ERR_INIT;
	struct mem *m = NULL;
	void *p = gpu->ops->alloc(gpu, 8);
	int now = -1;

	ok(gpu->ops->owns(gpu, p, NULL) == 1 &&
	    gpu->ops->owns(gpu, &err, &err) == 0 &&
	    strstr(err.text, "in the host's memory") != NULL &&
	    strstr(err.hint, "cudaMalloc") != NULL,
	    "it tells the host's memory from its own (%s)", err.text);
	gpu->ops->free(gpu, p);
	gpu->ops->zero(gpu, &err, 1);
	ok(gpu->ops->failed(gpu, &err) == -1 &&
	    strstr(err.text, "cudaMemsetAsync") != NULL &&
	    gpu->ops->failed(gpu, NULL) == 0,
	    "what has no result keeps its error, once (%s)", err.text);
	ok(gpu->ops->alloc(gpu, (size_t)1 << 40) == NULL &&
	    gpu->ops->failed(gpu, NULL) == 0, "no memory is NULL");
	cudaSetDevice(1);		/* as in a new thread */
	gpu->ops->zero(gpu, there, 1);
	ok(cudaGetDevice(&now) == cudaSuccess && now == 0 &&
	    gpu->ops->failed(gpu, NULL) == 0,
	    "work goes to the rank's GPU, whichever is the thread's");
	setenv("FAKE_CUDA_GPUS", "0", 1);
	ok(mem_plugin.open(&m, NULL, 0, &err) == -1 &&
	    strstr(err.text, "no GPU") != NULL, "no GPU (%s)", err.text);
	setenv("FAKE_CUDA_GPUS", "2", 1);
	ok(mem_plugin.open(&m, NULL, 2, &err) == -1 &&
	    strstr(err.text, "LOCAL_RANK is 2") != NULL,
	    "more ranks than GPUs (%s)", err.text);
}

int
main(void)
{
	struct err err = ERR_INIT;
	uint32_t s = 3;

	for (size_t i = 0; i < N; i++) {
		float x[5];

		for (int k = 0; k < 5; k++) {
			s = s * 1664525u + 1013904223u;
			x[k] = ((float)(s >> 8) - 0x1p23f) / 0x1p23f;
		}
		start.p[i] = x[0];
		start.g[i] = x[1];
		start.m[i] = x[2];
		start.v[i] = x[3] * x[3];
		start.d[i] = (double)x[4] / 3;
		/* Any 16 bits but NaNs, whose bits are nobody's promise. */
		start.h[i] = (uint16_t)(s >> 16);
		if ((start.h[i] & 0x7c00) == 0x7c00)
			start.h[i] &= 0x83ff;
	}
	if (mem_plugin.open(&gpu, NULL, 0, &err) != 0) {
		ok(0, "%s", err.text);
		return tap_done();
	}
	there = gpu->ops->alloc(gpu, sizeof(start));
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
		same((int)i);
	near("matrices", MATRIX, DEVICE_F32);
	near("matrices, BF16", MATRIX, DEVICE_BF16);
	near("a vector", 1000, DEVICE_F32);
	not_finite();
	pieces();
	words();
	gpu->ops->free(gpu, there);
	gpu->ops->close(gpu);
	ok(fake_cuda_in_use() == 0, "nothing is left allocated");
	return tap_done();
}
