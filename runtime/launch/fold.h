/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold: lines that many ranks write at about the same time become one.
 *
 * A line waits for a short while for its like from other ranks.  The lines of
 * one rank keep their order, and none is lost.  What waits is bounded, so a
 * flood is folded less, not held back.  Pure: time is given.
 */
#ifndef RUNTIME_LAUNCH_FOLD_H
#define RUNTIME_LAUNCH_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/launch/ranks.h"

struct fold;

typedef void fold_emit(void *user, const struct ranks *ranks, int stream,
    const char *line, size_t n);

enum { FOLD_LINES = 512, FOLD_BYTES = 1 << 20 };	/* what waits at most */

/* NULL without memory. */
struct fold *fold_new(size_t world, int64_t window_ms, fold_emit *emit,
    void *user);
/* A line of a rank, without its end; copied. */
void fold_line(struct fold *f, int64_t now, size_t rank, int stream,
    const char *line, size_t n);
/* Gives out what has waited long enough. */
void fold_tick(struct fold *f, int64_t now);
/* Gives out all. */
void fold_flush(struct fold *f);
/* When fold_tick() has something to do; -1: never. */
int64_t fold_due(const struct fold *f);
/* NULL is fine.  What waits is dropped: fold_flush() before. */
void fold_free(struct fold *f);
#endif
