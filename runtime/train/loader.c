/* SPDX-License-Identifier: Apache-2.0 */
/* loader: which rank sees which samples, as Accelerate deals them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/train/track.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static uint64_t
next_random(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;		/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void
shuffle(accel_loader *l)
{
	uint64_t s = l->seed + (uint64_t)l->epoch;

	for (int64_t i = 0; i < l->n; i++)
		l->shuffle[i] = i;
	for (int64_t i = l->n - 1; i > 0; i--) {
		int64_t j = (int64_t)(next_random(&s) % (uint64_t)(i + 1));
		int64_t keep = l->shuffle[i];

		l->shuffle[i] = l->shuffle[j];
		l->shuffle[j] = keep;
	}
}

accel_status
accel_loader_new(accel *a, int64_t nsample, int batch, uint32_t flags,
    uint64_t seed, accel_loader **out)
{
	accel_loader *l;
	int64_t total;

	*out = NULL;
	if (nsample < 1 || batch < 1)
		return accel__fail(ACCEL_EINVAL, "a loader needs samples and a "
		    "batch of at least one");
	if ((flags & ACCEL_SPLIT) && batch % a->world != 0)
		return accel__fail(ACCEL_EINVAL, "a batch of %d is not to be "
		    "split among %d ranks", batch, a->world);
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	l->a = a;
	l->n = nsample;
	l->flags = flags;
	l->seed = seed;
	l->rows = flags & ACCEL_SPLIT ? batch / a->world : batch;
	total = (int64_t)l->rows * a->world;
	l->rounds = flags & ACCEL_DROP_LAST ? nsample / total :
	    (nsample + total - 1) / total;
	if (flags & ACCEL_SHUFFLE) {
		l->shuffle = malloc((size_t)nsample * sizeof(*l->shuffle));
		if (l->shuffle == NULL) {
			free(l);
			return accel__fail(ACCEL_ENOMEM, "no memory to shuffle "
			    "%lld samples", (long long)nsample);
		}
		shuffle(l);
	}
	*out = l;
	return ACCEL_OK;
}

void
accel_loader_free(accel_loader *l)
{
	if (l == NULL)
		return;
	if (l->a->active == l)
		l->a->active = NULL;
	free(l->shuffle);
	free(l);
}

int
accel_loader_rows(const accel_loader *l)
{
	return l->rows;
}

accel_status
accel_next(accel_loader *l, int64_t *index, int *rows)
{
	int64_t at = (l->round * l->a->world + l->a->rank) * l->rows;

	*rows = 0;
	if (l->round == l->rounds) {
		if (l->a->active == l)
			l->a->active = NULL;
		l->round = 0;
		l->epoch++;
		if (l->shuffle != NULL)
			shuffle(l);
		return ACCEL_END;
	}
	for (int i = 0; i < l->rows; i++, at++) {
		int64_t k = at % l->n;

		if (at >= l->n && (l->flags & ACCEL_UNEVEN))
			break;
		index[(*rows)++] = l->shuffle != NULL ? l->shuffle[k] : k;
	}
	l->given = *rows;
	track_samples(l->a, (int64_t)l->rows * l->a->world);
	l->round++;
	l->a->active = l;
	return ACCEL_OK;
}

accel_status
accel_gather_for_metrics(const accel_loader *l, const void *in,
    size_t row_bytes, void *out, size_t *nrow)
{
	int64_t total = (int64_t)l->rows * l->a->world;
	int64_t left = l->n - (l->round - 1) * total;
	size_t bytes = (size_t)l->rows * row_bytes;
	accel_status st;
	char *mine;

	*nrow = 0;
	if (l->round == 0)
		return accel__fail(ACCEL_ESTATE, "accel_gather_for_metrics: "
		    "accel_next has given no batch");
	/* The caller's short last batch may have no more room than rows. */
	mine = calloc(1, bytes + 1);
	if (mine == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (l->given > 0)
		memcpy(mine, in, (size_t)l->given * row_bytes);
	st = accel_all_gather(l->a, mine, out, bytes);
	free(mine);
	if (st == ACCEL_OK)
		*nrow = (size_t)(left < total ? left : total);
	return st;
}
