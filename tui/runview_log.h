/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runview_log: the lines of a run that can still be looked at: the newest,
 * within a bound of lines and bytes, whatever the run writes.
 *
 * Lines have numbers that only grow, so that a place in the log stays the same
 * while lines come and go.  A line has the ranks that said it; what the
 * launcher itself said has none, and passes every filter.
 */
#ifndef TUI_RUNVIEW_LOG_H
#define TUI_RUNVIEW_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/launch/ranks.h"

struct buf;

enum {
	LOG_LINES = 50000,
	LOG_BYTES = 16 << 20,
	LOG_WIDTH = 4096	/* bytes of a line; the rest is in log files */
};

struct log_line {
	struct ranks	 ranks;		/* count 0: the launcher */
	uint64_t	 few;		/* the bits, where one word is enough */
	int		 stream;	/* 1 or 2 */
	size_t		 n;
	char		 text[];	/* harmless, ended by NUL */
};

struct run_log {
	struct log_line	**line;		/* a ring */
	size_t		 room, first_at, count, bytes;
	uint64_t	 first;		/* number of the oldest */
};

#define RUN_LOG_INIT { NULL, 0, 0, 0, 0, 0 }

/* Adds the text as it may be drawn: nothing that a terminal obeys, one line,
 * blanks for tabs. */
void log_clean(struct buf *out, const char *text, size_t n);
/* Copies the line and its ranks; without memory it is left out. */
void log_add(struct run_log *l, const struct ranks *ranks, int stream,
    const char *line, size_t n);
/* NULL where it is gone, or not there yet. */
const struct log_line *log_get(const struct run_log *l, uint64_t number);
/* Has the line one of these ranks?  NULL: any. */
bool log_passes(const struct log_line *line, const struct ranks *only);
/* The nearest line before (step -1) or behind (1) that passes, and has the text
 * in it, in any case ("": any); false where there is none. */
bool log_seek(const struct run_log *l, uint64_t *number, int step,
    const struct ranks *only, const char *text);
/* Behind the newest. */
uint64_t log_end(const struct run_log *l);
void log_clear(struct run_log *l);
#endif
