/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optim_adafactor: the second moment of a matrix as the means of its rows and
 * its columns.
 *
 * A tensor of more axes is a stack of matrices of the last two.  The state has
 * the row means of all of them, then their column means.  A vector has one
 * element of state for each of its own.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/train/optim.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

struct job {
	const accel_range *r;
	size_t	 nmat, rows, cols;	/* a vector: one row */
	float	*row, *col;		/* means; row NULL: a vector */
	double	*sum;			/* "cols" long */
	double	 weight;		/* of this step's squares */
	float	 eps1;
};

/* Moves the state on, and puts 1 / (mean of the row means) into "scale". */
static double
measure_matrix(const struct job *j, size_t mat)
{
	float *row = j->row + mat * j->rows, *col = j->col + mat * j->cols;
	double mean = 0;

	for (size_t c = 0; c < j->cols; c++)
		j->sum[c] = 0;
	for (size_t i = 0; i < j->rows; i++) {
		double sum = vec_add_squares(j->sum, (float *)j->r->grad +
		    (mat * j->rows + i) * j->cols, j->cols);

		row[i] += (float)((sum / (double)j->cols - (double)row[i]) *
		    j->weight);
		mean += (double)row[i];
	}
	for (size_t c = 0; c < j->cols; c++)
		col[c] += (float)((j->sum[c] / (double)j->rows -
		    (double)col[c]) * j->weight);
	mean /= (double)j->rows;
	return 1 / (mean > (double)j->eps1 ? mean : (double)j->eps1);
}

struct apply {
	float keep, step;
};

/* The sum of squares of the update; with "to" it is made. */
static double
update(const struct job *j, const double *scale, const struct apply *to)
{
	float least = j->eps1 * j->eps1;
	double sum = 0;

	for (size_t i = 0; i < j->nmat * j->rows; i++) {
		size_t mat = i / j->rows;
		const float *col = j->col + mat * j->cols;
		struct piece x = optim_open(j->r, i * j->cols, j->cols);
		float row = j->row == NULL ? 1 :
		    (float)((double)j->row[i] * scale[mat]);

		if (to == NULL) {
			sum += vec_factored_sumsq(x.g, col, x.n, row, least);
			continue;
		}
		vec_factored(x.p, x.g, col, x.n, row, least, to->keep,
		    to->step);
		optim_close(j->r, i * j->cols, &x);
	}
	return sum;
}

static accel_status
one(const accel_adafactor_args *o, const accel_range *r, int64_t step)
{
	struct job j = { .r = r, .nmat = 1, .rows = 1, .cols = r->n,
	    .weight = pow((double)step, o->beta2_decay),
	    .eps1 = o->eps1 > 0 ? (float)o->eps1 : FLT_EPSILON };
	double lr = optim_lr(r, o->lr), n = (double)r->n, rms, alpha;
	double *scale;
	struct apply to = {
		.keep = (float)(1 - lr * optim_decay(r, o->weight_decay)),
	};

	j.col = r->state[0];
	if (r->ndim >= 2) {
		j.rows = (size_t)r->shape[r->ndim - 2];
		j.cols = (size_t)r->shape[r->ndim - 1];
		j.nmat = r->n / j.rows / j.cols;
		j.row = j.col;
		j.col += j.nmat * j.rows;
	}
	scale = malloc((j.nmat + j.cols) * sizeof(*scale));
	if (scale == NULL)
		return accel__fail(ACCEL_ENOMEM, "accel_adafactor: no memory "
		    "for %zu sums of %s", j.cols, r->name);
	j.sum = scale + j.nmat;
	rms = sqrt(vec_sumsq(optim_open(r, 0, r->n).p, r->n) / n);
	alpha = (rms > o->eps2 ? rms : o->eps2) *
	    fmin(lr, 1 / sqrt((double)step));
	if (j.row == NULL)
		vec_lerp_squares(j.col, r->grad, r->n, (float)j.weight);
	else
		for (size_t m = 0; m < j.nmat; m++)
			scale[m] = measure_matrix(&j, m);
	rms = sqrt(update(&j, scale, NULL) / n) / o->d;
	to.step = (float)(alpha / (rms > 1 ? rms : 1));
	update(&j, scale, &to);
	free(scale);
	return ACCEL_OK;
}

accel_status
accel_adafactor(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_adafactor_args *o = args;
	accel_status st;

	for (int k = 0; k < nrange; k++, r++) {
		size_t n = 1;

		if ((st = optim_check("accel_adafactor", r, 1)) != ACCEL_OK)
			return st;
		for (int i = 0; i < r->ndim; i++)
			n *= (size_t)r->shape[i];
		if (r->offset != 0 || r->n != n)
			return accel__fail(ACCEL_EINVAL, "accel_adafactor: "
			    "the range is %zu of the %zu elements of %s, and "
			    "its sums go over all", r->n, n, r->name);
		if ((st = one(o, r, step)) != ACCEL_OK)
			return st;
	}
	return ACCEL_OK;
}
