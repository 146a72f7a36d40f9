/* SPDX-License-Identifier: Apache-2.0 */
/* step: the averaged gradients: unscale, check, clip; then the update. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/profile.h"
#include "runtime/train/track.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

/* Multiplies, and adds to the sum where it is asked for, in one pass. */
static void
pass(accel *a, struct tensor *t, double by, struct mem_sum *sum)
{
	int type = t->dtype == ACCEL_F64 ? DEVICE_F64 : DEVICE_F32;

	if (sum != NULL)
		a->mem->ops->sum_add(a->mem, sum, gradient_of(t), t->n, type,
		    by);
	else if (by != 1)
		a->mem->ops->scale(a->mem, gradient_of(t), t->n, type, by);
}

/* How many ranks left each unit?  Units that none left are idle, unless no
 * rank calls accel_leave at all. */
static accel_status
agree_on_units(accel *a)
{
	int32_t *count = calloc((size_t)a->nunit + 1, sizeof(*count)), due;
	accel_status st;
	bool any;

	if (count == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	for (int u = 0; u < a->nunit; u++)
		count[u] = a->unit[u].used;
	count[a->nunit] = a->leaves;
	st = accel_all_reduce(a, count, (size_t)a->nunit + 1, ACCEL_I32,
	    ACCEL_SUM);
	any = count[a->nunit] > 0;
	/* Of an accumulation some ranks may have had the beginning alone. */
	due = count[a->nunit] > a->with_data ? count[a->nunit] :
	    a->with_data;
	for (int u = 0; u < a->nunit && st == ACCEL_OK; u++) {
		a->unit[u].idle = any && count[u] == 0;
		if (any && a->config.unused == ACCEL_UNUSED_ERROR &&
		    count[u] < due) {
			st = accel__fail(ACCEL_EMISMATCH, "unit %s had no "
			    "accel_leave on %d of %d ranks", a->unit[u].name,
			    due - count[u], due);
			err_hint(accel__err(), "see that it takes part in "
			    "forward, or allow unused units in accel_config");
		}
	}
	free(count);
	return st;
}

/* Waits for the gradients and makes them what the optimizer reads, once.
 * "sum" NULL: their norm is of no interest. */
static accel_status
finish(accel *a, double *sum)
{
	bool look = sum != NULL || a->scaling;
	struct mem_sum all = { 0, 1 };
	double inverse = a->scaling ? (double)(float)(1 / (double)a->scale) :
	    1;
	int32_t bad;
	accel_status st;

	if (a->finished && sum == NULL)
		return ACCEL_OK;
	if (!a->finished) {
		profile_begin(a, "wait", NULL);
		st = accel__reduce(a, true);
		profile_end(a);
		if (st != ACCEL_OK)
			return st;
		if (a->config.unused != ACCEL_UNUSED_ZERO &&
		    (st = agree_on_units(a)) != ACCEL_OK)
			return st;
	}
	profile_begin(a, "unscale", NULL);
	if (look)
		a->mem->ops->sum_begin(a->mem, &all);
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);
		const struct bucket *b = &a->bucket[t->bucket];
		double by = a->finished ? 1 :
		    b->factor * (b->unscaled ? 1 : inverse);

		pass(a, t, by, look ? &all : NULL);
	}
	st = look ? accel__sum_end(a, &all) : ACCEL_OK;
	profile_end(a);
	if (st != ACCEL_OK)
		return st;
	if (sum != NULL)
		*sum = all.sum;
	if (a->finished)
		return ACCEL_OK;
	a->finished = true;
	if (!a->scaling)
		return ACCEL_OK;
	bad = !all.finite;
	device_label(&a->dev, "overflow");
	st = accel_all_reduce(a, &bad, 1, ACCEL_I32, ACCEL_MAX);
	device_label(&a->dev, NULL);
	a->overflow = bad != 0;
	return st;
}

static accel_status
clip_norm(accel *a, float max_norm, float *norm)
{
	accel_status st;
	double sum, by;

	if (norm != NULL)
		*norm = 0;
	if (!a->sync || !a->reduced)
		return ACCEL_OK;
	if ((st = finish(a, &sum)) != ACCEL_OK)
		return st;
	if (norm != NULL)
		*norm = (float)sqrt(sum);
	by = (double)max_norm / (sqrt(sum) + 1e-6);
	if (by < 1 && isfinite(sum))
		for (int i = 0; i < a->norder; i++)
			pass(a, tensor_of(a, a->order[i]), by, NULL);
	return ACCEL_OK;
}

accel_status
accel_clip_grad_norm(accel *a, float max_norm, float *norm)
{
	accel_status st;

	profile_begin(a, "clip", NULL);
	st = clip_norm(a, max_norm, norm);
	profile_end(a);
	return st;
}

accel_status
accel_clip_grad_value(accel *a, float most)
{
	accel_status st;

	if (!(most >= 0))
		return accel__fail(ACCEL_EINVAL, "accel_clip_grad_value: a "
		    "limit is not negative");
	if (!a->sync || !a->reduced)
		return ACCEL_OK;
	if ((st = finish(a, NULL)) != ACCEL_OK)
		return st;
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		a->mem->ops->clamp(a->mem, gradient_of(t), t->n,
		    t->dtype == ACCEL_F64 ? DEVICE_F64 : DEVICE_F32, most);
	}
	return ACCEL_OK;
}

static int
make_ranges(accel *a)
{
	int n = 0;

	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++) {
			struct tensor *t = &a->unit[u].tensor[i];
			accel_range *r = &a->range[n];

			if (a->config.unused == ACCEL_UNUSED_SKIP &&
			    a->unit[u].idle)
				continue;
			*r = (accel_range){ .unit = u, .tensor = i,
			    .n = t->n, .param = t->data,
			    .grad = gradient_of(t), .master = t->master,
			    .dtype = t->dtype, .flags = t->flags,
			    .name = t->name, .group = t->group,
			    .ndim = t->ndim, .shape = t->shape,
			    .memory = a->mem };
			for (int k = 0; k < a->nstate; k++)
				r->state[k] = t->state[k];
			n++;
		}
	return n;
}

accel_status
accel_gradients(accel *a, const accel_range **r, int *nrange)
{
	accel_status st;

	*r = NULL;
	*nrange = 0;
	if (!a->sync || !a->reduced)
		return ACCEL_OK;
	if ((st = finish(a, NULL)) != ACCEL_OK)
		return st;
	*nrange = make_ranges(a);
	*r = a->range;
	return ACCEL_OK;
}

void
accel__grads_clear(accel *a)
{
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		a->mem->ops->zero(a->mem, t->grad,
		    t->n * device_size((int)t->dtype));
		t->folded = false;
	}
	for (int u = 0; u < a->nunit; u++)
		a->unit[u].used = false;
	a->leaves = false;
}

/* As torch's _amp_update_scale_, rounded where it rounds. */
static void
update_scale(accel *a)
{
	const accel_config *c = &a->config;
	float more;

	if (!a->scaling || c->scale_interval < 0)
		return;
	if (a->overflow) {
		a->scale = (float)((double)a->scale * c->scale_backoff);
		a->good = 0;
	} else if (++a->good == c->scale_interval) {
		more = (float)((double)a->scale * c->scale_growth);
		if (isfinite(more))
			a->scale = more;
		a->good = 0;
	}
}

static accel_status
step(accel *a, accel_update_fn fn, void *user)
{
	accel_status st;

	if (!a->sync)
		return ACCEL_SKIPPED;
	if (!a->reduced)
		return accel__fail(ACCEL_ESTATE, "accel_step: without a new "
		    "accel_backward");
	if ((st = finish(a, NULL)) != ACCEL_OK)
		return st;
	a->reduced = false;
	a->skipped = a->overflow;
	update_scale(a);
	if (a->overflow) {
		st = ACCEL_SKIPPED;
	} else {
		profile_begin(a, "update", NULL);
		st = fn(user, a->range, make_ranges(a), ++a->step);
		profile_end(a);
	}
	a->overflow = false;
	accel__grads_clear(a);
	if (st == ACCEL_OK)
		st = accel__mem_failed(a);
	if (st != ACCEL_OK)
		return st;
	track_step(a);
	if (a->local_steps > 0 && ++a->since_average >= a->local_steps)
		return accel_average_parameters(a);
	if (a->debug && a->local_steps == 0)
		return accel_check_replicas(a);
	return ACCEL_OK;
}

accel_status
accel_step(accel *a, accel_update_fn fn, void *user)
{
	accel_status st;

	profile_begin(a, "step", NULL);
	st = step(a, fn, user);
	profile_end(a);
	return st;
}

float
accel_loss_scale(const accel *a)
{
	return a->scaling ? a->scale : 1;
}

int
accel_step_was_skipped(const accel *a)
{
	return a->skipped;
}
