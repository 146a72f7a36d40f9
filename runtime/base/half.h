/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half: the two 16-bit floating types, as bits in a uint16_t.
 *
 *	f16	IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits
 *	bf16	the upper half of a binary32
 *
 * To 16 bits they round to nearest, ties to even; what is too large becomes an
 * infinity; a NaN stays one (made quiet, its payload cut).  To 32 bits they are
 * exact.  The bits are the same on every processor, with and without vector
 * instructions.  Counts are in elements; arrays may not overlap.
 */
#ifndef RUNTIME_BASE_HALF_H
#define RUNTIME_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What nvcc compiles for the GPU as well. */
#ifdef __CUDACC__
#define ON_DEVICE __host__ __device__
#else
#define ON_DEVICE
#endif

void bf16_from_f32(uint16_t *to, const float *from, size_t n);
void bf16_to_f32(float *to, const uint16_t *from, size_t n);
void f16_from_f32(uint16_t *to, const float *from, size_t n);
void f16_to_f32(float *to, const uint16_t *from, size_t n);

/* sum[i] += with[i], each sum rounded: what a reduction in 16 bits does. */
void bf16_add(uint16_t *sum, const uint16_t *with, size_t n);
void f16_add(uint16_t *sum, const uint16_t *with, size_t n);
/* The same of whole floats, for reductions that take one of these three. */
void f32_add(float *sum, const float *with, size_t n);

/* As above without vector instructions: what tests compare with. */
void bf16_from_f32_plain(uint16_t *to, const float *from, size_t n);
void f16_from_f32_plain(uint16_t *to, const float *from, size_t n);
void f16_to_f32_plain(float *to, const uint16_t *from, size_t n);

static inline ON_DEVICE uint32_t
half_bits(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static inline ON_DEVICE float
half_float(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

static inline ON_DEVICE uint16_t
bf16_of(float x)
{
	uint32_t u = half_bits(x);

	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline ON_DEVICE float
bf16_value(uint16_t h)
{
	return half_float((uint32_t)h << 16);
}

static inline ON_DEVICE uint16_t
f16_of(float x)
{
	uint32_t u = half_bits(x), sign = u >> 16 & 0x8000, at;

	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x3ff));
	if (u >= 0x477ff000)		/* rounds past 65504 */
		return (uint16_t)(sign | 0x7c00);
	if (u < 0x33000000)		/* under half of the smallest */
		return (uint16_t)sign;
	if (u < 0x38800000) {		/* subnormal: its unit is 2^-24 */
		uint32_t m = (u & 0x7fffff) | 0x800000, half, rest;

		at = 126 - (u >> 23);	/* 14 .. 24 bits to drop */
		half = 1u << (at - 1);
		rest = m & ((1u << at) - 1);
		m >>= at;
		return (uint16_t)(sign | (m + (rest > half ||
		    (rest == half && (m & 1)))));
	}
	u += 0xc8000000 + 0xfff + (u >> 13 & 1);	/* bias 127 to 15 */
	return (uint16_t)(sign | u >> 13);
}

static inline ON_DEVICE float
f16_value(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31;
	uint32_t m = h & 0x3ff;

	if (e == 31)
		return half_float(sign | 0x7f800000 | m << 13 |
		    (m ? 0x400000 : 0));
	if (e != 0)
		return half_float(sign | (e + 112) << 23 | m << 13);
	/* Subnormal: m * 2^-24, exactly. */
	return half_float(sign | half_bits((float)m * 0x1p-24f));
}
#endif
