/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_port: the port of rank 0, which its host holds until rank 0 starts.
 *
 * From then until the rank binds it, which in Python takes seconds, the port is
 * nobody's.  So it is not one of those that the kernel gives to connections, and
 * as long as the agent lives it has a socket without a file whose name says the
 * port: no other agent here takes that one.
 */
#include "runtime/launch/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/banned.h"

enum {
	/* Above torchrun's own choice, below Linux's usual ones. */
	PORT_FIRST = 29501, PORTS = 32768 - PORT_FIRST,
	TRIES = 200,
	CALLERS_MAX = 4096		/* or a stranger takes all descriptors */
};

/* Makes the port this agent's among all agents here.  -1 with EADDRINUSE where
 * it is another's. */
static int
claim(uint32_t port)
{
	struct sockaddr_un	name = { .sun_family = AF_UNIX };
	int			fd, n;

	/* A zero in front: no file. */
	n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
	    "accel-port-%u", (unsigned)port);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	    (size_t)n)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int
bind_one(const struct sockaddr_storage *to, socklen_t n)
{
	int fd, why, one = 1, zero = 0;

	fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd < 0)
		return -1;
	/* The address :: has all of version 4 in it.  A port in use must be
	 * seen: no SO_REUSEPORT. */
	if (to->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)to, n) == 0 &&
	    listen(fd, 1024) == 0)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* One address, or "" for all, as rank 0 will most likely bind it. */
static int
bind_port(const char *address, uint32_t port)
{
	struct sockaddr_storage	to;
	socklen_t		n;
	int			fd;

	agent_resolve(*address ? address : "::", port, &to, &n);
	fd = bind_one(&to, n);
	if (fd >= 0 || *address || errno == EADDRINUSE || errno == EACCES)
		return fd;
	agent_resolve("0.0.0.0", port, &to, &n);	/* no version 6 here */
	return bind_one(&to, n);
}

/* Holds the port; 0 is any.  Gives the port, or 0 with errno. */
static uint32_t
hold(struct agent *a, const char *address, uint32_t asked)
{
	uint32_t port = asked, dice;

	for (int i = 0; i < (asked ? 1 : TRIES); i++) {
		if (!asked) {
			if (getrandom(&dice, sizeof dice, 0) != sizeof dice)
				return 0;
			port = PORT_FIRST + dice % PORTS;
		}
		a->claim = claim(port);
		if (a->claim >= 0) {
			a->held = bind_port(address, port);
			if (a->held >= 0)
				return port;
			close(a->claim);
			a->claim = -1;
		}
		if (errno != EADDRINUSE && errno != EACCES)
			return 0;
	}
	return 0;
}

void
agent_hold(struct agent *a, struct wire_frame *frame)
{
	char			*address = wire_get_text(frame);
	uint32_t		 asked = wire_get(frame), port = 0;
	char			*token = wire_get_text(frame);
	struct sockaddr_storage	 to;
	socklen_t		 n;
	char			 problem[300] = "";
	size_t			 answer;

	agent_release(a);
	if (a->claim >= 0)
		close(a->claim);
	a->claim = -1;
	if (!address || !token || asked > 65535 || (*address &&
	    agent_resolve(address, asked, &to, &n) < 0))
		snprintf(problem, sizeof problem, "%.200s is no address",
		    address ? address : "");
	else if (!(port = hold(a, address, asked)))
		snprintf(problem, sizeof problem, "port %u%s%.100s: %s",
		    (unsigned)asked, *address ? " on " : "", address,
		    strerror(errno));
	a->token = token;
	answer = wire_begin(&a->out, WIRE_HELD);
	wire_put(&a->out, port);
	wire_put_text(&a->out, problem);
	wire_end(&a->out, answer);
	free(address);
}

/* They leave first, so that no connection of ours stays behind in TIME_WAIT
 * and keeps rank 0 from the port. */
static void
see_off(struct agent *a, bool all)
{
	struct linger	now = { 1, 0 };
	size_t		kept = 0;
	char		byte;

	for (size_t i = 0; i < a->callers; i++) {
		int fd = a->caller[i];

		if (!all && recv(fd, &byte, 1, MSG_DONTWAIT) != 0) {
			a->caller[kept++] = fd;
			continue;
		}
		if (all)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
		close(fd);
	}
	a->callers = kept;
}

void
agent_callers(struct agent *a)
{
	int fd;

	see_off(a, false);
	while ((fd = accept4(a->held, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		int *more = a->callers < CALLERS_MAX ? realloc(a->caller,
		    (a->callers + 1) * sizeof *a->caller) : NULL;

		if (!more) {
			close(fd);
			return;
		}
		a->caller = more;
		a->caller[a->callers++] = fd;
		send(fd, a->token, strlen(a->token), MSG_NOSIGNAL);
	}
}

void
agent_release(struct agent *a)
{
	see_off(a, true);
	free(a->caller);
	a->caller = NULL;
	if (a->held >= 0)
		close(a->held);
	a->held = -1;
	free(a->token);
	a->token = NULL;
}
