/* SPDX-License-Identifier: Apache-2.0 */
/* loader: what the loader's files share. */
#ifndef RUNTIME_TRAIN_LOADER_H
#define RUNTIME_TRAIN_LOADER_H

#include "runtime/train/feed.h"
#include "runtime/train/train.h"

struct accel_loader {
	accel		*a;
	struct sampler	 plan;		/* without its order, the feed's */
	int		 peers, shard;
	struct feed	*feed;		/* NULL: rank 0 reads for this one */
	bool		 has_rows;	/* there is a source */
	size_t		 row_bytes;

	int64_t		 epoch, round;	/* the next one */
	/* The batch given last; part -1: none yet in this epoch. */
	int		 part, given;
	int64_t		 left;		/* samples of its round */
	bool		 last;		/* of the epoch */

	/* With ACCEL_DISPATCH: the round, and this rank's part of it. */
	int64_t		*index;
	struct rows	 whole;
	size_t		*offset;

	int		 number;	/* in checkpoints */

	/* The running loaders of an accel, the innermost first. */
	bool		 listed;
	accel_loader	*outer;
};

/* Rank 0 reads the next round, all get it. */
accel_status accel__dispatch(accel_loader *l, accel_batch *batch);

/* The rows of the batch given last that are this rank's to report: none of
 * those added at the end, and of several peers' the first's. */
size_t accel__rows_to_report(const accel_loader *l);
/* A fault for accel__agree where there is no such batch, or NULL. */
const char *accel__no_batch(const accel_loader *l);

/* accel_gather, under the name of "call"; "batch" is the same on all ranks. */
accel_status accel__gather(accel *a, const char *call, const char *fault,
    int64_t batch, const void *in, size_t nrow, size_t row_bytes, void *out,
    size_t room, size_t *n);
#endif
