/* SPDX-License-Identifier: Apache-2.0 */
/* deal: the batches of each shard of one epoch, as "[01][45] [23][60]". */
#ifndef TESTS_TRAIN_DEAL_H
#define TESTS_TRAIN_DEAL_H

#include <stdio.h>

#include "runtime/train/feed.h"

/* A stream of numbers below *user. */
static accel_status
count_up(void *user, int64_t epoch, int64_t index, void *row, size_t room,
    size_t *bytes)
{
	(void)epoch;
	if (index >= *(const int64_t *)user)
		return ACCEL_END;
	*bytes = sizeof(index);
	if (room >= sizeof(index))
		*(int64_t *)row = index;
	return ACCEL_OK;
}

/* The feed of one shard, over 0 .. n-1 or a stream of them; NULL and *err. */
static struct feed *
feed_of(int64_t *n, int batch, int world, int shard, uint32_t flags,
    uint64_t seed, int stream, int ahead, accel_source **s, struct err *err)
{
	struct feed_config c = { .shard = flags & ACCEL_DISPATCH ? -1 : shard,
	    .ahead = ahead, .limit_s = 60 };
	struct feed *feed;

	*s = NULL;
	c.sampler = (struct sampler){ .n = stream ? -1 : *n, .batch = batch,
	    .shards = world, .flags = flags, .seed = seed };
	if ((stream || ahead > 0) && accel_source_callback(count_up, n,
	    c.sampler.n, sizeof(*n), s) != ACCEL_OK)
		return NULL;
	c.source = *s;
	if (sampler_init(&c.sampler, err) != 0 ||
	    feed_new(&feed, &c, err) != 0) {
		accel_source_free(*s);
		return NULL;
	}
	return feed;
}

/* The shard's part of a round: all of it, but where one reads for all. */
static struct part
part_of(const struct round *r, int64_t n, int batch, int world, int shard,
    uint32_t flags)
{
	struct sampler s = { .n = n, .batch = batch, .shards = world,
	    .flags = flags & ~(uint32_t)ACCEL_SHUFFLE };

	if (!(flags & ACCEL_DISPATCH))
		return (struct part){ 0, r->count };
	sampler_init(&s, NULL);
	return sampler_part(&s, r->left, shard);
}
#endif
