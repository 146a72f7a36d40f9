/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/state_set.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

static struct state_part *
part_of(struct state_set *s, const char *stem)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->part[i].stem, stem) == 0)
			return &s->part[i];
	if (s->count == STATE_PARTS)
		return NULL;
	s->part[s->count].stem = stem;
	return &s->part[s->count++];
}

int
state_set_add(struct state_set *s, const char *stem, const char *name,
    const char *dtype, const int64_t *shape, int rank, const void *data,
    uint64_t bytes, struct err *err)
{
	struct state_part *p = part_of(s, stem);
	struct state_item item = { .dtype = dtype, .rank = rank, .data = data,
	    .bytes = bytes }, *more;

	if (p == NULL || rank > 8)
		return err_set(err, "%s: no place for %s", stem, name);
	for (int i = 0; i < rank; i++)
		item.shape[i] = shape[i];
	/* Room doubles whenever the count reaches a power of two. */
	if ((p->count & (p->count - 1)) == 0) {
		more = realloc(p->item, (p->count ? 2 * p->count : 1) *
		    sizeof(*more));
		if (more == NULL)
			return err_nomem(err);
		p->item = more;
	}
	item.name = strdup(name);
	if (item.name == NULL)
		return err_nomem(err);
	p->item[p->count++] = item;
	return 0;
}

static int
own(struct state_item *item, struct err *err)
{
	if (item->own != NULL)
		return 0;
	item->own = malloc(item->bytes + 1);
	if (item->own == NULL)
		return err_set(err, "no memory for a copy of %s (%llu bytes)",
		    item->name, (unsigned long long)item->bytes);
	if (item->bytes > 0)
		memcpy(item->own, item->data, item->bytes);
	item->data = item->own;
	return 0;
}

int
state_set_copy(struct state_set *s, const char *stem, const char *name,
    const char *dtype, const int64_t *shape, int rank, const void *data,
    uint64_t bytes, struct err *err)
{
	struct state_part *p;

	if (state_set_add(s, stem, name, dtype, shape, rank, data, bytes,
	    err) != 0)
		return -1;
	p = part_of(s, stem);
	return own(&p->item[p->count - 1], err);
}

int
state_set_bytes(struct state_set *s, const char *stem, const char *name,
    const void *data, uint64_t bytes, struct err *err)
{
	int64_t shape = (int64_t)bytes;

	return state_set_copy(s, stem, name, "U8", &shape, 1, data, bytes,
	    err);
}

int
state_set_move(struct state_set *s, struct state_room *room,
    const struct state_fetch *fetch, struct err *err)
{
	const size_t line = 64;
	size_t size = 0;
	char *at;

	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->part[i].count; k++)
			if (s->part[i].item[k].own == NULL)
				size += (s->part[i].item[k].bytes + line - 1) /
				    line * line;
	if (size > room->size) {
		free(room->data);
		*room = (struct state_room){ malloc(size), size };
		if (room->data == NULL) {
			room->size = 0;
			return err_set(err, "no memory for a copy of %zu "
			    "bytes; a save that is not asynchronous needs "
			    "none", size);
		}
	}
	at = room->data;
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->part[i].count; k++) {
			struct state_item *item = &s->part[i].item[k];

			if (item->own != NULL || item->bytes == 0)
				continue;
			if (fetch == NULL)
				memcpy(at, item->data, item->bytes);
			else if (fetch->read(fetch->user, at, item->data,
			    item->bytes, err) != 0)
				return -1;
			item->data = at;
			at += (item->bytes + line - 1) / line * line;
		}
	return 0;
}

void
state_set_clear(struct state_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = 0; k < s->part[i].count; k++) {
			free(s->part[i].item[k].name);
			free(s->part[i].item[k].own);
		}
		free(s->part[i].item);
	}
	strv_clear(&s->info);
	*s = (struct state_set)STATE_SET_INIT;
}
