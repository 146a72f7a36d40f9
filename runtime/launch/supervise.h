/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise: carries out a plan: reaches every host, looks at all of them before
 * a rank starts, starts the ranks, shows what they write, and ends them all with
 * the first that fails.
 */
#ifndef RUNTIME_LAUNCH_SUPERVISE_H
#define RUNTIME_LAUNCH_SUPERVISE_H

#include <stdbool.h>

struct err;
struct plan;
struct transport_options;

struct supervise_options {
	const struct transport_options	*transport;
	double	grace_s;	/* from SIGTERM to SIGKILL */
	bool	colour;
};

/* The exit code of the run: 0, that of the first rank that failed, 128 + n for
 * a signal, 1 where nothing could be started.  What is wrong is said on stderr. */
int supervise(const struct plan *plan, const struct supervise_options *options);
#endif
