/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec: how near the loops of libaccel come to the speed of memory.
 *
 *	vec [MILLIONS [ROUNDS]]		elements an array (8), rounds (40)
 *
 * Beside each loop, in turns, runs one that reads and writes the same arrays
 * and does next to no arithmetic, as STREAM's do.  A ratio is the peer's best
 * time by ours: 100 % is the speed of memory.  One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "runtime/train/vec.h"

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(VEC_PLAIN) && \
    (!defined(__clang__) || __clang_major__ >= 18)
#define CLONES __attribute__((noinline, \
    target_clones("default", "avx2", "avx512f")))
#else
#define CLONES __attribute__((noinline))
#endif

static float *p, *g, *m, *v;
static uint16_t *h;
static uint8_t *b;
static size_t n;
static volatile double sink;

/* ---- peers: what moves as many bytes ------------------------------------- */

CLONES static void
peer_adam(float *restrict x, const float *restrict y, float *restrict z,
    float *restrict w, size_t len)
{
#pragma omp simd
	for (size_t i = 0; i < len; i++) {
		float a = y[i];

		x[i] += a;
		z[i] += a;
		w[i] += a;
	}
}

CLONES static void
peer_adam_half(float *restrict x, const float *restrict y, float *restrict z,
    float *restrict w, uint16_t *restrict to, size_t len)
{
	const uint16_t *u = (const void *)y;

#pragma omp simd
	for (size_t i = 0; i < len; i++) {
		float a = y[i];

		x[i] += a;
		z[i] += a;
		w[i] += a;
		to[i] = u[2 * i] | u[2 * i + 1];
	}
}

CLONES static void
peer_momentum(float *restrict x, const float *restrict y, float *restrict z,
    size_t len)
{
#pragma omp simd
	for (size_t i = 0; i < len; i++) {
		x[i] += y[i];
		z[i] += y[i];
	}
}

CLONES static void
peer_add(float *restrict x, const float *restrict y, size_t len)
{
#pragma omp simd
	for (size_t i = 0; i < len; i++)
		x[i] += y[i];
}

CLONES static void
peer_scale(float *x, size_t len)
{
#pragma omp simd
	for (size_t i = 0; i < len; i++)
		x[i] *= 0.5f;
}

CLONES static float
peer_read(const float *x, size_t len)
{
	float sum = 0;

#pragma omp simd reduction(+:sum)
	for (size_t i = 0; i < len; i++)
		sum += x[i];
	return sum;
}

CLONES static void
peer_narrow(uint16_t *restrict to, const float *restrict x, size_t len)
{
	const uint16_t *u = (const void *)x;

#pragma omp simd
	for (size_t i = 0; i < len; i++)
		to[i] = u[2 * i] | u[2 * i + 1];
}

CLONES static void
peer_widen(uint32_t *restrict to, const uint16_t *restrict x, size_t len)
{
#pragma omp simd
	for (size_t i = 0; i < len; i++)
		to[i] = x[i];
}

CLONES static void
peer_byte(uint8_t *restrict to, const uint32_t *restrict x, size_t len)
{
#pragma omp simd
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)x[i];
}

static void
do_peer_adam(void)
{
	peer_adam(p, g, m, v, n);
}

static void
do_peer_adam_half(void)
{
	peer_adam_half(p, g, m, v, h, n);
}

static void
do_peer_momentum(void)
{
	peer_momentum(p, g, m, n);
}

static void
do_peer_add(void)
{
	peer_add(p, g, n);
}

static void
do_peer_scale(void)
{
	peer_scale(g, n);
}

static void
do_peer_read(void)
{
	sink = (double)peer_read(g, n);
}

static void
do_peer_narrow(void)
{
	peer_narrow(h, g, n);
}

static void
do_peer_widen(void)
{
	peer_widen((uint32_t *)(void *)p, h, n);
}

static void
do_peer_byte(void)
{
	peer_byte(b, (const uint32_t *)(const void *)g, n);
}

/* ---- ours ---------------------------------------------------------------- */

static void
do_adam(void)
{
	struct vec_adam c = { 0.1f, 0.999f, 0.001f, 1.5f, 1e-3f, 1e-8f,
	    0.99999f, 0 };

	vec_adam(p, g, m, v, n, &c);
}

static void
do_adam_half(void)
{
	accel_adamw_args o = ACCEL_ADAMW_INIT;
	accel_range r = { .n = n, .param = h, .master = p, .grad = g,
	    .state = { m, v }, .dtype = ACCEL_BF16 };

	accel_adamw(&o, &r, 1, 10);
}

static void
do_momentum(void)
{
	struct vec_sgd c = { 1e-3f, 0.01f, 0.9f, 1, 0 };

	vec_sgd_momentum(p, g, m, n, &c);
}

static void
do_lion(void)
{
	struct vec_lion c = { 1e-3f, 0.999f, 0.9f, 0.1f, 0.99f, 0.01f };

	vec_lion(p, g, m, n, &c);
}

static void
do_sgd(void)
{
	vec_sgd(p, g, n, 1e-3f, 0);
}

static void
do_scale(void)
{
	vec_scale(g, n, 0.5f);
}

static void
do_scale_sumsq(void)
{
	sink = vec_scale_sumsq(g, n, 0.5f);
}

static void
do_sumsq(void)
{
	sink = vec_sumsq(g, n);
}

static void
do_to_bf16(void)
{
	bf16_from_f32(h, g, n);
}

static void
do_from_bf16(void)
{
	bf16_to_f32(p, h, n);
}

static void
do_to_f16(void)
{
	f16_from_f32(h, g, n);
}

static void
do_from_f16(void)
{
	f16_to_f32(p, h, n);
}

static void
do_to_e4m3(void)
{
	sink = (double)vec_fp8(b, g, n, 2, 0);
}

static const struct {
	const char *name;
	void (*ours)(void), (*peer)(void);
	int bytes;		/* read and written, an element */
} loop[] = {
	{ "AdamW", do_adam, do_peer_adam, 28 },
	{ "AdamW, bf16", do_adam_half, do_peer_adam_half, 30 },
	{ "Lion", do_lion, do_peer_momentum, 20 },
	{ "SGD, momentum", do_momentum, do_peer_momentum, 20 },
	{ "SGD", do_sgd, do_peer_add, 12 },
	{ "unscale + norm", do_scale_sumsq, do_peer_scale, 8 },
	{ "norm", do_sumsq, do_peer_read, 4 },
	{ "scale", do_scale, do_peer_scale, 8 },
	{ "f32 to bf16", do_to_bf16, do_peer_narrow, 6 },
	{ "bf16 to f32", do_from_bf16, do_peer_widen, 6 },
	{ "f32 to f16", do_to_f16, do_peer_narrow, 6 },
	{ "f16 to f32", do_from_f16, do_peer_widen, 6 },
	{ "f32 to e4m3", do_to_e4m3, do_peer_byte, 5 },
};

static double
seconds(void (*fn)(void))
{
	struct timespec a, z;

	clock_gettime(CLOCK_MONOTONIC, &a);
	fn();
	clock_gettime(CLOCK_MONOTONIC, &z);
	return (double)(z.tv_sec - a.tv_sec) +
	    1e-9 * (double)(z.tv_nsec - a.tv_nsec);
}

/* Gradients stay what they were, so that no round meets other numbers. */
static void
fill(void)
{
	for (size_t i = 0; i < n; i++) {
		g[i] = (float)((int)(i * 7919 % 2001) - 1000) / 1000;
		p[i] = g[n - 1 - i];
		m[i] = v[i] = 1e-3f;
		h[i] = bf16_of(g[i]);
	}
}

int
main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 40;

	n = (size_t)(argc > 1 ? strtol(argv[1], NULL, 10) : 8) << 20;
	p = malloc(n * sizeof(*p));
	g = malloc(n * sizeof(*g));
	m = malloc(n * sizeof(*m));
	v = malloc(n * sizeof(*v));
	h = malloc(n * sizeof(*h));
	b = malloc(n);
	if (p == NULL || g == NULL || m == NULL || v == NULL || h == NULL ||
	    b == NULL) {
		fprintf(stderr, "vec: no memory for %zu elements\n", n);
		return 1;
	}
	memset(b, 0, n);
	printf("%-16s %8s %8s %6s\n", "", "GB/s", "memory", "ratio");
	for (size_t k = 0; k < sizeof(loop) / sizeof(*loop); k++) {
		double ours = 1e9, peer = 1e9, t, gb;

		gb = 1e-9 * (double)n * loop[k].bytes;
		fill();
		for (int i = 0; i < rounds; i++) {
			t = seconds(loop[k].peer);
			peer = t < peer ? t : peer;
			t = seconds(loop[k].ours);
			ours = t < ours ? t : ours;
		}
		printf("%-16s %8.1f %8.1f %4.0f %%\n", loop[k].name, gb / ours,
		    gb / peer, 100 * peer / ours);
	}
	free(p);
	free(g);
	free(m);
	free(v);
	free(h);
	free(b);
	return 0;
}
