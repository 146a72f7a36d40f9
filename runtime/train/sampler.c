/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/sampler.h"

#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/train/shuffle.h"

#include "runtime/base/banned.h"

int
sampler_init(struct sampler *s, struct err *err)
{
	s->order = NULL;
	s->epoch = 0;
	if (s->n == 0 || s->n < -1 || s->batch < 1)
		return err_set(err, "a loader needs samples and a batch of at "
		    "least one (it has %lld and %d)", (long long)s->n,
		    s->batch);
	if ((s->flags & ACCEL_SPLIT) && s->batch % s->shards != 0) {
		err_set(err, "a batch of %d is not to be split among %d ranks",
		    s->batch, s->shards);
		return err_hint(err, "take a multiple of %d, or leave "
		    "ACCEL_SPLIT", s->shards);
	}
	if (s->n < 0 && (s->flags & ACCEL_SHUFFLE)) {
		err_set(err, "samples that come in a stream cannot be "
		    "shuffled");
		return err_hint(err, "shuffle where they come from");
	}
	s->rows = s->flags & ACCEL_SPLIT ? s->batch / s->shards : s->batch;
	s->total = (int64_t)s->rows * s->shards;
	s->rounds = s->n < 0 ? -1 : s->n / s->total +
	    (!(s->flags & ACCEL_DROP_LAST) && s->n % s->total != 0);
	if (!(s->flags & ACCEL_SHUFFLE))
		return 0;
	if ((uint64_t)s->n <= SIZE_MAX / sizeof(*s->order))
		s->order = malloc((size_t)s->n * sizeof(*s->order));
	if (s->order == NULL)
		return err_set(err, "no memory to shuffle %lld samples",
		    (long long)s->n);
	shuffle_order(s->order, s->n, s->seed);
	return 0;
}

void
sampler_clear(struct sampler *s)
{
	free(s->order);
	s->order = NULL;
}

void
sampler_epoch(struct sampler *s, int64_t epoch)
{
	if (s->order != NULL && epoch != s->epoch)
		shuffle_order(s->order, s->n, s->seed + (uint64_t)epoch);
	s->epoch = epoch;
}

int64_t
sampler_left(const struct sampler *s, int64_t round)
{
	int64_t left = s->n - round * s->total;

	return left < s->total ? left : s->total;
}

struct part
sampler_part(const struct sampler *s, int64_t left, int shard)
{
	struct part part = { (int64_t)shard * s->rows, s->rows };

	if (left >= s->total)
		return part;
	if (s->flags & ACCEL_DISPATCH) {
		/* What rank 0 has left is cut evenly, not in full batches. */
		part.rows = (int)((left + s->shards - 1) / s->shards);
		part.first = (int64_t)shard * part.rows;
	} else if (s->flags & ACCEL_UNEVEN) {
		if (part.first > left)
			part.first = left;
		if (part.rows > left - part.first)
			part.rows = (int)(left - part.first);
	}
	return part;
}

int64_t
sampler_at(const struct sampler *s, int64_t round, int64_t position)
{
	int64_t at = round * s->total + position;

	at %= s->n;
	return s->order != NULL ? s->order[at] : at;
}
