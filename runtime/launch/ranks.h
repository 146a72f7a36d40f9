/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: a set of ranks, and how people write one: "0-3,7". */
#ifndef RUNTIME_LAUNCH_RANKS_H
#define RUNTIME_LAUNCH_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct ranks {
	uint64_t	*bits;		/* NULL while nothing was added */
	size_t		 world, count;
};

#define RANKS_INIT(n)	{ NULL, (n), 0 }

/* 0, or -1 without memory or outside the world. */
int  ranks_add(struct ranks *r, size_t rank);
bool ranks_has(const struct ranks *r, size_t rank);
/* The lowest that is not below "from"; world where there is none. */
size_t ranks_next(const struct ranks *r, size_t from);
/* Adds "0-3,7"; at most "most" ranges, then "...". */
void ranks_text(const struct ranks *r, size_t most, struct buf *out);
/* Frees; an empty set of the same world is left. */
void ranks_clear(struct ranks *r);
#endif
