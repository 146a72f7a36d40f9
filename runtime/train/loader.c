/* SPDX-License-Identifier: Apache-2.0 */
/* loader: this rank's batches, in their place in the epochs. */
#include "runtime/train/loader.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/train/formats.h"
#include "runtime/train/state.h"
#include "runtime/train/track.h"

#include "runtime/base/banned.h"

#define LIMIT_S 600.0
enum { AHEAD = 2, AHEAD_MAX = 1024 };

/* ---- open and free ------------------------------------------------------- */

/* All that one rank can see to be wrong, or NULL. */
static const char *
config_fault(const accel *a, const accel_source *s, int64_t n,
    const accel_loader_config *c)
{
	uint32_t known = ACCEL_SHUFFLE | ACCEL_SPLIT | ACCEL_UNEVEN |
	    ACCEL_DROP_LAST | ACCEL_DISPATCH;

	if (c->size != sizeof(*c))
		return "begin with ACCEL_LOADER_INIT";
	if (c->flags & ~known)
		return "unknown flags";
	if (c->peers < 0 || (c->peers > 0 && a->world % c->peers != 0))
		return "peers must divide the number of ranks";
	if (c->prefetch < -1 || c->prefetch > AHEAD_MAX)
		return "prefetch is -1 to 1024";
	if (!(c->limit_s >= 0 && c->limit_s < 1e9))
		return "limit_s is no time";
	if (s == NULL && n < 1 && !((c->flags & ACCEL_DISPATCH) &&
	    a->rank != 0))
		return "it needs samples: a source, or a number above 0";
	return NULL;
}

/* Makes the feed, where this rank reads. */
static int
open_feed(accel_loader *l, const accel_source *s, const accel_loader_config *c,
    struct err *err)
{
	bool dispatch = c->flags & ACCEL_DISPATCH;
	struct feed_config fc = {
		.source = s, .sampler = l->plan,
		.shard = dispatch ? -1 : l->shard,
		.limit_s = c->limit_s > 0 ? c->limit_s : LIMIT_S,
	};

	if (dispatch && l->a->rank != 0) {
		/* Checks the same, without the order. */
		l->plan.flags &= ~(uint32_t)ACCEL_SHUFFLE;
		if (sampler_init(&l->plan, err) != 0)
			return -1;
		l->plan.flags = c->flags;
		return 0;
	}
	if (sampler_init(&fc.sampler, err) != 0)
		return -1;
	l->plan = fc.sampler;
	l->plan.order = NULL;
	if (c->prefetch >= 0)
		fc.ahead = c->prefetch;
	else if (s != NULL && s->ops != NULL)
		fc.ahead = AHEAD;
	if (s == NULL)
		fc.ahead = 0;
	return feed_new(&l->feed, &fc, err);
}

/* For checkpoints. */
static size_t
saved_size(void *user)
{
	(void)user;
	return ACCEL_LOADER_STATE;
}

static accel_status
saved_get(void *user, void *out, size_t bytes)
{
	(void)bytes;
	accel_loader_get_state(user, out);
	return ACCEL_OK;
}

static accel_status
saved_set(void *user, const void *data, size_t bytes)
{
	if (bytes != ACCEL_LOADER_STATE)
		return accel__fail(ACCEL_EMISMATCH, "%zu bytes, not %d",
		    bytes, ACCEL_LOADER_STATE);
	return accel_loader_set_state(user, data);
}

static accel_status
loader_make(accel *a, const accel_source *s, int64_t n,
    const accel_loader_config *c, const char *call, accel_loader **out)
{
	static const accel_object saved = { saved_size, saved_get, saved_set };
	bool dispatch = c->flags & ACCEL_DISPATCH;
	struct arg arg[] = {
		{ "the number of samples", n, !dispatch },
		{ "the size of a row", s ? (int64_t)s->row_bytes : -1,
		    !dispatch },
		{ "batch", c->batch, true },
		{ "flags", c->flags, true },
		{ "seed", (int64_t)c->seed, true },
		{ "peers", c->peers > 0 ? c->peers : 1, true },
	};
	enum { N = sizeof(arg) / sizeof(arg[0]) };
	const char	*fault = config_fault(a, s, n, c);
	accel_loader	*l;
	accel_status	 st;

	*out = NULL;
	/* Rank 0's values, which with ACCEL_DISPATCH are those that count. */
	st = accel__agree(a, call, fault, arg, N, NULL);
	if (st != ACCEL_OK)
		return st;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	l->a = a;
	l->peers = (int)arg[5].value;
	l->shard = a->rank / l->peers;
	l->has_rows = arg[1].value >= 0;
	l->row_bytes = l->has_rows ? (size_t)arg[1].value : 0;
	l->part = -1;
	l->plan = (struct sampler){ .n = arg[0].value, .batch = c->batch,
	    .shards = a->world / l->peers, .flags = c->flags,
	    .seed = c->seed };
	if (open_feed(l, s, c, accel__err()) != 0) {
		free(l);
		return ACCEL_EINVAL;
	}
	st = accel__register_next(a, "loader", &saved, l, &l->number);
	if (st != ACCEL_OK) {
		accel_loader_free(l);
		return st;
	}
	*out = l;
	return ACCEL_OK;
}

accel_status
accel_loader_open(accel *a, const accel_source *s,
    const accel_loader_config *config, accel_loader **out)
{
	return loader_make(a, s, s != NULL ? s->n : 0, config,
	    "accel_loader_open", out);
}

accel_status
accel_loader_new(accel *a, int64_t nsample, int batch, uint32_t flags,
    uint64_t seed, accel_loader **out)
{
	accel_loader_config c = ACCEL_LOADER_INIT;

	c.batch = batch;
	c.flags = flags;
	c.seed = seed;
	return loader_make(a, NULL, nsample, &c, "accel_loader_new", out);
}

/* Takes the loader, and those that began within its epoch, off the list. */
static void
unlist(accel_loader *l)
{
	accel *a = l->a;

	if (!l->listed)
		return;
	while (a->active != l) {
		a->active->listed = false;
		a->active = a->active->outer;
	}
	a->active = l->outer;
	l->listed = false;
}

static void
enlist(accel_loader *l)
{
	unlist(l);
	l->outer = l->a->active;
	l->a->active = l;
	l->listed = true;
}

void
accel_loader_free(accel_loader *l)
{
	if (l == NULL)
		return;
	unlist(l);
	accel__unregister_number(l->a, "loader", l->number);
	feed_free(l->feed);
	rows_clear(&l->whole);
	free(l->index);
	free(l->offset);
	free(l);
}

int
accel_loader_rows(const accel_loader *l)
{
	return l->plan.rows;
}

bool
accel__loader_last(const accel_loader *l)
{
	return l->last;
}

/* ---- batches ------------------------------------------------------------- */

/* Goes there; nothing of an old batch counts any more. */
static accel_status
move(accel_loader *l, int64_t epoch, int64_t round)
{
	if (l->feed != NULL &&
	    feed_seek(l->feed, epoch, round, accel__err()) != 0)
		return ACCEL_EIO;
	unlist(l);
	l->epoch = epoch;
	l->round = round;
	l->part = -1;
	l->given = 0;
	l->last = false;
	return ACCEL_OK;
}

static accel_status
own_round(accel_loader *l, accel_batch *batch)
{
	const struct round *r = feed_next(l->feed, accel__err());

	if (r == NULL)
		return ACCEL_EIO;
	if (r->status != ACCEL_OK) {
		*accel__err() = r->err;
		return r->status;
	}
	if (r->over)
		return ACCEL_END;
	batch->rows = r->count;
	batch->index = r->index;
	if (l->has_rows && r->count > 0) {
		batch->data = r->rows.data;
		batch->offset = r->rows.offset;
	}
	l->left = r->left;
	l->last = r->last;
	l->part = l->plan.rows;
	return ACCEL_OK;
}

accel_status
accel_next_batch(accel_loader *l, accel_batch *batch)
{
	accel_status st, moved;

	*batch = (accel_batch){ 0 };
	st = l->plan.flags & ACCEL_DISPATCH ? accel__dispatch(l, batch) :
	    own_round(l, batch);
	if (st == ACCEL_END) {
		moved = move(l, l->epoch + 1, 0);
		return moved != ACCEL_OK ? moved : st;
	}
	if (st != ACCEL_OK)
		return st;
	l->given = batch->rows;
	track_samples(l->a, l->left);
	l->round++;
	enlist(l);
	return ACCEL_OK;
}

accel_status
accel_next(accel_loader *l, int64_t *index, int *rows)
{
	accel_batch	batch;
	accel_status	st = accel_next_batch(l, &batch);

	*rows = batch.rows;
	if (batch.rows > 0)
		memcpy(index, batch.index, (size_t)batch.rows *
		    sizeof(*index));
	return st;
}

/* ---- places -------------------------------------------------------------- */

void
accel_loader_where(const accel_loader *l, accel_loader_place *place)
{
	const struct sampler *s = &l->plan;

	*place = (accel_loader_place){ l->epoch, l->round, -1, l->last };
	if (s->flags & ACCEL_DROP_LAST)
		return;
	if (s->n >= 0 && !(s->flags & ACCEL_DISPATCH))
		place->remainder = s->n % s->total;
	else if (l->last)
		place->remainder = l->left;
}

accel_status
accel_loader_skip(accel_loader *l, int64_t batches)
{
	int64_t most = l->plan.rounds >= 0 ? l->plan.rounds :
	    INT64_MAX / l->plan.total - 1;

	if (batches < 0)
		return accel__fail(ACCEL_EINVAL, "accel_loader_skip: %lld "
		    "batches", (long long)batches);
	return move(l, l->epoch, batches < most - l->round ?
	    l->round + batches : most);
}

accel_status
accel_loader_set_epoch(accel_loader *l, int64_t epoch)
{
	if (epoch < 0)
		return accel__fail(ACCEL_EINVAL, "accel_loader_set_epoch: "
		    "epoch %lld", (long long)epoch);
	return move(l, epoch, 0);
}

/*
 * The place as bytes: "ACCELLDR", u32 version, u32 flags, and as 64 bits each
 * samples, seed, batch, epoch, samples behind us, samples of a round, and the
 * hash of all before.
 */
enum { STATE_VERSION = 1, STATE_HASHED = ACCEL_LOADER_STATE - 8 };
static const char state_magic[8] = "ACCELLDR";

void
accel_loader_get_state(const accel_loader *l,
    unsigned char state[ACCEL_LOADER_STATE])
{
	const struct sampler	*s = &l->plan;
	const uint64_t		 field[] = { (uint64_t)s->n, s->seed,
	    (uint64_t)s->batch, (uint64_t)l->epoch,
	    (uint64_t)(l->round * s->total), (uint64_t)s->total };

	memcpy(state, state_magic, sizeof(state_magic));
	le_put(state + 8, STATE_VERSION, 4);
	le_put(state + 12, s->flags, 4);
	for (int i = 0; i < 6; i++)
		le_put(state + 16 + 8 * i, field[i], 8);
	le_put(state + STATE_HASHED, hash_bytes(state, STATE_HASHED), 8);
}

static accel_status
differs(const char *what, uint64_t saved, uint64_t here)
{
	accel__fail(ACCEL_EMISMATCH, "the loader's state is of %s %llu, and "
	    "this loader has %llu", what, (unsigned long long)saved,
	    (unsigned long long)here);
	err_hint(accel__err(), "open it as it was when the state was saved");
	return ACCEL_EMISMATCH;
}

accel_status
accel_loader_set_state(accel_loader *l,
    const unsigned char state[ACCEL_LOADER_STATE])
{
	const struct sampler	*s = &l->plan;
	uint64_t		 field[6], flags = le_get(state + 12, 4), total,
				 round;

	for (int i = 0; i < 6; i++)
		field[i] = le_get(state + 16 + 8 * i, 8);
	if (memcmp(state, state_magic, sizeof(state_magic)) != 0 ||
	    le_get(state + 8, 4) != STATE_VERSION ||
	    le_get(state + STATE_HASHED, 8) != hash_bytes(state,
	    STATE_HASHED))
		return accel__fail(ACCEL_EINVAL, "these are no bytes of "
		    "accel_loader_get_state, or damaged ones");
	if (flags != s->flags)
		return differs("flags", flags, s->flags);
	if (field[0] != (uint64_t)s->n)
		return differs("samples:", field[0], (uint64_t)s->n);
	if (field[1] != s->seed)
		return differs("seed", field[1], s->seed);
	if (field[2] != (uint64_t)s->batch)
		return differs("batch", field[2], (uint64_t)s->batch);
	total = (uint64_t)s->total;
	round = field[4] / total;
	if (s->n >= 0 && field[4] >= (uint64_t)s->n)
		round = (uint64_t)s->rounds;
	else if (field[4] % total != 0) {
		accel__fail(ACCEL_EINVAL, "the loader's state is behind %llu "
		    "samples, where no round of %lld begins",
		    (unsigned long long)field[4], (long long)s->total);
		err_hint(accel__err(), "it was saved with rounds of %llu: "
		    "resume with as many ranks, or at the end of an epoch",
		    (unsigned long long)field[5]);
		return ACCEL_EINVAL;
	}
	if (field[3] > INT64_MAX || round > INT64_MAX / total)
		return accel__fail(ACCEL_EINVAL, "the loader's state is of no "
		    "place in any epoch");
	return move(l, (int64_t)field[3], (int64_t)round);
}
