/* SPDX-License-Identifier: Apache-2.0 */
/* transport: how a host's agent is reached: "exec" here, "ssh" or "srun"
 * elsewhere. */
#ifndef RUNTIME_LAUNCH_TRANSPORT_H
#define RUNTIME_LAUNCH_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

struct err;

struct transport_options {
	const char *agent_path;		/* the agent's file, here */
	bool	    srun;		/* nodes of our Slurm allocation */
	const char *ssh_config;		/* or NULL */
	int	    connect_timeout_s;	/* 0: 10 */
	int	    ask_fd;		/* who asks the user for us; 0: we do, on
					   the terminal.  A question and a newline
					   there, an answer and a newline back;
					   an empty one is none */
};

struct transport {
	const char *name;
	/* Gives a link to a host's agent.  Returns at once. */
	int  (*open)(const struct transport_options *options, const char *host,
	    void **link, struct err *err);
	/* A stream socket that carries the agent's bytes; the link's. */
	int  (*fd)(const void *link);
	/* After end of file: -1 with the reason, or 0 where there is none. */
	int  (*result)(void *link, struct err *err);
	/* What it is doing: "connecting". */
	const char *(*phase)(const void *link);
	/* Ends the link, and with it the agent; waits for one that has
	 * greeted, as it ends its ranks. */
	void (*close)(void *link, bool greeted);
	/* What the user's settings say that is not obeyed, the i-th, or
	 * NULL; once the agent has spoken.  May be NULL itself. */
	const char *(*ignored)(const void *link, size_t i);
};

extern const struct transport transport_exec, transport_srun;

/* What leads to another host; the SSH transport is loaded, once.  NULL with the
 * reason.  With ACCEL_TEST_TRANSPORT=exec in the environment, tests have a
 * thousand hosts on one: each name's agent runs here. */
const struct transport *transport_remote(
    const struct transport_options *options, struct err *err);
#endif
