/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/ranks.h"

#include <stdlib.h>

#include "runtime/base/buf.h"

#include "runtime/base/banned.h"

int
ranks_add(struct ranks *r, size_t rank)
{
	uint64_t bit = (uint64_t)1 << rank % 64;

	if (rank >= r->world)
		return -1;
	if (!r->bits && !(r->bits = calloc(r->world / 64 + 1, sizeof *r->bits)))
		return -1;
	r->count += !(r->bits[rank / 64] & bit);
	r->bits[rank / 64] |= bit;
	return 0;
}

bool
ranks_has(const struct ranks *r, size_t rank)
{
	return r->bits && rank < r->world &&
	    r->bits[rank / 64] >> rank % 64 & 1;
}

size_t
ranks_next(const struct ranks *r, size_t from)
{
	uint64_t left;

	/* A word at a time: the first of 10,000 ranks is asked for each line. */
	while (r->bits && from < r->world) {
		left = r->bits[from / 64] >> from % 64;
		if (left)
			return from + (size_t)__builtin_ctzll(left);
		from += 64 - from % 64;
	}
	return r->world;
}

void
ranks_text(const struct ranks *r, size_t most, struct buf *out)
{
	size_t first = ranks_next(r, 0);

	for (size_t n = 0; first < r->world; n++) {
		size_t last = first;

		if (n == most) {
			buf_adds(out, ",...");
			return;
		}
		while (ranks_has(r, last + 1))
			last++;
		buf_addf(out, "%s%zu", n ? "," : "", first);
		if (last > first)
			buf_addf(out, "%c%zu", last > first + 1 ? '-' : ',',
			    last);
		first = ranks_next(r, last + 1);
	}
}

void
ranks_clear(struct ranks *r)
{
	free(r->bits);
	*r = (struct ranks)RANKS_INIT(r->world);
}
