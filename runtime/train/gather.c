/* SPDX-License-Identifier: Apache-2.0 */
/* gather: rows of all ranks side by side, with as many as each has. */
#include <stdlib.h>

#include "runtime/train/loader.h"

#include "runtime/base/banned.h"

enum { ROWS, BYTES, ROOM, BATCH, GATHER_ARGS };

/* Puts the ranks' rows, which lie "most" rows apart, behind one another. */
static accel_status
compact(accel *a, const int64_t *each, const char *padded, size_t most,
    size_t row_bytes, char *out)
{
	accel_status st = ACCEL_OK;

	for (int r = 0; r < a->world && st == ACCEL_OK; r++) {
		size_t n = (size_t)each[r * GATHER_ARGS + ROWS] * row_bytes;

		if (n > 0)
			st = accel__write(a, out, padded +
			    (size_t)r * most * row_bytes, n);
		out += n;
	}
	return st;
}

static accel_status
move_rows(accel *a, const int64_t *each, const void *in, size_t row_bytes,
    void *out, size_t total)
{
	size_t		 mine = (size_t)each[a->rank * GATHER_ARGS + ROWS];
	size_t		 most = 0, block;
	char		*padded;
	accel_status	 st = ACCEL_OK;

	for (int r = 0; r < a->world; r++)
		if ((size_t)each[r * GATHER_ARGS + ROWS] > most)
			most = (size_t)each[r * GATHER_ARGS + ROWS];
	block = most * row_bytes;
	if (total == most * (size_t)a->world)
		return accel_all_gather(a, in, out, block);
	padded = calloc((size_t)a->world + 1, block);
	if (padded == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory to gather %zu rows "
		    "of %zu bytes", total, row_bytes);
	if (mine > 0)
		st = accel__read(a, padded + (size_t)a->world * block, in,
		    mine * row_bytes);
	if (st == ACCEL_OK)
		st = accel_all_gather(a, padded + (size_t)a->world * block,
		    padded, block);
	if (st == ACCEL_OK)
		st = compact(a, each, padded, most, row_bytes, out);
	free(padded);
	return st;
}

accel_status
accel__gather(accel *a, const char *call, const char *fault, int64_t batch,
    const void *in, size_t nrow, size_t row_bytes, void *out, size_t room,
    size_t *n)
{
	struct arg arg[GATHER_ARGS] = {
		{ "the number of rows", (int64_t)nrow, false },
		{ "row_bytes", (int64_t)row_bytes, true },
		{ "room", (int64_t)room, false },
		{ "the batch", batch, true },
	};
	size_t		 total = 0;
	int64_t		*each;
	accel_status	 st;

	*n = 0;
	each = calloc((size_t)a->world, GATHER_ARGS * sizeof(*each));
	if (each == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	st = accel__agree(a, call, fault, arg, GATHER_ARGS, each);
	for (int r = 0; r < a->world && st == ACCEL_OK; r++)
		total += (size_t)each[r * GATHER_ARGS + ROWS];
	for (int r = 0; r < a->world && st == ACCEL_OK; r++)
		if ((size_t)each[r * GATHER_ARGS + ROOM] < total)
			st = accel__fail(ACCEL_EINVAL, "%s: rank %d has room "
			    "for %lld rows of %zu", call, r,
			    (long long)each[r * GATHER_ARGS + ROOM], total);
	if (st == ACCEL_OK && total > 0 && row_bytes > 0)
		st = move_rows(a, each, in, row_bytes, out, total);
	if (st == ACCEL_OK)
		*n = total;
	free(each);
	return st;
}

accel_status
accel_gather(accel *a, const void *in, size_t nrow, size_t row_bytes,
    void *out, size_t room, size_t *n)
{
	const char *fault = NULL;

	if (row_bytes > 0 && nrow > PTRDIFF_MAX / row_bytes)
		fault = "so many rows have no memory";
	return accel__gather(a, "accel_gather", fault, 0, in, nrow, row_bytes,
	    out, room, n);
}

size_t
accel__rows_to_report(const accel_loader *l)
{
	struct part part = sampler_part(&l->plan, l->left, l->shard);
	int64_t own = l->left - part.first;

	if (l->a->rank % l->peers != 0 || own < 0)
		return 0;
	return (size_t)(own < part.rows ? own : part.rows);
}

const char *
accel__no_batch(const accel_loader *l)
{
	return l->part < 0 ? "accel_next has given no batch" : NULL;
}

accel_status
accel_gather_for_metrics(const accel_loader *l, const void *in,
    size_t row_bytes, void *out, size_t *nrow)
{
	const char *fault = accel__no_batch(l);

	return accel__gather(l->a, "accel_gather_for_metrics", fault, l->round,
	    in, fault != NULL ? 0 : accel__rows_to_report(l), row_bytes, out,
	    (size_t)l->plan.total, nrow);
}
