/* SPDX-License-Identifier: Apache-2.0 */
/* run: the state of a run, for the files of supervise alone. */
#ifndef RUNTIME_LAUNCH_RUN_H
#define RUNTIME_LAUNCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/launch/output.h"
#include "runtime/launch/plan.h"

struct pmi;
struct supervise_options;
struct transport;

enum step { HELLO, HOLD, PROBE, RUN };

struct peer {			/* a host */
	const struct transport	*transport;
	void			*link;
	struct buf		 in, out;
	struct err		 problem;
	char			 address[128];
	bool			 greeted, checked, probed, done, closed;
	bool			 paused;
	int64_t			 heard, said;
};

struct failure {
	bool	happened;
	size_t	host, rank;	/* rank is plan->world where the host is lost */
	pid_t	pid;
	int	status;
	int64_t	after_ms;
	char	reason[600];
};

struct run {
	const struct plan		*plan;
	const struct supervise_options	*options;
	struct peer			*peer;
	struct output			 output;
	struct pmi			*pmi;
	pid_t				*pid;	/* of each rank */
	enum step			 step;
	bool				 held, problems, stopping, pausing;
	char				 address[128];
	uint32_t			 port;
	int				 signals, caught;
	int64_t				 began, started, stop_at, give_up_at;
	struct failure			 failure;
};

static inline const char *
label(const struct run *run, size_t host)
{
	return host_label(&run->plan->hosts.host[host]);
}

static inline size_t
hosts(const struct run *run)
{
	return run->plan->hosts.count;
}

/* A host cannot take part: the first reason is kept for the table. */
void run_problem(struct run *run, size_t host, const char *text,
    const char *hint);

/* run_address.c: where the other ranks find rank 0, into run->address, or a
 * problem. */
void run_choose_address(struct run *run);

/* run_report.c: what went wrong, on stderr.  Gives the run's exit code. */
int run_report(const struct run *run);
#endif
