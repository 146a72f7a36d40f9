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

#include "runtime/train/optim.h"

#include "runtime/base/banned.h"

static accel_status
one(const accel_adafactor_args *o, const accel_range *r, int64_t step)
{
	double lr = optim_lr(r, o->lr);
	struct mem_adafactor c = { .nmat = 1, .rows = 1, .cols = r->n,
	    .col = r->state[0], .weight = pow((double)step, o->beta2_decay),
	    .eps1 = o->eps1 > 0 ? (float)o->eps1 : FLT_EPSILON,
	    .eps2 = o->eps2, .d = o->d,
	    .rate = fmin(lr, 1 / sqrt((double)step)),
	    .keep = (float)(1 - lr * optim_decay(r, o->weight_decay)) };
	struct mem_update u = optim_update(r);
	struct mem host, *m = optim_mem(r, &host);

	if (r->ndim >= 2) {
		c.rows = (size_t)r->shape[r->ndim - 2];
		c.cols = (size_t)r->shape[r->ndim - 1];
		c.nmat = r->n / c.rows / c.cols;
		c.row = c.col;
		c.col += c.nmat * c.rows;
	}
	if (m->ops->adafactor(m, &u, &c, accel__err()) != 0)
		return accel__fail(ACCEL_ENOMEM, "accel_adafactor: no memory "
		    "for the sums of %zu rows and %zu columns of %s",
		    c.nmat * c.rows, c.nmat * c.cols, r->name);
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
