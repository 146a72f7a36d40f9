/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: ranks forked from one program, watched until all have ended. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/patience.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

#define LIMIT_S 600.0
/* The others learn of a death by themselves and say more than SIGTERM would. */
#define GRACE_S 1.0
#define KILL_S	2.0
enum { POLL_MS = 50, MOST = 1024 };

/* What a rank writes when fn has returned: less than PIPE_BUF, so whole. */
struct report {
	int32_t		status;
	struct err	err;
};

struct child {
	pid_t		pid;		/* 0: has ended */
	int		fd;		/* its report */
	bool		told;		/* we sent a signal */
	bool		cause;		/* failed, and not for another's sake */
	accel_status	status;
	struct err	why;
};

struct spawn {
	struct child	*child;
	int		 n, running;
	int		 first;		/* who failed first, or -1 */
	int		 port, sock;
	char		 job[40];
	double		 peer_timeout_s;
};

/* A port that stays ours: bound without listening, it is given to nobody else,
 * and rank 0, which sets SO_REUSEADDR as we do, may listen on it. */
static int
hold_port(struct spawn *s, struct err *err)
{
	struct sockaddr_in	addr = { .sin_family = AF_INET };
	socklen_t		len = sizeof(addr);
	int			one = 1;

	s->sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->sock >= 0 && setsockopt(s->sock, SOL_SOCKET, SO_REUSEADDR,
	    &one, sizeof(one)) == 0 &&
	    bind(s->sock, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    getsockname(s->sock, (struct sockaddr *)&addr, &len) == 0) {
		s->port = ntohs(addr.sin_port);
		return 0;
	}
	return err_set(err, "accel_spawn: no port to meet at: %s",
	    strerror(errno));
}

/* ---- in the rank --------------------------------------------------------- */

static void
set_int(const char *name, long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	setenv(name, text, 1);
}

/* As a launcher sets it.  Another launcher's, around this program, is over. */
static void
set_environment(const struct spawn *s, int rank)
{
	static const char *const theirs[] = { "PMI_FD", "PMI_PORT", "PMI_RANK",
	    "PMI_SIZE", "MPI_LOCALRANKID", "TORCHELASTIC_USE_AGENT_STORE" };
	char text[32];

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		unsetenv(theirs[i]);
	set_int("RANK", rank);
	set_int("LOCAL_RANK", rank);
	set_int("WORLD_SIZE", s->n);
	set_int("LOCAL_WORLD_SIZE", s->n);
	set_int("MASTER_PORT", s->port);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("ACCEL_JOB", s->job, 1);
	if (s->peer_timeout_s > 0) {
		snprintf(text, sizeof(text), "%g", s->peer_timeout_s);
		setenv("ACCEL_PEER_TIMEOUT", text, 1);
	}
}

static _Noreturn void
be_rank(const struct spawn *s, int rank, int fd, pid_t parent, accel_fn fn,
    void *user)
{
	struct report	report = { ACCEL_OK, ERR_INIT };
	ssize_t		n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	close(s->sock);
	for (int i = 0; i < rank; i++)
		close(s->child[i].fd);
	set_environment(s, rank);
	*accel__err() = (struct err)ERR_INIT;
	report.status = (int32_t)fn(user);
	if (report.status < 0)
		report.err = *accel__err();
	fflush(NULL);
	do
		n = write(fd, &report, sizeof(report));
	while (n < 0 && errno == EINTR);
	_exit(report.status < 0);
}

static int
start(struct spawn *s, int rank, accel_fn fn, void *user, struct err *err)
{
	struct child	*c = &s->child[rank];
	pid_t		 self = getpid();
	int		 end[2];

	if (pipe2(end, O_CLOEXEC) != 0)
		return err_set(err, "accel_spawn: pipe: %s", strerror(errno));
	fcntl(end[0], F_SETFL, O_NONBLOCK);
	c->pid = fork();
	if (c->pid == 0) {
		close(end[0]);
		be_rank(s, rank, end[1], self, fn, user);
	}
	close(end[1]);
	if (c->pid < 0) {
		c->pid = 0;
		close(end[0]);
		return err_set(err, "accel_spawn: fork of rank %d: %s", rank,
		    strerror(errno));
	}
	c->fd = end[0];
	s->running++;
	return 0;
}

/* ---- watching ------------------------------------------------------------ */

static void
signal_all(struct spawn *s, int sig)
{
	for (int r = 0; r < s->n; r++)
		if (s->child[r].pid > 0) {
			s->child[r].told = true;
			kill(s->child[r].pid, sig);
		}
}

/* How a rank ended that did not return from fn. */
static void
describe(struct child *c, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	c->status = ACCEL_EPEER;
	if (sig != 0)
		err_set(&c->why, "it was ended by signal %d (%s)", sig,
		    strsignal(sig));
	else
		err_set(&c->why, "it ended with exit code %d and did not "
		    "return", WEXITSTATUS(status));
}

static void
ended(struct spawn *s, int rank, int status)
{
	struct child	*c = &s->child[rank];
	struct report	 report;

	c->pid = 0;
	s->running--;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (read(c->fd, &report, sizeof(report)) == sizeof(report)) {
		c->status = (accel_status)report.status;
		c->why = report.err;
		c->cause = c->status != ACCEL_EPEER;
	} else if (!c->told) {
		describe(c, status);
		c->cause = true;
	} else {
		return;
	}
	if (s->first < 0 || (c->cause && !s->child[s->first].cause))
		s->first = rank;
}

static void
reap(struct spawn *s)
{
	struct pollfd	p[MOST];
	nfds_t		n = 0;
	int		status;

	for (int r = 0; r < s->n; r++)
		if (s->child[r].pid > 0)
			p[n++] = (struct pollfd){ s->child[r].fd, POLLIN, 0 };
	poll(p, n, POLL_MS);
	for (int r = 0; r < s->n; r++)
		if (s->child[r].pid > 0 &&
		    waitpid(s->child[r].pid, &status, WNOHANG) ==
		    s->child[r].pid)
			ended(s, r, status);
}

static void
late(const struct spawn *s, double limit, struct err *err)
{
	char	ranks[120] = "";
	size_t	len = 0;

	for (int r = 0; r < s->n && len < sizeof(ranks) - 24; r++)
		if (s->child[r].pid > 0)
			len += (size_t)snprintf(ranks + len,
			    sizeof(ranks) - len, "%s%d", len ? ", " : "", r);
	err_set(err, "accel_spawn: after %g s still at work: rank %s", limit,
	    ranks);
	err_hint(err, "give it longer with limit_s, or look where it waits");
}

/* Until all have ended; after a failure or the limit they are made to. */
static accel_status
watch(struct spawn *s, double limit, struct err *err)
{
	double		term = 0, kill_at = 0;
	accel_status	st = ACCEL_OK;
	struct patience	patience;

	patience_begin(&patience, limit);
	while (s->running > 0) {
		double now;

		reap(s);
		now = clock_s();
		if (term == 0 && s->first >= 0)
			term = now + GRACE_S;
		if (patience_over(&patience) && term == 0) {
			late(s, limit, err);
			st = ACCEL_EPEER;
			term = now;
		}
		if (kill_at == 0 && term != 0 && now >= term) {
			signal_all(s, SIGTERM);
			kill_at = now + KILL_S;
		} else if (kill_at != 0 && now >= kill_at) {
			signal_all(s, SIGKILL);
		}
	}
	if (st == ACCEL_OK && s->first >= 0) {
		const struct child *c = &s->child[s->first];

		*err = c->why;
		if (err->text[0] == '\0')
			err_set(err, "returned %d", (int)c->status);
		err_at(err, "rank %d of %d", s->first, s->n);
		st = c->status;
	}
	return st;
}

accel_status
accel_spawn(int n, accel_fn fn, void *user, const accel_spawn_config *config)
{
	struct spawn	 s = { .n = n, .first = -1, .sock = -1 };
	struct err	*err = accel__err(), failed = ERR_INIT;
	double		 limit = LIMIT_S;
	uint64_t	 token = 0;
	accel_status	 st = ACCEL_OK;

	if (n < 1 || n > MOST || fn == NULL || (config != NULL &&
	    (config->size != sizeof(*config) || !(config->limit_s >= 0) ||
	    !(config->peer_timeout_s >= 0))))
		return accel__fail(ACCEL_EINVAL, "accel_spawn: it wants 1 to "
		    "%d ranks, a function, and a config from "
		    "ACCEL_SPAWN_INIT", MOST);
	if (config != NULL && config->limit_s > 0)
		limit = config->limit_s;
	if (config != NULL)
		s.peer_timeout_s = config->peer_timeout_s;
	if (getrandom(&token, sizeof(token), GRND_NONBLOCK) < 0)
		token = (uint64_t)clock_wall_ms();
	snprintf(s.job, sizeof(s.job), "spawn-%ld-%016llx", (long)getpid(),
	    (unsigned long long)token);
	s.child = calloc((size_t)n, sizeof(*s.child));
	if (s.child == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (hold_port(&s, err) != 0)
		st = ACCEL_EBACKEND;
	/* What is buffered would be printed by every rank again. */
	fflush(NULL);
	for (int r = 0; r < n; r++)
		s.child[r].fd = -1;
	for (int r = 0; r < n && st == ACCEL_OK; r++)
		if (start(&s, r, fn, user, &failed) != 0)
			st = ACCEL_EBACKEND;
	if (st == ACCEL_OK) {
		st = watch(&s, limit, err);
	} else {
		signal_all(&s, SIGKILL);
		watch(&s, limit, err);
		if (failed.text[0] != '\0')
			*err = failed;
	}
	for (int r = 0; r < n; r++)
		if (s.child[r].fd >= 0)
			close(s.child[r].fd);
	if (s.sock >= 0)
		close(s.sock);
	free(s.child);
	return st;
}
