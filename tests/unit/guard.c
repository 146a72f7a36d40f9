/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was begun and is left is never written to again.  The backend is a fake
 * at device.h's edge: its network delivers whenever it is called, so it writes
 * to the memory of whatever has not ended, as MPI does.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/device/guard.h"
#include "tests/tap.h"

struct late {
	char	*buf;		/* of the last operation */
	int	 calls;
	int	 refuses, breaks;	/* the next operation; the next test */
	int	 stops;		/* the process, at so many-th call */
	int	 ends;		/* the operation, at so many-th; 0: never */
	int	 closed, dead;
	atomic_bool abandoned;
};

static void
deliver(struct late *l)
{
	l->calls++;
	if (l->buf != NULL)
		l->buf[0]++;
}

static int
late_all_reduce(void *state, void *buf, size_t n, int type, int op, void **req,
    struct err *err)
{
	struct late *l = state;

	(void)n;
	(void)type;
	(void)op;
	l->calls++;
	l->buf = buf;
	*req = l;
	return l->refuses ? err_set(err, "half of it has begun") : 0;
}

static int
late_all_gather(void *state, const void *in, void *out, size_t bytes,
    void **req, struct err *err)
{
	(void)in;
	return late_all_reduce(state, out, bytes, 0, 0, req, err);
}

static int
late_test(void *state, void *req, int *done, struct err *err)
{
	struct late *l = state;

	(void)req;
	deliver(l);
	if (l->calls == l->stops)
		raise(SIGSTOP);
	*done = l->calls == l->ends;
	return l->breaks ? err_set(err, "the cable is out") : 0;
}

static int
late_poke(void *state)
{
	deliver(state);
	return 0;
}

static void
late_close(void *state, int dead)
{
	struct late *l = state;

	l->closed = 1;
	l->dead = dead;
}

static int
late_order(void *state, void *req, struct err *err)
{
	(void)state;
	(void)req;
	(void)err;
	return 0;
}

static void
late_abandon(void *state)
{
	struct late *l = state;

	l->abandoned = true;
}

static const struct device_ops late_ops = {
	.abi = DEVICE_ABI, .name = "late", .close = late_close,
	.all_reduce = late_all_reduce, .all_gather = late_all_gather,
	.test = late_test, .poke = late_poke,
};
/* A GPU's: what it delivers to is not the host's. */
static const struct device_ops stream_ops = {
	.abi = DEVICE_ABI, .name = "stream", .close = late_close,
	.all_reduce = late_all_reduce, .all_gather = late_all_gather,
	.test = late_test, .order = late_order, .abandon = late_abandon,
};

/* Calls all that reaches the backend.  Did nothing reach it, and was each
 * refused for the same reason? */
static bool
is_quiet(struct guard *g, struct late *l, void *req, const char *why)
{
	const struct timespec pace = { 0, 2000000 };
	int calls = l->calls, done = 0;
	bool same = true;
	struct err err;
	char buf[8];
	void *other;

	guard_afloat(g, 1);
	nanosleep(&pace, NULL);		/* some of the thread's */
	if (guard_ops.all_reduce(g, buf, 8, DEVICE_U8, DEVICE_SUM, &other,
	    &err) != -1 || strcmp(err.text, why) != 0)
		same = false;
	guard_debug(g, true);
	if (guard_ops.all_gather(g, buf, buf, 8, &other, &err) != -1 ||
	    strcmp(err.text, why) != 0)
		same = false;
	guard_debug(g, false);
	if (req != NULL && (guard_ops.test(g, req, &done, &err) != -1 ||
	    guard_wait(g, req, &err) != -1 || strcmp(err.text, why) != 0))
		same = false;
	return same && l->calls == calls;
}

static struct guard *
guard_of(const struct device_ops *ops, struct late *l, bool thread)
{
	struct guard *g = guard_new(ops, l, NULL, 0, 2);

	guard_thread(g, thread);
	guard_limit(g, 0.01);
	return g;
}

static void
left_in_a_wait(bool thread)
{
	struct late l = { 0 };
	struct guard *g = guard_of(&late_ops, &l, thread);
	char *buf = calloc(1, 8), *why;
	struct err err;
	void *req;

	guard_ops.all_reduce(g, buf, 8, DEVICE_U8, DEVICE_SUM, &req, &err);
	guard_afloat(g, 1);
	ok(guard_wait(g, req, &err) == -1 && buf[0] != 0,
	    "a wait of 10 ms ends%s", thread ? ", beside a thread" : "");
	free(buf);		/* what writes there now, writes to others' */
	why = strdup(err.text);
	ok(is_quiet(g, &l, req, why), "and the backend is not called again");
	free(why);
	guard_free(g, false);
	ok(l.closed && l.dead, "closed, it waits for nobody");
	free(req);
}

static void
broken(struct late *l, const char *why, const char *says)
{
	struct guard *g = guard_of(&late_ops, l, false);
	struct err err;
	void *req = NULL;
	char buf[8];
	int done = 0, rc;

	rc = guard_ops.all_reduce(g, buf, 8, DEVICE_U8, DEVICE_SUM, &req,
	    &err);
	if (rc == 0)
		rc = guard_ops.test(g, req, &done, &err);
	ok(rc == -1 && strcmp(err.text, why) == 0 &&
	    is_quiet(g, l, req, why), "%s: not called again", says);
	guard_free(g, false);
	free(req);
}

/* The program waits for its stream, and calls nothing of ours. */
static void
left_on_a_stream(void)
{
	const struct timespec nap = { 0, 1000000 };
	struct late l = { 0 };
	struct guard *g = guard_of(&stream_ops, &l, true);
	char buf[8] = "";
	struct err err;
	void *req;

	guard_ops.all_reduce(g, buf, 8, DEVICE_U8, DEVICE_SUM, &req, &err);
	ok(guard_ops.order(g, req, &err) == 0, "a stream waits");
	for (int i = 0; i < 30000 && !l.abandoned; i++)
		nanosleep(&nap, NULL);
	ok(l.abandoned && guard_timed_out(g), "no longer than 10 ms: what it "
	    "waits for is ended");
	ok(guard_wait(g, req, &err) == -1 && strstr(err.text, "rank 0 has "
	    "waited 0.01 s in operation 1, all-reduce of 8 U8") != NULL,
	    "who asks is told (%s)", err.text);
	guard_free(g, false);
	free(req);
}

/* ^Z in the middle of a wait, for longer than its limit. */
static void
stopped_in_a_wait(void)
{
	/* The limit begins at the 20,000th poll, is looked at each 50th. */
	struct late l = { .stops = 20200, .ends = 20500 };
	const struct timespec pause = { 2, 0 };
	struct guard *g;
	struct err err;
	char buf[8] = "";
	int status = 0;
	void *req;
	pid_t pid = fork();

	if (pid == 0) {
		g = guard_of(&late_ops, &l, false);
		guard_limit(g, 1.5);
		guard_ops.all_reduce(g, buf, 8, DEVICE_U8, DEVICE_SUM, &req,
		    &err);
		_exit(guard_wait(g, req, &err) == 0 ? 0 : 1);
	}
	waitpid(pid, &status, WUNTRACED);
	ok(WIFSTOPPED(status), "a process is stopped as it waits");
	nanosleep(&pause, NULL);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "what it did not run is no part of its limit");
}

int
main(void)
{
	struct late sound = { 0 };
	struct guard *g = guard_of(&late_ops, &sound, false);

	left_in_a_wait(false);
	left_in_a_wait(true);
	broken(&(struct late){ .refuses = 1 }, "half of it has begun",
	    "an operation that fails to begin");
	broken(&(struct late){ .breaks = 1 }, "the cable is out",
	    "an operation that fails on its way");
	left_on_a_stream();
	stopped_in_a_wait();
	guard_free(g, false);
	ok(sound.closed && !sound.dead, "a sound one is closed with the rest");
	return tap_done();
}
