/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes/facts.h"
#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

extern char **environ;

int
probe_spawn(char *const argv[], bool errors, pid_t *child, int *from)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int pipes[2], status;

	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[1], 1);
	if (errors)
		posix_spawn_file_actions_adddup2(&files, pipes[1], 2);
	else
		posix_spawn_file_actions_addopen(&files, 2, "/dev/null",
		    O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	/* Who holds signals back, as a screen does, does it for itself. */
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
	    POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	status = posix_spawnp(child, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	close(pipes[1]);
	if (status) {
		close(pipes[0]);
		errno = status;
		return -1;
	}
	*from = pipes[0];
	return 0;
}

/* Waits for the child, no longer than until "end".  A process that hangs in a
 * driver does not even die of SIGKILL: it is left behind. */
static int
reap(pid_t child, long end)
{
	int status;
	pid_t got;

	while (!(got = waitpid(child, &status, WNOHANG)) ||
	    (got < 0 && errno == EINTR)) {
		if (clock_ms() >= end)
			return -1;
		poll(NULL, 0, 2);
	}
	return got == child && WIFEXITED(status) && !WEXITSTATUS(status) ?
	    0 : -1;
}

int
probe_collect(pid_t child, int fd, int ms, struct buf *out)
{
	long end = clock_ms() + ms, left;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n = 1;

	while (n > 0 && (left = end - clock_ms()) > 0) {
		int ready = poll(&p, 1, (int)left);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			break;
		n = read(fd, bytes, sizeof bytes);
		if (n > 0 && buf_add(out, bytes, (size_t)n))
			break;
	}
	close(fd);
	if (!n && !reap(child, end))
		return buf_failed(out) ? -1 : 0;
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	reap(child, clock_ms() + 200);
	return -1;
}

int
probe_ask(struct machine *m, void (*tell)(int fd), int ms, struct err *err)
{
	struct buf	out = { .max = 1 << 20 };
	struct strv	facts = STRV_INIT;
	int		pipes[2], status = 0;
	pid_t		child;

	if (pipe2(pipes, O_CLOEXEC))
		return 0;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		close(pipes[0]);
		close(pipes[1]);
		return 0;
	}
	if (!child) {
		int null = open("/dev/null", O_RDWR);

		setpgid(0, 0);
		if (null >= 0) {	/* drivers talk */
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
		}
		tell(pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	/* What it said before it died is true. */
	probe_collect(child, pipes[0], ms, &out);
	for (const char *at = buf_text(&out), *end; !status &&
	    (end = strchr(at, '\n')); at = end + 1)
		status = strv_addf(&facts, "%.*s", (int)(end - at), at);
	if (!status)
		status = machine_take(m, &facts);
	strv_clear(&facts);
	buf_clear(&out);
	return status ? err_nomem(err) : 0;
}
