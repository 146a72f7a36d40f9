/* SPDX-License-Identifier: Apache-2.0 */
/* state_own: what libaccel itself keeps beside arrays: the loop's numbers, and
 * buffers.  Schedulers and loaders register themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/state.h"

#include "runtime/base/banned.h"

/* The same on all ranks; 8 bytes each, in this order. */
struct loop {
	double	weight;			/* of the accumulation under way */
	double	scale;			/* of the loss */
	int64_t	good, since_average;
};

static size_t
loop_size(void *user)
{
	(void)user;
	return sizeof(struct loop);
}

static accel_status
loop_save(void *user, void *out, size_t bytes)
{
	const struct accel *a = user;
	struct loop l = { a->weight, (double)a->scale, a->good,
	    a->since_average };

	memcpy(out, &l, bytes);
	return ACCEL_OK;
}

static accel_status
loop_load(void *user, const void *data, size_t bytes)
{
	struct accel *a = user;
	struct loop l;

	if (bytes != sizeof(l))
		return accel__fail(ACCEL_EMISMATCH, "%zu bytes, not %zu",
		    bytes, sizeof(l));
	memcpy(&l, data, bytes);
	if ((l.scale != 0) != (a->scale != 0))
		return accel__fail(ACCEL_EMISMATCH, "the checkpoint was saved "
		    "%s loss scaling, and this program runs %s",
		    l.scale != 0 ? "with" : "without", a->scale != 0 ?
		    "with it" : "without");
	a->weight = l.weight;
	a->scale = (float)l.scale;
	a->good = (int)l.good;
	a->since_average = (int)l.since_average;
	return ACCEL_OK;
}

/* Which units this rank's accumulation has met: a byte each, and one for
 * whether accel_leave is called at all. */
static size_t
units_size(void *user)
{
	return (size_t)((const struct accel *)user)->nunit + 1;
}

static accel_status
units_save(void *user, void *out, size_t bytes)
{
	const struct accel *a = user;
	unsigned char *to = out;

	for (size_t i = 0; i + 1 < bytes; i++)
		to[i] = a->unit[i].used;
	to[bytes - 1] = a->leaves;
	return ACCEL_OK;
}

static accel_status
units_load(void *user, const void *data, size_t bytes)
{
	struct accel *a = user;
	const unsigned char *from = data;

	if (bytes != units_size(user))
		return accel__fail(ACCEL_EMISMATCH, "the checkpoint has %zu "
		    "units, and this program %d", bytes - 1, a->nunit);
	for (int i = 0; i < a->nunit; i++)
		a->unit[i].used = from[i] != 0;
	a->leaves = from[a->nunit] != 0;
	return ACCEL_OK;
}

accel_status
state_own(struct accel *a)
{
	static const accel_object loop = { loop_size, loop_save, loop_load };
	static const accel_object units = { units_size, units_save,
	    units_load };
	struct state *s = state_of(a);
	accel_status st;
	char name[300];

	if (s == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (s->own)
		return ACCEL_OK;
	s->own = true;
	st = accel__register(a, "accel.loop", &loop, a, 0);
	if (st == ACCEL_OK)
		st = accel__register(a, "accel.units", &units, a,
		    ACCEL_PER_RANK);
	if (st == ACCEL_OK &&
	    a->config.compress == ACCEL_COMPRESS_POWERSGD)
		st = accel__low_register(a);
	for (int i = 0; i < a->nbuffer && st == ACCEL_OK; i++) {
		snprintf(name, sizeof(name), "accel.buffer.%s",
		    a->buffer[i].name);
		st = accel__register_bytes(a, name, a->buffer[i].data,
		    a->buffer[i].bytes);
	}
	return st;
}
