/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders on 1 to 4 ranks: what is gathered for metrics, the end flag and the
 * remainder, resuming in the middle, rank 0 reading for all, and errors. */
#include <string.h>

#include "tests/train/world.h"

enum { MOST = 64 };

/* Rows of rank's batches in turn, as one text: "[01][45]". */
struct told {
	char	local[256], metrics[256], flags[256];
};

static void
add(char *text, size_t room, const char *fmt, int x)
{
	size_t len = strlen(text);

	snprintf(text + len, room - len, fmt, x);
}

/* One epoch; rows are int64_t of the sample's number. */
static accel_status
epoch(accel_loader *l, struct told *t)
{
	accel_loader_place	place;
	accel_batch		batch;
	accel_status		st;
	int64_t			out[MOST];
	size_t			n;

	memset(t, 0, sizeof(*t));
	while ((st = accel_next_batch(l, &batch)) == ACCEL_OK) {
		const int64_t *data = batch.data;

		add(t->local, sizeof(t->local), "[", 0);
		for (int i = 0; i < batch.rows; i++) {
			HOLDS(data == NULL || data[i] == batch.index[i]);
			HOLDS(data == NULL || batch.offset[i + 1] -
			    batch.offset[i] == sizeof(*data));
			add(t->local, sizeof(t->local), "%d",
			    (int)batch.index[i]);
		}
		add(t->local, sizeof(t->local), "]", 0);
		GOOD(accel_gather_for_metrics(l, batch.index, sizeof(*out),
		    out, &n));
		for (size_t i = 0; i < n; i++)
			add(t->metrics, sizeof(t->metrics), "%d", (int)out[i]);
		add(t->metrics, sizeof(t->metrics), ",", 0);
		accel_loader_where(l, &place);
		add(t->flags, sizeof(t->flags), place.end ? "T%d " : "F%d ",
		    (int)place.remainder);
	}
	HOLDS(st == ACCEL_END);
	return ACCEL_OK;
}

/* A stream of *n numbers. */
static accel_status
count_up(void *user, int64_t epoch_, int64_t index, void *row, size_t room,
    size_t *bytes)
{
	(void)epoch_;
	(void)room;
	(void)bytes;
	if (index >= *(const int64_t *)user)
		return ACCEL_END;
	*(int64_t *)row = index;
	return ACCEL_OK;
}

static accel_status
open_loader(accel *a, int64_t *n, int batch, uint32_t flags, int stream,
    int prefetch, accel_source **s, accel_loader **l)
{
	accel_loader_config c = ACCEL_LOADER_INIT;

	c.batch = batch;
	c.flags = flags;
	c.prefetch = prefetch;
	c.seed = 42;
	c.limit_s = 60;
	GOOD(accel_source_callback(count_up, n, stream ? -1 : *n, sizeof(*n),
	    s));
	return accel_loader_open(a, flags & ACCEL_DISPATCH &&
	    accel_rank(a) != 0 ? NULL : *s, &c, l);
}

/* reference/accelerate.md 7.6, the second table: two ranks. */
static const struct {
	int64_t n;
	int batch, stream;
	uint32_t flags;
	const char *local[2], *metrics, *told;
} loops[] = {
	{ 9, 2, 0, 0, { "[01][45][80]", "[23][67][12]" }, "0123,4567,8,",
	    "F1 F1 T1 " },
	{ 7, 2, 0, 0, { "[01][45]", "[23][60]" }, "0123,456,", "F3 T3 " },
	{ 8, 2, 0, 0, { "[01][45]", "[23][67]" }, "0123,4567,", "F0 T0 " },
	{ 9, 2, 0, ACCEL_DISPATCH, { "[01][45][8]", "[23][67][0]" },
	    "0123,4567,8,", "F-1 F-1 T1 " },
	{ 5, 4, 0, 0, { "[0123]", "[4012]" }, "01234,", "T5 " },
	/* Ours: short batches can be gathered, and a stream's end is known. */
	{ 7, 2, 0, ACCEL_UNEVEN, { "[01][45]", "[23][6]" }, "0123,456,",
	    "F3 T3 " },
	{ 5, 2, 0, ACCEL_UNEVEN, { "[01][4]", "[23][]" }, "0123,4,",
	    "F1 T1 " },
	{ 7, 2, 0, ACCEL_DROP_LAST, { "[01]", "[23]" }, "0123,", "T-1 " },
	{ 7, 2, 1, 0, { "[01][45]", "[23][60]" }, "0123,456,", "F-1 T3 " },
	{ 9, 2, 1, ACCEL_DISPATCH, { "[01][45][8]", "[23][67][0]" },
	    "0123,4567,8,", "F-1 F-1 T1 " },
};

static accel_status
golden(accel *a)
{
	if (accel_world(a) != 2)
		return ACCEL_OK;
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		for (int prefetch = 0; prefetch < 4; prefetch += 3) {
			struct told	 t;
			accel_source	*s;
			accel_loader	*l;
			int64_t		 n = loops[i].n;

			GOOD(open_loader(a, &n, loops[i].batch, loops[i].flags,
			    loops[i].stream, prefetch, &s, &l));
			/* The second epoch is as the first, unshuffled. */
			for (int e = 0; e < 2; e++) {
				GOOD(epoch(l, &t));
				HOLDS(strcmp(t.local, loops[i].local[
				    accel_rank(a)]) == 0);
				HOLDS(strcmp(t.metrics, loops[i].metrics) ==
				    0);
				HOLDS(strcmp(t.flags, loops[i].told) == 0);
			}
			accel_loader_free(l);
			accel_source_free(s);
		}
	return ACCEL_OK;
}

static accel_status
metrics(accel *a)
{
	static const uint32_t flags[] = { 0, ACCEL_UNEVEN, ACCEL_DISPATCH,
	    ACCEL_SHUFFLE, ACCEL_SHUFFLE | ACCEL_DISPATCH };

	/* Each sample once, in order, whatever there is to fill up. */
	for (int64_t n = 1; n <= 13; n += 3)
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			bool		 seen[16] = { false };
			accel_source	*s;
			accel_loader	*l;
			accel_batch	 b;
			accel_status	 st;
			int64_t		 out[MOST], at = 0;
			size_t		 rows;

			GOOD(open_loader(a, &n, 2, flags[f], 0, 2, &s, &l));
			while ((st = accel_next_batch(l, &b)) == ACCEL_OK) {
				GOOD(accel_gather_for_metrics(l, b.data,
				    sizeof(*out), out, &rows));
				for (size_t i = 0; i < rows; i++, at++) {
					HOLDS(out[i] >= 0 && out[i] < n &&
					    !seen[out[i]]);
					HOLDS(flags[f] & ACCEL_SHUFFLE ||
					    out[i] == at);
					seen[out[i]] = true;
				}
			}
			HOLDS(st == ACCEL_END && at == n);
			HOLDS(accel_gather_for_metrics(l, out, 8, out, &rows)
			    == ACCEL_EINVAL);
			accel_loader_free(l);
			accel_source_free(s);
		}
	return ACCEL_OK;
}

static accel_status
objects(accel *a)
{
	accel_objects	 mine = ACCEL_OBJECTS_INIT, all;
	accel_loader	*l;
	accel_status	 st;
	int64_t		 index[2], next = 0;
	int		 rows;

	GOOD(accel_loader_new(a, 11, 2, 0, 0, &l));
	while ((st = accel_next(l, index, &rows)) == ACCEL_OK) {
		for (int i = 0; i < rows; i++)
			GOOD(accel_objects_add(&mine, "abcdefghijklmno",
			    (size_t)index[i]));
		GOOD(accel_gather_objects_for_metrics(l, &mine, &all));
		for (size_t i = 0; i < all.count; i++)
			HOLDS(all.offset[i + 1] - all.offset[i] ==
			    (size_t)next++);
		accel_objects_free(&all);
		accel_objects_free(&mine);
	}
	HOLDS(st == ACCEL_END && next == 11);
	accel_loader_free(l);
	return ACCEL_OK;
}

/* From each place of two epochs, another loader goes on as this one did. */
static accel_status
resumes(accel *a)
{
	static const struct {
		uint32_t flags;
		int stream;
	} kinds[] = { { ACCEL_SHUFFLE, 0 }, { ACCEL_SHUFFLE | ACCEL_DISPATCH,
	    0 }, { 0, 1 }, { ACCEL_DISPATCH, 1 }, { ACCEL_SPLIT, 0 } };
	int64_t n = 29;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (int stop = 0; stop < 12; stop++) {
			accel_source	*s, *s2;
			accel_loader	*l, *l2;
			accel_batch	 b, b2;
			accel_status	 st = ACCEL_OK, st2;
			unsigned char	 state[ACCEL_LOADER_STATE];

			GOOD(open_loader(a, &n, 12, kinds[k].flags,
			    kinds[k].stream, 2, &s, &l));
			GOOD(open_loader(a, &n, 12, kinds[k].flags,
			    kinds[k].stream, stop % 3, &s2, &l2));
			for (int i = 0; i < stop; i++)
				st = accel_next_batch(l, &b);
			HOLDS(st >= 0);
			accel_loader_get_state(l, state);
			/* Somewhere else before, to come back from. */
			HOLDS(accel_next_batch(l2, &b2) == ACCEL_OK);
			GOOD(accel_loader_set_state(l2, state));
			for (int i = 0; i < 12; i++) {
				st = accel_next_batch(l, &b);
				st2 = accel_next_batch(l2, &b2);
				HOLDS(st >= 0 && st2 == st);
				HOLDS(b.rows == b2.rows);
				HOLDS(b.rows == 0 || memcmp(b.data, b2.data,
				    (size_t)b.rows * 8) == 0);
			}
			accel_loader_free(l);
			accel_loader_free(l2);
			accel_source_free(s);
			accel_source_free(s2);
		}
	return ACCEL_OK;
}

/* A state is of one loader, or of one over the same data on other ranks. */
static accel_status
states(accel *a)
{
	unsigned char	 state[ACCEL_LOADER_STATE];
	accel_loader	*l, *other;
	int64_t		 index[4];
	int		 rows, world = accel_world(a);

	GOOD(accel_loader_new(a, 100, 4, ACCEL_SHUFFLE, 7, &l));
	GOOD(accel_next(l, index, &rows));
	accel_loader_get_state(l, state);
	GOOD(accel_loader_new(a, 100, 4, ACCEL_SHUFFLE, 8, &other));
	HOLDS(accel_loader_set_state(other, state) == ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "state is of seed 7, and this loader has "
	    "8"));
	accel_loader_free(other);
	GOOD(accel_loader_new(a, 101, 4, ACCEL_SHUFFLE, 7, &other));
	HOLDS(accel_loader_set_state(other, state) == ACCEL_EMISMATCH);
	accel_loader_free(other);
	for (size_t i = 0; i < sizeof(state); i++) {
		state[i] ^= 4;
		HOLDS(accel_loader_set_state(l, state) == ACCEL_EINVAL);
		state[i] ^= 4;
	}
	GOOD(accel_loader_set_state(l, state));
	accel_loader_free(l);
	/* Batches of all ranks: the place fits other numbers of ranks. */
	GOOD(accel_loader_new(a, 100, 12, ACCEL_SPLIT, 7, &l));
	GOOD(accel_loader_skip(l, 3));
	accel_loader_get_state(l, state);
	GOOD(accel_loader_set_epoch(l, 5));
	GOOD(accel_loader_set_state(l, state));
	{
		int64_t many[12];

		GOOD(accel_next(l, many, &rows));
		HOLDS(rows == 12 / world);
		HOLDS(many[0] == 36 + accel_rank(a) * rows);
	}
	accel_loader_free(l);
	return ACCEL_OK;
}

/* Accelerate's skip_first_batches, and the rows of peers. */
static accel_status
places(accel *a)
{
	accel_loader_config	 c = ACCEL_LOADER_INIT;
	accel_loader_place	 place;
	accel_loader		*l, *inner;
	accel_source		*s;
	int64_t			 index[2], first[2], out[MOST], data[32];
	size_t			 n;
	int			 rows, world = accel_world(a);

	GOOD(accel_loader_new(a, 8 * world, 2, ACCEL_SHUFFLE, 3, &l));
	GOOD(accel_next(l, first, &rows));
	GOOD(accel_next(l, first, &rows));
	GOOD(accel_next(l, first, &rows));
	GOOD(accel_loader_set_epoch(l, 0));
	GOOD(accel_loader_skip(l, 2));
	GOOD(accel_next(l, index, &rows));
	HOLDS(memcmp(index, first, sizeof(first)) == 0);
	accel_loader_where(l, &place);
	HOLDS(place.epoch == 0 && place.batches == 3 && !place.end);
	GOOD(accel_loader_skip(l, 99));
	HOLDS(accel_next(l, index, &rows) == ACCEL_END);
	GOOD(accel_next(l, index, &rows));
	accel_loader_where(l, &place);
	HOLDS(place.epoch == 1 && place.batches == 1);
	/* The innermost loader's end counts, and then the outer's again. */
	GOOD(accel_loader_new(a, 2 * world, 2, 0, 0, &inner));
	HOLDS(a->active == l && !accel__loader_last(a->active));
	GOOD(accel_next(inner, index, &rows));
	HOLDS(a->active == inner && accel__loader_last(a->active));
	HOLDS(accel_next(inner, index, &rows) == ACCEL_END);
	HOLDS(a->active == l);
	GOOD(accel_next(inner, index, &rows));
	GOOD(accel_next(l, index, &rows));	/* gave the inner up */
	HOLDS(a->active == l);
	HOLDS(accel_next(inner, index, &rows) == ACCEL_END);
	HOLDS(a->active == l);
	GOOD(accel_next(inner, index, &rows));
	HOLDS(a->active == inner);
	accel_loader_free(l);
	HOLDS(a->active == NULL);
	accel_loader_free(inner);
	if (world % 2 != 0)
		return ACCEL_OK;
	for (int i = 0; i < 32; i++)
		data[i] = i;
	GOOD(accel_source_memory(data, 5, 8, &s));
	c.batch = 2;
	c.peers = 2;
	GOOD(accel_loader_open(a, s, &c, &l));
	GOOD(accel_next(l, index, &rows));
	HOLDS(index[0] == accel_rank(a) / 2 * 2);
	GOOD(accel_gather_for_metrics(l, index, 8, out, &n));
	HOLDS(n == (size_t)(world == 2 ? 2 : 4) && out[n - 1] ==
	    (int64_t)n - 1);
	accel_loader_free(l);
	accel_source_free(s);
	return ACCEL_OK;
}

static float weight[1], gradient[1];
static double given;			/* of this rank's batch */

static accel_status
backward(void *user)
{
	(void)user;
	gradient[0] += (float)given;
	return ACCEL_OK;
}

/* Short and empty batches train as they should: the mean is of the batches
 * that there were, whatever step they fall in, and the last step is as short as
 * the data make it. */
static accel_status
uneven(void *user)
{
	accel_config	 config = ACCEL_CONFIG_INIT;
	accel_tensor	 t = { .name = "w", .data = weight, .grad = gradient,
	    .dtype = ACCEL_F32, .ndim = 1, .shape = { 1 } };
	accel_sgd_args	 sgd = ACCEL_SGD_INIT;
	accel		*a;
	accel_loader	*l;
	accel_status	 st;
	int64_t		 index[2], n;
	double		 want = 0, due[2] = { 0, 0 };
	int		 rows, active, rounds = 0, empty = 0, steps = 0;

	config.grad_accum = *(int *)user;
	config.uneven = ACCEL_UNEVEN_ACTIVE;
	GOOD(accel_init(&config, &a));
	n = 2 * accel_world(a) + 3;
	sgd.lr = 1;
	GOOD(accel_unit(a, "u", &t, 1, NULL));
	GOOD(accel_prepare(a, 0));
	GOOD(accel_loader_new(a, n, 2, ACCEL_UNEVEN, 0, &l));
	while ((st = accel_next(l, index, &rows)) == ACCEL_OK) {
		double sum[2] = { 0, rows > 0 };
		bool full;

		for (int i = 0; i < rows; i++)
			sum[0] += (double)(index[i] + 1);
		given = sum[0];
		GOOD(accel_join(a, rows > 0, &active));
		GOOD(accel_backward(a, rows > 0 ? backward : NULL, NULL));
		full = accel_syncing(a);
		st = accel_step(a, accel_sgd, &sgd);
		HOLDS(st == (full ? ACCEL_OK : ACCEL_SKIPPED));
		GOOD(accel_all_reduce(a, sum, 2, ACCEL_F64, ACCEL_SUM));
		HOLDS(active == (int)sum[1]);
		due[0] += sum[0];
		due[1] += sum[1];
		if (full) {
			want -= due[0] / due[1];
			due[0] = due[1] = 0;
			steps++;
		}
		rounds++;
		empty += active < accel_world(a);
	}
	HOLDS(st == ACCEL_END && due[1] == 0);
	HOLDS(empty == (accel_world(a) > 2));
	HOLDS(rounds == (accel_world(a) == 1 ? 3 : 2));
	HOLDS(steps == (rounds + config.grad_accum - 1) / config.grad_accum);
	HOLDS((double)weight[0] - want < 1e-4 && want - (double)weight[0] <
	    1e-4);
	accel_loader_free(l);
	return accel_fini(a);
}

static accel_status
fails_late(void *user, int64_t epoch_, int64_t index, void *row, size_t room,
    size_t *bytes)
{
	(void)user;
	(void)epoch_;
	if (index == 6)
		return ACCEL_EIO;
	*bytes = (size_t)index + 1;
	if (*bytes <= room)
		memset(row, (int)index, *bytes);
	return ACCEL_OK;
}

/* Rows of unequal length come from rank 0, and so does its error. */
static accel_status
dispatch(accel *a)
{
	accel_loader_config	 c = ACCEL_LOADER_INIT;
	accel_source		*s = NULL;
	accel_loader		*l;
	accel_batch		 b;
	int			 world = accel_world(a), rank = accel_rank(a);

	c.flags = ACCEL_DISPATCH;
	if (rank == 0)
		GOOD(accel_source_callback(fails_late, NULL, 50, 0, &s));
	GOOD(accel_loader_open(a, s, &c, &l));
	for (int64_t at = rank; at / world < 6 / world; at += world) {
		GOOD(accel_next_batch(l, &b));
		HOLDS(b.rows == 1 && b.index[0] == at && b.offset[0] == 0 &&
		    b.offset[1] == (size_t)at + 1);
		for (int64_t i = 0; i <= at; i++)
			HOLDS(((const char *)b.data)[i] == (char)at);
	}
	for (int i = 0; i < 2; i++) {
		HOLDS(accel_next_batch(l, &b) == ACCEL_EIO);
		HOLDS(strstr(accel_errmsg(), rank == 0 ? "the callback for "
		    "sample 6" : "rank 0: the callback for sample 6"));
		HOLDS(b.rows == 0 && b.data == NULL);
	}
	accel_loader_free(l);
	accel_source_free(s);
	return ACCEL_OK;
}

/* What ranks do not agree in is named on all; what is wrong everywhere, too. */
static accel_status
differences(accel *a)
{
	accel_loader	*l;
	int64_t		 index[2], out[MOST];
	size_t		 n;
	int		 rows, last = accel_on_last(a), world = accel_world(a);

	HOLDS(accel_loader_new(a, 0, 2, 0, 0, &l) == ACCEL_EINVAL &&
	    l == NULL);
	HOLDS(accel_loader_new(a, 5, 0, 0, 0, &l) == ACCEL_EINVAL);
	HOLDS(accel_loader_new(a, 5, 1, 1u << 30, 0, &l) == ACCEL_EINVAL);
	HOLDS(accel_loader_open(a, NULL, &(accel_loader_config)
	    ACCEL_LOADER_INIT, &l) == ACCEL_EINVAL);
	if (world == 1)
		return ACCEL_OK;
	HOLDS(accel_loader_new(a, 5, last ? 3 : 2, 0, 0, &l) ==
	    ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "accel_loader_new: batch is 2 on rank 0 "
	    "and 3 on rank"));
	HOLDS(accel_loader_new(a, last ? 6 : 5, 2, 0, 0, &l) ==
	    ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "the number of samples is 5 on rank 0"));
	/* One rank has gone on by itself. */
	GOOD(accel_loader_new(a, 100, 2, 0, 0, &l));
	GOOD(accel_next(l, index, &rows));
	if (last)
		GOOD(accel_next(l, index, &rows));
	HOLDS(accel_gather_for_metrics(l, index, 8, out, &n) ==
	    ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "accel_gather_for_metrics: the batch is 1 "
	    "on rank 0 and 2 on rank"));
	accel_loader_free(l);
	HOLDS(accel_loader_new(a, 5, 2, 0, (uint64_t)last, &l) ==
	    ACCEL_EMISMATCH && l == NULL);
	HOLDS(accel_loader_new(a, 5, world + 1, ACCEL_SPLIT, 0, &l) ==
	    ACCEL_EINVAL);
	HOLDS(strstr(accel_errmsg(), "is not to be split among"));
	return ACCEL_OK;
}

static accel_status (*const parts[])(accel *) = {
	golden, metrics, objects, resumes, states, places, dispatch,
	differences,
};

static accel_status
run(void *user)
{
	accel_config config = ACCEL_CONFIG_INIT;
	accel *a;
	accel_status st;

	(void)user;
	config.uneven = ACCEL_UNEVEN_ACTIVE;
	GOOD(accel_init(&config, &a));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((st = parts[i](a)) != ACCEL_OK)
			return st;
	NO_LEAKS(a);
	return accel_fini(a);
}

int
main(void)
{
	int accum;

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	on_worlds(run, NULL, "loaders");
	for (accum = 1; accum <= 3; accum++)
		on_worlds(uneven, &accum, "uneven ends of the data");
	return tap_done();
}
