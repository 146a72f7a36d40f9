/* SPDX-License-Identifier: Apache-2.0 */
/* optim: ready-made updates in F32. */
#include <math.h>
#include <stdlib.h>

#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static accel_status
check(const char *name, const accel_range *r, int nstate)
{
	if (r->dtype != ACCEL_F32)
		return accel__fail(ACCEL_EINVAL, "%s: F32 alone", name);
	for (int k = 0; k < nstate; k++)
		if (r->state[k] == NULL)
			return accel__fail(ACCEL_EINVAL, "%s: accel_prepare "
			    "must make %d state arrays", name, nstate);
	return ACCEL_OK;
}

accel_status
accel_adamw(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_adamw_args *o = args;
	float fix1 = (float)(1.0 - pow((double)o->beta1, (double)step));
	float fix2 = (float)sqrt(1.0 - pow((double)o->beta2, (double)step));
	accel_status st;

	for (int k = 0; k < nrange; k++, r++) {
		float *p = r->param, *m = r->state[0], *v = r->state[1];
		const float *g = r->grad;
		float decay = r->flags & ACCEL_NO_DECAY ? 0 :
		    o->lr * o->weight_decay;

		if ((st = check("accel_adamw", r, 2)) != ACCEL_OK)
			return st;
		for (size_t i = 0; i < r->n; i++) {
			m[i] = o->beta1 * m[i] + (1 - o->beta1) * g[i];
			v[i] = o->beta2 * v[i] + (1 - o->beta2) * g[i] * g[i];
			p[i] -= decay * p[i];
			p[i] -= o->lr / fix1 * m[i] /
			    (sqrtf(v[i]) / fix2 + o->eps);
		}
	}
	return ACCEL_OK;
}

accel_status
accel_sgd(void *args, const accel_range *r, int nrange, int64_t step)
{
	const accel_sgd_args *o = args;
	accel_status st;

	for (int k = 0; k < nrange; k++, r++) {
		float *p = r->param, *m = r->state[0];
		const float *g = r->grad;
		float decay = r->flags & ACCEL_NO_DECAY ? 0 : o->weight_decay;

		st = check("accel_sgd", r, o->momentum != 0 ? 1 : 0);
		if (st != ACCEL_OK)
			return st;
		for (size_t i = 0; i < r->n; i++) {
			float d = g[i] + decay * p[i];

			if (o->momentum != 0)
				d = m[i] = step == 1 ? d :
				    o->momentum * m[i] + d;
			p[i] -= o->lr * d;
		}
	}
	return ACCEL_OK;
}
