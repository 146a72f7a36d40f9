/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_conf: what ssh_config(5) says of a host.
 *
 * libssh 0.10 has a reader, which leaves out too much (Match originalhost,
 * IdentitiesOnly, HostKeyAlias, some %-tokens, ...).  Here the first value wins,
 * but for words that add up.  Nothing here opens a connection.
 */
#ifndef RUNTIME_LAUNCH_SSH_CONF_H
#define RUNTIME_LAUNCH_SSH_CONF_H

#include <stdbool.h>

#include "runtime/base/strv.h"

struct err;

struct ssh_conf {
	/* Who is looked for; set before reading. */
	const char	*given;		/* the name on the command line */
	const char	*user;		/* or NULL: as the files say */

	char		*host_name, *said_user, *port;
	char		*alias;		/* HostKeyAlias */
	char		*jump;		/* ProxyJump, "none" left out */
	char		*proxy;		/* ProxyCommand, the same */
	char		*family;	/* AddressFamily */
	char		*agent;		/* IdentityAgent */
	bool		 only;		/* IdentitiesOnly */
	struct strv	 identities, certificates;	/* with their tokens */
	struct strv	 given_on;	/* "word=value" for libssh */
	struct strv	 ignored;	/* "file:line: word" that nobody obeys */
	struct strv	 seen;		/* words whose value is known */
};

/* Reads a file, or with NULL the user's and the system's, where they are. */
int  ssh_conf_read(struct ssh_conf *conf, const char *file, struct err *err);

/* Gives a value with its %-tokens and a leading ~ filled in, or NULL without
 * memory. */
char *ssh_conf_expand(const struct ssh_conf *conf, const char *text);

/* The user and the port as decided so far. */
const char *ssh_conf_user(const struct ssh_conf *conf);
void ssh_conf_clear(struct ssh_conf *conf);
#endif
