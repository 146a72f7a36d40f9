/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between: ProxyCommand, and ProxyJump, which is ssh -W through the
 * jump hosts with the same configuration.  Their ssh may ask nothing: it has no
 * terminal.  What it says is kept for the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/banned.h"

extern char **environ;

/* ssh -J first,second -W host:port last */
static int
jump_argv(struct ssh_link *link, struct strv *argv)
{
	const char	*jump = link->conf.jump, *last = strrchr(jump, ',');
	const char	*host = link->conf.host_name ? link->conf.host_name :
			    link->host;
	bool		 v6 = strchr(host, ':') != NULL;
	char		 port[16] = "", *name, *colon;
	int		 r;

	name = strdup(last != NULL ? last + 1 : jump);
	if (name == NULL)
		return -1;
	/* [user@]host[:port]; ssh itself reads ssh://... */
	colon = strstr(name, "://") == NULL ? strrchr(name, ':') : NULL;
	if (colon != NULL && strchr(name, ':') == colon) {
		snprintf(port, sizeof(port), "%s", colon + 1);
		*colon = '\0';
	}
	r = strv_add(argv, "ssh") < 0 || strv_add(argv, "-oBatchMode=yes") < 0 ||
	    strv_add(argv, "-oClearAllForwardings=yes") < 0 ||
	    (link->config_file != NULL && (strv_add(argv, "-F") < 0 ||
	    strv_add(argv, link->config_file) < 0)) ||
	    (*port != '\0' && (strv_add(argv, "-p") < 0 ||
	    strv_add(argv, port) < 0)) ||
	    (last != NULL && (strv_add(argv, "-J") < 0 ||
	    strv_addf(argv, "%.*s", (int)(last - jump), jump) < 0)) ||
	    strv_add(argv, "-W") < 0 ||
	    strv_addf(argv, v6 ? "[%s]:%s" : "%s:%s", host,
	    link->conf.port != NULL ? link->conf.port : "22") < 0 ||
	    strv_add(argv, "--") < 0 || strv_add(argv, name) < 0 ? -1 : 0;
	free(name);
	return r;
}

static int
command_argv(struct ssh_link *link, struct strv *argv)
{
	char	*command = ssh_conf_expand(&link->conf, link->conf.proxy);
	int	 r;

	r = command == NULL || strv_add(argv, "/bin/sh") < 0 ||
	    strv_add(argv, "-c") < 0 ||
	    strv_addf(argv, "exec %s", command) < 0 ? -1 : 0;
	free(command);
	return r;
}

int
ssh_proxy_start(struct ssh_link *link, struct err *err)
{
	posix_spawn_file_actions_t	 io;
	posix_spawnattr_t		 attr;
	struct strv			 argv = STRV_INIT;
	sigset_t			 set;
	int				 pair[2], said[2], r;

	if ((link->conf.jump != NULL ? jump_argv(link, &argv) :
	    command_argv(link, &argv)) < 0) {
		strv_clear(&argv);
		return err_nomem(err);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		strv_clear(&argv);
		return err_set(err, "no socket: %s", strerror(errno));
	}
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0) {
		close(pair[0]), close(pair[1]);
		strv_clear(&argv);
		return err_set(err, "no pipe: %s", strerror(errno));
	}
	posix_spawn_file_actions_init(&io);
	posix_spawn_file_actions_adddup2(&io, pair[1], 0);
	posix_spawn_file_actions_adddup2(&io, pair[1], 1);
	posix_spawn_file_actions_adddup2(&io, said[1], 2);
	posix_spawnattr_init(&attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
	    POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	r = posix_spawnp(&link->proxy, argv.item[0], &io, &attr, argv.item,
	    environ);
	posix_spawn_file_actions_destroy(&io);
	posix_spawnattr_destroy(&attr);
	close(pair[1]);
	close(said[1]);
	if (r != 0) {
		close(pair[0]), close(said[0]);
		link->proxy = 0;
		err_set(err, "%s: %s", argv.item[0], strerror(r));
		err_hint(err, "ProxyJump needs OpenSSH's ssh on this machine");
		strv_clear(&argv);
		return -1;
	}
	strv_clear(&argv);
	link->proxy_said = said[0];
	return pair[0];
}

const char *
ssh_proxy_why(struct ssh_link *link, char *text, size_t room)
{
	ssize_t	 n = -1;
	char	*line;

	text[0] = '\0';
	if (link->proxy_said >= 0)
		n = read(link->proxy_said, text, room - 1);
	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && strchr("\r\n ", text[n - 1]) != NULL)
		text[--n] = '\0';
	line = strrchr(text, '\n');
	return line != NULL ? line + 1 : text;
}

void
ssh_proxy_end(struct ssh_link *link)
{
	if (link->proxy > 0) {
		kill(-link->proxy, SIGTERM);
		waitpid(link->proxy, NULL, 0);
	}
	link->proxy = 0;
	if (link->proxy_said >= 0)
		close(link->proxy_said);
	link->proxy_said = -1;
}
