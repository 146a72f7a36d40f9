/* SPDX-License-Identifier: Apache-2.0 */
/* optim_adam: Adam, with decay in the gradient or apart from it. */
#include <math.h>

#include "runtime/train/optim.h"

#include "runtime/base/banned.h"

static accel_status
step_all(const char *name, const accel_adamw_args *o, bool apart,
    const accel_range *r, int nrange, int64_t step)
{
	double fix1 = 1 - pow(o->beta1, (double)step);
	double fix2 = 1 - pow(o->beta2, (double)step);
	struct mem host, *m;
	struct mem_update u;
	accel_status st;

	for (int k = 0; k < nrange; k++, r++) {
		double lr = optim_lr(r, o->lr);
		double decay = optim_decay(r, o->weight_decay);
		struct vec_adam c = {
			.one_less_beta1 = (float)(1 - o->beta1),
			.beta2 = (float)o->beta2,
			.one_less_beta2 = (float)(1 - o->beta2),
			.fix2 = (float)(1 / sqrt(fix2)),
			.step = (float)(lr / fix1),
			.eps = (float)o->eps,
			.keep = apart ? (float)(1 - lr * decay) : 1,
			.l2 = apart ? 0 : (float)decay,
		};

		if ((st = optim_check(name, r, 2)) != ACCEL_OK)
			return st;
		u = optim_update(r);
		m = optim_mem(r, &host);
		m->ops->adam(m, &u, &c);
	}
	return ACCEL_OK;
}

accel_status
accel_adamw(void *args, const accel_range *r, int nrange, int64_t step)
{
	return step_all("accel_adamw", args, true, r, nrange, step);
}

accel_status
accel_adam(void *args, const accel_range *r, int nrange, int64_t step)
{
	return step_all("accel_adam", args, false, r, nrange, step);
}
