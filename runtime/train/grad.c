/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad: backward, the exchange of gradients under it, clipping and the step.
 *
 * Buckets begin in one fixed order, whatever order units become ready in, so
 * that ranks cannot wait for each other's different buckets.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/track.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static void
bucket_copy(const accel *a, const struct bucket *b, bool in)
{
	size_t size = device_size((int)b->dtype), at = 0;

	for (int i = b->first; i < b->first + b->count; i++) {
		const struct tensor *t = tensor_of(a, a->order[i]);
		char *pack = (char *)b->pack + at;

		memcpy(in ? pack : t->grad, in ? t->grad : pack, t->n * size);
		at += t->n * size;
	}
}

static void
scale(const struct tensor *t, double by)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->dtype == ACCEL_F32)
			((float *)t->grad)[i] *= (float)by;
		else
			((double *)t->grad)[i] *= by;
	}
}

/* One factor for ranks and accumulated batches together, so that the result
 * does not depend on how a global batch was cut. */
static void
bucket_average(const accel *a, const struct bucket *b)
{
	double by = 1.0 / ((double)a->world * a->config.grad_accum);

	if (by == 1.0)
		return;
	for (int i = b->first; i < b->first + b->count; i++)
		scale(tensor_of(a, a->order[i]), by);
}

static accel_status
bucket_begin(accel *a, struct bucket *b)
{
	void *buf = b->pack;

	b->done = a->world == 1;
	if (b->done) {
		bucket_average(a, b);
		return ACCEL_OK;
	}
	if (buf == NULL)
		buf = tensor_of(a, a->order[b->first])->grad;
	else
		bucket_copy(a, b, true);
	if (a->dev.ops->all_reduce(a->dev.state, buf, b->n, (int)b->dtype,
	    DEVICE_SUM, &b->req, accel__err()) != 0)
		return accel__status(a);
	return ACCEL_OK;
}

static bool
bucket_ready(const accel *a, const struct bucket *b)
{
	for (int u = a->nunit - 1; u >= b->last_unit; u--)
		if (!a->unit[u].ready)
			return false;
	return true;
}

accel_status
accel__reduce(accel *a, bool wait)
{
	accel_status st;

	while (a->begun < a->nbucket &&
	    bucket_ready(a, &a->bucket[a->begun]))
		if ((st = bucket_begin(a, &a->bucket[a->begun++])) != ACCEL_OK)
			return st;
	for (int i = 0; i < a->begun; i++) {
		struct bucket *b = &a->bucket[i];
		int rc = 1;

		if (b->done)
			continue;
		if (wait)
			rc = device_wait(&a->dev, b->req, accel__err()) == 0 ?
			    1 : -1;
		else
			rc = device_test(&a->dev, b->req, accel__err());
		if (rc < 0)
			return accel__status(a);
		if (rc == 0)
			continue;
		if (b->pack != NULL)
			bucket_copy(a, b, false);
		bucket_average(a, b);
		b->done = true;
	}
	return ACCEL_OK;
}

static bool
loader_at_end(const accel *a)
{
	return a->active != NULL && accel__loader_last(a->active);
}

accel_status
accel_backward(accel *a, accel_backward_fn fn, void *user)
{
	accel_status st;

	if (!a->prepared || a->in_backward)
		return accel__fail(ACCEL_ESTATE, "accel_backward: %s",
		    a->prepared ? "inside itself" : "before accel_prepare");
	if (a->sync && a->reduced)
		return accel__fail(ACCEL_ESTATE, "accel_backward: accel_step "
		    "has not taken the last gradients");
	a->micro++;
	a->sync = a->micro % a->config.grad_accum == 0 || loader_at_end(a);
	if (a->sync)
		a->micro = 0;
	a->begun = 0;
	for (int u = 0; u < a->nunit; u++)
		a->unit[u].ready = false;
	a->in_backward = true;
	st = fn(user);
	a->in_backward = false;
	if (st != ACCEL_OK)
		return st;
	a->reduced = a->sync;
	if (!a->sync)
		return ACCEL_OK;
	for (int u = 0; u < a->nunit; u++)
		a->unit[u].ready = true;
	return accel__reduce(a, false);
}

accel_status
accel_leave(accel *a, int unit)
{
	if (!a->in_backward)
		return accel__fail(ACCEL_ESTATE, "accel_leave: outside "
		    "accel_backward");
	if (unit < 0 || unit >= a->nunit)
		return accel__fail(ACCEL_EINVAL, "accel_leave: no unit %d",
		    unit);
	if (a->unit[unit].ready)
		return accel__fail(ACCEL_ESTATE, "accel_leave: unit %s twice "
		    "in one backward", a->unit[unit].name);
	a->unit[unit].ready = true;
	return a->sync ? accel__reduce(a, false) : ACCEL_OK;
}

accel_status
accel_poll(accel *a)
{
	if (a->sync && (a->in_backward || a->reduced))
		return accel__reduce(a, false);
	return ACCEL_OK;
}

int
accel_syncing(const accel *a)
{
	return a->sync;
}

accel_status
accel_clip_grad_norm(accel *a, float max_norm, float *norm)
{
	accel_status st;
	double sum = 0, by, length;

	if (norm != NULL)
		*norm = 0;
	if (!a->sync || !a->reduced)
		return ACCEL_OK;
	if ((st = accel__reduce(a, true)) != ACCEL_OK)
		return st;
	for (int i = 0; i < a->norder; i++) {
		const struct tensor *t = tensor_of(a, a->order[i]);

		for (size_t k = 0; k < t->n; k++) {
			double g = t->dtype == ACCEL_F32 ?
			    (double)((float *)t->grad)[k] :
			    ((double *)t->grad)[k];

			sum += g * g;
		}
	}
	length = sqrt(sum);
	if (norm != NULL)
		*norm = (float)length;
	by = (double)max_norm / (length + 1e-6);
	if (by < 1)
		for (int i = 0; i < a->norder; i++)
			scale(tensor_of(a, a->order[i]), by);
	return ACCEL_OK;
}

accel_status
accel_step(accel *a, accel_update_fn fn, void *user)
{
	accel_status st;
	int n = 0;

	if (!a->sync)
		return ACCEL_SKIPPED;
	if (!a->reduced)
		return accel__fail(ACCEL_ESTATE, "accel_step: without a new "
		    "accel_backward");
	if ((st = accel__reduce(a, true)) != ACCEL_OK)
		return st;
	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++) {
			struct tensor *t = &a->unit[u].tensor[i];
			accel_range *r = &a->range[n++];

			*r = (accel_range){ .unit = u, .tensor = i,
			    .n = t->n, .param = t->data, .grad = t->grad,
			    .dtype = t->dtype, .flags = t->flags,
			    .name = t->name, .group = t->group,
			    .ndim = t->ndim, .shape = t->shape };
			for (int k = 0; k < a->nstate; k++)
				r->state[k] = t->state[k];
		}
	a->reduced = false;
	st = fn(user, a->range, n, ++a->step);
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		memset(t->grad, 0, t->n * device_size((int)t->dtype));
	}
	track_step(a);
	return st;
}
