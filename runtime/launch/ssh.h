/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh: one host's agent, reached over SSH.
 *
 * ssh_open() starts a thread and returns at once.  The thread connects, checks
 * the host key, logs in, copies the agent up where this very build is not
 * there yet, starts it by absolute path, and then carries bytes between the
 * agent's stdin and stdout and one end of a socket pair: ssh_fd().  What was
 * wrong is known when ssh_fd() reads end of file: ask ssh_result() then.
 *
 * ~/.ssh/config decides as it does for ssh(1) (HostName, User, Port,
 * IdentityFile, ProxyJump, ...).  An unknown host key is never taken.  With
 * "ask", passphrases and passwords are asked for on the terminal, once.  A host
 * that says nothing is given up after connect_timeout_s; one that does answer
 * may be slow.  A dead connection is noticed after silence_s.
 */
#ifndef RUNTIME_LAUNCH_SSH_H
#define RUNTIME_LAUNCH_SSH_H

#include <stddef.h>

struct err;
struct ssh_link;

struct ssh_options {
	const char *config_file;	/* NULL: the user's and the system's */
	const char *agent_path;		/* the agent here, to run there */
	const char *const *agent_args;	/* behind its name, NULL-ended; or NULL */
	int connect_timeout_s;		/* 0: 10 */
	int silence_s;			/* 0: 15; a peer that stops answering */
	int ask;			/* passphrases, on the terminal */
	int ask_fd;			/* 0, or where to ask (transport.h) */
};

/*
 * Gives a link to "[user@]host[:port]" ("[::1]:22" for an address with
 * colons), to be ended with ssh_close().  The options are copied.  Fails only
 * for a host that cannot be read, or without memory, threads or descriptors.
 */
int ssh_open(const struct ssh_options *options, const char *host,
    struct ssh_link **out, struct err *err);

/* Carries the agent's bytes.  Borrowed: ssh_close() closes it.  Writing may
 * raise SIGPIPE, use MSG_NOSIGNAL. */
int ssh_fd(const struct ssh_link *link);

/* 0 while all is well and after an agent that ended with 0; -1 with the reason
 * once the link has failed.  The reason names the host. */
int ssh_result(struct ssh_link *link, struct err *err);

/* "connecting", "checking the host key", "logging in", "copying the agent",
 * "starting the agent", "running" or "ended". */
const char *ssh_phase(const struct ssh_link *link);

/* Words of ssh_config(5) that are not obeyed, as "file:line: word value", or
 * NULL behind the last; borrowed, and whole once the agent has spoken. */
const char *ssh_ignored(const struct ssh_link *link, size_t i);

/* True if this link had to copy the agent up. */
int ssh_copied(const struct ssh_link *link);

/* Cuts the connection, whatever it is doing, and frees the link; the agent then
 * reads end of file.  Waits for the thread no longer than the connect limit.
 * NULL is fine. */
void ssh_close(struct ssh_link *link);
#endif
