/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/patience.h"
#include "runtime/base/thread.h"
#include "runtime/device/ctl.h"

#include "runtime/base/banned.h"

#define SPINS	20		/* polls at once: about as long as a yield */
#define YIELDS	20000		/* then polls that only yield: some ms */
#define POLLS	50		/* then between naps of who waits */
#define NAP_NS	50000
#define PACE_NS	250000		/* between bursts of the thread */
#define WATCH_S	0.1		/* between looks of the watching thread */
#define BURST	100		/* polls, as long as they find work: */
#define WORK_S	2e-6		/* one that does takes longer */

struct guard {
	const struct device_ops	*ops;
	void			*state;
	struct ctl		*ctl;
	int			 rank, world;
	const char		*label;
	uint64_t		 seq;
	bool			 debug;
	pthread_mutex_t		 lock;		/* the backend, and these */
	pthread_cond_t		 change;
	pthread_t		 thread;
	bool			 allowed, threaded, stop, timed_out;
	int			 afloat;
	double			 limit_s;
	struct err		 left;		/* see leave; "" not yet */
	struct request		*watched;
};

/* An operation's arguments, as they are compared; no padding. */
struct call {
	char	 what[16], label[96];
	int64_t	 n;
	int32_t	 type, op, root, pad;
};

struct request {
	void		*real;
	uint64_t	 seq;
	struct call	 call;
	bool		 over;
	/* What the program's stream waits for: see watch. */
	struct patience	 patience;
	struct request	*next;
};

static const char *
type_name(int type)
{
	static const char *const name[] = { "F32", "F16", "BF16", "F64", "I32",
	    "I64", "U8" };

	return type >= 0 && type <= DEVICE_U8 ? name[type] : "?";
}

static void
describe(const struct call *c, char *out, size_t room)
{
	int n = snprintf(out, room, "%s of %lld %s", c->what,
	    (long long)c->n, c->type < 0 ? "bytes" : type_name(c->type));

	if (c->op >= 0 && n > 0 && (size_t)n < room)
		n += snprintf(out + n, room - (size_t)n, " (%s)",
		    c->op == DEVICE_SUM ? "sum" : c->op == DEVICE_MAX ? "max" :
		    "min");
	if (c->root >= 0 && n > 0 && (size_t)n < room)
		n += snprintf(out + n, room - (size_t)n, " from rank %d",
		    (int)c->root);
	if (c->label[0] != '\0' && n > 0 && (size_t)n < room)
		snprintf(out + n, room - (size_t)n, " for %s", c->label);
}

/*
 * An operation that was begun and has not ended is left: its memory may be the
 * caller's, or free, as soon as that is told.  The backend still knows where it
 * was and writes there whenever it runs; so it runs no more.
 */
static void
leave(struct guard *g, const struct err *why)
{
	if (g->left.text[0] != '\0')
		return;
	g->left = *why;
	if (g->ops->abandon != NULL)
		g->ops->abandon(g->state);
}

static int
pass_on(const struct err *why, struct err *err)
{
	err_set(err, "%s", why->text);
	return err_hint(err, "%s", why->hint);
}

/* With the lock held: may the backend run?  -1 and why not. */
static int
may_run(struct guard *g, struct err *err)
{
	struct err why;

	if (g->left.text[0] == '\0' && ctl_dead(g->ctl) >= 0) {
		ctl_why(g->ctl, &why);
		leave(g, &why);
	}
	return g->left.text[0] == '\0' ? 0 : pass_on(&g->left, err);
}

/* One poll moves a piece of some KB; what has come since the last burst is
 * more. */
static void
poke_all(struct guard *g)
{
	double begin, end = clock_s();

	for (int i = 0; i < BURST; i++) {
		begin = end;
		g->ops->poke(g->state);
		end = clock_s();
		if (end - begin < WORK_S)
			break;
	}
}

static void *
run(void *arg)
{
	const struct timespec pace = { 0, PACE_NS };
	struct guard *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->stop) {
		if (g->afloat <= 0 || may_run(g, NULL) != 0) {
			pthread_cond_wait(&g->change, &g->lock);
			continue;
		}
		poke_all(g);
		pthread_mutex_unlock(&g->lock);
		nanosleep(&pace, NULL);
		pthread_mutex_lock(&g->lock);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

struct guard *
guard_new(const struct device_ops *ops, void *state, struct ctl *ctl,
    int rank, int world)
{
	struct guard *g = calloc(1, sizeof(*g));
	pthread_condattr_t clock;

	if (g == NULL)
		return NULL;
	g->ops = ops;
	g->state = state;
	g->ctl = ctl;
	g->rank = rank;
	g->world = world;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&g->change, &clock);
	pthread_condattr_destroy(&clock);
	return g;
}

void
guard_free(struct guard *g, bool dead)
{
	if (g->threaded) {
		pthread_mutex_lock(&g->lock);
		g->stop = true;
		pthread_cond_signal(&g->change);
		pthread_mutex_unlock(&g->lock);
		pthread_join(g->thread, NULL);
	}
	g->ops->close(g->state, dead || g->left.text[0] != '\0');
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->change);
	free(g);
}

void
guard_label(struct guard *g, const char *label)
{
	g->label = label;
}

void
guard_debug(struct guard *g, bool on)
{
	g->debug = on;
}

void
guard_limit(struct guard *g, double limit_s)
{
	g->limit_s = limit_s;
}

bool
guard_timed_out(struct guard *g)
{
	bool yes;

	pthread_mutex_lock(&g->lock);
	yes = g->timed_out;
	pthread_mutex_unlock(&g->lock);
	return yes;
}

void
guard_thread(struct guard *g, bool on)
{
	g->allowed = on;
}

void
guard_afloat(struct guard *g, int more)
{
	pthread_mutex_lock(&g->lock);
	g->afloat += more;
	/* The first time: is there a thread to be had? */
	if (more > 0 && g->allowed && !g->threaded && may_run(g, NULL) == 0) {
		g->allowed = g->ops->poke != NULL &&
		    g->ops->poke(g->state) == 0;
		if (g->allowed)
			g->threaded = thread_start(&g->thread, run, g) == 0;
	} else if (g->threaded && g->afloat == more) {
		pthread_cond_signal(&g->change);
	}
	pthread_mutex_unlock(&g->lock);
}

static void
tell_place(struct guard *g, const struct call *c)
{
	if (g->ctl != NULL)
		ctl_place(g->ctl, g->seq, c->what, c->label, c->n);
}

void
guard_mark(struct guard *g, const char *what)
{
	struct call c = { .n = -1 };

	snprintf(c.what, sizeof(c.what), "%s", what);
	g->seq++;
	tell_place(g, &c);
}

/* A wait has ended by its limit: all ranks are told to stop. */
static int
too_long(struct guard *g, const struct request *r, struct err *err)
{
	struct buf who = BUF_INIT;
	char what[200];
	int rc = g->ctl == NULL ? -1 : ctl_missing(g->ctl, r->seq, &who, NULL);

	if (rc != 0 && ctl_dead(g->ctl) >= 0) {
		/* Another waited as long and has said so first. */
		buf_clear(&who);
		return ctl_why(g->ctl, err);
	}
	if (rc != 0)
		buf_adds(&who, "another rank has not come");
	else if (who.len == 0)
		buf_adds(&who, "all ranks have come, so it is the network "
		    "that does not move");
	describe(&r->call, what, sizeof(what));
	err_set(err, "rank %d has waited %g s in operation %llu, %s: %s",
	    g->rank, g->limit_s, (unsigned long long)r->seq, what,
	    buf_text(&who));
	err_hint(err, "see what that rank does, or set ACCEL_TIMEOUT to more "
	    "seconds (0: no limit)");
	buf_clear(&who);
	g->timed_out = true;
	if (g->ctl != NULL)
		ctl_abort(g->ctl, err->text);
	return -1;
}

static int
poll_one(struct guard *g, struct request *r, struct err *err)
{
	int done = 0, rc = may_run(g, err);

	if (rc != 0 || r->over)
		return rc;
	rc = g->ops->test(g->state, r->real, &done, err);
	r->over = done != 0;
	return rc;
}

/* Holds the lock all the while: who waits polls more often than the thread. */
static int
wait_for(struct guard *g, struct request *r, double limit_s, struct err *err)
{
	const struct timespec nap = { 0, NAP_NS };
	struct patience patience;
	struct err why = ERR_INIT;
	int rc;

	pthread_mutex_lock(&g->lock);
	for (long polls = 0;; polls++) {
		rc = poll_one(g, r, &why);
		if (rc != 0 || r->over)
			break;
		if (polls < SPINS)
			continue;
		if (polls < YIELDS) {
			sched_yield();
			continue;
		}
		if (polls == YIELDS) {
			patience_begin(&patience, limit_s);
		} else if (polls % POLLS == 0 && patience_over(&patience)) {
			rc = too_long(g, r, &why);
			break;
		}
		/* A large message moves on by a piece a poll, an idle poll
		 * costs next to nothing: many between two naps. */
		if (polls % POLLS == 0)
			nanosleep(&nap, NULL);
	}
	if (rc != 0) {
		leave(g, &why);
		pass_on(&why, err);
	}
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* Of a request that is over, with the lock held. */
static void
forget(struct guard *g, struct request *r)
{
	struct request **at = &g->watched;

	while (*at != NULL && *at != r)
		at = &(*at)->next;
	if (*at != NULL)
		*at = r->next;
	free(r);
}

int
guard_wait(struct guard *g, void *req, struct err *err)
{
	int rc = wait_for(g, req, g->limit_s, err);

	if (rc == 0) {
		pthread_mutex_lock(&g->lock);
		forget(g, req);
		pthread_mutex_unlock(&g->lock);
	}
	return rc;
}

/* All that the program's stream waits for, and no call of ours. */
static void
look(struct guard *g)
{
	struct err why = ERR_INIT;
	int rc = 0;

	for (struct request *r = g->watched; r != NULL && rc == 0;
	    r = r->next) {
		rc = poll_one(g, r, &why);
		if (patience_over(&r->patience) && rc == 0 && !r->over)
			rc = too_long(g, r, &why);
	}
	if (rc != 0)
		leave(g, &why);
}

/*
 * On a GPU nobody need be waiting here: the program waits for its stream, which
 * waits for another rank's.  Should that rank never come, this thread has to see
 * it and to end what runs, or the program stands still for ever.
 */
static void *
watch(void *arg)
{
	struct guard *g = arg;
	struct patience pace;

	pthread_mutex_lock(&g->lock);
	while (!g->stop && may_run(g, NULL) == 0) {
		look(g);
		patience_begin(&pace, WATCH_S);
		patience_wait(&pace, &g->change, &g->lock);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* To begin an operation: takes the lock, where the backend may run. */
static int
enter(struct guard *g, struct err *err)
{
	pthread_mutex_lock(&g->lock);
	if (may_run(g, err) == 0)
		return 0;
	pthread_mutex_unlock(&g->lock);
	return -1;
}

/* And gives it back.  What failed may have begun a part, and this rank is out
 * of step with the others. */
static int
entered(struct guard *g, int rc, const struct err *err)
{
	if (rc != 0)
		leave(g, err);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* The same around the start of an operation.  NCCL's first ones have connections
 * to make and wait inside: who is kept there by a rank that is gone cannot be let
 * go, and ends. */
static int
enter_start(struct guard *g, struct err *err)
{
	int rc = enter(g, err);

	if (rc == 0 && g->ops->abandon != NULL)
		ctl_bound(g->ctl, "the start of an exchange", g->limit_s);
	return rc;
}

static int
entered_start(struct guard *g, int rc, const struct err *err)
{
	if (g->ops->abandon != NULL)
		ctl_unbound(g->ctl);
	return entered(g, rc, err);
}

/* All ranks' arguments, side by side.  Names the first who differs. */
static int
compare(struct guard *g, const struct call *mine, struct err *err)
{
	struct call *all = calloc((size_t)g->world, sizeof(*all));
	struct request r = { .seq = g->seq, .call = *mine };
	char here[200], there[200];
	int other = 0, rc;

	if (all == NULL)
		return err_nomem(err);
	rc = enter_start(g, err);
	if (rc == 0)
		rc = entered_start(g, g->ops->all_gather(g->state, mine, all,
		    sizeof(*mine), &r.real, err), err);
	if (rc == 0)
		rc = wait_for(g, &r, 0, err);
	if (rc == 0) {
		while (other < g->world &&
		    memcmp(&all[other], &all[0], sizeof(*all)) == 0)
			other++;
		if (other < g->world) {
			describe(&all[0], here, sizeof(here));
			describe(&all[other], there, sizeof(there));
			rc = err_set(err, "ranks differ in operation %llu: "
			    "rank 0 calls %s, rank %d calls %s",
			    (unsigned long long)g->seq, here, other, there);
			err_hint(err, "every rank must make the same calls "
			    "with the same sizes in the same order");
		}
	}
	free(all);
	return rc;
}

static struct request *
begin(struct guard *g, const char *what, size_t n, int type, int op,
    int root, struct err *err)
{
	struct request *r = malloc(sizeof(*r));

	if (r == NULL) {
		err_nomem(err);
		return NULL;
	}
	*r = (struct request){ 0 };
	memcpy(r->call.what, what, strlen(what));
	if (g->label != NULL)
		snprintf(r->call.label, sizeof(r->call.label), "%s", g->label);
	r->call.n = (int64_t)n;
	r->call.type = type;
	r->call.op = op;
	r->call.root = root;
	r->seq = ++g->seq;
	tell_place(g, &r->call);
	if ((g->debug && compare(g, &r->call, err) != 0) ||
	    enter_start(g, err) != 0) {
		free(r);
		return NULL;
	}
	return r;
}

static int
begun(struct guard *g, struct request *r, int rc, void **req,
    const struct err *err)
{
	if (entered_start(g, rc, err) != 0) {
		free(r);
		r = NULL;
	}
	*req = r;
	return rc;
}

static int
guard_all_reduce(void *state, void *buf, size_t n, int type, int op,
    void **req, struct err *err)
{
	struct guard *g = state;
	struct request *r = begin(g, "all-reduce", n, type, op, -1, err);

	return r == NULL ? -1 : begun(g, r, g->ops->all_reduce(g->state, buf,
	    n, type, op, &r->real, err), req, err);
}

static int
guard_broadcast(void *state, void *buf, size_t bytes, int root, void **req,
    struct err *err)
{
	struct guard *g = state;
	struct request *r = begin(g, "broadcast", bytes, -1, -1, root, err);

	return r == NULL ? -1 : begun(g, r, g->ops->broadcast(g->state, buf,
	    bytes, root, &r->real, err), req, err);
}

static int
guard_all_gather(void *state, const void *in, void *out, size_t bytes,
    void **req, struct err *err)
{
	struct guard *g = state;
	struct request *r = begin(g, "all-gather", bytes, -1, -1, -1, err);

	return r == NULL ? -1 : begun(g, r, g->ops->all_gather(g->state, in,
	    out, bytes, &r->real, err), req, err);
}

static int
guard_reduce_scatter(void *state, const void *in, void *out, size_t nout,
    int type, int op, void **req, struct err *err)
{
	struct guard *g = state;
	struct request *r = begin(g, "reduce-scatter", nout, type, op, -1,
	    err);

	return r == NULL ? -1 : begun(g, r, g->ops->reduce_scatter(g->state,
	    in, out, nout, type, op, &r->real, err), req, err);
}

static int
guard_test(void *state, void *req, int *done, struct err *err)
{
	struct guard *g = state;
	struct request *r = req;
	int rc = enter(g, err);

	if (rc != 0)
		return rc;
	rc = poll_one(g, r, err);
	*done = rc == 0 && r->over;
	if (*done)
		forget(g, r);
	return entered(g, rc, err);
}

static int
guard_order(void *state, void *req, struct err *err)
{
	struct guard *g = state;
	struct request *r = req;
	int rc = enter(g, err);

	if (rc != 0)
		return rc;
	rc = g->ops->order(g->state, r->real, err);
	if (rc == 0) {
		patience_begin(&r->patience, g->limit_s);
		r->next = g->watched;
		g->watched = r;
		if (g->ops->abandon != NULL && !g->threaded)
			g->threaded = thread_start(&g->thread, watch, g) == 0;
	}
	return entered(g, rc, err);
}

const struct device_ops guard_ops = {
	.abi = DEVICE_ABI, .name = "guard", .all_reduce = guard_all_reduce,
	.broadcast = guard_broadcast, .all_gather = guard_all_gather,
	.reduce_scatter = guard_reduce_scatter, .test = guard_test,
	.order = guard_order,
};
