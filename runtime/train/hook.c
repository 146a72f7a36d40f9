/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook: exchanges that take more than one round: a program's own, PowerSGD.
 *
 * The first round is in accel_leave, as gradients become final.  The next ones
 * come when the gradients are waited for, bucket after bucket: when a request
 * ends differs from rank to rank, and the order of exchanges must not.
 */
#include <stdio.h>

#include "runtime/device/ctl.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

accel_status
accel_set_hook(accel *a, accel_hook fn, void *user)
{
	struct arg arg[] = { { "a function", fn != NULL, true } };
	accel_status st = accel__agree(a, "accel_set_hook", a->in_backward ||
	    a->reduced ? "between accel_step and accel_backward" : NULL, arg,
	    1, NULL);

	if (st != ACCEL_OK)
		return st;
	a->hook = fn;
	a->hook_user = user;
	return ACCEL_OK;
}

/* Others wait for what a hook that failed has not begun. */
static void
tell_failure(accel *a, const struct bucket *b)
{
	char why[400];

	if (a->ctl == NULL || ctl_dead(a->ctl) >= 0)
		return;
	snprintf(why, sizeof(why), "its hook failed at %s, round %d",
	    b->label, b->round);
	ctl_abort(a->ctl, why);
}

accel_status
accel__hook_round(accel *a, struct bucket *b)
{
	accel_bucket lent = { .index = (int)(b - a->bucket), .data = b->values,
	    .n = b->n, .dtype = b->dtype,
	    .last = b == &a->bucket[a->nbucket - 1],
	    .round = b->round, .count = a->nbucket };
	accel_status st;

	a->in_hook = b;
	st = a->hook(a->hook_user, &lent);
	a->in_hook = NULL;
	if (st != ACCEL_OK)
		tell_failure(a, b);
	return st;
}

accel_status
accel__round(accel *a, struct bucket *b)
{
	accel_status st;

	b->nasked = 0;
	device_label(&a->dev, b->label);
	st = b->rounds(a, b);
	device_label(&a->dev, NULL);
	b->round++;
	return st;
}

/* Until all is over that the last round began. */
static accel_status
await(accel *a, struct bucket *b)
{
	for (int i = 0; i < b->nasked; i++)
		if (device_wait(&a->dev, b->asked[i], accel__err()) != 0)
			return accel__status(a);
	return ACCEL_OK;
}

accel_status
accel__rounds_finish(accel *a)
{
	accel_status st = ACCEL_OK;
	bool more;

	do {
		more = false;
		for (int i = 0; i < a->nbucket && st == ACCEL_OK; i++) {
			struct bucket *b = &a->bucket[i];

			if (b->done)
				continue;
			if ((st = await(a, b)) == ACCEL_OK &&
			    (st = accel__round(a, b)) == ACCEL_OK &&
			    b->nasked == 0)
				st = accel__bucket_end(a, b);
			more |= b->nasked > 0;
		}
	} while (more && st == ACCEL_OK);
	return st;
}

accel_status
accel__ask(accel *a, struct bucket *b, void *buf, size_t n, accel_dtype t,
    accel_op op)
{
	if (a->dev.ops->all_reduce(a->dev.state, buf, n, (int)t, (int)op,
	    &b->asked[b->nasked], accel__err()) != 0)
		return accel__status(a);
	b->nasked++;
	return ACCEL_OK;
}

/* May this round of a hook begin one more? */
static accel_status
may_ask(accel *a, const char *call, const void *in, const void *out)
{
	if (a->in_hook == NULL)
		return accel__fail(ACCEL_ESTATE, "%s: outside a hook", call);
	if (a->in_hook->nasked == ACCEL_HOOK_MOST)
		return accel__fail(ACCEL_EINVAL, "%s: more than %d in one "
		    "round", call, ACCEL_HOOK_MOST);
	if (a->staged && (accel__elsewhere(a, in) || accel__elsewhere(a, out)))
		return accel__fail(ACCEL_EINVAL, "%s: this backend takes the "
		    "host's memory alone: copy first", call);
	return ACCEL_OK;
}

accel_status
accel_hook_all_reduce(accel *a, void *buf, size_t n, accel_dtype t,
    accel_op op)
{
	accel_status st = may_ask(a, "accel_hook_all_reduce", buf, buf);

	if (st != ACCEL_OK)
		return st;
	if (device_size((int)t) == 0 || n == 0 || (op != ACCEL_SUM &&
	    (is_half(t) || (op != ACCEL_MAX && op != ACCEL_MIN))))
		return accel__fail(ACCEL_EINVAL, "accel_hook_all_reduce: "
		    "elements, a type, and a sum, or what is not of 16 bits a "
		    "minimum or maximum: means are made in the next round");
	return accel__ask(a, a->in_hook, buf, n, t, op);
}

accel_status
accel_hook_all_gather(accel *a, const void *in, void *out, size_t bytes)
{
	accel_status st = may_ask(a, "accel_hook_all_gather", in, out);
	struct bucket *b = a->in_hook;

	if (st != ACCEL_OK)
		return st;
	if (bytes == 0)
		return accel__fail(ACCEL_EINVAL, "accel_hook_all_gather: no "
		    "bytes");
	if (a->dev.ops->all_gather(a->dev.state, in, out, bytes,
	    &b->asked[b->nasked], accel__err()) != 0)
		return accel__status(a);
	b->nasked++;
	return ACCEL_OK;
}
