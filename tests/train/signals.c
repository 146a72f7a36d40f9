/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals: those of the program come to its own threads, whatever threads the
 * library has: for the control connection, exchanges, a loader, a save.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "tests/train/folder.h"
#include "tests/train/world.h"

enum { N = 1 << 20, UNITS = 2 };

static float w[UNITS][N], g[UNITS][N], rows[1000];
static accel *a;
static volatile sig_atomic_t came, where;

static void
note(int sig)
{
	(void)sig;
	came++;
	where = (sig_atomic_t)syscall(SYS_gettid);
}

/* Threads beside this one, and of them those that take SIGUSR1. */
static void
look(int *threads, int *open)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	long self = syscall(SYS_gettid);

	*threads = *open = 0;
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		char path[300], line[200], name[32] = "";
		unsigned long long blocked = 0;
		FILE *file;

		if (e->d_name[0] == '.' ||
		    strtol(e->d_name, NULL, 10) == self)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status",
		    e->d_name);
		file = fopen(path, "r");
		if (file == NULL)
			continue;	/* it has just ended */
		while (fgets(line, sizeof(line), file) != NULL) {
			(void)sscanf(line, "Name: %31s", name);
			(void)sscanf(line, "SigBlk: %llx", &blocked);
		}
		fclose(file);
		++*threads;
		if (!(blocked >> (SIGUSR1 - 1) & 1)) {
			++*open;
			printf("# rank %d: %s takes signals\n", accel_rank(a),
			    name);
		}
	}
	if (dir != NULL)
		closedir(dir);
}

/* With all threads about, and an exchange under way. */
static accel_status
backward(void *user)
{
	sigset_t usr1, pending;
	int threads, open;

	(void)user;
	GOOD(accel_leave(a, 1));
	look(&threads, &open);
	HOLDS(threads >= (accel_world(a) > 1 ? 3 : 1) && open == 0);
	/* Blocked here too, the signal finds nobody and waits. */
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	kill(getpid(), SIGUSR1);
	sigpending(&pending);
	HOLDS(came == 0 && sigismember(&pending, SIGUSR1));
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	HOLDS(came == 1 && where == (sig_atomic_t)syscall(SYS_gettid));
	return accel_leave(a, 0);
}

static accel_status
train(void *user)
{
	static const char *const name[] = { "a", "b" };
	accel_loader_config how = ACCEL_LOADER_INIT;
	accel_save_args save = ACCEL_SAVE_INIT;
	accel_sgd_args sgd = ACCEL_SGD_INIT;
	accel_loader *loader;
	accel_source *source;
	accel_batch batch;

	(void)user;
	signal(SIGUSR1, note);
	GOOD(accel_init(NULL, &a));
	for (int u = 0; u < UNITS; u++) {
		accel_tensor t = { name[u], w[u], g[u], ACCEL_F32, 0, 1,
		    { N } };

		GOOD(accel_unit(a, name[u], &t, 1, NULL));
	}
	GOOD(accel_prepare(a, 0));
	how.prefetch = 2;
	GOOD(accel_source_memory(rows, 1000, 4, &source));
	GOOD(accel_loader_open(a, source, &how, &loader));
	GOOD(accel_next_batch(loader, &batch));
	save.async = 1;
	GOOD(accel_save_state(a, in_folder("state"), &save));
	GOOD(accel_backward(a, backward, NULL));
	GOOD(accel_step(a, accel_sgd, &sgd));
	GOOD(accel_save_wait(a));
	accel_loader_free(loader);
	accel_source_free(source);
	return accel_fini(a);
}

int
main(void)
{
	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	if (folder_make() != 0)
		return 1;
	on_worlds(train, NULL, "signals come to the program's thread");
	folder_remove();
	return tap_done();
}
