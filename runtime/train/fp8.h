/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp8: the two 8-bit floats of arXiv:2209.05433, table 1.
 *
 *	E4M3	1 sign, 4 exponent, 3 mantissa bits, bias 7; S.1111.111 is NaN
 *		and there is no infinity
 *	E5M2	1 sign, 5 exponent, 2 mantissa bits, bias 15; as IEEE 754
 */
#ifndef RUNTIME_TRAIN_FP8_H
#define RUNTIME_TRAIN_FP8_H

#include <stdint.h>
#include <string.h>

struct fp8_params {
	uint32_t mantissa, bias;
	uint32_t most;		/* code of the largest number */
	float	 magic;		/* 2^23 times the smallest number: added to a
				   subnormal, it leaves the code in the sum's
				   last bits, rounded by the processor */
};

#define FP8_E4M3 ((struct fp8_params){ 3, 7, 0x7e, 0x1p14f })
#define FP8_E5M2 ((struct fp8_params){ 2, 15, 0x7b, 0x1p7f })

static inline uint32_t
fp8_bits(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static inline float
fp8_float(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

/* Without branches, so that loops of it become vectors. */
static inline uint32_t
fp8_code(const struct fp8_params p, float x, int saturate)
{
	uint32_t bits = fp8_bits(x), sign = bits >> 24 & 0x80;
	uint32_t u = bits & 0x7fffffff, drop = 23 - p.mantissa, normal, small;
	uint32_t code, over = saturate ? p.most : p.most + 1;

	small = fp8_bits(fp8_float(u) + p.magic) - fp8_bits(p.magic);
	normal = (u + (u >> drop & 1) - ((127 - p.bias) << 23) +
	    (1u << (drop - 1)) - 1) >> drop;
	code = u < (128 - p.bias) << 23 ? small : normal;
	code = code > p.most ? over : code;
	code = u > 0x7f800000 ? 0x7f : code;
	return sign | code;
}

static inline float
fp8_value(const struct fp8_params p, uint32_t code)
{
	uint32_t sign = (code & 0x80) << 24, u = code & 0x7f;
	uint32_t e = u >> p.mantissa, m = u & ((1u << p.mantissa) - 1);

	if (u > p.most)		/* E5M2 0x7c is the only one that is no NaN */
		return fp8_float(sign | (u == 0x7c ? 0x7f800000 : 0x7fc00000));
	if (e == 0)
		return fp8_float(sign |
		    fp8_bits((float)m * p.magic * 0x1p-23f));
	return fp8_float(sign | (e + 127 - p.bias) << 23 |
	    m << (23 - p.mantissa));
}
#endif
