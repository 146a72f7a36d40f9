/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks forked from one program: how they begin, and each way to end. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/train/world.h"

static accel_status
meets(void *user)
{
	int *world = user, sum;
	accel *a;

	GOOD(accel_init(NULL, &a));
	HOLDS(accel_world(a) == *world);
	HOLDS(accel_local_rank(a) == accel_rank(a));
	sum = accel_rank(a);
	GOOD(accel_all_reduce(a, &sum, 1, ACCEL_I32, ACCEL_SUM));
	HOLDS(sum == *world * (*world - 1) / 2);
	GOOD(accel_fini(a));
	*world = -1;			/* in this process alone */
	return ACCEL_END;		/* no failure */
}

static int
rank_of_env(void)
{
	return getenv("RANK")[0] - '0';
}

static accel_status
fails(void *user)
{
	(void)user;
	if (rank_of_env() == 1)
		return accel__fail(ACCEL_EMISMATCH, "the cat is out");
	pause();
	return ACCEL_OK;
}

/* The victims see a peer that is gone; the cause is what is reported. */
static accel_status
dies(void *user)
{
	int one = 1, victim = *(int *)user;
	accel *a;

	GOOD(accel_init(NULL, &a));
	/* Not before all are out of accel_init, where a death is its failure. */
	for (int i = 0; ; i++) {
		accel_status st = accel_all_reduce(a, &one, 1, ACCEL_I32,
		    ACCEL_MAX);

		if (i == 0 && accel_rank(a) == victim)
			raise(SIGKILL);
		if (st != ACCEL_OK)
			return st;
	}
}

static accel_status
leaves(void *user)
{
	(void)user;
	if (rank_of_env() == 0)
		_exit(3);
	signal(SIGTERM, SIG_IGN);	/* SIGKILL comes behind */
	for (;;)
		pause();
}

static accel_status
lingers(void *user)
{
	(void)user;
	pause();
	return ACCEL_OK;
}

static int told[2];			/* a pipe: pids of ranks */

static accel_status
tells(void *user)
{
	pid_t me = getpid();

	(void)user;
	if (write(told[1], &me, sizeof(me)) != sizeof(me))
		return ACCEL_EIO;
	for (;;)
		pause();
}

/* Who runs the ranks is killed: they are not left behind. */
static void
orphans(void)
{
	pid_t	middle, rank[2];
	int	status, gone = 0;

	/* Then they are ours to wait for. */
	if (pipe(told) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		exit(1);
	fflush(stdout);
	middle = fork();
	if (middle == 0) {
		spawn(2, tells, NULL);
		_exit(0);
	}
	for (int i = 0; i < 2; i++)
		if (read(told[0], &rank[i], sizeof(rank[i])) !=
		    sizeof(rank[i]))
			exit(1);
	kill(middle, SIGKILL);
	waitpid(middle, &status, 0);
	for (int tries = 0; tries < 600 && gone < 2; tries++) {
		gone += waitpid(rank[gone], &status, WNOHANG) == rank[gone];
		poll(NULL, 0, 100);
	}
	ok(gone == 2, "ranks end with who runs them");
	for (; gone < 2; gone++)
		kill(rank[gone], SIGKILL);
	close(told[0]);
	close(told[1]);
}

int
main(void)
{
	accel_spawn_config c = ACCEL_SPAWN_INIT;

	printf("# printed once\n");
	for (int n = 1; n <= (has_backend() ? 4 : 1); n++) {
		int world = n;
		accel_status st = spawn(n, meets, &world);

		ok(st == ACCEL_OK && world == n, "%d met (%s)", n,
		    st == ACCEL_OK ? "well" : accel_errmsg());
	}
	ok(spawn(3, fails, NULL) == ACCEL_EMISMATCH,
	    "the status of who failed");
	is(accel_errmsg(), "rank 1 of 3: the cat is out", "and its words");
	ok(spawn(3, leaves, NULL) == ACCEL_EPEER, "one who does not return");
	is(accel_errmsg(), "rank 0 of 3: it ended with exit code 3 and did not "
	    "return", "is named, and the deaf are killed");
	if (has_backend())
		for (int victim = 0; victim < 3; victim += 2) {
			char want[80];

			snprintf(want, sizeof(want), "rank %d of 3: it was "
			    "ended by signal 9 (Killed)", victim);
			ok(spawn(3, dies, &victim) == ACCEL_EPEER,
			    "a death in a loop of collectives");
			is(accel_errmsg(), want, "is told of the dead, not "
			    "of those who lost it");
		}
	else
		skip("built without MPICH");
	c.limit_s = 0.3;
	ok(accel_spawn(3, lingers, NULL, &c) == ACCEL_EPEER, "a limit");
	is(accel_errmsg(), "accel_spawn: after 0.3 s still at work: rank 0, 1, "
	    "2 (give it longer with limit_s, or look where it waits)",
	    "names who is late");
	orphans();
	ok(accel_spawn(0, fails, NULL, NULL) == ACCEL_EINVAL, "not no ranks");
	c.size = 3;
	ok(accel_spawn(1, lingers, NULL, &c) == ACCEL_EINVAL,
	    "nor an unset config");
	return tap_done();
}
