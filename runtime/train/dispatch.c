/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch: rank 0 reads a round, every rank takes its part.  An error in
 * reading reaches all. */
#include <stdlib.h>
#include <string.h>

#include "runtime/train/loader.h"

#include "runtime/base/banned.h"

struct head {
	int32_t		status;
	int32_t		over, last;
	int32_t		count;
	int64_t		left;
	uint64_t	bytes;
	struct err	err;
};

static void
head_set(struct head *h, const struct round *r, const struct err *err)
{
	*h = (struct head){ .status = ACCEL_EIO, .err = *err };
	if (r == NULL)
		return;
	h->status = r->status;
	h->over = r->over;
	h->last = r->last;
	h->count = r->count;
	h->left = r->left;
	h->bytes = r->rows.len;
	h->err = r->err;
}

/* Room for the round on a rank that does not read, and in "offset" for a part
 * on all. */
static int
make_room(accel_loader *l, const struct head *h)
{
	struct rows *w = &l->whole;

	if (l->offset == NULL)
		l->offset = calloc((size_t)l->plan.rows + 1,
		    sizeof(*l->offset));
	if (l->offset == NULL)
		return -1;
	if (l->feed != NULL)
		return 0;
	rows_reset(w);
	if (l->index == NULL)
		l->index = calloc((size_t)l->plan.total, sizeof(*l->index));
	if (w->offset == NULL)
		w->offset = calloc((size_t)l->plan.total + 1,
		    sizeof(*w->offset));
	if (l->index == NULL || w->offset == NULL)
		return -1;
	w->slots = (int)(l->plan.total + 1);
	return rows_room(w, h->bytes) != NULL ? 0 : -1;
}

static accel_status
share(accel_loader *l, const struct head *h, int64_t *index, char *data,
    size_t *offset)
{
	accel *a = l->a;
	size_t count = (size_t)h->count;
	accel_status st;

	st = accel_broadcast(a, index, count * sizeof(*index), 0);
	if (st != ACCEL_OK || !l->has_rows)
		return st;
	if (l->row_bytes == 0)
		st = accel_broadcast(a, offset, (count + 1) * sizeof(*offset),
		    0);
	else
		for (size_t i = 0; i <= count; i++)
			offset[i] = i * l->row_bytes;
	return st != ACCEL_OK ? st : accel_broadcast(a, data, h->bytes, 0);
}

accel_status
accel__dispatch(accel_loader *l, accel_batch *batch)
{
	const struct round	*r = NULL;
	struct head		 h = { 0 };
	struct part		 part;
	int64_t			*index;
	size_t			*offset;
	char			*data;
	accel_status		 st;

	if (l->feed != NULL) {
		r = feed_next(l->feed, accel__err());
		head_set(&h, r, accel__err());
	}
	st = accel_broadcast(l->a, &h, sizeof(h), 0);
	if (st != ACCEL_OK)
		return st;
	if (h.status != ACCEL_OK) {
		*accel__err() = h.err;
		if (l->a->rank != 0)
			err_at(accel__err(), "rank 0");
		return (accel_status)h.status;
	}
	if (h.over)
		return ACCEL_END;
	if (make_room(l, &h) != 0)
		return accel__fail(ACCEL_ENOMEM, "no memory for a round of "
		    "%llu bytes", (unsigned long long)h.bytes);
	index = r != NULL ? r->index : l->index;
	offset = r != NULL ? r->rows.offset : l->whole.offset;
	data = r != NULL ? r->rows.data : l->whole.data;
	st = share(l, &h, index, data, offset);
	if (st != ACCEL_OK)
		return st;
	part = sampler_part(&l->plan, h.left, l->shard);
	batch->rows = part.rows;
	batch->index = index + part.first;
	if (l->has_rows) {
		for (int i = 0; i <= part.rows; i++)
			l->offset[i] = offset[part.first + i] -
			    offset[part.first];
		batch->offset = l->offset;
		batch->data = data + offset[part.first];
	}
	l->left = h.left;
	l->last = h.last;
	l->part = part.rows;
	return ACCEL_OK;
}
