/* SPDX-License-Identifier: Apache-2.0 */
/* vec: loops over arrays of floats. */
#include "runtime/train/vec.h"

#include <float.h>

#include "runtime/train/fp8.h"

#include "runtime/base/banned.h"

/*
 * Resolvers of clones run before a sanitizer has started, and crash under it;
 * before version 18 clang gives clones a name that other files do not find.
 * Elsewhere than on x86 the compiler's default has vectors already.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(VEC_PLAIN) && \
    (!defined(__clang__) || __clang_major__ >= 18)
#define CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
/* Where bytes are written: AVX-512F has none of them, and its mixture with AVX2
 * is a tenth slower than AVX2. */
#define CLONES_OF_BYTES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES
#define CLONES_OF_BYTES
#endif

CLONES void
vec_adam(float *restrict p, const float *restrict g, float *restrict m,
    float *restrict v, size_t n, const struct vec_adam *c)
{
	const struct vec_adam k = *c;

#pragma omp simd
	for (size_t i = 0; i < n; i++)
		elem_adam(&p[i], g[i], &m[i], &v[i], &k);
}

CLONES void
vec_sgd(float *restrict p, const float *restrict g, size_t n, float lr,
    float decay)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		elem_sgd(&p[i], g[i], lr, decay);
}

CLONES void
vec_sgd_momentum(float *restrict p, const float *restrict g,
    float *restrict m, size_t n, const struct vec_sgd *c)
{
	const struct vec_sgd k = *c;

#pragma omp simd
	for (size_t i = 0; i < n; i++)
		elem_sgd_momentum(&p[i], g[i], &m[i], &k);
}

CLONES void
vec_lion(float *restrict p, const float *restrict g, float *restrict m,
    size_t n, const struct vec_lion *c)
{
	const struct vec_lion k = *c;

#pragma omp simd
	for (size_t i = 0; i < n; i++)
		elem_lion(&p[i], g[i], &m[i], &k);
}

CLONES void
vec_scale(float *x, size_t n, float by)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		x[i] *= by;
}

/* The lanes in one order, then what did not fill a row of lanes. */
static double
fold(const double *lane)
{
	double half[VEC_LANES];

	for (int k = 0; k < VEC_LANES; k++)
		half[k] = lane[k];
	for (int n = VEC_LANES / 2; n > 0; n /= 2)
		for (int k = 0; k < n; k++)
			half[k] += half[k + n];
	return half[0];
}

CLONES void
vec_add(float *restrict x, const float *restrict y, size_t n)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
}

CLONES void
vec_clamp(float *x, size_t n, float most)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		x[i] = elem_clamp(x[i], most);
}

CLONES double
vec_sumsq(const float *x, size_t n)
{
	double lane[VEC_LANES] = { 0 }, rest = 0;
	size_t i = 0;

	for (; i + VEC_LANES <= n; i += VEC_LANES)
#pragma omp simd
		for (int k = 0; k < VEC_LANES; k++)
			lane[k] += elem_square(x[i + k]);
	for (; i < n; i++)
		rest += elem_square(x[i]);
	return fold(lane) + rest;
}

CLONES double
vec_scale_sumsq(float *x, size_t n, float by)
{
	double lane[VEC_LANES] = { 0 }, rest = 0;
	size_t i = 0;

	for (; i + VEC_LANES <= n; i += VEC_LANES)
#pragma omp simd
		for (int k = 0; k < VEC_LANES; k++) {
			float y = x[i + k] * by;

			x[i + k] = y;
			lane[k] += elem_square(y);
		}
	for (; i < n; i++) {
		x[i] *= by;
		rest += elem_square(x[i]);
	}
	return fold(lane) + rest;
}

/* Rare: the largest where there are NaNs. */
static uint32_t
largest_number(const float *x, size_t n)
{
	uint32_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = fp8_bits(x[i]) & 0x7fffffff;

		if (bits <= 0x7f800000 && bits > most)
			most = bits;
	}
	return most;
}

/*
 * Of numbers without a sign the bits compare as the numbers do, and NaN is
 * above all.  Codes are made in 32 bits and narrowed apart: with both in one
 * loop GCC 12 takes the narrowest vectors.
 */
#define FP8_BLOCK 1024
#define FP8_LOOP(params)						\
	_Pragma("omp simd reduction(max:here)")				\
	for (size_t i = 0; i < len; i++) {				\
		uint32_t bits = fp8_bits(x[at + i]) & 0x7fffffff;	\
									\
		here = bits > here ? bits : here;			\
		wide[i] = fp8_code_of_number(params, x[at + i] * scale); \
	}

CLONES_OF_BYTES float
vec_fp8(uint8_t *restrict code, const float *restrict x, size_t n,
    float scale, int e5m2)
{
	const struct fp8_params p = e5m2 ? FP8_E5M2 : FP8_E4M3;
	const int sane = scale > 0 && scale <= FLT_MAX;
	uint32_t wide[FP8_BLOCK], most = 0;

	for (size_t at = 0, len; at < n; at += len) {
		uint32_t here = 0;

		len = n - at < FP8_BLOCK ? n - at : FP8_BLOCK;
		if (e5m2)
			FP8_LOOP(FP8_E5M2)
		else
			FP8_LOOP(FP8_E4M3)
		if (here > 0x7f800000 || !sane)		/* products may be NaN */
			for (size_t i = 0; i < len; i++)
				wide[i] = fp8_code(p, x[at + i] * scale, 1);
#pragma omp simd
		for (size_t i = 0; i < len; i++)
			code[at + i] = (uint8_t)wide[i];
		most = here > most ? here : most;
	}
	return fp8_float(most > 0x7f800000 ? largest_number(x, n) : most);
}

CLONES double
vec_add_squares(double *restrict sum, const float *restrict x, size_t n)
{
	double lane[VEC_LANES] = { 0 }, rest = 0;
	size_t i = 0;

	for (; i + VEC_LANES <= n; i += VEC_LANES)
#pragma omp simd
		for (int k = 0; k < VEC_LANES; k++) {
			double y = elem_square(x[i + k]);

			sum[i + k] += y;
			lane[k] += y;
		}
	for (; i < n; i++) {
		sum[i] += elem_square(x[i]);
		rest += elem_square(x[i]);
	}
	return fold(lane) + rest;
}

CLONES void
vec_lerp_squares(float *restrict v, const float *restrict g, size_t n,
    float weight)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		v[i] = elem_lerp_square(v[i], g[i], weight);
}

CLONES double
vec_factored_sumsq(const float *restrict g, const float *restrict col,
    size_t n, float row, float least)
{
	double lane[VEC_LANES] = { 0 }, rest = 0;
	size_t i = 0;

	for (; i + VEC_LANES <= n; i += VEC_LANES)
#pragma omp simd
		for (int k = 0; k < VEC_LANES; k++) {
			float u = elem_factored(g[i + k], col[i + k], row,
			    least);

			lane[k] += elem_square(u);
		}
	for (; i < n; i++)
		rest += elem_square(elem_factored(g[i], col[i], row, least));
	return fold(lane) + rest;
}

CLONES void
vec_factored(float *restrict p, const float *restrict g,
    const float *restrict col, size_t n, float row, float least, float keep,
    float step)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		p[i] = p[i] * keep -
		    step * elem_factored(g[i], col[i], row, least);
}
