/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey: what hosts are, asked side by side through their agents; and how fast
 * the network between them is.  Nothing is started there but the agent.
 *
 * Nothing waits without a limit: a host that cannot be reached, says nothing or
 * gets nowhere is given up, and the reason stands in its row.
 */
#ifndef RUNTIME_LAUNCH_SURVEY_H
#define RUNTIME_LAUNCH_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

struct between;
struct err;
struct fleet;
struct hosts;
struct machine;
struct transport_options;

struct survey_options {
	const struct transport_options	*transport;
	const char	*folder;	/* whose disk counts, where it is there */
	bool		 no_python;
	bool		 network;	/* measure it */
	/* Each may be NULL.  A host is known, or why it is not; at once. */
	void	(*row)(void *user, size_t host, const struct machine *m);
	/* A direction was measured, the n-th of so many. */
	void	(*measured)(void *user, const struct between *b, size_t n,
	    size_t of);
	void	*user;
};

/*
 * Adds a machine for each host to *fleet, in the order of the list, with its
 * name as "host", and with "network" what was measured: each host with each, in
 * rounds, so that none has two partners at a time.  0 also where hosts have
 * problems; -1 where nothing could be asked.
 */
int survey(const struct hosts *hosts, const struct survey_options *options,
    struct fleet *fleet, struct err *err);

/* The pairs of a round, of n hosts (n - 1 rounds, or n where n is odd):
 * partner[i] is that of host i, or n.  By the circle method, so that after all
 * rounds each had each once. */
void survey_round(size_t n, size_t round, size_t *partner);
#endif
