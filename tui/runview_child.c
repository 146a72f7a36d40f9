/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/runview_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/err.h"

#include "runtime/base/banned.h"

enum { PAUSE_MS = 5000, LINE_BYTES = 32 << 20 };

static void
become(const char *path, char *const *argv, int out, int err, int ask,
    int report)
{
	char	 number[16];
	int	 code, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, (long)SIGTERM, 0L, 0L, 0L);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, SIG_DFL);
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	fcntl(ask, F_SETFD, 0);
	snprintf(number, sizeof number, "%d", ask);
	setenv("ACCEL_FOLLOWED", number, 1);
	execvp(path, argv);
	code = errno;
	if (write(report, &code, sizeof code) < 0)
		_exit(126);
	_exit(127);
}

static void
close_pair(int fd[2])
{
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

int
child_start(struct run_child *c, const char *path, char *const *argv,
    struct err *err)
{
	int	out[2] = { -1, -1 }, said[2] = { -1, -1 };
	int	ask[2] = { -1, -1 }, report[2] = { -1, -1 }, failed = 0;

	*c = (struct run_child)RUN_CHILD_INIT;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ask) < 0 ||
	    (c->pid = fork()) < 0) {
		c->pid = 0;
		failed = errno;
	} else if (c->pid == 0)
		become(path, argv, out[1], said[1], ask[1], report[1]);
	if (report[1] >= 0)
		close(report[1]);
	report[1] = -1;
	if (!failed && read(report[0], &failed, sizeof failed) ==
	    sizeof failed) {
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
	close_pair(report);
	if (failed) {
		close_pair(out);
		close_pair(said);
		close_pair(ask);
		return err_set(err, "%s cannot be started: %s", path,
		    strerror(failed));
	}
	setpgid(c->pid, c->pid);	/* whoever comes first */
	close(out[1]);
	close(said[1]);
	close(ask[1]);
	c->out = out[0];
	c->err = said[0];
	c->ask = ask[0];
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	fcntl(c->ask, F_SETFL, O_NONBLOCK);
	c->line.max = LINE_BYTES;
	c->question.max = 4096;
	return 0;
}

bool
child_over(struct run_child *c)
{
	if (c->out >= 0 || c->err >= 0)
		return false;
	if (c->pid > 0 && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	return c->pid == 0;
}

int
child_code(const struct run_child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) :
	    WEXITSTATUS(c->status);
}

void
child_signal(const struct run_child *c, int sig)
{
	if (c->pid > 0)
		kill(c->pid, sig);
}

bool
child_pause(struct run_child *c)
{
	int64_t	limit = clock_ms() + PAUSE_MS;
	int	status;

	child_signal(c, SIGTSTP);
	/* Its agents must hear of it first; what it writes meanwhile has room
	 * in the pipe, or waits with it. */
	while (c->pid > 0 && clock_ms() < limit) {
		pid_t got = waitpid(c->pid, &status, WUNTRACED | WNOHANG);

		if (got == c->pid && WIFSTOPPED(status))
			return true;
		if (got == c->pid) {
			c->status = status;
			c->pid = 0;
		}
		poll(NULL, 0, 10);
	}
	return false;
}

void
child_answer(struct run_child *c, const char *answer)
{
	struct buf line = BUF_INIT;

	if (answer)
		buf_adds(&line, answer);
	buf_adds(&line, "\n");
	if (c->ask >= 0 && line.len)
		send(c->ask, line.data, line.len, MSG_NOSIGNAL);
	if (line.data)
		explicit_bzero(line.data, line.len);
	buf_clear(&line);
}

void
child_clear(struct run_child *c)
{
	int *fd[] = { &c->out, &c->err, &c->ask };

	if (c->pid > 0) {
		kill(c->pid, SIGKILL);	/* agents end what it held */
		waitpid(c->pid, &c->status, 0);
		c->pid = 0;
	}
	for (size_t i = 0; i < 3; i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
	buf_clear(&c->line);
	buf_clear(&c->question);
}
