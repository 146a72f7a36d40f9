/* SPDX-License-Identifier: Apache-2.0 */
/* mem_host: the host's memory, and the loops of vec.h and half.h over it.
 * Nothing is put off, so nothing has to be waited for. */
#include "runtime/train/mem_host.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/half.h"
#include "runtime/device/device.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

#define PIECE 1024	/* elements: 4 KiB an array, all in L1 */

static int
host_failed(struct mem *m, struct err *err)
{
	(void)m, (void)err;
	return 0;
}

static void *
host_alloc(struct mem *m, size_t bytes)
{
	(void)m;
	return calloc(1, bytes);
}

static void
host_free(struct mem *m, void *p)
{
	(void)m;
	free(p);
}

static void
host_zero(struct mem *m, void *p, size_t bytes)
{
	(void)m;
	memset(p, 0, bytes);
}

static void
host_copy(struct mem *m, void *to, const void *from, size_t bytes)
{
	(void)m;
	memcpy(to, from, bytes);
}

static int
host_read(struct mem *m, void *host, const void *from, size_t bytes,
    struct err *err)
{
	(void)m, (void)err;
	memcpy(host, from, bytes);
	return 0;
}

static int
host_owns(struct mem *m, const void *p, struct err *err)
{
	(void)m;
	if (!mem_is_gpus(p))
		return 1;
	err_set(err, "in a GPU's memory");
	err_hint(err, "say so: config.memory = ACCEL_CUDA");
	return 0;
}

static void
host_narrow(struct mem *m, uint16_t *to, const float *from, size_t n,
    int type)
{
	(void)m;
	(type == DEVICE_F16 ? f16_from_f32 : bf16_from_f32)(to, from, n);
}

static void
host_widen(struct mem *m, float *to, const uint16_t *from, size_t n,
    int type)
{
	(void)m;
	(type == DEVICE_F16 ? f16_to_f32 : bf16_to_f32)(to, from, n);
}

static void
host_fold(struct mem *m, float *sum, const uint16_t *with, size_t n,
    int type)
{
	float part[PIECE];

	for (size_t i = 0, k; i < n; i += k) {
		k = n - i < PIECE ? n - i : PIECE;
		host_widen(m, part, with + i, k, type);
		vec_add(sum + i, part, k);
	}
}

static void
host_scale(struct mem *m, void *x, size_t n, int type, double by)
{
	double *d = x;

	(void)m;
	if (type == DEVICE_F32)
		vec_scale(x, n, (float)by);
	for (size_t i = 0; type == DEVICE_F64 && i < n; i++)
		d[i] *= by;
}

static void
host_divide(struct mem *m, void *x, size_t n, int type, int by)
{
	double *d = x;
	float *f = x;

	(void)m;
	for (size_t i = 0; i < n; i++) {
		if (type == DEVICE_F32)
			f[i] /= (float)by;
		else
			d[i] /= by;
	}
}

static void
host_clamp(struct mem *m, void *x, size_t n, int type, float most)
{
	double *d = x;

	(void)m;
	if (type == DEVICE_F32)
		vec_clamp(x, n, most);
	for (size_t i = 0; type == DEVICE_F64 && i < n; i++)
		d[i] = elem_clamp_f64(d[i], (double)most);
}

static void
host_sum_begin(struct mem *m, struct mem_sum *s)
{
	(void)m;
	*s = (struct mem_sum){ 0, 1 };
}

static double
sum_f64(double *x, size_t n, double by, int *finite)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		x[i] *= by;
		sum += x[i] * x[i];
		if (!isfinite(x[i]))
			*finite = 0;
	}
	return sum;
}

static void
host_sum_add(struct mem *m, struct mem_sum *s, void *x, size_t n, int type,
    double by)
{
	double sum;

	(void)m;
	if (type == DEVICE_F64)
		sum = sum_f64(x, n, by, &s->finite);
	else
		sum = by == 1 ? vec_sumsq(x, n) :
		    vec_scale_sumsq(x, n, (float)by);
	if (!isfinite(sum))
		s->finite = 0;
	s->sum += sum;
}

static int
host_sum_end(struct mem *m, struct mem_sum *s, struct err *err)
{
	(void)m, (void)s, (void)err;
	return 0;
}

/* ---- optimizers: piece by piece, rounded while still in the cache --------- */

static bool
next_piece(const struct mem_update *u, size_t *at, struct mem_update *x)
{
	*at += x->n;
	if (*at >= u->n)
		return false;
	x->n = u->n - *at < PIECE ? u->n - *at : PIECE;
	x->p = u->p + *at;
	x->g = u->g + *at;
	for (int k = 0; k < 2; k++)
		x->state[k] = u->state[k] != NULL ? u->state[k] + *at : NULL;
	return true;
}

static void
close_piece(const struct mem_update *u, size_t at, const struct mem_update *x)
{
	if (u->half != NULL)
		host_narrow(NULL, u->half + at, x->p, x->n, u->type);
}

#define EACH_PIECE(u, call) do {					\
	struct mem_update x = { .n = 0 };				\
	size_t at = 0;							\
									\
	while (next_piece(u, &at, &x)) {				\
		call;							\
		close_piece(u, at, &x);					\
	}								\
} while (0)

static void
host_adam(struct mem *m, const struct mem_update *u,
    const struct vec_adam *c)
{
	(void)m;
	EACH_PIECE(u, vec_adam(x.p, x.g, x.state[0], x.state[1], x.n, c));
}

static void
host_sgd(struct mem *m, const struct mem_update *u, const struct vec_sgd *c)
{
	(void)m;
	if (u->state[0] == NULL)
		EACH_PIECE(u, vec_sgd(x.p, x.g, x.n, c->lr, c->decay));
	else
		EACH_PIECE(u, vec_sgd_momentum(x.p, x.g, x.state[0], x.n, c));
}

static void
host_lion(struct mem *m, const struct mem_update *u,
    const struct vec_lion *c)
{
	(void)m;
	EACH_PIECE(u, vec_lion(x.p, x.g, x.state[0], x.n, c));
}

/* Moves the state of a matrix on; 1 / (mean of the row means). */
static double
measure_matrix(const struct mem_update *u, const struct mem_adafactor *c,
    size_t mat, double *sum)
{
	float *row = c->row + mat * c->rows, *col = c->col + mat * c->cols;
	double mean = 0;

	for (size_t k = 0; k < c->cols; k++)
		sum[k] = 0;
	for (size_t i = 0; i < c->rows; i++) {
		double all = vec_add_squares(sum, u->g +
		    (mat * c->rows + i) * c->cols, c->cols);

		row[i] = elem_lerp_mean(row[i], all, c->cols, c->weight);
		mean += (double)row[i];
	}
	for (size_t k = 0; k < c->cols; k++)
		col[k] = elem_lerp_mean(col[k], sum[k], c->rows, c->weight);
	return elem_over_mean(mean, c->rows, c->eps1);
}

/* The sum of squares of the update; with "to" it is made. */
static double
apply(const struct mem_update *u, const struct mem_adafactor *c,
    const double *scale, const float *step)
{
	float least = c->eps1 * c->eps1;
	double sum = 0;

	for (size_t i = 0; i < c->nmat * c->rows; i++) {
		size_t mat = i / c->rows, at = i * c->cols;
		const float *col = c->col + mat * c->cols;
		float row = c->row == NULL ? 1 :
		    elem_row_factor(c->row[i], scale[mat]);

		if (step == NULL) {
			sum += vec_factored_sumsq(u->g + at, col, c->cols, row,
			    least);
			continue;
		}
		vec_factored(u->p + at, u->g + at, col, c->cols, row, least,
		    c->keep, *step);
		if (u->half != NULL)
			host_narrow(NULL, u->half + at, u->p + at, c->cols,
			    u->type);
	}
	return sum;
}

static int
host_adafactor(struct mem *m, const struct mem_update *u,
    const struct mem_adafactor *c, struct err *err)
{
	double *scale = malloc((c->nmat + c->cols) * sizeof(*scale));
	double squares;
	float step;

	(void)m;
	if (scale == NULL)
		return err_nomem(err);
	squares = vec_sumsq(u->p, u->n);
	if (c->row == NULL)
		vec_lerp_squares(c->col, u->g, u->n, (float)c->weight);
	else
		for (size_t k = 0; k < c->nmat; k++)
			scale[k] = measure_matrix(u, c, k, scale + c->nmat);
	step = elem_adafactor_step(squares, apply(u, c, scale, NULL), u->n,
	    c->eps2, c->d, c->rate);
	apply(u, c, scale, &step);
	free(scale);
	return 0;
}

const struct mem_ops mem_host_ops = {
	.abi = MEM_ABI, .name = "host", .failed = host_failed,
	.owns = host_owns, .alloc = host_alloc, .free = host_free,
	.zero = host_zero, .copy = host_copy, .read = host_read,
	.write = host_read, .narrow = host_narrow, .widen = host_widen,
	.fold = host_fold, .scale = host_scale, .divide = host_divide,
	.clamp = host_clamp, .sum_begin = host_sum_begin,
	.sum_add = host_sum_add, .sum_end = host_sum_end, .adam = host_adam,
	.sgd = host_sgd, .lion = host_lion, .adafactor = host_adafactor,
};
