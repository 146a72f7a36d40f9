/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/spawned.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/launch/descriptors.h"

#include "runtime/base/banned.h"

enum {
	CLOSE_MS = 20000,	/* for an agent to end its ranks */
	TOLD_MS = 5000,		/* for a program that was told to end */
	SAID_MAX = 16384
};

struct spawned {
	pid_t	pid;		/* 0 once waited for */
	int	fd;
	int	said;		/* a file without a name, or -1 */
};

int
spawned_open(const char *file, char *const argv[], char *const envp[],
    bool words, void **out, struct err *err)
{
	struct spawned			*link = malloc(sizeof *link);
	posix_spawn_file_actions_t	 actions;
	posix_spawnattr_t		 attr;
	sigset_t			 none;
	int				 pair[2], error;

	if (!link)
		return err_nomem(err);
	link->said = words ? memfd_create("accel-said", MFD_CLOEXEC) : -1;
	if ((words && link->said < 0) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		if (link->said >= 0)
			close(link->said);
		free(link);
		return err_set(err, "no socket: %s", strerror(errno));
	}
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
	if (words)
		posix_spawn_file_actions_adddup2(&actions, link->said, 2);
	descriptors_restore();		/* no descriptor is opened meanwhile */
	error = posix_spawnp(&link->pid, file, &actions, &attr, argv, envp);
	descriptors_raise();
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	close(pair[1]);
	if (error) {
		close(pair[0]);
		if (link->said >= 0)
			close(link->said);
		free(link);
		return err_set(err, "%s: %s", file, strerror(error));
	}
	link->fd = pair[0];
	*out = link;
	return 0;
}

int
spawned_fd(const void *link)
{
	return ((const struct spawned *)link)->fd;
}

int
spawned_wait(void *opaque)
{
	struct spawned	*link = opaque;
	int		 status = 0;

	if (link->pid > 0 && waitpid(link->pid, &status, 0) == link->pid)
		link->pid = 0;
	return status;
}

char *
spawned_said(const void *opaque)
{
	const struct spawned	*link = opaque;
	char			 text[SAID_MAX + 1], *line, *end, *best = text;
	ssize_t			 n = pread(link->said, text, SAID_MAX, 0);

	text[n > 0 ? n : 0] = '\0';
	for (line = text; *line; line = end) {
		char *error;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (!*line)
			continue;
		best = line;
		error = strstr(line, "error: ");
		if (error) {
			best = error + 7;
			break;
		}
	}
	return strdup(best);
}

static bool
ends_within(int pidfd, int ms)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, ms) > 0;
}

void
spawned_close(void *opaque, bool greeted, int told)
{
	struct spawned	*link = opaque;
	int		 pidfd;

	close(link->fd);
	if (link->said >= 0)
		close(link->said);
	if (link->pid > 0) {
		/* A stopped agent cannot see that its link has ended. */
		kill(link->pid, SIGCONT);
		pidfd = pidfd_open(link->pid, 0);
		if (!ends_within(pidfd, greeted ? CLOSE_MS : 0)) {
			kill(link->pid, told);
			if (!ends_within(pidfd, TOLD_MS))
				kill(link->pid, SIGKILL);
		}
		if (pidfd >= 0)
			close(pidfd);
		waitpid(link->pid, NULL, 0);
	}
	free(link);
}
