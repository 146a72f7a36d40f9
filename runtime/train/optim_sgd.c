/* SPDX-License-Identifier: Apache-2.0 */
/* optim_sgd: gradient descent, with momentum. */
#include "runtime/train/optim.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

static void
plain(const struct piece *x, const void *arg)
{
	const struct vec_sgd *c = arg;

	vec_sgd(x->p, x->g, x->n, c->lr, c->decay);
}

static void
momentum(const struct piece *x, const void *c)
{
	vec_sgd_momentum(x->p, x->g, x->state[0], x->n, c);
}

accel_status
accel_sgd(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_sgd_args *o = args;
	bool heavy = o->momentum != 0;
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
		optim_each(r, heavy ? momentum : plain, &c);
	}
	return ACCEL_OK;
}
