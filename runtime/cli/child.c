/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"

#include "runtime/base/banned.h"

enum { GRACE_MS = 10000 };	/* from SIGTERM to SIGKILL */

static void
become(const char *const argv[], const char *const more[], int out, int status)
{
	int	code;
	ssize_t	n;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (out >= 0) {
		setpgid(0, 0);
		dup2(out, 1);
		dup2(out, 2);
	}
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	for (; more && *more; more += 2)
		setenv(more[0], more[1], 1);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	code = errno;
	n = write(status, &code, sizeof code);
	_exit(n == sizeof code ? 127 : 126);
}

/* Reads what it writes until it ends; -1 where the time is over. */
static int
collect(int fd, int64_t end, struct buf *out)
{
	struct pollfd	p = { .fd = fd, .events = POLLIN };
	char		bytes[8192];

	for (;;) {
		int64_t left = end ? end - clock_ms() : 1000;
		int	ready = left > 0 ? poll(&p, 1,
		    left < 1000 ? (int)left : 1000) : 0;
		ssize_t n;

		if (left <= 0)
			return -1;
		if (ready <= 0)
			continue;
		n = read(fd, bytes, sizeof bytes);
		if (n == 0)
			return 0;
		if (n > 0)
			buf_add(out, bytes, (size_t)n);
		else if (errno != EINTR && errno != EAGAIN)
			return 0;
	}
}

/* Asks it to stop, and in the end does not ask. */
static void
stop(pid_t child)
{
	int64_t end = clock_ms() + GRACE_MS;

	kill(child, SIGTERM);
	while (waitpid(child, NULL, WNOHANG) == 0) {
		if (clock_ms() > end) {
			kill(-child, SIGKILL);
			waitpid(child, NULL, 0);
			return;
		}
		poll(NULL, 0, 20);
	}
	kill(-child, SIGKILL);
}

static int
wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

int
child_run(const char *const argv[], const char *const more[], double limit_s,
    struct buf *out, struct err *err)
{
	int	 pipes[2] = { -1, -1 }, status[2], failed = 0, ret = -1;
	int64_t	 end = limit_s > 0 ? clock_ms() + (int64_t)(limit_s * 1e3) : 0;
	void	(*old[2])(int);
	pid_t	 child;

	if (pipe2(status, O_CLOEXEC) < 0)
		return err_set(err, "%s: %s", argv[0], strerror(errno));
	if ((out && pipe2(pipes, O_CLOEXEC) < 0) || (child = fork()) < 0) {
		err_set(err, "%s: %s", argv[0], strerror(errno));
		close(status[0]);
		close(status[1]);
		goto done;
	}
	if (child == 0)
		become(argv, more, pipes[1], status[1]);
	close(status[1]);
	if (out) {
		close(pipes[1]);
		pipes[1] = -1;
	}
	if (read(status[0], &failed, sizeof failed) == sizeof failed) {
		wait_for(child);
		err_set(err, "%s: %s", argv[0], strerror(failed));
	} else if (out && collect(pipes[0], end, out) < 0) {
		stop(child);
		err_set(err, "%s took longer than %g s, and was ended",
		    argv[0], limit_s);
	} else {
		/* A ^C is the child's, whose end we wait for. */
		old[0] = signal(SIGINT, SIG_IGN);
		old[1] = signal(SIGQUIT, SIG_IGN);
		ret = wait_for(child);
		signal(SIGINT, old[0]);
		signal(SIGQUIT, old[1]);
	}
	close(status[0]);
done:
	for (int i = 0; i < 2; i++)
		if (pipes[i] >= 0)
			close(pipes[i]);
	return ret;
}
