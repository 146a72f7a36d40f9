/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin libaccel-ssh.so: libssh and its cryptography are loaded only for
 * runs on other hosts. */
#include <unistd.h>

#include "runtime/launch/ssh.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

static int
open_ssh(const struct transport_options *options, const char *host,
    void **out, struct err *err)
{
	struct ssh_options	 ssh = {
		.config_file = options->ssh_config,
		.agent_path = options->agent_path,
		.connect_timeout_s = options->connect_timeout_s,
		.ask = options->ask_fd > 0 || (isatty(0) && isatty(2)),
		.ask_fd = options->ask_fd,
	};
	struct ssh_link		*link;

	if (ssh_open(&ssh, host, &link, err) < 0)
		return -1;
	*out = link;
	return 0;
}

static int
fd_ssh(const void *link)
{
	return ssh_fd(link);
}

static int
result_ssh(void *link, struct err *err)
{
	return ssh_result(link, err);
}

static const char *
phase_ssh(const void *link)
{
	return ssh_phase(link);
}

static const char *
ignored_ssh(const void *link, size_t i)
{
	return ssh_ignored(link, i);
}

static void
close_ssh(void *link, bool greeted)
{
	(void)greeted;
	ssh_close(link);
}

extern const struct transport transport_plugin;
const struct transport transport_plugin = {
	"ssh", open_ssh, fd_ssh, result_ssh, phase_ssh,
	close_ssh, ignored_ssh
};
