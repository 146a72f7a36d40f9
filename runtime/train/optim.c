/* SPDX-License-Identifier: Apache-2.0 */
/* optim: what the ready-made optimizers share. */
#include "runtime/train/optim.h"

#include "runtime/base/half.h"

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

struct piece
optim_open(const accel_range *r, size_t at, size_t n)
{
	float *p = r->dtype == ACCEL_F32 ? r->param : r->master;
	struct piece x = { .p = p + at, .g = (const float *)r->grad + at,
	    .n = n };

	for (int k = 0; k < 4; k++)
		if (r->state[k] != NULL)
			x.state[k] = (float *)r->state[k] + at;
	return x;
}

void
optim_close(const accel_range *r, size_t at, const struct piece *x)
{
	if (r->dtype == ACCEL_F16)
		f16_from_f32((uint16_t *)r->param + at, x->p, x->n);
	else if (r->dtype == ACCEL_BF16)
		bf16_from_f32((uint16_t *)r->param + at, x->p, x->n);
}

void
optim_each(const accel_range *r,
    void (*fn)(const struct piece *, const void *), const void *arg)
{
	for (size_t at = 0, n; at < r->n; at += n) {
		struct piece x;

		n = r->n - at;
		if (n > OPTIM_PIECE)
			n = OPTIM_PIECE;
		x = optim_open(r, at, n);
		fn(&x, arg);
		optim_close(r, at, &x);
	}
}
