/* SPDX-License-Identifier: Apache-2.0 */
/* optim_sgd: gradient descent, with momentum. */
#include "runtime/train/optim.h"

#include "runtime/base/banned.h"

accel_status
accel_sgd(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_sgd_args *o = args;
	bool heavy = o->momentum != 0;
	struct mem host, *m;
	struct mem_update u;
	accel_status st;

	if (o->nesterov && (!heavy || o->dampening != 0))
		return accel__fail(ACCEL_EINVAL, "accel_sgd: nesterov needs a "
		    "momentum and no dampening");
	for (int k = 0; k < nrange; k++, r++) {
		struct vec_sgd c = {
			.lr = (float)optim_lr(r, o->lr),
			.decay = (float)optim_decay(r, o->weight_decay),
			.momentum = (float)o->momentum,
			.undamped = step == 1 ? 1 : (float)(1 - o->dampening),
			.nesterov = o->nesterov,
		};

		if ((st = optim_check("accel_sgd", r, heavy)) != ACCEL_OK)
			return st;
		u = optim_update(r);
		if (!heavy)
			u.state[0] = NULL;
		m = optim_mem(r, &host);
		m->ops->sgd(m, &u, &c);
	}
	return ACCEL_OK;
}
