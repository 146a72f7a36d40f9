/* SPDX-License-Identifier: Apache-2.0 */
/* track: the list of trackers, and what each event is. */
#include "runtime/train/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

/* "step" events a second, at most: enough for eyes, nothing for the loop. */
#define STEP_EVERY_S 0.25

struct tracker {
	const struct tracker_ops	*ops;
	void				*state;		/* NULL: failed */
	char				*where;
};

struct track {
	struct tracker	*tracker;
	size_t		 count;
	int64_t		 samples;	/* -1: no loader */
	double		 last_step;	/* when "step" was said, clock_s() */
};

static const struct tracker_ops *const kinds[] = {
	&tracker_jsonl, &tracker_csv, &tracker_board, &tracker_mlflow,
};

/* A tracker's failure must not end a training that may be days old, and no
 * call's status could say it without ending programs that check statuses. */
static void
say_failure(const struct tracker *t, const struct err *err)
{
	fprintf(stderr, "accel: tracker %s %s: %s; training goes on without "
	    "it%s%s%s\n", t->ops->name, t->where, err->text,
	    err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
}

static void
drop(struct tracker *t, const struct err *why)
{
	struct err ignored = ERR_INIT;

	say_failure(t, why);
	t->ops->close(t->state, &ignored);
	t->state = NULL;
}

static void
tell(struct tracker *t, const struct track_event *e)
{
	struct err err = ERR_INIT;

	if (t->state != NULL && t->ops->event(t->state, e, &err) != 0)
		drop(t, &err);
}

static void
tell_all(struct accel *a, struct track_event *e)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	e->time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	e->rank = a->rank;
	e->world = a->world;
	for (size_t i = 0; i < a->track->count; i++)
		tell(&a->track->tracker[i], e);
}

/* The list, made when it is first needed. */
static struct track *
list(struct accel *a)
{
	if (a->track == NULL) {
		a->track = calloc(1, sizeof(*a->track));
		if (a->track != NULL)
			a->track->samples = -1;
	}
	return a->track;
}

/* Takes "state"; closes it where there is no memory. */
static int
add(struct accel *a, const struct tracker_ops *ops, void *state,
    const char *where, struct err *err)
{
	struct track *l = list(a);
	struct tracker *more = NULL;
	char *copy = strdup(where);
	struct err ignored = ERR_INIT;

	if (l != NULL && copy != NULL)
		more = realloc(l->tracker, (l->count + 1) * sizeof(*more));
	if (more == NULL) {
		free(copy);
		ops->close(state, &ignored);
		return err_nomem(err);
	}
	l->tracker = more;
	l->tracker[l->count++] = (struct tracker){ ops, state, copy };
	return 0;
}

static int
open_one(struct accel *a, const struct tracker_ops *ops, const char *where,
    struct err *err)
{
	void *state;

	if (ops->open(&state, where, a->rank, err) != 0)
		return -1;
	return add(a, ops, state, where, err);
}

/* ---- what libaccel itself says ------------------------------------------- */

void
track_init(struct accel *a)
{
	static const char *const names[] = { "ACCEL_TRACK", "ACCEL_TRACK_FD" };
	struct track_event start = { .kind = TRACK_START };
	struct err err = ERR_INIT;

	if (a->rank != 0)
		return;
	for (int i = 0; i < 2; i++) {
		const char *value = getenv(names[i]);
		char where[4200];

		if (value == NULL || *value == '\0')
			continue;
		snprintf(where, sizeof(where), "%s%s", i ? "fd:" : "", value);
		if (open_one(a, &tracker_jsonl, where, &err) == 0)
			continue;
		fprintf(stderr, "accel: %s: %s; training goes on without it\n",
		    names[i], err.text);
	}
	if (a->track != NULL)
		tell_all(a, &start);
}

void
track_samples(struct accel *a, int64_t n)
{
	if (list(a) == NULL)
		return;
	if (a->track->samples < 0)
		a->track->samples = 0;
	a->track->samples += n;
}

void
track_step(struct accel *a)
{
	struct track_event e = { .kind = TRACK_STEP, .step = a->step };
	double now;

	if (a->track == NULL || a->track->count == 0)
		return;
	now = clock_s();
	if (a->track->last_step != 0 &&
	    now - a->track->last_step < STEP_EVERY_S)
		return;
	a->track->last_step = now;
	e.samples = a->track->samples;
	tell_all(a, &e);
}

void
track_fini(struct accel *a)
{
	struct track *l = a->track;
	struct track_event e = { .kind = TRACK_END, .step = a->step };

	if (l == NULL)
		return;
	e.samples = l->samples;
	tell_all(a, &e);
	for (size_t i = 0; i < l->count; i++) {
		struct tracker *t = &l->tracker[i];
		struct err err = ERR_INIT;

		if (t->state != NULL && t->ops->close(t->state, &err) != 0)
			say_failure(t, &err);
		free(t->where);
	}
	free(l->tracker);
	free(l);
	a->track = NULL;
}

/* ---- what the program says ----------------------------------------------- */

accel_status
accel_track(accel *a, const char *kind, const char *where, uint32_t flags)
{
	struct err *err = accel__err();
	char path[4200];

	if (kind == NULL || (flags & ~(uint32_t)ACCEL_EVERY_RANK) != 0)
		return accel__fail(ACCEL_EINVAL, "accel_track: a kind, and "
		    "ACCEL_EVERY_RANK or 0");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i]->name, kind) != 0)
			continue;
		if (a->rank != 0 && !(flags & ACCEL_EVERY_RANK))
			return ACCEL_OK;
		/* Two ranks that write one file would mix its lines. */
		snprintf(path, sizeof(path), a->rank == 0 ? "%s" :
		    "%s.rank-%d", where != NULL ? where : "", a->rank);
		return open_one(a, kinds[i], path, err) == 0 ? ACCEL_OK :
		    ACCEL_EIO;
	}
	accel__fail(ACCEL_EINVAL, "accel_track: no kind \"%.40s\"", kind);
	err_hint(err, "jsonl, csv, tensorboard or mlflow");
	return ACCEL_EINVAL;
}

struct call {
	accel_tracker	 t;
	void		*user;
};

static int
call_event(void *state, const struct track_event *e, struct err *err)
{
	struct call *c = state;
	accel_status st = ACCEL_OK;

	if (e->kind == TRACK_CONFIG && c->t.config != NULL)
		st = c->t.config(c->user, e->key, e->text);
	else if (e->kind == TRACK_LOG && c->t.log != NULL)
		st = c->t.log(c->user, e->step, e->key, e->value);
	return st < 0 ? err_set(err, "the function returned %d", (int)st) : 0;
}

static int
call_close(void *state, struct err *err)
{
	struct call *c = state;
	accel_status st = ACCEL_OK;

	if (c->t.close != NULL)
		st = c->t.close(c->user);
	free(c);
	return st < 0 ? err_set(err, "the function returned %d", (int)st) : 0;
}

static const struct tracker_ops call_ops = {
	"function", NULL, call_event, call_close,
};

accel_status
accel_track_with(accel *a, const accel_tracker *t, void *user, uint32_t flags)
{
	struct call *c;

	if (t == NULL || (flags & ~(uint32_t)ACCEL_EVERY_RANK) != 0)
		return accel__fail(ACCEL_EINVAL, "accel_track_with: "
		    "functions, and ACCEL_EVERY_RANK or 0");
	if (a->rank != 0 && !(flags & ACCEL_EVERY_RANK))
		return ACCEL_OK;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	*c = (struct call){ *t, user };
	return add(a, &call_ops, c, "of the program", accel__err()) == 0 ?
	    ACCEL_OK : ACCEL_ENOMEM;
}

/* Keys become columns, tags and paths of a server. */
static accel_status
check_key(const char *call, const char *key)
{
	size_t n = key == NULL ? 0 : strlen(key);

	if (n < 1 || n > ACCEL_KEY_MAX)
		return accel__fail(ACCEL_EINVAL, "%s: a key has 1 to %d bytes",
		    call, ACCEL_KEY_MAX);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)key[i] < 0x20 || key[i] == 0x7f)
			return accel__fail(ACCEL_EINVAL, "%s: a key has no "
			    "control characters", call);
	return ACCEL_OK;
}

accel_status
accel_log(accel *a, int64_t step, const char *key, double value)
{
	struct track_event e = { .kind = TRACK_LOG, .step = step, .key = key,
	    .value = value };
	accel_status st = check_key("accel_log", key);

	if (st == ACCEL_OK && a->track != NULL)
		tell_all(a, &e);
	return st;
}

accel_status
accel_log_config(accel *a, const char *key, const char *value)
{
	struct track_event e = { .kind = TRACK_CONFIG, .key = key,
	    .text = value };
	accel_status st = check_key("accel_log_config", key);

	if (st == ACCEL_OK && value == NULL)
		st = accel__fail(ACCEL_EINVAL, "accel_log_config: %s has no "
		    "value", key);
	if (st == ACCEL_OK && a->track != NULL)
		tell_all(a, &e);
	return st;
}
