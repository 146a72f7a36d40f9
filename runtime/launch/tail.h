/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail: what is kept of a rank's stderr for the closing block: its last lines,
 * and, however long ago, what it said that explains its end.
 */
#ifndef RUNTIME_LAUNCH_TAIL_H
#define RUNTIME_LAUNCH_TAIL_H

#include <stdbool.h>
#include <stddef.h>

enum { TAIL_LINES = 20, TAIL_WIDTH = 400 };

struct tail {
	char	*line[TAIL_LINES];	/* a ring */
	size_t	 lines;			/* in all */
	char	*raised;	/* last line of the last Python traceback */
	char	*what;		/* what() of a C++ exception */
	char	*library;	/* one that the loader did not find */
	char	*peer;		/* "rank 3 (node2) is gone", or a lost link */
	bool	 traceback;	/* in the middle of one */
};

/* A line of stderr, n bytes. */
void tail_line(struct tail *t, const char *line, size_t n);
/* Number i of the kept lines, the oldest first; NULL behind the last. */
const char *tail_get(const struct tail *t, size_t i);
/* Frees all; ready for more. */
void tail_clear(struct tail *t);

/* In words, why a rank ended that way ("status" is waitpid's): "exit code 1:
 * ValueError: x", "ended by SIGKILL (Killed): out of memory".  "reason" is what
 * its agent knows, or "".  Cut to fit. */
void tail_why(const struct tail *t, int status, const char *reason, char *why,
    size_t size);
/* True where the rank ended as another one was gone: not the cause. */
bool tail_of_peer(const struct tail *t);
/* "SIGKILL"; borrowed until the next call. */
const char *signal_name(int sig);
#endif
