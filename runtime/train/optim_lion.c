/* SPDX-License-Identifier: Apache-2.0 */
/* optim_lion: the sign of a momentum. */
#include "runtime/train/optim.h"

#include "runtime/base/banned.h"

accel_status
accel_lion(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_lion_args *o = args;
	struct mem host, *m;
	struct mem_update u;
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
		u = optim_update(r);
		m = optim_mem(r, &host);
		m->ops->lion(m, &u, &c);
	}
	return ACCEL_OK;
}
