/* SPDX-License-Identifier: Apache-2.0 */
/* optim_lion: the sign of a momentum. */
#include "runtime/train/optim.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

static void
update(const struct piece *x, const void *c)
{
	vec_lion(x->p, x->g, x->state[0], x->n, c);
}

accel_status
accel_lion(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_lion_args *o = args;
	accel_status st;

	(void)step;
	for (int k = 0; k < nrange; k++, r++) {
		double lr = optim_lr(r, o->lr);
		struct vec_lion c = {
			.lr = (float)lr,
			.keep = (float)(1 - lr *
			    optim_decay(r, o->weight_decay)),
			.beta1 = (float)o->beta1,
			.one_less_beta1 = (float)(1 - o->beta1),
			.beta2 = (float)o->beta2,
			.one_less_beta2 = (float)(1 - o->beta2),
		};

		if ((st = optim_check("accel_lion", r, 1)) != ACCEL_OK)
			return st;
		optim_each(r, update, &c);
	}
	return ACCEL_OK;
}
