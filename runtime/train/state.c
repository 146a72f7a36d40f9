/* SPDX-License-Identifier: Apache-2.0 */
/* state: saving. */
#include "runtime/train/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/num.h"
#include "runtime/train/profile.h"
#include "runtime/train/state_folder.h"

#include "runtime/base/banned.h"

#define WAIT_S 600.0

const char *
state_dtype(accel_dtype t)
{
	static const char *const names[] = {
		[ACCEL_F32] = "F32", [ACCEL_F16] = "F16",
		[ACCEL_BF16] = "BF16", [ACCEL_F64] = "F64",
		[ACCEL_I32] = "I32", [ACCEL_I64] = "I64", [ACCEL_U8] = "U8",
	};

	return names[t];
}

static void
fill(struct state_array *out, const struct tensor *t, const char *stem,
    accel_dtype dtype, size_t n, void *data)
{
	out->stem = stem;
	out->dtype = dtype;
	out->data = data;
	out->bytes = n * device_size((int)dtype);
	out->ndim = t->ndim;
	memcpy(out->shape, t->shape, sizeof(out->shape));
	/* A factored state has a shape of its own. */
	if (n != t->n) {
		out->ndim = 1;
		out->shape[0] = (int64_t)n;
	}
}

/* Kinds of a tensor: 0 its values, 1 the master, 2 to 5 its states. */
static bool
one(const struct accel *a, const struct tensor *t, int kind,
    struct state_array *out)
{
	accel_dtype full = t->dtype == ACCEL_F64 ? ACCEL_F64 : ACCEL_F32;

	if (kind == 0) {
		snprintf(out->name, sizeof(out->name), "%s", t->name);
		fill(out, t, STATE_MODEL, t->dtype, t->n, t->data);
		return true;
	}
	if (kind == 1) {
		if (t->master == NULL)
			return false;
		snprintf(out->name, sizeof(out->name), "master.%s", t->name);
		fill(out, t, STATE_OPTIMIZER, ACCEL_F32, t->n, t->master);
		return true;
	}
	if (kind - 2 >= a->nstate)
		return false;
	snprintf(out->name, sizeof(out->name), "state.%d.%s", kind - 2,
	    t->name);
	fill(out, t, STATE_OPTIMIZER, full, t->state_n, t->state[kind - 2]);
	return true;
}

/* 16-bit gradients are added up in F32: see accel__fold. */
static bool
grad(const struct accel *a, const struct tensor *t, int kind,
    struct state_array *out)
{
	bool full = t->full != NULL && a->config.reduce == ACCEL_REDUCE_F32;

	(void)kind;
	snprintf(out->name, sizeof(out->name), "grad.%s", t->name);
	fill(out, t, STATE_RANKS, full ? ACCEL_F32 : t->dtype, t->n, full ?
	    (void *)t->full : t->grad);
	return true;
}

bool
state_next(const struct accel *a, enum state_what what,
    struct state_cursor *c, struct state_array *out)
{
	int kinds = what == STATE_GRADS ? 1 : 2 + 4;

	for (; c->unit < a->nunit; c->unit++, c->tensor = 0)
		for (; c->tensor < a->unit[c->unit].ntensor; c->tensor++,
		    c->kind = 0)
			while (c->kind < kinds) {
				const struct tensor *t =
				    &a->unit[c->unit].tensor[c->tensor];

				if (what == STATE_GRADS ?
				    grad(a, t, c->kind++, out) :
				    one(a, t, c->kind++, out))
					return true;
			}
	return false;
}

/* ---- collecting ---------------------------------------------------------- */

static int
add_array(struct state_set *s, const struct state_array *x, struct err *err)
{
	return state_set_add(s, x->stem, x->name, state_dtype(x->dtype),
	    x->shape, x->ndim, x->data, x->bytes, err);
}

static accel_status
add_packed(struct state_set *s, const char *stem, int rank,
    const struct buf *packed)
{
	const char *at = buf_text(packed), *end = at + packed->len;
	struct state_packed p;
	char name[400];

	while (state_unpack(&at, end, &p)) {
		if (rank < 0)
			snprintf(name, sizeof(name), "%s", p.name);
		else
			snprintf(name, sizeof(name), "%d/%s", rank, p.name);
		if (state_set_bytes(s, stem, name, p.data, p.bytes,
		    accel__err()) != 0)
			return ACCEL_ENOMEM;
	}
	return ACCEL_OK;
}

/* Everybody's own objects come to rank 0 one rank after the other, so that
 * nobody has to hold more than one rank's. */
static accel_status
collect_objects(accel *a, struct state_set *s)
{
	struct buf mine = { .max = (size_t)1 << 40 };
	accel_status st = state_pack(a, true, &mine), kept = ACCEL_OK;

	st = state_agree(a, st);
	for (int r = 0; st == ACCEL_OK && r < a->world; r++) {
		struct buf theirs = BUF_INIT;
		struct buf *b = r == a->rank ? &mine : &theirs;

		st = state_share(a, b, r);
		if (st == ACCEL_OK && a->rank == 0 && kept == ACCEL_OK)
			kept = add_packed(s, STATE_RANKS, r, b);
		buf_clear(&theirs);
	}
	buf_clear(&mine);
	if (st == ACCEL_OK && a->rank == 0 && kept == ACCEL_OK) {
		kept = state_pack(a, false, &mine);
		if (kept == ACCEL_OK)
			kept = add_packed(s, STATE_OBJECTS, -1, &mine);
		buf_clear(&mine);
	}
	return st == ACCEL_OK ? state_agree(a, kept) : st;
}

/* Arrays that ranks have of their own: all of "what", from rank "first" on. */
static accel_status
collect_arrays(accel *a, enum state_what what, int first, struct state_set *s)
{
	struct state_cursor c = { 0, 0, 0 };
	struct state_array x;
	accel_status st = ACCEL_OK, kept = ACCEL_OK;
	char name[700];

	while (st == ACCEL_OK && state_next(a, what, &c, &x)) {
		void *theirs = malloc(x.bytes + 1);

		st = state_agree(a, theirs == NULL ? accel__fail(ACCEL_ENOMEM,
		    "no memory for another rank's %s", x.name) : ACCEL_OK);
		for (int r = first; st == ACCEL_OK && r < a->world; r++) {
			if (r == a->rank && kept == ACCEL_OK)
				kept = accel__read(a, theirs, x.data, x.bytes);
			st = accel_broadcast(a, theirs, x.bytes, r);
			if (st != ACCEL_OK || a->rank != 0 || kept != ACCEL_OK)
				continue;
			snprintf(name, sizeof(name), "%d:%s", r, x.name);
			if (state_set_copy(s, STATE_RANKS, name,
			    state_dtype(x.dtype), x.shape, x.ndim, theirs,
			    x.bytes, accel__err()) != 0)
				kept = ACCEL_ENOMEM;
		}
		free(theirs);
	}
	return st == ACCEL_OK ? state_agree(a, kept) : st;
}

static accel_status
collect(accel *a, struct state_set *s)
{
	struct state_cursor c = { 0, 0, 0 };
	struct state_array x;
	accel_status st = collect_objects(a, s);

	if (st == ACCEL_OK && a->micro != 0)
		st = collect_arrays(a, STATE_GRADS, 0, s);
	if (st == ACCEL_OK && a->local_steps > 0)
		st = collect_arrays(a, STATE_VALUES, 1, s);
	if (st != ACCEL_OK || a->rank != 0)
		return st;
	if (strv_addf(&s->info, "step=%" PRId64, a->step) < 0 ||
	    strv_addf(&s->info, "micro=%d", a->micro) < 0 ||
	    strv_addf(&s->info, "local=%d", a->local_steps > 0) < 0 ||
	    strv_addf(&s->info, "world=%d", a->world) < 0)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	while (state_next(a, STATE_VALUES, &c, &x))
		if (add_array(s, &x, accel__err()) != 0)
			return ACCEL_ENOMEM;
	return ACCEL_OK;
}

/* ---- writing ------------------------------------------------------------- */

static double
wait_limit(void)
{
	const char *text = getenv("ACCEL_SAVE_TIMEOUT");
	double limit;

	return text != NULL && num_parse_real(text, 0, 1e6, &limit) == 0 ?
	    limit : WAIT_S;
}

/* Rank 0's running save, if any, is over afterwards. */
static accel_status
wait_here(accel *a)
{
	struct state_job *j = a->state != NULL ? a->state->job : NULL;

	if (j == NULL)
		return ACCEL_OK;
	a->state->job = NULL;
	return state_job_wait(j, wait_limit(), &a->state->room,
	    accel__err()) == 0 ? ACCEL_OK : ACCEL_EIO;
}

static int
fetch_read(void *user, void *to, const void *from, uint64_t bytes,
    struct err *err)
{
	(void)err;		/* it is accel__err's */
	return accel__read(user, to, from, bytes) == ACCEL_OK ? 0 : -1;
}

const struct state_fetch *
state_fetch_of(struct accel *a, struct state_fetch *room)
{
	*room = (struct state_fetch){ fetch_read, a };
	return a->mem == &a->host ? NULL : room;
}

/* Takes the set. */
static accel_status
write_here(accel *a, struct state_set *s, const char *dir,
    const accel_save_args *o)
{
	struct err *err = accel__err();
	uint64_t shard = o->shard_bytes != 0 ? o->shard_bytes :
	    STATE_SHARD_BYTES;
	char *path = o->numbered ? state_folder_next(dir, err) : strdup(dir);
	struct state_fetch room;
	const struct state_fetch *fetch = state_fetch_of(a, &room);
	struct state_job *j = NULL;
	int ret = -1;

	if (path != NULL && state_of(a) != NULL && !o->async &&
	    fetch != NULL &&
	    state_set_move(s, &a->state->room, fetch, err) != 0) {
		free(path);
		return ACCEL_EIO;
	}
	/* Else state_folder_next has said why. */
	if (path != NULL && state_of(a) != NULL)
		j = state_job_new(s, path, o->numbered ? dir : NULL,
		    o->total_limit, shard);
	if (j == NULL && (path != NULL || !o->numbered))
		err_nomem(err);
	free(path);
	if (j == NULL)
		return ACCEL_EIO;
	if (o->async) {
		ret = state_job_start(j, &a->state->room, fetch, err);
		if (ret == 0)
			a->state->job = j;
	} else {
		ret = state_job_run(j, err);
	}
	return ret == 0 ? ACCEL_OK : ACCEL_EIO;
}

static accel_status
check(const accel *a, const char *call, const char *dir)
{
	if (dir == NULL || *dir == '\0')
		return accel__fail(ACCEL_EINVAL, "%s: no folder is named",
		    call);
	if (!a->prepared)
		return accel__fail(ACCEL_ESTATE, "%s: before accel_prepare",
		    call);
	if (a->in_backward || a->reduced)
		return accel__fail(ACCEL_ESTATE, "%s: between accel_backward "
		    "and accel_step gradients are under way", call);
	return ACCEL_OK;
}

static accel_status
save(accel *a, const char *dir, const accel_save_args *args)
{
	static const accel_save_args plain = ACCEL_SAVE_INIT;
	const accel_save_args *o = args != NULL ? args : &plain;
	struct state_set s = STATE_SET_INIT;
	accel_status st = check(a, "accel_save_state", dir), earlier;
	struct err said = ERR_INIT;

	if (st == ACCEL_OK && (o->size != sizeof(*o) || o->total_limit < 0))
		st = accel__fail(ACCEL_EINVAL, "accel_save_args: begin with "
		    "ACCEL_SAVE_INIT, and a limit is not negative");
	if (st == ACCEL_OK)
		st = state_own(a);
	if ((st = state_agree(a, st)) != ACCEL_OK)
		return st;
	earlier = state_agree(a, wait_here(a));
	if (earlier == ACCEL_EPEER || earlier == ACCEL_EBACKEND)
		return earlier;
	said = *accel__err();
	st = collect(a, &s);
	if (st == ACCEL_OK && a->rank == 0)
		st = write_here(a, &s, dir, o);
	state_set_clear(&s);
	st = state_agree(a, st);
	if (st != ACCEL_OK || earlier == ACCEL_OK)
		return st;
	*accel__err() = said;
	err_at(accel__err(), "this save is %s, but an earlier one failed",
	    o->async ? "under way" : "done");
	return earlier;
}

accel_status
accel_save_state(accel *a, const char *dir, const accel_save_args *args)
{
	accel_status st;

	profile_begin(a, "save", NULL);
	st = save(a, dir, args);
	profile_end(a);
	return st;
}

accel_status
accel_save_wait(accel *a)
{
	return state_agree(a, wait_here(a));
}

accel_status
state_fini(accel *a)
{
	accel_status st = wait_here(a);

	if (a->state == NULL)
		return st;
	for (int i = 0; i < a->state->nobject; i++)
		free(a->state->object[i].name);
	free(a->state->object);
	free(a->state->room.data);
	free(a->state);
	a->state = NULL;
	return st;
}
