/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets which samples: the golden vectors of Accelerate, with and without a
 * thread; shuffles; errors and seeks of a feed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/train/shuffle.h"
#include "tests/tap.h"
#include "tests/train/deal.h"

enum { STREAM = 1 << 20 };		/* beside the flags of a loader */

static void
deal(char *out, size_t room, int64_t n, int batch, int world, uint32_t flags,
    int ahead)
{
	size_t len = 0;
	struct err err = ERR_INIT;

	out[0] = '\0';
	for (int shard = 0; shard < world; shard++) {
		const struct round	*r;
		accel_source		*s;
		struct feed		*f = feed_of(&n, batch, world, shard,
		    flags & ~(uint32_t)STREAM, 42, (flags & STREAM) != 0,
		    ahead, &s, &err);

		if (f == NULL)
			return;
		if (shard > 0)
			len += (size_t)snprintf(out + len, room - len, " ");
		while ((r = feed_next(f, &err)) != NULL && !r->over &&
		    r->status == ACCEL_OK) {
			struct part p = part_of(r, n, batch, world, shard,
			    flags & ~(uint32_t)STREAM);

			if (p.rows == 0)
				continue;
			len += (size_t)snprintf(out + len, room - len, "[");
			for (int i = 0; i < p.rows; i++) {
				int64_t k = r->index[p.first + i], row = k;

				if (s != NULL)
					memcpy(&row, r->rows.data +
					    r->rows.offset[p.first + i],
					    sizeof(row));
				len += (size_t)snprintf(out + len, room - len,
				    row == k ? "%d" : "<%d>", (int)k);
			}
			len += (size_t)snprintf(out + len, room - len, "]");
		}
		feed_free(f);
		accel_source_free(s);
	}
}

/* reference/accelerate.md 7.6, and its loops' local batches. */
static const struct {
	int n, batch, world;
	uint32_t flags;
	const char *want;
} golden[] = {
	{ 7, 2, 2, 0, "[01][45] [23][60]" },
	{ 7, 2, 2, ACCEL_UNEVEN, "[01][45] [23][6]" },
	{ 7, 2, 2, ACCEL_DROP_LAST, "[01] [23]" },
	{ 7, 2, 2, ACCEL_DROP_LAST | ACCEL_UNEVEN, "[01] [23]" },
	{ 7, 2, 2, ACCEL_SPLIT, "[0][2][4][6] [1][3][5][0]" },
	{ 7, 2, 2, ACCEL_SPLIT | ACCEL_UNEVEN, "[0][2][4][6] [1][3][5]" },
	{ 10, 4, 2, 0, "[0123][8901] [4567][2345]" },
	{ 10, 4, 2, ACCEL_UNEVEN, "[0123][89] [4567]" },
	{ 10, 4, 2, ACCEL_SPLIT, "[01][45][89] [23][67][01]" },
	{ 10, 4, 2, ACCEL_SPLIT | ACCEL_UNEVEN, "[01][45][89] [23][67]" },
	{ 5, 2, 3, 0, "[01] [23] [40]" },
	{ 5, 2, 3, ACCEL_UNEVEN, "[01] [23] [4]" },
	{ 1, 2, 2, 0, "[00] [00]" },
	{ 1, 2, 2, ACCEL_UNEVEN, "[0] " },
	{ 7, 2, 2, STREAM, "[01][45] [23][60]" },
	{ 7, 2, 2, STREAM | ACCEL_DROP_LAST, "[01] [23]" },
	{ 9, 4, 2, STREAM, "[0123][8012] [4567][3456]" },
	{ 9, 4, 2, STREAM | ACCEL_SPLIT, "[01][45][80] [23][67][12]" },
	{ 9, 2, 2, 0, "[01][45][80] [23][67][12]" },
	{ 8, 2, 2, 0, "[01][45] [23][67]" },
	{ 8, 2, 2, STREAM, "[01][45] [23][67]" },
	{ 5, 4, 2, 0, "[0123] [4012]" },
	{ 9, 2, 2, ACCEL_DISPATCH, "[01][45][8] [23][67][0]" },
	{ 9, 2, 2, ACCEL_DISPATCH | STREAM, "[01][45][8] [23][67][0]" },
	{ 9, 2, 2, ACCEL_DISPATCH | ACCEL_DROP_LAST, "[01][45] [23][67]" },
	/* What is left after full rounds is cut evenly. */
	{ 10, 4, 2, ACCEL_DISPATCH, "[0123][8] [4567][9]" },
	/* Ours: fewer samples than ranks leave none without. */
	{ 2, 1, 5, ACCEL_DISPATCH, "[0] [1] [0] [1] [0]" },
};

/* torch.manual_seed(s); torch.randperm(n), PyTorch 2.15. */
static const struct {
	int n;
	uint64_t seed;
	const char *want;
} torch[] = {
	{ 10, 0, "4175390862" },
	{ 10, 42, "2618450937" },
	{ 7, (5ull << 32) + 1, "0613524" },
};

static void
shuffles(void)
{
	int64_t	order[1000], first[1000];
	char	text[64];
	bool	seen[1000] = { false }, whole = true;

	for (size_t i = 0; i < sizeof(torch) / sizeof(torch[0]); i++) {
		shuffle_order(order, torch[i].n, torch[i].seed);
		for (int k = 0; k < torch[i].n; k++)
			text[k] = (char)('0' + order[k]);
		text[torch[i].n] = '\0';
		is(text, torch[i].want, "torch.randperm(%d) for seed %llu",
		    torch[i].n, (unsigned long long)torch[i].seed);
	}
	shuffle_order(first, 1000, 3);
	shuffle_order(order, 1000, 4);
	ok(memcmp(first, order, sizeof(order)) != 0,
	    "another seed, another order");
	for (int i = 0; i < 1000; i++) {
		whole = whole && order[i] >= 0 && order[i] < 1000 &&
		    !seen[order[i]];
		if (whole)
			seen[order[i]] = true;
	}
	ok(whole, "each sample is there once");
}

/* A source whose sample 5 fails "left" times. */
static accel_status
fails(void *user, int64_t epoch, int64_t index, void *row, size_t room,
    size_t *bytes)
{
	int *left = user;

	(void)epoch;
	(void)room;
	if (index == 5 && (*left)-- > 0)
		return ACCEL_EIO;
	*(int64_t *)row = index;
	*bytes = sizeof(index);
	return index < 8 ? ACCEL_OK : ACCEL_END;
}

/* Every epoch has the order of its own seed. */
static void
epochs(void)
{
	struct sampler	s = { .n = 100, .batch = 100, .shards = 1,
	    .flags = ACCEL_SHUFFLE, .seed = 7 };
	int64_t		order[100];

	if (sampler_init(&s, NULL) != 0)
		exit(1);
	for (int64_t e = 3; e >= 0; e -= 3) {
		sampler_epoch(&s, e);
		shuffle_order(order, 100, 7 + (uint64_t)e);
		ok(memcmp(order, s.order, sizeof(order)) == 0,
		    "epoch %d is shuffled by seed + %d", (int)e, (int)e);
	}
	sampler_clear(&s);
}

static void
errors(int stream, int ahead)
{
	struct feed_config	 c = { .ahead = ahead, .limit_s = 60 };
	const struct round	*r;
	accel_source		*s;
	struct feed		*f;
	struct err		 err = ERR_INIT;
	int			 left = 2;

	c.sampler = (struct sampler){ .n = stream ? -1 : 8, .batch = 2,
	    .shards = 1 };
	accel_source_callback(fails, &left, c.sampler.n, 8, &s);
	c.source = s;
	if (sampler_init(&c.sampler, &err) != 0 || feed_new(&f, &c, &err) != 0)
		exit(1);
	r = feed_next(f, &err);
	ok(r != NULL && r->status == ACCEL_OK && r->index[0] == 0,
	    "%s, %d ahead: the first batch", stream ? "a stream" : "samples",
	    ahead);
	/* A stream is read one round ahead, to see its end. */
	if (!stream)
		r = feed_next(f, &err);
	for (int i = 0; i < 2; i++) {
		r = feed_next(f, &err);
		ok(r != NULL && r->status == ACCEL_EIO, "error %d comes out",
		    i + 1);
		is(r->err.text, "the callback for sample 5 of epoch 0 "
		    "returned -3", "and says which sample");
	}
	r = feed_next(f, &err);
	ok(r != NULL && r->status == ACCEL_OK && r->count == 2 &&
	    r->index[0] == (stream ? 2 : 4), "then the same batch is there");
	ok(feed_seek(f, 0, 3, &err) == 0 && (r = feed_next(f, &err)) != NULL &&
	    r->index[0] == 6 && r->last, "forward to the last");
	ok(feed_seek(f, 0, 1, &err) == 0 && (r = feed_next(f, &err)) != NULL &&
	    r->index[1] == 3 && !r->last, "and back");
	ok(feed_seek(f, 7, 4, &err) == 0 && (r = feed_next(f, &err)) != NULL &&
	    r->over && r->epoch == 7, "behind the last it is over");
	feed_free(f);
	accel_source_free(s);
}

/* A source that counts, and can be held at a sample. */
struct gate {
	pthread_mutex_t	lock;
	pthread_cond_t	change;
	int64_t		read, hold;	/* samples; -1: none is held */
};

static accel_status
through_gate(void *user, int64_t epoch, int64_t index, void *row, size_t room,
    size_t *bytes)
{
	struct gate *g = user;

	(void)epoch;
	(void)room;
	(void)bytes;
	pthread_mutex_lock(&g->lock);
	g->read++;
	pthread_cond_broadcast(&g->change);
	while (g->hold == index)
		pthread_cond_wait(&g->change, &g->lock);
	pthread_mutex_unlock(&g->lock);
	*(int64_t *)row = index;
	return ACCEL_OK;
}

/* Until "n" have been read, or a minute is over. */
static bool
comes_to(struct gate *g, int64_t n)
{
	struct timespec until;
	bool there;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&g->lock);
	while (g->read < n && pthread_cond_timedwait(&g->change, &g->lock,
	    &until) == 0)
		continue;
	there = g->read == n;
	pthread_mutex_unlock(&g->lock);
	return there;
}

static void
opens(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->hold = -1;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
}

static void
ahead(void)
{
	struct gate		 g = { PTHREAD_MUTEX_INITIALIZER,
	    PTHREAD_COND_INITIALIZER, 0, -1 };
	struct feed_config	 c = { .ahead = 3, .limit_s = 60 };
	struct feed		*f;
	accel_source		*s;
	struct err		 err = ERR_INIT;
	const struct round	*r;

	c.sampler = (struct sampler){ .n = 40, .batch = 2, .shards = 1 };
	accel_source_callback(through_gate, &g, 40, 8, &s);
	c.source = s;
	if (sampler_init(&c.sampler, &err) != 0 || feed_new(&f, &c, &err) != 0)
		exit(1);
	ok(g.read == 0, "nothing is read before it is asked for");
	r = feed_next(f, &err);
	ok(r != NULL && comes_to(&g, 8), "one batch given, three wait");
	r = feed_next(f, &err);
	ok(r != NULL && r->index[0] == 2 && comes_to(&g, 10),
	    "the next given, one more is read, and no further");
	feed_free(f);
	ok(g.read == 10, "its end ends the reading");

	/* A read that does not end. */
	c.limit_s = 0.2;
	g.hold = 3;
	c.sampler = (struct sampler){ .n = 40, .batch = 2, .shards = 1 };
	if (sampler_init(&c.sampler, &err) != 0 || feed_new(&f, &c, &err) != 0)
		exit(1);
	while (feed_next(f, &err) == NULL)
		continue;
	ok(feed_next(f, &err) == NULL, "a batch that does not come");
	is(err.text, "reading batch 1 of epoch 0 did not end in 0.2 s",
	    "is named at the limit");
	ok(feed_seek(f, 0, 5, &err) == -1, "nor can it be left");
	opens(&g);
	ok(comes_to(&g, 14), "until it ends");
	while ((r = feed_next(f, &err)) == NULL)
		continue;
	ok(r->index[0] == 2 && feed_seek(f, 0, 5, &err) == 0 &&
	    (r = feed_next(f, &err)) != NULL && r->index[0] == 10,
	    "then all goes on");
	feed_free(f);
	accel_source_free(s);
}

int
main(void)
{
	char got[256], by_thread[256];

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		deal(got, sizeof(got), golden[i].n, golden[i].batch,
		    golden[i].world, golden[i].flags, 0);
		is(got, golden[i].want, "%d samples in batches of %d for %d "
		    "ranks, flags %x", golden[i].n, golden[i].batch,
		    golden[i].world, golden[i].flags);
		deal(by_thread, sizeof(by_thread), golden[i].n, golden[i].batch,
		    golden[i].world, golden[i].flags, 3);
		is(by_thread, golden[i].want, "and by a thread");
	}
	shuffles();
	epochs();
	for (int stream = 0; stream < 2; stream++)
		for (int n = 0; n < 4; n += 3)
			errors(stream, n);
	ahead();
	return tap_done();
}
