/* SPDX-License-Identifier: Apache-2.0 */
/* state_load: rank 0 reads and checks, and hands out to all. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/train/state.h"
#include "runtime/train/state_folder.h"
#include "runtime/train/state_read.h"

#include "runtime/base/banned.h"

struct load {
	struct state_reader	*r;		/* rank 0's */
	int64_t			 step, micro, world, local;
};

/* The folder itself, or the last of the numbered ones in it. */
static int
open_folder(struct state_reader **r, const char *dir, struct err *err)
{
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", dir, STATE_MANIFEST) < 0)
		return err_nomem(err);
	ret = access(path, F_OK);
	free(path);
	if (ret == 0)
		return state_reader_open(r, dir, err);
	path = state_folder_last(dir, err);
	if (path == NULL)
		return -1;
	ret = state_reader_open(r, path, err);
	free(path);
	return ret;
}

static void
shape_text(char out[200], int rank, const int64_t *here, const uint64_t *there)
{
	size_t n = 0;

	out[0] = '\0';
	for (int i = 0; i < rank && n < 180; i++)
		n += (size_t)snprintf(out + n, 200 - n, "%s%lld", i ? "x" : "",
		    (long long)(here != NULL ? here[i] : (int64_t)there[i]));
}

static int
find(const struct state_reader *r, const struct state_array *x, int rank,
    struct state_place *p, struct err *err)
{
	char name[700], here[200], there[200];
	bool same;

	if (rank < 0)
		snprintf(name, sizeof(name), "%s", x->name);
	else
		snprintf(name, sizeof(name), "%d:%s", rank, x->name);
	if (!state_reader_find(r, x->stem, name, p)) {
		err_set(err, "the checkpoint has no %s in its %s", name,
		    x->stem);
		return err_hint(err, "it is of another model, or of another "
		    "number of state arrays");
	}
	same = strcmp(p->dtype, state_dtype(x->dtype)) == 0 &&
	    p->rank == (size_t)x->ndim && p->bytes == x->bytes;
	for (int i = 0; same && i < x->ndim; i++)
		same = p->shape[i] == (uint64_t)x->shape[i];
	if (same)
		return 0;
	shape_text(here, x->ndim, x->shape, NULL);
	shape_text(there, p->rank < 8 ? (int)p->rank : 8, NULL, p->shape);
	return err_set(err, "%s is %s %s in the checkpoint (%s), and %s %s "
	    "here", name, p->dtype, there, p->file, state_dtype(x->dtype),
	    here);
}

/* Does all that is here fit all that is there? */
static accel_status
compare(const accel *a, const struct load *l)
{
	struct state_cursor c = { 0, 0, 0 };
	struct state_array x;
	struct state_place p;
	size_t model = 0, there = 0;

	while (state_next(a, STATE_VALUES, &c, &x)) {
		if (find(l->r, &x, -1, &p, accel__err()) != 0)
			return ACCEL_EMISMATCH;
		model += strcmp(x.stem, STATE_MODEL) == 0;
	}
	while (state_reader_at(l->r, STATE_MODEL, there, &p))
		there++;
	if (there != model)
		return accel__fail(ACCEL_EMISMATCH, "the checkpoint has %zu "
		    "parameters, and this program %zu", there, model);
	if ((l->micro != 0 || l->local != 0) && l->world != a->world) {
		accel__fail(ACCEL_EMISMATCH, "the checkpoint was saved on %d "
		    "ranks %s, and here are %d", (int)l->world, l->micro != 0 ?
		    "in the middle of an accumulation" : "in local SGD",
		    a->world);
		err_hint(accel__err(), "load it on %d ranks, or save %s",
		    (int)l->world, l->micro != 0 ? "where accel_step was not "
		    "skipped" : "after accel_average_parameters and "
		    "accel_local_sgd(a, 0)");
		return ACCEL_EMISMATCH;
	}
	return ACCEL_OK;
}

static accel_status
begin(const accel *a, struct load *l, const char *dir)
{
	struct err *err = accel__err();
	long step, micro, world, local;

	if (open_folder(&l->r, dir, err) != 0 ||
	    state_reader_number(l->r, "step", 0, LONG_MAX, &step, err) != 0 ||
	    state_reader_number(l->r, "micro", 0, INT_MAX, &micro, err) != 0 ||
	    state_reader_number(l->r, "local", 0, 1, &local, err) != 0 ||
	    state_reader_number(l->r, "world", 1, INT_MAX, &world, err) != 0)
		return ACCEL_EIO;
	l->step = step;
	l->micro = micro;
	l->world = world;
	l->local = local;
	return compare(a, l);
}

/* ---- objects ------------------------------------------------------------- */

/* All objects of the part whose names begin with "R/" (rank < 0: all), packed
 * as state_pack does, without the prefix. */
static accel_status
pack_saved(const struct load *l, const char *stem, int rank, struct buf *out)
{
	struct state_place p;
	char prefix[16] = "";

	if (rank >= 0)
		snprintf(prefix, sizeof(prefix), "%d/", rank);
	for (size_t i = 0; state_reader_at(l->r, stem, i, &p); i++) {
		const char *name = p.name + strlen(prefix);
		uint32_t n;
		char *data;

		if (strncmp(p.name, prefix, strlen(prefix)) != 0)
			continue;
		data = malloc(p.bytes + 1);
		if (data == NULL)
			return accel__fail(ACCEL_ENOMEM, "no memory for "
			    "object %s", name);
		if (state_reader_read(l->r, &p, data, accel__err()) != 0) {
			free(data);
			return ACCEL_EIO;
		}
		n = (uint32_t)strlen(name);
		buf_add(out, &n, sizeof(n));
		buf_add(out, &p.bytes, sizeof(p.bytes));
		buf_adds(out, name);
		buf_add(out, data, p.bytes);
		free(data);
	}
	return buf_failed(out) ? accel__fail(ACCEL_ENOMEM, "no memory for the "
	    "registered objects") : ACCEL_OK;
}

static bool
find_packed(const struct buf *row, const char *name, struct state_packed *p)
{
	const char *at = buf_text(row), *end = at + row->len;

	while (state_unpack(&at, end, p))
		if (strcmp(p->name, name) == 0)
			return true;
	return false;
}

/* Every object that is registered is in the row, and the other way round. */
static accel_status
match_objects(const accel *a, bool per_rank, const struct buf *row)
{
	const struct state *s = a->state;
	int n = s != NULL ? s->nobject : 0;
	const char *at = buf_text(row), *end = at + row->len;
	struct state_packed p;

	for (int i = 0; i < n; i++) {
		const struct object *o = &s->object[i];

		if (per_rank != ((o->flags & ACCEL_PER_RANK) != 0) ||
		    find_packed(row, o->name, &p))
			continue;
		accel__fail(ACCEL_EMISMATCH, "the checkpoint has no object %s",
		    o->name);
		err_hint(accel__err(), "register the objects (and make the "
		    "loaders) that were there when it was saved");
		return ACCEL_EMISMATCH;
	}
	while (state_unpack(&at, end, &p)) {
		int i = 0;

		while (i < n && strcmp(s->object[i].name, p.name) != 0)
			i++;
		if (i < n)
			continue;
		accel__fail(ACCEL_EMISMATCH, "the checkpoint has an object "
		    "%s, which is not registered", p.name);
		err_hint(accel__err(), "register it (or make its loader) "
		    "before accel_load_state");
		return ACCEL_EMISMATCH;
	}
	return ACCEL_OK;
}

static accel_status
take_objects(accel *a, bool per_rank, const struct buf *row)
{
	struct state_packed p;
	accel_status st = ACCEL_OK;

	for (int i = 0; a->state != NULL && st == ACCEL_OK &&
	    i < a->state->nobject; i++) {
		struct object *o = &a->state->object[i];

		if (per_rank == ((o->flags & ACCEL_PER_RANK) != 0) &&
		    find_packed(row, o->name, &p))
			st = state_object_load(a, o, p.data, p.bytes);
	}
	return st;
}

/* Hands out each row and looks at it ("load" false) or loads it.  A rank
 * beyond those that were saved keeps its own objects as they are. */
static accel_status
all_objects(accel *a, const struct load *l, bool load)
{
	int ranks = l->world < a->world ? (int)l->world : a->world;
	accel_status st = ACCEL_OK, mine = ACCEL_OK;

	for (int r = -1; st == ACCEL_OK && r < ranks; r++) {
		struct buf row = { .max = (size_t)1 << 40 };

		if (a->rank == 0)
			st = pack_saved(l, r < 0 ? STATE_OBJECTS : STATE_RANKS,
			    r, &row);
		st = state_agree(a, st);
		if (st == ACCEL_OK)
			st = state_share(a, &row, 0);
		if (st == ACCEL_OK && mine == ACCEL_OK &&
		    (r < 0 || r == a->rank))
			mine = load ? take_objects(a, r >= 0, &row) :
			    match_objects(a, r >= 0, &row);
		buf_clear(&row);
	}
	return st == ACCEL_OK ? state_agree(a, mine) : st;
}

/* ---- arrays -------------------------------------------------------------- */

/* By the host's memory where the array lies on a GPU. */
static accel_status
read_array(accel *a, const struct load *l, const struct state_array *x,
    const struct state_place *p)
{
	accel_status st = ACCEL_OK;
	void *copy;

	if (!accel__elsewhere(a, x->data))
		return state_reader_read(l->r, p, x->data,
		    accel__err()) == 0 ? ACCEL_OK : ACCEL_EIO;
	copy = malloc(x->bytes + 1);
	if (copy == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for a copy of %s",
		    x->name);
	if (state_reader_read(l->r, p, copy, accel__err()) != 0)
		st = ACCEL_EIO;
	else
		st = accel__write(a, x->data, copy, x->bytes);
	free(copy);
	return st;
}

static accel_status
all_arrays(accel *a, const struct load *l)
{
	struct state_cursor c = { 0, 0, 0 };
	struct state_array x;
	struct state_place p;
	accel_status st = ACCEL_OK, mine = ACCEL_OK;

	while (st == ACCEL_OK && state_next(a, STATE_VALUES, &c, &x)) {
		if (a->rank == 0 && mine == ACCEL_OK)
			mine = find(l->r, &x, -1, &p, accel__err()) != 0 ?
			    ACCEL_EIO : read_array(a, l, &x, &p);
		st = accel_broadcast(a, x.data, x.bytes, 0);
	}
	return st == ACCEL_OK ? state_agree(a, mine) : st;
}

/* Those that ranks have of their own. */
static accel_status
own_arrays(accel *a, const struct load *l, enum state_what what, int first)
{
	struct state_cursor c = { 0, 0, 0 };
	struct state_array x;
	struct state_place p;
	accel_status st = ACCEL_OK, mine = ACCEL_OK;

	while (st == ACCEL_OK && state_next(a, what, &c, &x)) {
		void *theirs = calloc(1, x.bytes + 1);

		x.stem = STATE_RANKS;
		st = state_agree(a, theirs == NULL ? accel__fail(ACCEL_ENOMEM,
		    "no memory for %s", x.name) : ACCEL_OK);
		for (int r = first; st == ACCEL_OK && r < a->world; r++) {
			if (a->rank == 0 && mine == ACCEL_OK &&
			    (find(l->r, &x, r, &p, accel__err()) != 0 ||
			    state_reader_read(l->r, &p, theirs,
			    accel__err()) != 0))
				mine = ACCEL_EIO;
			st = accel_broadcast(a, theirs, x.bytes, 0);
			if (r == a->rank && mine == ACCEL_OK)
				mine = accel__write(a, x.data, theirs,
				    x.bytes);
		}
		free(theirs);
	}
	return st == ACCEL_OK ? state_agree(a, mine) : st;
}

static accel_status
load_grads(accel *a, const struct load *l)
{
	accel_status st;

	accel__grads_clear(a);
	if (l->micro == 0)
		return ACCEL_OK;
	st = own_arrays(a, l, STATE_GRADS, 0);
	for (int i = 0; i < a->norder; i++)
		tensor_of(a, a->order[i])->folded = true;
	return st;
}

accel_status
accel_load_state(accel *a, const char *dir)
{
	struct load l = { .r = NULL };
	int64_t numbers[4];
	accel_status st = ACCEL_OK;

	if (dir == NULL || *dir == '\0')
		st = accel__fail(ACCEL_EINVAL, "accel_load_state: no folder "
		    "is named");
	else if (!a->prepared)
		st = accel__fail(ACCEL_ESTATE, "accel_load_state: before "
		    "accel_prepare");
	else if (a->in_backward || a->reduced)
		st = accel__fail(ACCEL_ESTATE, "accel_load_state: between "
		    "accel_backward and accel_step");
	else
		st = state_own(a);
	if (st == ACCEL_OK && a->rank == 0)
		st = begin(a, &l, dir);
	st = state_agree(a, st);
	if (st != ACCEL_OK)
		goto out;
	numbers[0] = l.step;
	numbers[1] = l.micro;
	numbers[2] = l.world;
	numbers[3] = l.local;
	st = accel_broadcast(a, numbers, sizeof(numbers), 0);
	if (st != ACCEL_OK)
		goto out;
	l.step = numbers[0];
	l.micro = numbers[1];
	l.world = numbers[2];
	l.local = numbers[3];
	/* Nothing is changed before all of it is known to fit. */
	if ((st = all_objects(a, &l, false)) != ACCEL_OK ||
	    (st = all_arrays(a, &l)) != ACCEL_OK ||
	    (l.local != 0 &&
	    (st = own_arrays(a, &l, STATE_VALUES, 1)) != ACCEL_OK) ||
	    (st = load_grads(a, &l)) != ACCEL_OK)
		goto out;
	/* Objects may look at them. */
	a->step = l.step;
	a->micro = (int)l.micro;
	a->sync = a->reduced = false;
	st = all_objects(a, &l, true);
out:
	state_reader_close(l.r);
	return st;
}
