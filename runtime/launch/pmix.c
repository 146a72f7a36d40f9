/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel-pmix PROGRAM ARGUMENTS: becomes a rank that is an Open MPI program.
 *
 * The first rank of a host leaves a PMIx server behind, which all ranks of the
 * host ask for their environment, over a socket that has no name in any file
 * system.  The server ends with the last of them: each keeps its connection
 * open.  The agent, whose child it then is, sees to it in any case.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/launch/pmix_server.h"

#include "runtime/base/banned.h"

enum {
	HOSTS_MAX = 65536, RANKS_MAX = 65536,
	PATIENCE_MS = 60000,		/* for the server of this host */
	REPLY_MAX = 1 << 20
};

static int
number_of(const char *name, long most, long *out, struct err *err)
{
	const char *text = getenv(name);

	if (text && num_parse(text, 0, most, out) == 0)
		return 0;
	err_set(err, "%s is not set, or no number", name);
	return err_hint(err, "\"accel launch --mpi pmix\" starts this program");
}

/* Of ACCEL_PMIX_COUNTS, "2,2,1".  Given by malloc. */
static long *
counts(size_t *hosts, struct err *err)
{
	const char	*text = getenv("ACCEL_PMIX_COUNTS");
	char		*copy = strdup(text ? text : ""), *rest = copy, *item;
	long		*count = NULL, *grown, n;

	*hosts = 0;
	while (rest && (item = strsep(&rest, ","))) {
		grown = realloc(count, (*hosts + 1) * sizeof *count);
		if (!grown || num_parse(item, 1, RANKS_MAX, &n) < 0 ||
		    *hosts == HOSTS_MAX) {
			err_set(err, "ACCEL_PMIX_COUNTS is no list of numbers");
			free(grown ? grown : count);
			free(copy);
			return NULL;
		}
		count = grown;
		count[(*hosts)++] = n;
	}
	free(copy);
	return count;
}

/* The socket of a host's ranks, of this job alone. */
static socklen_t
address(struct sockaddr_un *to)
{
	const char	*job = getenv("ACCEL_JOB");
	const char	*host = getenv("GROUP_RANK");
	int		 n;

	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1,
	    "accel-pmix-%s-%s", job ? job : "", host ? host : "");
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	    (size_t)n);
}

/* Anybody could know the name. */
static bool
is_ours(int fd)
{
	struct ucred	who;
	socklen_t	n = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
	    who.uid == getuid();
}

static bool
send_all(int fd, const void *data, size_t n)
{
	const char	*at = data;
	ssize_t		 r;

	for (; n > 0; at += r, n -= (size_t)r) {
		r = send(fd, at, n, MSG_NOSIGNAL);
		if (r < 0 && errno != EINTR)
			return false;
		r = r < 0 ? 0 : r;
	}
	return true;
}

static bool
receive_all(int fd, void *data, size_t n)
{
	char		*at = data;
	struct pollfd	 p = { .fd = fd, .events = POLLIN };
	ssize_t		 r;

	for (; n > 0; at += r, n -= (size_t)r) {
		if (poll(&p, 1, PATIENCE_MS) == 0)
			return false;
		r = recv(fd, at, n, 0);
		if (r == 0 || (r < 0 && errno != EINTR))
			return false;
		r = r < 0 ? 0 : r;
	}
	return true;
}

/* The server's side: one rank's question.  Its answer begins with 1 and has
 * NAME=VALUE texts, or with 0 and says why not. */
static void
answer(int fd, const struct err *broken)
{
	uint32_t	rank, head[2] = { 1, 0 };
	struct strv	env = STRV_INIT;
	struct buf	text = BUF_INIT;
	struct err	err = *broken;

	if (!receive_all(fd, &rank, sizeof rank))
		return;
	if (*err.text || pmix_server_env(rank, &env, &err) < 0) {
		head[0] = 0;
		buf_addf(&text, "%s%s%s", err.text, *err.hint ? "\n  " : "",
		    err.hint);
	}
	for (size_t i = 0; head[0] && i < env.count; i++)
		buf_add(&text, env.item[i], strlen(env.item[i]) + 1);
	head[1] = (uint32_t)text.len;
	if (send_all(fd, head, sizeof head))
		send_all(fd, buf_text(&text), text.len);
	strv_clear(&env);
	buf_clear(&text);
}

static void
serve(int listener, const struct pmix_job *job)
{
	long		 ranks = job->count[job->host], open = 0;
	struct pollfd	*fds = calloc((size_t)ranks, sizeof *fds);
	struct err	 err = ERR_INIT;

	if (!fds)
		return;
	pmix_server_start(job, &err);
	while (open < ranks) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			break;
		if (fd < 0)
			continue;
		if (!is_ours(fd)) {
			close(fd);
			continue;
		}
		answer(fd, &err);
		fds[open++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	close(listener);
	for (long left = open; left > 0;) {
		if (poll(fds, (nfds_t)open, -1) < 0 && errno != EINTR)
			break;
		for (long i = 0; i < open; i++)
			if (fds[i].fd >= 0 && fds[i].revents) {
				close(fds[i].fd);
				fds[i].fd = -1;
				left--;
			}
	}
	free(fds);
	if (!*err.text)
		pmix_server_stop();
}

/* Leaves a server behind. */
static int
start_server(const struct pmix_job *job, struct err *err)
{
	struct sockaddr_un	to;
	socklen_t		n = address(&to);
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
				    0);
	int			null;
	pid_t			pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, n) < 0 ||
	    listen(fd, SOMAXCONN) < 0 || (pid = fork()) < 0)
		return err_set(err, "no PMIx server: %s", strerror(errno));
	if (pid > 0) {
		close(fd);
		return 0;
	}
	setsid();	/* what ends the first rank must not end it */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, 0);
	dup2(null, 1);
	serve(fd, job);
	_exit(0);
}

/* Asks the server, who may not be there yet. */
static int
ask(uint32_t rank, struct err *err)
{
	struct sockaddr_un	to;
	socklen_t		n = address(&to);
	struct timespec		pause = { 0, 10000000 };
	uint32_t		head[2];
	char			*text;
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);

	for (int tries = PATIENCE_MS / 10; fd >= 0 &&
	    connect(fd, (struct sockaddr *)&to, n) < 0; tries--) {
		if (tries == 0 || (errno != ECONNREFUSED && errno != ENOENT &&
		    errno != EINTR && errno != EAGAIN))
			return err_set(err, "no PMIx server: %s",
			    strerror(errno));
		nanosleep(&pause, NULL);
	}
	if (fd < 0 || !is_ours(fd) || !send_all(fd, &rank, sizeof rank) ||
	    !receive_all(fd, head, sizeof head) || head[1] > REPLY_MAX ||
	    !(text = calloc(1, head[1] + 1)) ||
	    !receive_all(fd, text, head[1]))
		return err_set(err, "the PMIx server of this host is gone");
	if (!head[0]) {
		err_set(err, "%s", text);
		return -1;
	}
	for (char *at = text; at < text + head[1]; at += strlen(at) + 1)
		putenv(at);
	return 0;	/* fd stays open, in the program too */
}

static int
prepare(struct err *err)
{
	struct pmix_job	job = { .name = getenv("ACCEL_JOB") };
	long		local, host, fd;
	long		*count = counts(&job.hosts, err);

	if (!count || number_of("LOCAL_RANK", RANKS_MAX, &local, err) < 0 ||
	    number_of("GROUP_RANK", HOSTS_MAX, &host, err) < 0 ||
	    number_of("PMI_FD", 1 << 20, &fd, err) < 0)
		return -1;
	job.count = count;
	job.host = (size_t)host;
	job.pmi_fd = (int)fd;
	if (!job.name || job.host >= job.hosts || local >= count[host])
		return err_set(err, "ACCEL_PMIX_COUNTS does not fit this rank");
	fcntl(job.pmi_fd, F_SETFD, FD_CLOEXEC);
	if (local == 0 && start_server(&job, err) < 0)
		return -1;
	free(count);
	unsetenv("ACCEL_PMIX_COUNTS");
	unsetenv("PMI_FD");
	unsetenv("PMI_RANK");
	unsetenv("PMI_SIZE");
	/* Open MPI 4 looks for a PMIx server only where it knows who starts it,
	 * by his own variables; else it takes itself for a single process.  Of
	 * those that it knows, jsrun is nothing but PMIx. */
	setenv("JSM_JSRUN_PORT", "0", 0);
	return ask((uint32_t)local, err);
}

int
main(int argc, char **argv)
{
	struct err	err = ERR_INIT;

	if (argc < 2) {
		fprintf(stderr, "%s: started by \"accel launch\" for Open MPI "
		    "programs; there is nothing to type here\n", argv[0]);
		return 2;
	}
	if (prepare(&err) < 0) {
		err_print("accel-pmix", &err);
		return 1;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "accel-pmix: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
