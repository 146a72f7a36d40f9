/* SPDX-License-Identifier: Apache-2.0 */
/* survey_state: what the files of survey share.  Private to them. */
#ifndef RUNTIME_LAUNCH_SURVEY_STATE_H
#define RUNTIME_LAUNCH_SURVEY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/fleet.h"
#include "runtime/base/buf.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/survey.h"
#include "runtime/launch/wire.h"

struct transport;

struct asked {			/* a host */
	const struct transport	*transport;
	void			*link;
	struct buf		 in, out;
	const char		*phase;		/* and since when */
	int64_t			 phase_at, heard, said;
	bool			 heard_agent, greeted;
	bool			 known;		/* its row is told */
	bool			 gone;		/* the link */
	char			 address[128];	/* on which ssh came; or "" */
	uint32_t		 port;		/* where its agent listens */
	bool			 listens;	/* it was asked to */
	bool			 measures;	/* now */
};

struct survey {
	const struct hosts		*hosts;
	const struct survey_options	*options;
	struct fleet			*fleet;
	struct asked			*asked;
	size_t				 first;		/* in the fleet */
	char				 token[33];
	size_t				*partner;	/* of each, in this round */
	size_t				 told, of;	/* directions */
	bool				 failed;	/* no memory */
};

/* One turn of all links, at most so long; calls "hear" with each frame. */
void survey_turn(struct survey *s, int wait_ms,
    void (*hear)(struct survey *s, size_t host, struct wire_frame *frame));
/* A host is given up. */
void survey_lose(struct survey *s, size_t host, const char *problem,
    const char *hint);
struct machine *survey_machine(const struct survey *s, size_t host);

/* survey_network.c: all rounds. */
void survey_network(struct survey *s);
#endif
