/* SPDX-License-Identifier: Apache-2.0 */
/* agent_check: what is looked at on a host before any rank starts. */
#include "runtime/launch/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/banned.h"

enum { PROBE_MS = 5000 };

/* Is it a file that can be run, as execvp would find it? */
static bool
runnable(const char *program, const char *path)
{
	char		full[4096];
	struct stat	st;

	if (strchr(program, '/'))
		return stat(program, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(program, X_OK) == 0;
	while (*path) {
		size_t n = strcspn(path, ":");

		snprintf(full, sizeof full, "%.*s/%s", (int)n, path, program);
		if (stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(full, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

void
agent_check(struct agent *a, struct wire_frame *frame)
{
	char	*folder = wire_get_text(frame), *program = wire_get_text(frame);
	char	*script = wire_get_text(frame), *path = wire_get_text(frame);
	char	 problem[400] = "", *hint = "";
	const char *search = path && *path ? path : getenv("PATH");
	size_t	 answer;

	if (!folder || !program || !script || !path) {
		snprintf(problem, sizeof problem, "a broken message");
	} else if (chdir(folder) < 0) {
		snprintf(problem, sizeof problem, "%.200s: %s", folder,
		    strerror(errno));
		hint = "the working folder must be there on every host";
	} else if (!runnable(program, search ? search : "/usr/local/bin:/usr/bin:/bin")) {
		bool there = strchr(program, '/') && access(program, F_OK) == 0;

		snprintf(problem, sizeof problem, "%.200s: %s", program, there ?
		    "not a file that can be run" : "not found on this host");
		hint = there ? "chmod +x it, or leave out --no_python for a script" :
		    "install it there, or give its full path";
	} else if (*script && access(script, R_OK) < 0) {
		snprintf(problem, sizeof problem, "%.200s: %s", script,
		    strerror(errno));
		hint = "the script must be there on every host";
	}
	answer = wire_begin(&a->out, WIRE_CHECKED);
	wire_put_text(&a->out, problem);
	wire_put_text(&a->out, hint);
	wire_end(&a->out, answer);
	free(folder), free(program), free(script), free(path);
}

/* A numeric address alone: a name could be read otherwise on each host, and a
 * static program has no resolver. */
static int
resolve(const char *address, uint32_t port, struct sockaddr_storage *to,
    socklen_t *n)
{
	struct sockaddr_in	*v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6	*v6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof *to);
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*n = sizeof *v4;
		return 0;
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		*n = sizeof *v6;
		return 0;
	}
	return -1;
}

void
agent_hold(struct agent *a, struct wire_frame *frame)
{
	char			*address = wire_get_text(frame);
	uint32_t		 port = wire_get(frame);
	struct sockaddr_storage	 to, got = { 0 };
	socklen_t		 n = sizeof got, to_size;
	char			 problem[300] = "";
	int			 one = 1, fd = -1;
	size_t			 answer;

	if (!address || resolve(address, port, &to, &to_size) < 0) {
		snprintf(problem, sizeof problem, "%.200s is no address",
		    address ? address : "");
	} else {
		fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		/* A port in use must be seen, so no SO_REUSEPORT. */
		if (fd >= 0)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (fd < 0 || bind(fd, (struct sockaddr *)&to, to_size) < 0 ||
		    listen(fd, 128) < 0 ||
		    getsockname(fd, (struct sockaddr *)&got, &n) < 0)
			snprintf(problem, sizeof problem, "port %u on %s: %s",
			    (unsigned)port, address, strerror(errno));
	}
	if (problem[0] && fd >= 0) {
		close(fd);
		fd = -1;
	}
	a->held = fd;
	answer = wire_begin(&a->out, WIRE_HELD);
	wire_put(&a->out, fd < 0 ? 0 : ntohs(got.ss_family == AF_INET6 ?
	    ((struct sockaddr_in6 *)&got)->sin6_port :
	    ((struct sockaddr_in *)&got)->sin_port));
	wire_put_text(&a->out, problem);
	wire_end(&a->out, answer);
	free(address);
}

void
agent_probe(struct agent *a, struct wire_frame *frame)
{
	char		*address = wire_get_text(frame);
	uint32_t	 port = wire_get(frame);
	struct sockaddr_storage	 to;
	socklen_t	 to_size;
	struct pollfd	 p = { .fd = -1, .events = POLLOUT };
	char		 problem[300] = "";
	int		 error = 0;
	socklen_t	 n = sizeof error;
	size_t		 answer;

	if (!address || resolve(address, port, &to, &to_size) < 0) {
		snprintf(problem, sizeof problem, "no address to connect to");
	} else {
		p.fd = socket(to.ss_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (p.fd < 0)
			error = errno;
		else if (connect(p.fd, (struct sockaddr *)&to, to_size) < 0) {
			error = errno;
			if (error == EINPROGRESS && poll(&p, 1, PROBE_MS) == 0)
				error = ETIMEDOUT;
			else if (error == EINPROGRESS)
				getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &n);
		}
		if (error)
			snprintf(problem, sizeof problem,
			    "cannot connect to rank 0 at %s, port %u: %s",
			    address, (unsigned)port, strerror(error));
	}
	if (p.fd >= 0)
		close(p.fd);
	answer = wire_begin(&a->out, WIRE_PROBED);
	wire_put_text(&a->out, problem);
	wire_end(&a->out, answer);
	free(address);
}
