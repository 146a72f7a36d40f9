/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_measure: how fast the network is between two hosts.
 *
 * One agent listens, in a process of its own; the other connects, shows the
 * token, and is shown it.  Then come small messages, one after the other, each
 * of which is sent back; and then as many bytes as will go for a while, which
 * the listener counts: what left the sender may still be in its buffers.  The
 * first fifth of that time is TCP's own, to find its speed, and is left out.
 */
#include "runtime/launch/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"

#include "runtime/base/banned.h"

enum {
	TOKEN_MAX = 64, MESSAGE = 8, MESSAGES = 200,
	CONNECT_MS = 2000,	/* to an address */
	LATENCY_MS = 400,	/* all messages */
	REPLY_MS = 2500,	/* the count, behind the bytes */
	ADDRESSES = 2,		/* CONNECT_MS each: the agent is heard of
				   within WIRE_SILENCE_MS */
	BULK_MOST_MS = 2000, BLOCK = 256 << 10
};

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- the listener's process --- */

static void
limit_waits(int fd, int ms)
{
	struct timeval	t = { ms / 1000, ms % 1000 * 1000 };
	int		one = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static bool
get(int fd, void *to, size_t n)
{
	return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static bool
put(int fd, const void *from, size_t n)
{
	return send(fd, from, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* Counts for so long, says how much, and takes the rest until the other side
 * leaves: what it has sent would else be answered by a reset. */
static void
count_bulk(int fd, uint32_t ms, char *block)
{
	int64_t		from, until, first = 0, last = 0;
	uint64_t	said[2] = { 0, 0 };
	ssize_t		n;

	n = recv(fd, block, BLOCK, 0);
	from = now_ns() + (int64_t)ms * 200000;
	until = now_ns() + (int64_t)ms * 1000000;
	while (n > 0 && last < until) {
		n = recv(fd, block, BLOCK, 0);
		last = now_ns();
		if (n > 0 && last >= from) {
			/* What came up to now is the start of the time. */
			if (first)
				said[0] += (uint64_t)n;
			else
				first = last;
		}
	}
	said[1] = first ? (uint64_t)(last - first) : 0;
	if (!put(fd, said, sizeof said))
		return;
	until = now_ns() + (int64_t)REPLY_MS * 1000000;
	while (now_ns() < until && recv(fd, block, BLOCK, 0) > 0)
		;
}

static void
serve_one(int fd, const char *token, char *block)
{
	size_t		n = strlen(token);
	char		word[TOKEN_MAX], message[MESSAGE];
	uint32_t	ms;

	limit_waits(fd, CONNECT_MS);
	if (!get(fd, word, n) || memcmp(word, token, n) || !put(fd, token, n))
		return;
	while (get(fd, message, sizeof message)) {
		if (message[0] == 'B') {
			memcpy(&ms, message + 4, sizeof ms);
			ms = ntohl(ms);
			count_bulk(fd, ms < BULK_MOST_MS ? ms : BULK_MOST_MS,
			    block);
			return;
		}
		if (!put(fd, message, sizeof message))
			return;
	}
}

static void
serve(int listener, const char *token)
{
	static char	block[BLOCK];
	sigset_t	none;

	prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return;
		if (fd < 0)
			continue;
		serve_one(fd, token, block);
		close(fd);
	}
}

/* All addresses, or those of IPv4 where there is no IPv6. */
static int
listen_any(uint32_t *port)
{
	struct sockaddr_in6	v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in	v4 = { .sin_family = AF_INET };
	struct sockaddr_storage	got;
	socklen_t		n = sizeof got;
	int			zero = 0;
	int			fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC,
				    0);

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
		if (bind(fd, (struct sockaddr *)&v6, sizeof v6) < 0) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && bind(fd, (struct sockaddr *)&v4, sizeof v4) < 0) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&got, &n) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = ntohs(got.ss_family == AF_INET6 ?
	    ((struct sockaddr_in6 *)&got)->sin6_port :
	    ((struct sockaddr_in *)&got)->sin_port);
	return fd;
}

void
agent_listen(struct agent *a, struct wire_frame *frame)
{
	char		*token = wire_get_text(frame);
	char		 problem[200] = "";
	uint32_t	 port = 0;
	int		 fd = -1;
	pid_t		 pid;
	size_t		 answer;

	if (!token || !*token || strlen(token) > TOKEN_MAX)
		snprintf(problem, sizeof problem, "a broken message");
	else if ((fd = listen_any(&port)) < 0)
		snprintf(problem, sizeof problem, "no port to listen at: %s",
		    strerror(errno));
	else if ((pid = warden_fork(&a->warden)) == 0) {
		serve(fd, token);
		_exit(0);
	} else if (pid < 0) {
		snprintf(problem, sizeof problem, "no process to listen: %s",
		    strerror(errno));
		port = 0;
	}
	if (fd >= 0)
		close(fd);
	answer = wire_begin(&a->out, WIRE_HELD);
	wire_put(&a->out, port);
	wire_put_text(&a->out, problem);
	wire_end(&a->out, answer);
	free(token);
}

/* --- who measures --- */

/* Waits for the socket, and says that we are here; false where it took too
 * long, or the launcher is gone. */
static bool
ready(struct agent *a, int fd, short events, int64_t until)
{
	for (;;) {
		struct pollfd	p = { fd, events, 0 };
		int64_t		left = until - clock_ms();

		if (left <= 0) {
			errno = ETIMEDOUT;
			return false;
		}
		if (poll(&p, 1, left < 500 ? (int)left : 500) > 0)
			return true;
		if (!agent_beat(a)) {
			errno = ECANCELED;
			return false;
		}
	}
}

static int
reach(struct agent *a, const char *address, uint32_t port, const char *token,
    char *problem, size_t room)
{
	struct sockaddr_storage	to;
	socklen_t		n, size = sizeof(int);
	int64_t			until = clock_ms() + CONNECT_MS;
	size_t			want = strlen(token), heard = 0;
	char			word[TOKEN_MAX];
	int			error = 0, fd;

	if (agent_resolve(address, port, &to, &n) < 0) {
		snprintf(problem, room, "%.60s is no address", address);
		return -1;
	}
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&to, n) < 0 &&
	    errno != EINPROGRESS) || !ready(a, fd, POLLOUT, until) ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error ||
	    !put(fd, token, want)) {
		snprintf(problem, room, "%.60s: %s", address,
		    strerror(error ? error : errno));
		goto bad;
	}
	while (heard < want && ready(a, fd, POLLIN, until)) {
		ssize_t got = recv(fd, word + heard, want - heard, 0);

		if (got <= 0)
			break;
		heard += (size_t)got;
	}
	if (heard == want && !memcmp(word, token, want))
		return fd;
	snprintf(problem, room, "%.60s: another program answers there",
	    address);
bad:
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
by_time(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a > b) - (a < b);
}

/* Half of the median round trip, in ns; -1 where one does not come back. */
static int64_t
latency(int fd)
{
	static int64_t	took[MESSAGES];
	char		message[MESSAGE] = "P";
	int64_t		until = clock_ms() + LATENCY_MS;
	size_t		n = 0;

	while (n < MESSAGES && (n < 3 || clock_ms() < until)) {
		int64_t began = now_ns();

		if (!put(fd, message, sizeof message) ||
		    !get(fd, message, sizeof message))
			return -1;
		took[n++] = now_ns() - began;
	}
	qsort(took, n, sizeof *took, by_time);
	return took[n / 2] / 2;
}

/* kbit/s, or -1. */
static int64_t
bulk(struct agent *a, int fd, uint32_t ms)
{
	static char	block[BLOCK];
	char		message[MESSAGE] = "B";
	uint64_t	said[2];
	size_t		heard = 0;
	uint32_t	net = htonl(ms);
	int64_t		until = clock_ms() + ms + REPLY_MS;
	ssize_t		n;

	memcpy(message + 4, &net, sizeof net);
	if (!put(fd, message, sizeof message))
		return -1;
	while (heard < sizeof said) {
		if (!ready(a, fd, POLLIN | (heard ? 0 : POLLOUT), until))
			return -1;
		n = recv(fd, (char *)said + heard, sizeof said - heard,
		    MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return -1;
		if (n > 0)
			heard += (size_t)n;
		else if (!heard)
			send(fd, block, sizeof block,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	/* In the listener's order of bytes: hosts of one kind train together. */
	if (!said[1] || said[0] > 1ULL << 50)
		return -1;
	return (int64_t)((double)said[0] * 8e6 / (double)said[1]);
}

static void
measure(struct agent *a, int fd, uint32_t ms, int64_t found[2], char *problem,
    size_t room)
{
	struct linger now = { 1, 0 };

	limit_waits(fd, CONNECT_MS / 2);
	if (fcntl(fd, F_SETFL, 0) < 0 || (found[0] = latency(fd)) < 0)
		snprintf(problem, room, "no answer to a small message");
	else if ((found[1] = bulk(a, fd, ms)) < 0)
		snprintf(problem, room, "the bytes were not counted: %s",
		    strerror(errno));
	/* What is still on its way is of no use. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}

void
agent_measure(struct agent *a, struct wire_frame *frame)
{
	uint32_t	 port = wire_get(frame);
	char		*token = wire_get_text(frame);
	uint32_t	 ms = wire_get(frame), count = wire_get(frame);
	int64_t		 found[2] = { 0, 0 };
	char		 problem[200] = "no address to try";
	int		 fd = -1;
	size_t		 answer;

	if (ms > BULK_MOST_MS)
		ms = BULK_MOST_MS;
	for (uint32_t i = 0; i < count && i < ADDRESSES && fd < 0 &&
	    !frame->bad; i++) {
		char *address = wire_get_text(frame);

		if (address && token && *token && strlen(token) <= TOKEN_MAX)
			fd = reach(a, address, port, token, problem,
			    sizeof problem);
		free(address);
	}
	if (fd >= 0) {
		problem[0] = '\0';
		measure(a, fd, ms, found, problem, sizeof problem);
	}
	answer = wire_begin(&a->out, WIRE_MEASURED);
	wire_put_text(&a->out, problem);
	wire_put(&a->out, problem[0] ? 0 : (uint32_t)(found[0] < UINT32_MAX ?
	    found[0] : UINT32_MAX));
	wire_put(&a->out, problem[0] ? 0 : (uint32_t)(found[1] < UINT32_MAX ?
	    found[1] : UINT32_MAX));
	wire_end(&a->out, answer);
	free(token);
}
