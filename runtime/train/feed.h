/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: makes a shard's batches, one round after the other, from a sampler and
 * a source; with a thread, some rounds ahead.
 *
 * One thread calls these functions.  The feed's thread, where there is one,
 * calls the source alone, stops at the end of an epoch and behind an error,
 * and goes on when feed_next comes again.
 */
#ifndef RUNTIME_TRAIN_FEED_H
#define RUNTIME_TRAIN_FEED_H

#include "runtime/base/err.h"
#include "runtime/train/sampler.h"
#include "runtime/train/source.h"

struct feed;

struct feed_config {
	const struct accel_source *source;	/* NULL: numbers alone */
	struct sampler	 sampler;		/* given: the feed clears it */
	int		 shard;			/* -1: the whole round */
	int		 ahead;			/* rounds; 0: no thread */
	double		 limit_s;		/* for feed_next */
};

struct round {
	int64_t		 epoch, number;
	int64_t		 left;		/* samples of its own, of all shards */
	bool		 last;		/* of the epoch */
	bool		 over;		/* behind the last: nothing in it */
	int64_t		*index;		/* one a row */
	int		 count;
	struct rows	 rows;		/* empty without a source */
	accel_status	 status;	/* negative: with *err */
	struct err	 err;
};

/* Gives *feed, at epoch 0, round 0.  The sampler is cleared on failure too. */
int  feed_new(struct feed **feed, const struct feed_config *config,
    struct err *err);
/* Waits for a read that runs.  NULL is fine. */
void feed_free(struct feed *feed);

/* The next round, borrowed until the next call; NULL and *err when it did not
 * come in time.  After one with an error or "over" the same comes again, made
 * anew. */
const struct round *feed_next(struct feed *feed, struct err *err);

/* What feed_next gives next.  Waits for a read that runs. */
int  feed_seek(struct feed *feed, int64_t epoch, int64_t number,
    struct err *err);
#endif
