/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: what ranks write, on stdout and stderr of the launcher: as whole
 * lines with "host:rank" in front, folded where many ranks say the same, or as
 * JSON.  Log files get the bytes as they came.
 *
 * Bytes come in pieces; lines are put together per rank and stream.  Behind a
 * carriage return a line begins anew: of a progress bar, a state is shown now
 * and then, and the last one always.  On a terminal all of it is made harmless
 * (clean.h).  A single rank has no prefix, and its bytes go on as they come.
 *
 * What cannot be written waits.  While it is much, output_full() asks for the
 * ranks to wait too; once the reader has taken nothing for some seconds, it no
 * longer does: then it goes to disk (spool.h), and beyond a limit it is counted
 * and dropped, so that no rank is held up for ever.
 */
#ifndef RUNTIME_LAUNCH_OUTPUT_H
#define RUNTIME_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"
#include "runtime/launch/clean.h"
#include "runtime/launch/spool.h"
#include "runtime/launch/tail.h"

struct fold;
struct logs;

enum output_mode {
	OUTPUT_LINES,
	OUTPUT_RANK0,		/* lines of rank 0 alone */
	OUTPUT_FILES,		/* nothing but the log files */
	OUTPUT_JSON		/* an object a line, and events */
};

struct output_options {
	enum output_mode mode;
	bool		 terminal[2];	/* stdout and stderr are one */
	bool		 colour[2];
	bool		 fold;
	bool		 watched;	/* somebody looks: progress bars are shown
					   as often as on a terminal */
	struct logs	*logs;		/* borrowed, or NULL */
};

struct output_rank {
	char		*host;
	unsigned	 shown;		/* STREAM_ bits: not redirected */
	struct buf	 part[2];	/* a line that is not whole yet */
	bool		 anew[2];	/* CR came: the next byte begins anew */
	int64_t		 bar[2];	/* when a state of a bar was shown */
	struct tail	 tail;		/* of its stderr */
};

struct output {
	struct output_options	 options;
	struct output_rank	*rank;
	size_t			 count;
	struct fold		*fold;		/* or NULL */
	struct spool		 pending[2];	/* for stdout and stderr */
	int64_t			 moved[2];	/* when some of it last went */
	size_t			 dropped;	/* lines */
	struct clean		 live[2];
	bool			 broken;	/* nobody reads stdout */
};

int  output_init(struct output *o, size_t ranks,
    const struct output_options *options);
/* Where a rank is, and which of its streams (STREAM_ bits) are shown. */
int  output_rank(struct output *o, size_t rank, const char *host,
    unsigned shown);
/* stream: 1 or 2. */
void output_bytes(struct output *o, size_t rank, int stream,
    const char *data, size_t n);
/* A rank ended: what it left of a line is a line. */
void output_end(struct output *o, size_t rank);
/* What happened to a rank, for JSON alone: members of an object, such as
 * "\"pid\":3".  "rank" is the number of ranks for what concerns all. */
void output_event(struct output *o, const char *event, size_t rank,
    const char *members);
/* Must the ranks wait until more was written? */
bool output_full(const struct output *o);
/* Gives out what was held back for folding; *wait_ms gets no longer than it is
 * to the next time. */
void output_tick(struct output *o, int64_t *wait_ms);
/* Writes what stdout and stderr take without blocking; all of it where "wait".
 * True while something is left. */
bool output_flush(struct output *o, bool wait);
/* Every rank ended. */
void output_finish(struct output *o);
void output_clear(struct output *o);
#endif
