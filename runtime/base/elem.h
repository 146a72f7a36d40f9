/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elem: what the loops over arrays do to one element.
 *
 * Written once for the loops of the CPU (runtime/train/vec.c) and for the
 * kernels of GPUs (runtime/device/cuda_kernels.cu).  Every operation is one of
 * IEEE 754 and rounded by itself, as long as the compiler contracts no product
 * into a sum (-ffp-contract=off, -fmad=false): the same bits on both, but for
 * which NaN a NaN is.
 */
#ifndef RUNTIME_BASE_ELEM_H
#define RUNTIME_BASE_ELEM_H

#include <math.h>

#include "runtime/base/half.h"

#define ELEM static inline ON_DEVICE

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

ELEM void
elem_adam(float *p, float g, float *m, float *v, const struct vec_adam *k)
{
	float d = g + k->l2 * *p;
	float mi = *m + (d - *m) * k->one_less_beta1;
	float vi = *v * k->beta2 + d * d * k->one_less_beta2;

	*m = mi;
	*v = vi;
	*p = *p * k->keep - k->step * (mi / (sqrtf(vi) * k->fix2 + k->eps));
}

/* p -= lr * (g + decay * p) */
ELEM void
elem_sgd(float *p, float g, float lr, float decay)
{
	*p -= lr * (g + decay * *p);
}

/* d = g + decay * p;  m = m * momentum + d * undamped;
 * p -= lr * (nesterov ? d + momentum * m : m) */
struct vec_sgd {
	float lr, decay, momentum, undamped;
	int nesterov;
};

ELEM void
elem_sgd_momentum(float *p, float g, float *m, const struct vec_sgd *k)
{
	/* m, or d + momentum * m, without a branch in the loop. */
	const float of_d = k->nesterov ? 1.0f : 0.0f;
	const float of_m = k->nesterov ? k->momentum : 1.0f;
	float d = g + k->decay * *p;
	float mi = *m * k->momentum + d * k->undamped;

	*m = mi;
	*p -= k->lr * (of_d * d + of_m * mi);
}

/* p = p * keep - lr * sign(m * beta1 + g * one_less_beta1);
 * m = m * beta2 + g * one_less_beta2 */
struct vec_lion {
	float lr, keep, beta1, one_less_beta1, beta2, one_less_beta2;
};

ELEM void
elem_lion(float *p, float g, float *m, const struct vec_lion *k)
{
	float u = *m * k->beta1 + g * k->one_less_beta1;
	float sign = (u > 0 ? 1.0f : 0.0f) - (u < 0 ? 1.0f : 0.0f);

	*m = *m * k->beta2 + g * k->one_less_beta2;
	*p = *p * k->keep - k->lr * sign;
}

/* To [-most, most]; a NaN stays. */
ELEM float
elem_clamp(float x, float most)
{
	return x > most ? most : x < -most ? -most : x;
}

ELEM double
elem_clamp_f64(double x, double most)
{
	return x > most ? most : x < -most ? -most : x;
}

ELEM double
elem_square(float x)
{
	return (double)x * (double)x;
}

/* Adafactor: v += (g * g - v) * weight */
ELEM float
elem_lerp_square(float v, float g, float weight)
{
	return v + (g * g - v) * weight;
}

/* g / sqrt(max(row * col, least)) */
ELEM float
elem_factored(float g, float col, float row, float least)
{
	float v = row * col;

	return g / sqrtf(v > least ? v : least);
}

/* A mean of squares moved towards sum / n. */
ELEM float
elem_lerp_mean(float mean, double sum, size_t n, double weight)
{
	return mean + (float)((sum / (double)n - (double)mean) * weight);
}

/* 1 / (sum / n), where that is not less than eps. */
ELEM double
elem_over_mean(double sum, size_t n, float eps)
{
	double mean = sum / (double)n;

	return 1 / (mean > (double)eps ? mean : (double)eps);
}

ELEM float
elem_row_factor(float row, double scale)
{
	return (float)((double)row * scale);
}

/* The step: the rms of p (at least eps2) times the rate, and less where the rms
 * of the update is more than d.  From the sums of both's squares. */
ELEM float
elem_adafactor_step(double p, double update, size_t n, double eps2, double d,
    double rate)
{
	double rms = sqrt(p / (double)n), alpha = rms > eps2 ? rms : eps2;

	rms = sqrt(update / (double)n) / d;
	return (float)(alpha * rate / (rms > 1 ? rms : 1));
}
#endif
