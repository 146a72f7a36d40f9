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
	uint32_t mantissa;	/* bits */
	uint32_t least;		/* exponent field of the smallest normal, as a
				   binary32's bits */
	uint32_t beyond;	/* bits of a power of 2 that is too large */
	uint32_t most;		/* code of the largest number */
	uint32_t largest;	/* that number, 448 or 57344, as bits */
};

#define FP8_E4M3 ((struct fp8_params){ 3, 121u << 23, 136u << 23, 0x7e, \
	0x43e00000 })
#define FP8_E5M2 ((struct fp8_params){ 2, 113u << 23, 143u << 23, 0x7b, \
	0x47600000 })

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

/*
 * Without branches, so that loops of it become vectors.  The processor rounds:
 * in the sum of x and a power of two that is larger by 23 - mantissa bits, the
 * last bits are x's mantissa (with its first bit) in 8-bit precision.  Below the
 * smallest normal the power stays, and they are the subnormal's.
 */
static inline uint32_t
fp8_code(const struct fp8_params p, float x, int saturate)
{
	uint32_t bits = fp8_bits(x), sign = bits >> 24 & 0x80;
	uint32_t u = bits & 0x7fffffff, drop = 23 - p.mantissa;
	uint32_t over = saturate ? p.most : p.most + 1, power, code;
	uint32_t v = u < p.beyond ? u : p.beyond;

	power = v & 0x7f800000;
	power = power > p.least ? power : p.least;
	code = fp8_bits(fp8_float(v) + fp8_float(power + (drop << 23))) -
	    (power + (drop << 23)) + ((power - p.least) >> drop);
	code = code > p.most ? over : code;
	code = u > 0x7f800000 ? 0x7f : code;
	return sign | code;
}

/* The same, saturated, of what is no NaN: a third fewer operations. */
static inline uint32_t
fp8_code_of_number(const struct fp8_params p, float x)
{
	uint32_t bits = fp8_bits(x), sign = bits >> 24 & 0x80;
	uint32_t u = bits & 0x7fffffff, drop = 23 - p.mantissa, power;
	uint32_t v = u < p.largest ? u : p.largest;

	power = v & 0x7f800000;
	power = power > p.least ? power : p.least;
	return sign | (fp8_bits(fp8_float(v) +
	    fp8_float(power + (drop << 23))) + ((power >> drop) - power) -
	    ((drop << 23) + (p.least >> drop)));
}

static inline float
fp8_value(const struct fp8_params p, uint32_t code)
{
	uint32_t sign = (code & 0x80) << 24, u = code & 0x7f;
	uint32_t e = u >> p.mantissa, m = u & ((1u << p.mantissa) - 1);

	if (u > p.most)		/* E5M2 0x7c is the only one that is no NaN */
		return fp8_float(sign | (u == 0x7c ? 0x7f800000 : 0x7fc00000));
	if (e == 0)		/* the smallest normal has e 1 and m 0 */
		return fp8_float(sign | fp8_bits((float)m *
		    fp8_float(p.least - (p.mantissa << 23))));
	return fp8_float(sign | (p.least + ((e - 1) << 23)) |
	    m << (23 - p.mantissa));
}
#endif
