/* SPDX-License-Identifier: Apache-2.0 */
/* optim: what the ready-made optimizers share. */
#include "runtime/train/optim.h"

#include "runtime/train/mem_host.h"

#include "runtime/base/banned.h"

accel_status
optim_check(const char *name, const accel_range *r, int nstate)
{
	const char *tensor = r->name != NULL ? r->name : "a range";

	if (r->dtype != ACCEL_F32 && r->dtype != ACCEL_F16 &&
	    r->dtype != ACCEL_BF16)
		return accel__fail(ACCEL_EINVAL, "%s: %s is neither F32, F16 "
		    "nor BF16", name, tensor);
	if (r->dtype != ACCEL_F32 && r->master == NULL)
		return accel__fail(ACCEL_EINVAL, "%s: %s has no F32 values: "
		    "accel_prepare makes them", name, tensor);
	for (int k = 0; k < nstate; k++)
		if (r->state[k] == NULL)
			return accel__fail(ACCEL_EINVAL, "%s: %s has %d of %d "
			    "state arrays: accel_prepare makes them", name,
			    tensor, k, nstate);
	return ACCEL_OK;
}

double
optim_lr(const accel_range *r, double lr)
{
	return r->group != NULL ? lr * r->group->lr_scale : lr;
}

double
optim_decay(const accel_range *r, double decay)
{
	if (r->flags & ACCEL_NO_DECAY)
		return 0;
	if (r->group != NULL && r->group->weight_decay >= 0)
		return r->group->weight_decay;
	return decay;
}

struct mem_update
optim_update(const accel_range *r)
{
	struct mem_update u = { .p = r->param, .g = r->grad,
	    .state = { r->state[0], r->state[1] }, .n = r->n };

	if (r->dtype != ACCEL_F32) {
		u.p = r->master;
		u.half = r->param;
		u.type = (int)r->dtype;
	}
	return u;
}

struct mem *
optim_mem(const accel_range *r, struct mem *host)
{
	*host = (struct mem){ &mem_host_ops };
	return r->memory != NULL ? r->memory : host;
}
