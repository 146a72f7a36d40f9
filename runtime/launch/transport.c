/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/transport.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/base/err.h"
#include "runtime/base/plugin.h"
#include "runtime/launch/spawned.h"

#include "runtime/base/banned.h"

extern char **environ;

static int
exec_open(const struct transport_options *options, const char *host,
    void **link, struct err *err)
{
	char	*argv[] = { "accel-agent", NULL };

	(void)host;
	if (spawned_open(options->agent_path, argv, environ, false, link,
	    err) == 0)
		return 0;
	return err_hint(err, "accel is not installed whole: the agent belongs "
	    "beside it, or in its libexec folder");
}

static int
exec_result(void *link, struct err *err)
{
	int	status = spawned_wait(link);

	if (WIFSIGNALED(status))
		return err_set(err, "the agent was ended by %s",
		    strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return err_set(err, "the agent ended with exit code %d",
		    WEXITSTATUS(status));
	return 0;
}

static const char *
exec_phase(const void *link)
{
	(void)link;
	return "starting the agent";
}

/* SIGKILL: its warden does the rest. */
static void
exec_close(void *link, bool greeted)
{
	spawned_close(link, greeted, SIGKILL);
}

const struct transport transport_exec = {
	"exec", exec_open, spawned_fd, exec_result, exec_phase, exec_close, NULL
};

const struct transport *
transport_remote(const struct transport_options *options, struct err *err)
{
	static const struct transport	*ssh;
	const char			*slash, *test;

	if (options->srun)
		return &transport_srun;
	test = getenv("ACCEL_TEST_TRANSPORT");
	if (test && !strcmp(test, "exec"))
		return &transport_exec;
	if (ssh)
		return ssh;
	slash = strrchr(options->agent_path, '/');
	ssh = plugin_symbol("ssh", "transport_plugin", options->agent_path,
	    slash ? (int)(slash - options->agent_path) : 0, 0, err);
	return ssh;
}
