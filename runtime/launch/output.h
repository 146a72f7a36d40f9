/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: what ranks write, as whole lines with "host:rank" in front.
 *
 * Bytes come in pieces; lines are put together per rank and stream, and the last
 * ones of stderr are kept for the closing block.
 */
#ifndef RUNTIME_LAUNCH_OUTPUT_H
#define RUNTIME_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/buf.h"

enum { OUTPUT_LAST = 20 };

struct output_rank {
	char		*label;			/* "node1:3" */
	struct buf	 part[2];		/* a line that is not whole yet */
	char		*last[OUTPUT_LAST];	/* of stderr, a ring */
	size_t		 lines;
};

struct output {
	struct output_rank	*rank;
	size_t			 count;
	struct buf		 pending[2];	/* for stdout and stderr */
	bool			 prefix, colour;
	bool			 broken;	/* nobody reads stdout any more */
};

int  output_init(struct output *o, size_t ranks, bool colour);
int  output_label(struct output *o, size_t rank, const char *host);
/* stream: 1 or 2. */
void output_bytes(struct output *o, size_t rank, int stream,
    const char *data, size_t n);
/* A rank ended: what it left of a line is a line. */
void output_end(struct output *o, size_t rank);
/* Writes what stdout and stderr take without blocking; all of it where "wait".
 * True while something is left. */
bool output_flush(struct output *o, bool wait);
/* Calls "line" for each of a rank's last lines on stderr. */
void output_last(const struct output *o, size_t rank,
    void (*line)(void *user, const char *text), void *user);
void output_clear(struct output *o);
#endif
