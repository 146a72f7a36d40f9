/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler: which shard gets which samples of which round, as Accelerate's
 * BatchSamplerShard, IterableDatasetShard and DataLoaderDispatcher deal them.
 *
 * A round is one batch of every shard: "total" samples in the order of the
 * data.  A shard's part of it is a run of positions; positions behind the
 * data's end stand for samples taken again from their start.
 *
 * Knows nothing of ranks, files and threads.  ACCEL_SHUFFLE, ACCEL_SPLIT,
 * ACCEL_UNEVEN, ACCEL_DROP_LAST and ACCEL_DISPATCH are its flags.
 */
#ifndef RUNTIME_TRAIN_SAMPLER_H
#define RUNTIME_TRAIN_SAMPLER_H

#include <stdint.h>

#include "runtime/train/accel.h"

struct err;

struct sampler {
	/* The caller's, for sampler_init. */
	int64_t		 n;		/* samples; -1: not known before */
	int		 batch, shards;
	uint32_t	 flags;
	uint64_t	 seed;
	/* Ours. */
	int		 rows;		/* of one shard's full batch */
	int64_t		 total;		/* of a full round */
	int64_t		 rounds;	/* of an epoch; -1: not known before */
	int64_t		 epoch;
	int64_t		*order;		/* NULL: as they come */
};

/* Samples [first, first + rows) of a round, counted from its begin. */
struct part {
	int64_t first;
	int	rows;
};

/* Checks the caller's members and sets the others, at epoch 0. */
int  sampler_init(struct sampler *s, struct err *err);
void sampler_clear(struct sampler *s);

/* The order of that epoch: seed + epoch. */
void sampler_epoch(struct sampler *s, int64_t epoch);

/* How many samples the round has of its own, at most "total". */
int64_t sampler_left(const struct sampler *s, int64_t round);

/* The shard's part of a round that has "left" samples of its own. */
struct part sampler_part(const struct sampler *s, int64_t left, int shard);

/* The sample at a position of a round.  For known n. */
int64_t sampler_at(const struct sampler *s, int64_t round, int64_t position);
#endif
