/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise: carries out a plan: reaches every host, looks at all of them before
 * a rank starts, starts the ranks, shows what they write, and ends them all with
 * the first that fails.
 */
#ifndef RUNTIME_LAUNCH_SUPERVISE_H
#define RUNTIME_LAUNCH_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/launch/elastic.h"
#include "runtime/launch/output.h"

struct err;
struct seat;
struct plan;
struct strv;
struct streams;
struct transport_options;

struct trouble {		/* with a host, before anything starts */
	bool	 fatal;		/* nothing starts */
	char	*what, *hint;
};

struct checked_host {
	const char		*name;
	long			 ranks;
	bool			 ready;		/* no fatal trouble */
	const struct strv	*facts;		/* agent_facts.c has the names */
	double			 ahead_s;	/* its clock, of this machine's */
	const char		*interface;	/* for rank 0's address, or "" */
	const struct trouble	*trouble;
	size_t			 troubles;
};

struct checked {
	const struct checked_host	*host;
	size_t				 count;
	const char			*address;	/* of rank 0, or "" */
	const struct plan		*plan;
	const struct seat		*place;		/* of each rank, or NULL */
	bool				 ready;
};

struct supervise_options {
	const struct transport_options	*transport;
	double	grace_s;	/* from SIGTERM to SIGKILL */
	bool	check;		/* look at the hosts, and start nothing */
	bool	no_preflight;	/* look only at what a start needs */
	/* With "check": called once with what was found. */
	void	(*checked)(void *user, const struct checked *result);
	/* Without: called once the agents are on their way, when there is
	 * nothing to do but to wait for them; or NULL. */
	void	(*meanwhile)(void *user);
	void	*user;
	bool	input;		/* our stdin is rank 0's */
	bool	quiet;		/* of a failure, say in one line what it is */
	bool	keep_going;	/* a failure does not end the other ranks */
	struct output_options	 output;
	long	usage_ms;	/* with JSON: from one event of what ranks use
				   to the next; 0: none */
	const char		*record;	/* its path, for JSON; or NULL */
	const struct streams	*hidden;	/* of local ranks; or NULL */
	const char		*role;		/* of the ranks, or NULL */
	const struct hosts	*absent;	/* whose return ends the run; or NULL */
	enum ending		*ending;	/* how it ended; or NULL */
	bool			*lost;		/* each of the plan's hosts; or NULL */
	char			*why;		/* SUPERVISE_WHY bytes, or NULL:
						   how it ended; "" if well */
};
enum { SUPERVISE_WHY = 800 };

/* The exit code of the run: 0, that of the first rank that failed, 128 + n for
 * a signal, 1 where nothing could be started.  What is wrong is said on stderr. */
int supervise(const struct plan *plan, const struct supervise_options *options);
#endif
