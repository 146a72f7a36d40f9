/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults: three ranks train; one of them dies, stops, hangs or is slow at a
 * point drawn at random: a step, a unit of its backward, or the update.  The
 * others must say so, by name and within the limit, and a slow rank must cost
 * nothing but time; nor may all of them being stopped, and going on.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/train/accel.h"
#include "tests/train/port.h"
#include "tests/train/world.h"

enum { WORLD = 3, UNITS = 4, N = 3000, STEPS = 12, SLOW_S = 3 };

enum fault { KILLED, STOPPED, HANGS, SLOW, PAUSE };

static struct told {
	int status;
	double at;			/* when the call returned */
	char text[500];
} *told;
static double *struck;			/* when the fault came */

static float w[UNITS][N], g[UNITS][N];
static accel *a;
static struct {
	enum fault fault;
	int victim, step, place;	/* place UNITS: in the update */
} plan;
static int step;

static void
maybe(int place)
{
	if (accel_rank(a) != plan.victim || step != plan.step ||
	    place != plan.place)
		return;
	*struck = clock_s();
	if (plan.fault == KILLED)
		raise(SIGKILL);
	else if (plan.fault == STOPPED)
		raise(SIGSTOP);
	else
		sleep(plan.fault == HANGS ? 100 : SLOW_S);
}

static accel_status
backward(void *user)
{
	accel_status st = ACCEL_OK;

	(void)user;
	for (int u = UNITS - 1; u >= 0 && st == ACCEL_OK; u--) {
		for (int i = 0; i < N; i++)
			g[u][i] += (float)((i + accel_rank(a)) % 7 - 3);
		maybe(u);
		st = accel_leave(a, u);
	}
	return st;
}

static accel_status
update(void *user, const accel_range *r, int n, int64_t count)
{
	maybe(UNITS);
	return accel_sgd(user, r, n, count);
}

static accel_status
train(void)
{
	static const char *const name[UNITS] = { "u0", "u1", "u2", "u3" };
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 0.1 };
	accel_status st;

	c.bucket_bytes = N * 4;
	if ((st = accel_init(&c, &a)) != ACCEL_OK)
		return st;
	for (int u = 0; u < UNITS && st == ACCEL_OK; u++) {
		accel_tensor t = { name[u], w[u], g[u], ACCEL_F32, 0, 1,
		    { N } };

		st = accel_unit(a, name[u], &t, 1, NULL);
	}
	if (st == ACCEL_OK)
		st = accel_prepare(a, 0);
	for (step = 0; step < STEPS && st == ACCEL_OK; step++) {
		st = accel_backward(a, backward, NULL);
		if (st == ACCEL_OK && step % 2)
			st = accel_clip_grad_norm(a, 1, NULL);
		if (st == ACCEL_OK)
			st = accel_step(a, update, &sgd);
	}
	return st;
}

static int
rank_main(int rank, int port)
{
	char text[4][16];

	snprintf(text[0], 16, "%d", rank);
	snprintf(text[1], 16, "%d", WORLD);
	snprintf(text[2], 16, "%d", port);
	setenv("RANK", text[0], 1);
	setenv("LOCAL_RANK", text[0], 1);
	setenv("WORLD_SIZE", text[1], 1);
	setenv("MASTER_PORT", text[2], 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("ACCEL_PEER_TIMEOUT", "2", 1);
	if (plan.fault == HANGS)
		setenv("ACCEL_TIMEOUT", "1.5", 1);
	told[rank].status = train();
	told[rank].at = clock_s();
	snprintf(told[rank].text, sizeof(told[rank].text), "%s",
	    accel_errmsg());
	if (accel_fini(a) != ACCEL_OK && told[rank].status == ACCEL_OK)
		told[rank].status = ACCEL_EPEER;
	return 0;
}

/* All ranks stand still for longer than silence may last. */
static void
pause_all(const pid_t *pid)
{
	const struct timespec nap = { 3, 500000000 };

	for (int r = 0; r < WORLD; r++)
		kill(pid[r], SIGSTOP);
	nanosleep(&nap, NULL);
	for (int r = 0; r < WORLD; r++)
		kill(pid[r], SIGCONT);
}

/* Waits for all but the victim, then ends it.  False: they hang. */
static bool
collect(const pid_t *pid)
{
	double end = clock_s() + 60;
	int left = WORLD;
	bool gone[WORLD] = { false }, paused = false;
	const struct timespec nap = { 0, 10000000 };

	while (left > 0 && clock_s() < end) {
		for (int r = 0; r < WORLD; r++)
			if (!gone[r] && waitpid(pid[r], NULL, WNOHANG) > 0) {
				gone[r] = true;
				left--;
			}
		if (plan.fault == PAUSE && *struck != 0 && !paused) {
			pause_all(pid);
			paused = true;
		}
		if (left == 1 && !gone[plan.victim] && plan.fault < SLOW)
			kill(pid[plan.victim], SIGKILL);
		nanosleep(&nap, NULL);
	}
	for (int r = 0; r < WORLD; r++)
		if (!gone[r]) {
			kill(pid[r], SIGKILL);
			waitpid(pid[r], NULL, 0);
		}
	return left == 0;
}

static void
strike(enum fault fault, unsigned seed)
{
	static const char *const verb[] = { "dies", "stops", "hangs",
	    "is slow", "and all others stop and go on" };
	char what[120], name[40];
	int port = free_ports(1);
	pid_t pid[WORLD];
	bool ended;

	plan.fault = fault;
	plan.victim = (int)(seed % WORLD);
	plan.place = (int)(seed / 36 % (UNITS + 1));
	/* The others are through, and need nobody, before the last update. */
	plan.step = (int)(seed / 3 % (plan.place < UNITS ? STEPS : STEPS - 1));
	snprintf(what, sizeof(what), "rank %d %s in step %d, %s %d",
	    plan.victim, verb[fault], plan.step,
	    plan.place < UNITS ? "unit" : "update", plan.place);
	*struck = 0;
	memset(told, 0, WORLD * sizeof(*told));
	fflush(stdout);
	for (int r = 0; r < WORLD; r++)
		if ((pid[r] = fork()) == 0)
			_exit(rank_main(r, port));
	ended = collect(pid);
	ok(ended, "%s: nobody hangs", what);
	snprintf(name, sizeof(name), "rank %d (", plan.victim);
	for (int r = 0; r < WORLD && ended; r++) {
		const struct told *t = &told[r];

		if (fault >= SLOW) {
			ok(t->status == ACCEL_OK, "%s: rank %d waits for it",
			    what, r);
			continue;
		}
		if (r == plan.victim)
			continue;
		ok(t->status == ACCEL_EPEER || (fault == HANGS && t->status ==
		    ACCEL_ETIMEDOUT), "%s: rank %d fails (%d)", what, r,
		    t->status);
		ok(strstr(t->text, name) != NULL, "%s: rank %d names it", what,
		    r);
		/* The limit is 2 s of silence, 1.5 s of a wait: the rest is
		 * for a busy machine. */
		ok(t->at - *struck < 20, "%s: rank %d knows after %.1f s",
		    what, r, t->at - *struck);
		if (strstr(t->text, name) == NULL || fault == HANGS)
			printf("# %s\n", t->text);
		if (fault == HANGS)
			ok(strstr(t->text, "has not come; its last was") !=
			    NULL && strstr(t->text, " for bucket ") != NULL,
			    "%s: rank %d says where both are", what, r);
	}
}

int
main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) :
	    (unsigned)time(NULL);
	static const enum fault fault[] = { KILLED, STOPPED, KILLED, SLOW,
	    HANGS, KILLED, PAUSE, STOPPED, HANGS };

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	told = mmap(NULL, 4096 * 2, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 1;
	struck = (double *)(void *)((char *)told + 4096);
	printf("# seed %u\n", seed);
	for (unsigned i = 0; i < sizeof(fault) / sizeof(*fault); i++) {
		seed = seed * 1103515245u + 12345u;
		strike(fault[i], seed >> 8);
	}
	return tap_done();
}
