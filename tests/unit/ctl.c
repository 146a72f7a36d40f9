/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection, with three ranks as threads of one process: run it
 * under the thread sanitizer. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/device/ctl.h"
#include "tests/tap.h"

enum { WORLD = 3, QUITTER = 2 };

struct rank {
	pthread_t	thread;
	int		rank, port, dead;
	bool		gives_up, opened, met, left;
	unsigned	sum;		/* of what the others put */
	struct err	why;
};

static int
free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&a, n) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		a.sin_port = 0;
	close(fd);
	return ntohs(a.sin_port);
}

static void *
run(void *arg)
{
	struct rank *r = arg;
	struct ctl_config config = {
		.addr = "127.0.0.1", .port = r->port, .rank = r->rank,
		.world = WORLD, .job = "test", .limit = 10, .start_limit = 20,
	};
	struct timespec step = { 0, 10000000 };
	struct ctl *ctl;
	char key[16];

	r->dead = -1;
	if (ctl_open(&ctl, &config, &r->why) < 0)
		return NULL;
	r->opened = true;
	snprintf(key, sizeof key, "from-%d", r->rank);
	ctl_put(ctl, key, &r->rank, sizeof r->rank, NULL);
	for (int other = 0; other < WORLD; other++) {
		struct buf value = BUF_INIT;
		int number = 100;

		snprintf(key, sizeof key, "from-%d", other);
		if (ctl_get(ctl, key, &value, &r->why) == 0 &&
		    value.len == sizeof number)
			memcpy(&number, value.data, sizeof number);
		r->sum += (unsigned)number;
		buf_clear(&value);
	}
	r->met = ctl_barrier(ctl, "a test", &r->why) == 0;
	if (r->gives_up && r->rank == QUITTER)
		ctl_abort(ctl, "its disk is full");
	for (int i = 0; r->gives_up && i < 2000 && (r->dead = ctl_dead(ctl)) < 0;
	    i++)
		nanosleep(&step, NULL);
	if (r->dead >= 0)
		ctl_why(ctl, &r->why);
	ctl_close(ctl);
	r->left = true;
	return NULL;
}

static void
job(struct rank *ranks, bool gives_up)
{
	int port = free_port();

	for (int i = 0; i < WORLD; i++) {
		ranks[i] = (struct rank){ .rank = i, .port = port,
		    .gives_up = gives_up };
		if (pthread_create(&ranks[i].thread, NULL, run, &ranks[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < WORLD; i++)
		pthread_join(ranks[i].thread, NULL);
}

/* A call that does not return, in a process of its own; its exit code. */
static int
bounded(char *said, size_t room)
{
	struct ctl_config config = {
		.addr = "127.0.0.1", .port = free_port(), .world = 1,
		.job = "test", .limit = 10, .start_limit = 20,
	};
	struct ctl *ctl;
	int out[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(out) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		dup2(out[1], 2);
		alarm(20);
		if (ctl_open(&ctl, &config, NULL) == 0)
			ctl_bound(ctl, "the test", 0.2);
		for (;;)
			pause();
	}
	close(out[1]);
	n = read(out[0], said, room - 1);
	said[n > 0 ? n : 0] = '\0';
	close(out[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
main(void)
{
	struct rank ranks[WORLD];
	char said[200] = "";

	/* First: a process with threads should not fork. */
	ok(bounded(said, sizeof said) == 1, "what never returns is ended");
	is(said, "accel: rank 0 gives up the test: it takes too long\n",
	    "with a word");

	job(ranks, false);
	for (int i = 0; i < WORLD; i++)
		ok(ranks[i].opened && ranks[i].sum == 0 + 1 + 2 &&
		    ranks[i].met && ranks[i].left && ranks[i].dead < 0,
		    "rank %d opens, reads what all put, meets them and leaves",
		    i);
	job(ranks, true);
	for (int i = 0; i < WORLD; i++) {
		ok(ranks[i].met && ranks[i].left, "rank %d leaves again", i);
		if (i != QUITTER)
			ok(ranks[i].dead == QUITTER &&
			    strstr(ranks[i].why.text, "its disk is full"),
			    "and knows who gave up, and why: %s",
			    ranks[i].why.text);
	}
	return tap_done();
}
