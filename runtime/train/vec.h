/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec: loops over arrays of floats, at the speed of memory.
 *
 * Each is compiled for several generations of x86 and the one for this CPU
 * taken when the library is loaded.  The bits of a result do not depend on
 * which: every element's operations are those of the source, in its order,
 * rounded one by one (no product is contracted into a sum), and sums go over
 * VEC_LANES fixed lanes.  Arrays do not overlap, and need no alignment.
 */
#ifndef RUNTIME_TRAIN_VEC_H
#define RUNTIME_TRAIN_VEC_H

#include <stddef.h>
#include <stdint.h>

#define VEC_LANES 16

/* One step of Adam; g' = g + l2 * p.
 *	m += (g' - m) * one_less_beta1
 *	v = v * beta2 + g' * g' * one_less_beta2
 *	p = p * keep - step * (m / (sqrt(v) * fix2 + eps)) */
struct vec_adam {
	float one_less_beta1, beta2, one_less_beta2;
	float fix2;		/* 1 / sqrt(1 - beta2^t) */
	float step;		/* lr / (1 - beta1^t) */
	float eps, keep, l2;
};
void vec_adam(float *p, const float *g, float *m, float *v, size_t n,
    const struct vec_adam *c);

/* p -= lr * (g + decay * p) */
void vec_sgd(float *p, const float *g, size_t n, float lr, float decay);

/* d = g + decay * p;  m = m * momentum + d * undamped;
 * p -= lr * (nesterov ? d + momentum * m : m) */
struct vec_sgd {
	float lr, decay, momentum, undamped;
	int nesterov;
};
void vec_sgd_momentum(float *p, const float *g, float *m, size_t n,
    const struct vec_sgd *c);

/* p = p * keep - lr * sign(m * beta1 + g * one_less_beta1);
 * m = m * beta2 + g * one_less_beta2 */
struct vec_lion {
	float lr, keep, beta1, one_less_beta1, beta2, one_less_beta2;
};
void vec_lion(float *p, const float *g, float *m, size_t n,
    const struct vec_lion *c);

/* x *= by */
void vec_scale(float *x, size_t n, float by);
/* x += y */
void vec_add(float *x, const float *y, size_t n);
/* To [-most, most]; a NaN stays. */
void vec_clamp(float *x, size_t n, float most);
/* The sum of squares, in double. */
double vec_sumsq(const float *x, size_t n);
/* Both in one pass: the sum of the scaled ones' squares.  It is finite exactly
 * where all of them are, since a double holds any sum of floats' squares. */
double vec_scale_sumsq(float *x, size_t n, float by);
/* Codes of x * scale, saturated, of the format that "e5m2" says.  The largest
 * |x| that is a number, 0 for none. */
float vec_fp8(uint8_t *code, const float *x, size_t n, float scale, int e5m2);

/* Adafactor's parts.  sum += x * x, and all of x * x together. */
double vec_add_squares(double *sum, const float *x, size_t n);
/* v += (g * g - v) * weight */
void vec_lerp_squares(float *v, const float *g, size_t n, float weight);
/* u = g / sqrt(max(row * col, least)), a row's factor and each column's.  The
 * sum of squares of u. */
double vec_factored_sumsq(const float *g, const float *col, size_t n,
    float row, float least);
/* p = p * keep - step * u */
void vec_factored(float *p, const float *g, const float *col, size_t n,
    float row, float least, float keep, float step);
#endif
