/* SPDX-License-Identifier: Apache-2.0 */
/* state_object: what the program, or another part of libaccel, adds to a
 * checkpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/train/state.h"

#include "runtime/base/banned.h"

struct state *
state_of(struct accel *a)
{
	if (a->state == NULL)
		a->state = calloc(1, sizeof(*a->state));
	return a->state;
}

static bool
is_taken(const struct state *s, const char *name)
{
	for (int i = 0; s != NULL && i < s->nobject; i++)
		if (strcmp(s->object[i].name, name) == 0)
			return true;
	return false;
}

static accel_status
add(struct accel *a, const char *name, const accel_object *fn, void *user,
    size_t bytes, uint32_t flags)
{
	struct state *s = state_of(a);
	struct object *more, o = { NULL, { 0 }, user, bytes, flags };

	if (s == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (is_taken(s, name))
		return accel__fail(ACCEL_EINVAL, "two objects have the name "
		    "%s", name);
	more = realloc(s->object, (size_t)(s->nobject + 1) * sizeof(*more));
	if (more == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	s->object = more;
	if (fn != NULL)
		o.fn = *fn;
	o.name = strdup(name);
	if (o.name == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	s->object[s->nobject++] = o;
	return ACCEL_OK;
}

static accel_status
check(const char *call, const char *name, uint32_t flags)
{
	size_t n = name == NULL ? 0 : strlen(name);

	if (n < 1 || n > ACCEL_KEY_MAX)
		return accel__fail(ACCEL_EINVAL, "%s: a name has 1 to %d "
		    "bytes", call, ACCEL_KEY_MAX);
	if (strncmp(name, "accel.", 6) == 0)
		return accel__fail(ACCEL_EINVAL, "%s: %s: names that begin "
		    "with accel. are libaccel's own", call, name);
	if ((flags & ~(uint32_t)ACCEL_PER_RANK) != 0)
		return accel__fail(ACCEL_EINVAL, "%s: ACCEL_PER_RANK or 0",
		    call);
	return ACCEL_OK;
}

accel_status
accel_register(accel *a, const char *name, void *data, size_t bytes,
    uint32_t flags)
{
	accel_status st = check("accel_register", name, flags);

	if (st == ACCEL_OK && (data == NULL || bytes == 0))
		st = accel__fail(ACCEL_EINVAL, "accel_register: %s has no "
		    "bytes", name);
	return st != ACCEL_OK ? st : add(a, name, NULL, data, bytes, flags);
}

accel_status
accel_register_object(accel *a, const char *name, const accel_object *fn,
    void *user, uint32_t flags)
{
	accel_status st = check("accel_register_object", name, flags);

	if (st == ACCEL_OK && (fn == NULL || fn->size == NULL ||
	    fn->save == NULL || fn->load == NULL))
		st = accel__fail(ACCEL_EINVAL, "accel_register_object: %s "
		    "needs all three functions", name);
	return st != ACCEL_OK ? st : add(a, name, fn, user, 0, flags);
}

accel_status
accel__register(accel *a, const char *name, const accel_object *fn,
    void *user, uint32_t flags)
{
	return add(a, name, fn, user, 0, flags);
}

accel_status
accel__register_bytes(accel *a, const char *name, void *data, size_t bytes)
{
	return add(a, name, NULL, data, bytes, 0);
}

void
accel__unregister(accel *a, const char *name)
{
	struct state *s = a->state;

	for (int i = 0; s != NULL && i < s->nobject; i++) {
		if (strcmp(s->object[i].name, name) != 0)
			continue;
		free(s->object[i].name);
		s->object[i] = s->object[--s->nobject];
		return;
	}
}

accel_status
accel__register_next(accel *a, const char *kind, const accel_object *fn,
    void *user, int *number)
{
	char name[64];

	*number = -1;
	do
		snprintf(name, sizeof(name), "accel.%s.%d", kind, ++*number);
	while (is_taken(a->state, name));
	return add(a, name, fn, user, 0, 0);
}

void
accel__unregister_number(accel *a, const char *kind, int number)
{
	char name[64];

	snprintf(name, sizeof(name), "accel.%s.%d", kind, number);
	accel__unregister(a, name);
}

accel_status
accel_unregister(accel *a, const char *name)
{
	accel_status st = check("accel_unregister", name, 0);

	if (st == ACCEL_OK)
		accel__unregister(a, name);
	return st;
}

/* Of a buffer, which may lie on the GPU. */
static accel_status
add_bytes(accel *a, struct buf *out, const void *p, uint64_t bytes)
{
	const void *at;
	void *copy;
	accel_status st = accel__on_host(a, p, bytes, &at, &copy);

	if (st == ACCEL_OK)
		buf_add(out, at, bytes);
	free(copy);
	return st;
}

accel_status
state_pack(accel *a, bool per_rank, struct buf *out)
{
	for (int i = 0; a->state != NULL && i < a->state->nobject; i++) {
		const struct object *o = &a->state->object[i];
		uint32_t n = (uint32_t)strlen(o->name);
		uint64_t bytes;
		accel_status st = ACCEL_OK;
		char *copy;

		if (per_rank != ((o->flags & ACCEL_PER_RANK) != 0))
			continue;
		bytes = o->fn.save != NULL ? o->fn.size(o->user) : o->bytes;
		buf_add(out, &n, sizeof(n));
		buf_add(out, &bytes, sizeof(bytes));
		buf_adds(out, o->name);
		if (o->fn.save == NULL) {
			if ((st = add_bytes(a, out, o->user, bytes)) !=
			    ACCEL_OK)
				return st;
			continue;
		}
		copy = calloc(1, bytes + 1);
		if (copy == NULL)
			return accel__fail(ACCEL_ENOMEM, "no memory for the "
			    "%llu bytes of object %s",
			    (unsigned long long)bytes, o->name);
		st = o->fn.save(o->user, copy, bytes);
		buf_add(out, copy, bytes);
		free(copy);
		if (st < 0) {
			err_at(accel__err(), "object %s is not saved",
			    o->name);
			return st;
		}
	}
	return buf_failed(out) ? accel__fail(ACCEL_ENOMEM, "no memory for the "
	    "registered objects") : ACCEL_OK;
}

bool
state_unpack(const char **at, const char *end, struct state_packed *out)
{
	size_t left = (size_t)(end - *at);
	uint32_t n;

	if (left < sizeof(n) + sizeof(out->bytes))
		return false;
	memcpy(&n, *at, sizeof(n));
	memcpy(&out->bytes, *at + sizeof(n), sizeof(out->bytes));
	left -= sizeof(n) + sizeof(out->bytes);
	if (n >= sizeof(out->name) || n > left || out->bytes > left - n)
		return false;
	*at += sizeof(n) + sizeof(out->bytes);
	memcpy(out->name, *at, n);
	out->name[n] = '\0';
	out->data = *at + n;
	*at += n + out->bytes;
	return true;
}

accel_status
state_object_load(accel *a, struct object *o, const void *data,
    uint64_t bytes)
{
	accel_status st;

	if (o->fn.load == NULL) {
		if (bytes != o->bytes)
			return accel__fail(ACCEL_EMISMATCH, "object %s has "
			    "%llu bytes in the checkpoint, and %zu here",
			    o->name, (unsigned long long)bytes, o->bytes);
		return accel__write(a, o->user, data, bytes);
	}
	st = o->fn.load(o->user, data, bytes);
	if (st < 0)
		err_at(accel__err(), "object %s is not loaded", o->name);
	return st < 0 ? st : ACCEL_OK;
}
