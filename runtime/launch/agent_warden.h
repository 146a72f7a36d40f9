/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warden: a process that outlives the agent by a moment, so that nothing of the
 * job outlives it for longer, even where the agent was killed or stopped.
 *
 * It waits for the agent's end, or for its silence.  Unless warden_dismiss()
 * came before, it then kills the agent, all that the job's cgroup holds, where
 * one could be made, and every process of this user with this agent's mark in
 * its environment: ACCEL_AGENT.
 */
#ifndef RUNTIME_LAUNCH_AGENT_WARDEN_H
#define RUNTIME_LAUNCH_AGENT_WARDEN_H

#include <sys/types.h>

struct warden {
	int	line;		/* the agent's end of a pipe, or -1 */
	char	mark[96];	/* ACCEL_AGENT=..., for the ranks */
	char	cgroup[512];	/* its folder, or "" */
};

#define WARDEN_SILENCE_MS 15000

/* Makes the job's cgroup, where this user may. */
void warden_prepare(struct warden *w, const char *job);

/* fork(), with the child in it. */
pid_t warden_fork(const struct warden *w);

/* Starts the warden.  Where no process can be had there is none, and no error:
 * the agent itself still ends what it can see. */
void warden_post(struct warden *w);

/* All is well with the agent: at least every few seconds. */
void warden_beat(struct warden *w);

/* The job is over, and nothing is left of it. */
void warden_dismiss(struct warden *w);
#endif
