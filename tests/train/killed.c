/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed: three ranks start, train and leave; one of them is killed, or stopped,
 * at a moment drawn at random, from its first instruction on.  Whatever the
 * others are in then (meeting, MPI_Init, accel_prepare, accel_join, a hook's
 * rounds, PowerSGD, local SGD, objects, a save, the end), each ends soon, and
 * well or with the name of the rank that is gone.
 *
 *	killed [SEED [TIMES]]
 */
#include <fcntl.h>
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
#include "tests/train/folder.h"
#include "tests/train/port.h"
#include "tests/train/world.h"

enum { WORLD = 3, UNITS = 3, N = 1200, STEPS = 8, START_S = 6,
	SILENT_S = 3 };

enum kind { PLAIN, ROUNDS, POWER, LOCAL, SAVES, KINDS };

static struct told {
	bool ended;
	int status;
	char call[32], text[500];
} *told;

static float w[UNITS][N], g[UNITS][N];
static accel *a;
static const char *call;		/* what is under way */
static bool have;

#define TRY(name, what) do {						\
	call = name;							\
	if ((st = (what)) < 0)						\
		return st;						\
} while (0)

static accel_status
backward(void *user)
{
	accel_status st;

	(void)user;
	for (int u = UNITS - 1; u >= 0; u--) {
		for (int i = 0; i < N; i++)
			g[u][i] += (float)((i + accel_rank(a)) % 7 - 3);
		if ((st = accel_leave(a, u)) != ACCEL_OK)
			return st;
	}
	return ACCEL_OK;
}

static accel_status
in_rounds(void *user, accel_bucket *b)
{
	(void)user;
	return b->round > 1 ? ACCEL_OK : accel_hook_all_reduce(a, b->data,
	    b->n, b->dtype, ACCEL_MAX);
}

static accel_status
one_step(enum kind kind, int step)
{
	accel_objects mine = ACCEL_OBJECTS_INIT, all = ACCEL_OBJECTS_INIT;
	accel_save_args save = ACCEL_SAVE_INIT;
	accel_sgd_args sgd = { .lr = 0.1 };
	accel_status st;
	int active;

	for (int m = 0; m < 2; m++) {
		have = step < 3 || accel_rank(a) > 0;
		TRY("accel_join", accel_join(a, have, &active));
		TRY("accel_backward", accel_backward(a, have ? backward :
		    NULL, NULL));
	}
	TRY("accel_clip_grad_norm", accel_clip_grad_norm(a, 1, NULL));
	TRY("accel_step", accel_step(a, accel_sgd, &sgd));
	accel_objects_add(&mine, "step", (size_t)accel_rank(a));
	call = "accel_gather_objects";
	st = accel_gather_objects(a, &mine, &all);
	accel_objects_free(&mine);
	accel_objects_free(&all);
	if (st != ACCEL_OK)
		return st;
	save.async = step % 2;
	if (kind == SAVES)
		TRY("accel_save_state", accel_save_state(a,
		    in_folder("state"), &save));
	return ACCEL_OK;
}

static accel_status
train(enum kind kind)
{
	static const char *const name[UNITS] = { "u0", "u1", "u2" };
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;

	c.bucket_bytes = N * 4;
	c.grad_accum = 2;
	c.local_steps = kind == LOCAL ? 2 : 0;
	c.compress = kind == POWER ? ACCEL_COMPRESS_POWERSGD : 0;
	c.powersgd_start = -1;
	TRY("accel_init", accel_init(&c, &a));
	for (int u = 0; u < UNITS; u++) {
		accel_tensor t = { name[u], w[u], g[u], ACCEL_F32, 0, 2,
		    { 40, N / 40 } };

		TRY("accel_unit", accel_unit(a, name[u], &t, 1, NULL));
	}
	TRY("accel_prepare", accel_prepare(a, 0));
	if (kind == ROUNDS)
		TRY("accel_set_hook", accel_set_hook(a, in_rounds, NULL));
	for (int step = 0; step < STEPS; step++)
		if ((st = one_step(kind, step)) < 0)
			return st;
	return ACCEL_OK;
}

static void
set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static int
rank_main(int rank, int port, enum kind kind)
{
	struct told *t = &told[rank];
	char text[20];
	int fd;

	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank);
	set_number("WORLD_SIZE", WORLD);
	set_number("MASTER_PORT", port);
	set_number("ACCEL_START_TIMEOUT", START_S);
	set_number("ACCEL_PEER_TIMEOUT", SILENT_S);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	snprintf(text, sizeof(text), "stderr-%d", rank);
	fd = open(in_folder(text), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return 1;
	close(fd);
	t->status = train(kind);
	if (t->status >= 0) {
		call = "accel_fini";
		t->status = accel_fini(a);
	}
	snprintf(t->call, sizeof(t->call), "%s", call);
	if (t->status < 0) {
		snprintf(t->text, sizeof(t->text), "%s", accel_errmsg());
		if (strcmp(call, "accel_fini") != 0)
			accel_fini(a);
	}
	t->ended = true;
	return 0;
}

/* Sends "victim" the signal after "delay" seconds (< 0: nobody) and waits for
 * all.  Says how long the others took from then on; -1: they hang. */
static double
watch(pid_t pid[WORLD], int victim, int sig, double delay)
{
	const struct timespec nap = { 0, 1000000 };
	double begin = clock_s(), struck = 0;
	int left = WORLD;

	while (left > 0) {
		double now = clock_s();

		if (delay >= 0 && struck == 0 && now - begin >= delay) {
			struck = now;
			if (pid[victim] > 0)
				kill(pid[victim], sig);
		}
		if (struck > 0 && left == 1 && pid[victim] > 0)
			kill(pid[victim], SIGKILL);
		if (now - begin > 60)
			break;
		for (int r = 0; r < WORLD; r++)
			if (pid[r] > 0 && waitpid(pid[r], NULL, WNOHANG) > 0) {
				pid[r] = 0;
				left--;
			}
		nanosleep(&nap, NULL);
	}
	for (int r = 0; r < WORLD; r++)
		if (pid[r] > 0) {
			kill(pid[r], SIGKILL);
			waitpid(pid[r], NULL, 0);
		}
	return left > 0 ? -1 : clock_s() - (struck > 0 ? struck : begin);
}

static double
run(enum kind kind, int victim, int sig, double delay)
{
	int port = free_ports(1);
	pid_t pid[WORLD];

	memset(told, 0, WORLD * sizeof(*told));
	fflush(stdout);
	for (int r = 0; r < WORLD; r++)
		if ((pid[r] = fork()) == 0)
			_exit(rank_main(r, port, kind));
	return watch(pid, victim, sig, delay);
}

static void
read_stderr(int rank, char *out, size_t room)
{
	char name[20];
	size_t n = 0;
	FILE *file;

	snprintf(name, sizeof(name), "stderr-%d", rank);
	file = fopen(in_folder(name), "r");
	if (file != NULL) {
		n = fread(out, 1, room - 1, file);
		fclose(file);
	}
	out[n] = '\0';
}

static bool
names(const char *text, int rank)
{
	static const char *const how[] = { "rank %d (", /* it was there */
	    "rank %d has not connected", "reached no rank %d at" };
	char want[40];
	bool any = false;

	for (int i = 0; i < 3; i++) {
		snprintf(want, sizeof(want), how[i], rank);
		any |= strstr(text, want) != NULL;
	}
	return any;
}

/* Nobody hears of a rank that is through, or that the others need no more: then
 * all end well.  In MPI_Init and MPI_Finalize they do not return, but say it on
 * stderr, which is here in a file. */
static void
judge(enum kind kind, int victim, int sig, double at, double took)
{
	static const char *const word[] = { "plain", "a hook", "PowerSGD",
	    "local SGD", "saves" };
	char what[80];
	bool named = true;

	snprintf(what, sizeof(what), "%s, rank %d is %s after %.0f ms",
	    word[kind], victim, sig == SIGKILL ? "killed" : "stopped",
	    at * 1e3);
	ok(took >= 0 && took < START_S + 14, "%s: the others end in %.1f s",
	    what, took);
	for (int r = 0; r < WORLD; r++) {
		const struct told *t = &told[r];

		if (r == victim)
			continue;
		if (!t->ended)
			read_stderr(r, told[r].text, sizeof(told[r].text));
		if (!t->ended || t->status < 0)
			printf("# rank %d, %s: %s\n", r, t->ended ? t->call :
			    "did not return", t->text);
		named &= (t->ended && t->status >= 0) ||
		    names(t->text, victim);
	}
	ok(named, "%s: the others end well, or name it", what);
}

int
main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) :
	    (unsigned)time(NULL);
	int times = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 12;
	double whole;

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	told = mmap(NULL, WORLD * sizeof(*told), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED || folder_make() != 0)
		return 1;
	printf("# seed %u\n", seed);
	whole = run(SAVES, 0, 0, -1);
	for (int r = 0; r < WORLD; r++)
		ok(told[r].ended && told[r].status == ACCEL_OK, "rank %d ends "
		    "well where nobody is killed", r);
	for (int i = 0; i < times; i++) {
		enum kind kind = (enum kind)(i % KINDS);
		int victim, sig = i % 3 == 1 ? SIGSTOP : SIGKILL;
		double at;

		seed = seed * 1103515245u + 12345u;
		victim = (int)(seed >> 8) % WORLD;
		at = whole * (seed >> 12 & 1023) / 1024;
		judge(kind, victim, sig, at, run(kind, victim, sig, at));
	}
	folder_remove();
	return tap_done();
}
