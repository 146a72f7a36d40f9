/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/transport.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/plugin.h"

#include "runtime/base/banned.h"

extern char **environ;

enum { CLOSE_MS = 20000 };	/* for an agent to end its ranks */

struct exec_link {
	pid_t	pid;
	int	fd;
};

static int
exec_open(const struct transport_options *options, const char *host,
    void **out, struct err *err)
{
	struct exec_link		*link = malloc(sizeof *link);
	posix_spawn_file_actions_t	 actions;
	posix_spawnattr_t		 attr;
	sigset_t			 none;
	char				*argv[] = { "accel-agent", NULL };
	int				 pair[2], error;

	(void)host;
	if (!link)
		return err_nomem(err);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(link);
		return err_set(err, "no socket: %s", strerror(errno));
	}
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);	/* the terminal's ^C is ours alone */
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
	error = posix_spawn(&link->pid, options->agent_path, &actions, &attr,
	    argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	close(pair[1]);
	if (error) {
		close(pair[0]);
		free(link);
		err_set(err, "%s: %s", options->agent_path, strerror(error));
		return err_hint(err, "accel is not installed whole: the agent "
		    "belongs beside it, or in its libexec folder");
	}
	link->fd = pair[0];
	*out = link;
	return 0;
}

static int
exec_fd(const void *link)
{
	return ((const struct exec_link *)link)->fd;
}

static int
exec_result(void *opaque, struct err *err)
{
	struct exec_link	*link = opaque;
	int			 status;

	if (link->pid > 0 && waitpid(link->pid, &status, 0) == link->pid) {
		link->pid = 0;
		if (WIFSIGNALED(status))
			return err_set(err, "the agent was ended by %s",
			    strsignal(WTERMSIG(status)));
		if (WEXITSTATUS(status))
			return err_set(err, "the agent ended with exit code %d",
			    WEXITSTATUS(status));
	}
	return 0;
}

static const char *
exec_phase(const void *link)
{
	(void)link;
	return "starting the agent";
}

static void
exec_close(void *opaque)
{
	struct exec_link	*link = opaque;
	struct pollfd		 end = { .events = POLLIN };

	close(link->fd);
	if (link->pid > 0) {
		/* A stopped agent cannot see that its link has ended. */
		kill(link->pid, SIGCONT);
		end.fd = pidfd_open(link->pid, 0);
		if (poll(&end, 1, CLOSE_MS) <= 0)
			kill(link->pid, SIGKILL);	/* its warden does the rest */
		if (end.fd >= 0)
			close(end.fd);
		waitpid(link->pid, NULL, 0);
	}
	free(link);
}

const struct transport transport_exec = {
	"exec", exec_open, exec_fd, exec_result, exec_phase, exec_close
};

const struct transport *
transport_ssh(const struct transport_options *options, struct err *err)
{
	static const struct transport	*ssh;
	const char			*slash;

	if (ssh)
		return ssh;
	slash = strrchr(options->agent_path, '/');
	ssh = plugin_symbol("ssh", "transport_plugin", options->agent_path,
	    slash ? (int)(slash - options->agent_path) : 0, 0, err);
	return ssh;
}
