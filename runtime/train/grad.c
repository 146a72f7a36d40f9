/* SPDX-License-Identifier: Apache-2.0 */
/* grad: backward, and when the exchange of gradients begins under it. */
#include <stdlib.h>
#include <string.h>

#include "runtime/train/profile.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static bool
loader_at_end(const accel *a)
{
	return a->active != NULL && accel__loader_last(a->active);
}

/* Makes room in 16-bit gradients for the next batch. */
static void
fold_unit(const accel *a, const struct unit *u)
{
	if (a->config.reduce == ACCEL_REDUCE_OWN)
		return;
	for (int i = 0; i < u->ntensor; i++) {
		struct tensor *t = &u->tensor[i];

		if (is_half(t->dtype)) {
			accel__fold(a, t);
			a->mem->ops->zero(a->mem, t->grad,
			    t->n * sizeof(uint16_t));
		}
	}
}

/* The backward is over: what was not left is final now. */
static void
leave_rest(accel *a)
{
	for (int u = 0; u < a->nunit; u++) {
		if (!a->unit[u].ready && !a->sync)
			fold_unit(a, &a->unit[u]);
		a->unit[u].ready = true;
	}
}

accel_status
accel_backward(accel *a, accel_backward_fn fn, void *user)
{
	accel_status st = ACCEL_OK;

	if (!a->prepared || a->in_backward)
		return accel__fail(ACCEL_ESTATE, "accel_backward: %s",
		    a->prepared ? "inside itself" : "before accel_prepare");
	if (a->sync && a->reduced)
		return accel__fail(ACCEL_ESTATE, "accel_backward: accel_step "
		    "has not taken the last gradients");
	if (a->micro++ == 0)
		a->weight = 0;
	a->weight += a->with_data;
	a->sync = a->micro % a->config.grad_accum == 0 || loader_at_end(a) ||
	    a->sync_now;
	/* One factor for ranks and batches together, so that the result does
	 * not depend on how a global batch was cut.  As in Accelerate a short
	 * accumulation is divided as a full one. */
	if (a->local_steps > 0)
		a->weight = a->config.grad_accum;
	else if (a->config.uneven != ACCEL_UNEVEN_ACTIVE)
		a->weight = (double)a->world * a->config.grad_accum;
	else if (a->sync && a->weight == 0)
		a->weight = 1;		/* nobody had data: zero it stays */
	if (a->sync)
		a->micro = 0;
	a->sync_now = false;
	a->begun = 0;
	a->finished = false;
	for (int u = 0; u < a->nunit; u++)
		a->unit[u].ready = false;
	a->in_backward = true;
	profile_begin(a, "backward", NULL);
	profile_begin(a, "compute", NULL);
	if (fn != NULL)
		st = fn(user);
	profile_end(a);
	a->in_backward = false;
	if (st != ACCEL_OK)
		return st;
	a->reduced = a->sync;
	leave_rest(a);
	if (a->sync)
		st = accel__reduce(a, false);
	profile_end(a);
	return st;
}

accel_status
accel_leave(accel *a, int unit)
{
	accel_status st = ACCEL_OK;
	struct unit *u;

	if (!a->in_backward)
		return accel__fail(ACCEL_ESTATE, "accel_leave: outside "
		    "accel_backward");
	if (unit < 0 || unit >= a->nunit)
		return accel__fail(ACCEL_EINVAL, "accel_leave: no unit %d",
		    unit);
	u = &a->unit[unit];
	if (u->ready)
		return accel__fail(ACCEL_ESTATE, "accel_leave: unit %s twice "
		    "in one backward", u->name);
	profile_end(a);
	profile_begin(a, "ready", u->name);
	u->ready = u->used = a->leaves = true;
	if (a->sync)
		st = accel__reduce(a, false);
	else
		fold_unit(a, u);
	profile_end(a);
	profile_begin(a, "compute", NULL);
	return st;
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

void
accel_sync_next(accel *a)
{
	a->sync_now = true;
}

accel_status
accel_join(accel *a, int have, int *active)
{
	int32_t mine = have != 0, *all;
	accel_status st;
	bool *out;
	char who[100];

	*active = 0;
	all = calloc((size_t)a->world, sizeof(*all));
	out = calloc((size_t)a->world, sizeof(*out));
	if (all == NULL || out == NULL) {
		free(all);
		free(out);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	st = accel_all_gather(a, &mine, all, sizeof(mine));
	if (st == ACCEL_OK) {
		for (int i = 0; i < a->world; i++) {
			*active += all[i];
			out[i] = !all[i];
		}
		a->with_data = *active;
		if (a->config.uneven == ACCEL_UNEVEN_ERROR && *active > 0 &&
		    *active < a->world) {
			accel__name_ranks(out, a->world, who, sizeof(who));
			st = accel__fail(ACCEL_EMISMATCH, "%s has no more "
			    "data while others have", who);
			err_hint(accel__err(), "deal out the same number of "
			    "batches to all ranks, or allow uneven data in "
			    "accel_config");
		}
	}
	free(all);
	free(out);
	return st;
}
