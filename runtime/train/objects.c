/* SPDX-License-Identifier: Apache-2.0 */
/* objects: bytes of any length, gathered and broadcast as lists. */
#include <stdlib.h>
#include <string.h>

#include "runtime/train/loader.h"

#include "runtime/base/banned.h"

accel_status
accel_objects_add(accel_objects *o, const void *data, size_t bytes)
{
	size_t	 end = o->count > 0 ? o->offset[o->count] : 0;
	size_t	*offset = reallocarray(o->offset, o->count + 2,
	    sizeof(*offset));
	char	*all;

	if (offset == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for an object");
	offset[0] = 0;
	o->offset = offset;
	all = bytes < SIZE_MAX - end ? realloc(o->data, end + bytes + 1) :
	    NULL;
	if (all == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for an object of "
		    "%zu bytes", bytes);
	if (bytes > 0)
		memcpy(all + end, data, bytes);
	all[end + bytes] = '\0';
	o->data = all;
	o->offset[++o->count] = end + bytes;
	return ACCEL_OK;
}

void
accel_objects_free(accel_objects *o)
{
	free(o->data);
	free(o->offset);
	*o = (accel_objects)ACCEL_OBJECTS_INIT;
}

enum { COUNT, SIZE, BATCH, OBJECT_ARGS };

static size_t
objects_bytes(const accel_objects *o, size_t count)
{
	return count > 0 ? o->offset[count] : 0;
}

/* All ranks' lists from their lengths and their bytes, both end to end, which
 * it takes. */
static accel_status
join(accel_objects *all, const uint64_t *length, size_t count, char **bytes)
{
	all->offset = calloc(count + 1, sizeof(*all->offset));
	if (all->offset == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %zu objects",
		    count);
	for (size_t i = 0; i < count; i++)
		all->offset[i + 1] = all->offset[i] + (size_t)length[i];
	all->count = count;
	all->data = *bytes;
	*bytes = NULL;
	return ACCEL_OK;
}

static accel_status
gather_objects(accel *a, const char *call, const char *fault, int64_t batch,
    const accel_objects *mine, size_t count, accel_objects *all)
{
	size_t		 bytes = fault ? 0 : objects_bytes(mine, count);
	struct arg	 arg[OBJECT_ARGS] = {
		{ "count", (int64_t)count, false },
		{ "bytes", (int64_t)bytes, false },
		{ "the batch", batch, true },
	};
	size_t		 total = 0, size = 0, n;
	int64_t		*each;
	uint64_t	*own = NULL, *length = NULL;
	char		*data = NULL;
	accel_status	 st;

	*all = (accel_objects)ACCEL_OBJECTS_INIT;
	each = calloc((size_t)a->world, OBJECT_ARGS * sizeof(*each));
	if (each == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	st = accel__agree(a, call, fault, arg, OBJECT_ARGS, each);
	for (int r = 0; r < a->world && st == ACCEL_OK; r++) {
		total += (size_t)each[r * OBJECT_ARGS + COUNT];
		size += (size_t)each[r * OBJECT_ARGS + SIZE];
	}
	free(each);
	if (st != ACCEL_OK || total == 0)
		return st;
	own = calloc(count + 1, sizeof(*own));
	length = calloc(total, sizeof(*length));
	data = malloc(size + 1);
	if (own == NULL || length == NULL || data == NULL) {
		st = accel__fail(ACCEL_ENOMEM, "%s: no memory for %zu bytes",
		    call, size);
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		own[i] = mine->offset[i + 1] - mine->offset[i];
	st = accel__gather(a, call, NULL, batch, own, count, sizeof(*own),
	    length, total, &n);
	if (st == ACCEL_OK)
		st = accel__gather(a, call, NULL, batch, mine->data, bytes, 1,
		    data, size, &n);
	if (st == ACCEL_OK)
		st = join(all, length, total, &data);
out:
	free(own);
	free(length);
	free(data);
	return st;
}

accel_status
accel_gather_objects(accel *a, const accel_objects *mine, accel_objects *all)
{
	return gather_objects(a, "accel_gather_objects", NULL, 0, mine,
	    mine->count, all);
}

accel_status
accel_gather_objects_for_metrics(const accel_loader *l,
    const accel_objects *mine, accel_objects *all)
{
	const char *fault = accel__no_batch(l);

	if (fault == NULL && mine->count != (size_t)l->given)
		fault = "there must be one object a row of the batch";
	return gather_objects(l->a, "accel_gather_objects_for_metrics", fault,
	    l->round, mine, fault != NULL ? 0 : accel__rows_to_report(l), all);
}

accel_status
accel_broadcast_objects(accel *a, accel_objects *o, int root)
{
	struct arg arg[] = {
		{ "root", root, true },
		{ "count", (int64_t)o->count, false },
		{ "bytes", (int64_t)objects_bytes(o, o->count), false },
	};
	enum { N = sizeof(arg) / sizeof(arg[0]) };
	accel_objects	 new = ACCEL_OBJECTS_INIT, *to = o;
	int64_t		*each = calloc((size_t)a->world, sizeof(arg));
	size_t		 count, bytes;
	accel_status	 st;

	if (each == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	st = accel__agree(a, "accel_broadcast_objects", root < 0 ||
	    root >= a->world ? "root is no rank" : NULL, arg, N, each);
	if (st != ACCEL_OK) {
		free(each);
		return st;
	}
	count = (size_t)each[root * N + 1];
	bytes = (size_t)each[root * N + 2];
	free(each);
	if (a->rank != root) {
		to = &new;
		new.count = count;
		new.offset = calloc(count + 1, sizeof(*new.offset));
		new.data = calloc(1, bytes + 1);
		if (new.offset == NULL || new.data == NULL) {
			accel_objects_free(&new);
			return accel__fail(ACCEL_ENOMEM, "no memory for %zu "
			    "bytes of objects", bytes);
		}
	}
	if (count > 0)
		st = accel_broadcast(a, to->offset, (count + 1) *
		    sizeof(*to->offset), root);
	if (st == ACCEL_OK)
		st = accel_broadcast(a, to->data, bytes, root);
	if (to == &new && st == ACCEL_OK) {
		accel_objects_free(o);
		*o = new;
	} else {
		accel_objects_free(&new);
	}
	return st;
}
