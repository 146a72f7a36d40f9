/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic: what a job does after a run of it has ended: --max_restarts and
 * --nnodes MIN:MAX.  Pure; the caller runs what this decides.
 */
#ifndef RUNTIME_LAUNCH_ELASTIC_H
#define RUNTIME_LAUNCH_ELASTIC_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/launch/hosts.h"

struct err;

/* How a run ended. */
enum ending {
	ENDED,			/* well, or as its user said */
	ENDED_BY_RANK,		/* one failed */
	ENDED_BY_HOST,		/* one was lost */
	ENDED_AT_START,		/* some hosts cannot take part; nothing began */
	ENDED_BY_RETURN		/* a host is back, and the others made way */
};

struct elastic {
	const struct hosts	*hosts;		/* all; borrowed */
	bool			*absent;	/* which take no part now */
	size_t			 least, most;	/* hosts; 0: all of them */
	long			 max_restarts, restarts;
};

int  elastic_init(struct elastic *e, const struct hosts *hosts,
    const char *nnodes, long max_restarts, struct err *err);
void elastic_clear(struct elastic *e);

/* The hosts of the next run, and those that it does without.  Each is to be
 * cleared. */
int  elastic_hosts(const struct elastic *e, struct hosts *present,
    struct hosts *absent, struct err *err);

/*
 * After a run: true where there is to be another.  lost[i] tells which of
 * elastic_hosts()'s present ones were lost or cannot take part.  A run that
 * only forms anew, as hosts come or could not be had, is no restart.
 */
bool elastic_again(struct elastic *e, enum ending how, const bool *lost);
#endif
