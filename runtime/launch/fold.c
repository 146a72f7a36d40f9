/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/fold.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"

#include "runtime/base/banned.h"

enum { BUCKETS = 256 };

struct item {			/* a line that waits */
	struct ranks	 ranks;
	char		*line;
	size_t		 n;
	uint64_t	 hash;
	int64_t		 since;
	int		 stream;
	size_t		 older;	/* of the same bucket: a number, or NONE */
};

/* Items have numbers in the order of their coming, from "first" up to "next";
 * number k is in item[k % FOLD_LINES]. */
struct fold {
	struct item	 item[FOLD_LINES];
	size_t		 first, next;
	size_t		 bucket[BUCKETS];	/* the newest of it, plus 1 */
	size_t		*last;		/* of each rank: its newest, plus 1 */
	size_t		 world, bytes;
	int64_t		 window;
	fold_emit	*emit;
	void		*user;
};

struct fold *
fold_new(size_t world, int64_t window_ms, fold_emit *emit, void *user)
{
	struct fold *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->last = calloc(world, sizeof *f->last);
	if (!f->last) {
		free(f);
		return NULL;
	}
	f->world = world;
	f->window = window_ms;
	f->emit = emit;
	f->user = user;
	return f;
}

static struct item *
at(struct fold *f, size_t number)
{
	return &f->item[number % FOLD_LINES];
}

static void
drop(struct fold *f)
{
	struct item *item = at(f, f->first);

	ranks_clear(&item->ranks);
	f->bytes -= item->n;
	free(item->line);
	f->first++;
}

static void
give(struct fold *f)
{
	struct item *item = at(f, f->first);

	f->emit(f->user, &item->ranks, item->stream, item->line, item->n);
	drop(f);
}

/* The oldest equal line that this rank may join: one that comes behind all of
 * its own.  A bucket's chain goes from new to old. */
static struct item *
find(struct fold *f, size_t rank, int stream, const char *line, size_t n,
    uint64_t hash)
{
	struct item	*found = NULL;
	size_t		 link = f->bucket[hash % BUCKETS];

	while (link > f->first && link > f->last[rank]) {
		struct item *item = at(f, link - 1);

		if (item->hash == hash && item->stream == stream &&
		    item->n == n)
			found = item;
		link = item->older;
	}
	return found && !memcmp(found->line, line, n) ? found : NULL;
}

void
fold_line(struct fold *f, int64_t now, size_t rank, int stream,
    const char *line, size_t n)
{
	uint64_t	 hash = hash_bytes(line, n);
	struct item	*item = find(f, rank, stream, line, n, hash);

	if (item) {
		ranks_add(&item->ranks, rank);
		f->last[rank] = f->first + 1 + (size_t)
		    ((item - f->item) + FOLD_LINES - f->first % FOLD_LINES) %
		    FOLD_LINES;
		while (f->first < f->next &&
		    at(f, f->first)->ranks.count == f->world)
			give(f);
		return;
	}
	while (f->first < f->next && (f->next - f->first == FOLD_LINES ||
	    f->bytes + n > FOLD_BYTES))
		give(f);
	item = at(f, f->next);
	*item = (struct item){
		.ranks = RANKS_INIT(f->world), .n = n, .hash = hash,
		.since = now, .stream = stream, .line = malloc(n + 1),
		.older = f->bucket[hash % BUCKETS],
	};
	f->next++;
	f->bytes += n;
	if (item->line && ranks_add(&item->ranks, rank) == 0) {
		memcpy(item->line, line, n);
		item->line[n] = '\0';
		f->bucket[hash % BUCKETS] = f->last[rank] = f->next;
		if (n > FOLD_BYTES)	/* too long to wait */
			fold_flush(f);
		return;
	}
	/* Without memory the line is lost; those before it are not. */
	while (f->first + 1 < f->next)
		give(f);
	drop(f);
}

void
fold_tick(struct fold *f, int64_t now)
{
	while (f->first < f->next && now - at(f, f->first)->since >= f->window)
		give(f);
}

void
fold_flush(struct fold *f)
{
	while (f->first < f->next)
		give(f);
}

int64_t
fold_due(const struct fold *f)
{
	return f->first == f->next ? -1 :
	    f->item[f->first % FOLD_LINES].since + f->window;
}

void
fold_free(struct fold *f)
{
	if (!f)
		return;
	while (f->first < f->next)
		drop(f);
	free(f->last);
	free(f);
}
