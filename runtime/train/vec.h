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

#include "runtime/base/elem.h"

#define VEC_LANES 16

/* Optimizers: elem.h has their formulas. */
void vec_adam(float *p, const float *g, float *m, float *v, size_t n,
    const struct vec_adam *c);

void vec_sgd(float *p, const float *g, size_t n, float lr, float decay);

void vec_sgd_momentum(float *p, const float *g, float *m, size_t n,
    const struct vec_sgd *c);

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
