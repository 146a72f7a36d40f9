/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runview_child: the launcher as a child of the screen.
 *
 * It runs in a process group of its own, so that ^C and ^Z are keys of the
 * screen; it is told to stop when the screen dies.  ACCEL_FOLLOWED tells it
 * that it is followed: it says JSON on its stdout, with what ranks use, and
 * asks for passphrases on the descriptor of that number: a question, a newline;
 * the answer likewise, an empty one where there is none.
 */
#ifndef TUI_RUNVIEW_CHILD_H
#define TUI_RUNVIEW_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/buf.h"

struct err;

struct run_child {
	pid_t		 pid;		/* 0: none, or waited for */
	int		 out, err, ask;	/* our ends, or -1 */
	struct buf	 line;		/* of its stdout, not whole yet */
	struct buf	 question;
	bool		 skip;		/* the rest of a line that is too long */
	int		 status;	/* as of waitpid, once pid is 0 */
};

#define RUN_CHILD_INIT { 0, -1, -1, -1, BUF_INIT, BUF_INIT, false, 0 }

int  child_start(struct run_child *c, const char *path, char *const *argv,
    struct err *err);
/* Has it ended, and was all read that it said? */
bool child_over(struct run_child *c);
/* Its exit code, or 128 + n. */
int  child_code(const struct run_child *c);
void child_signal(const struct run_child *c, int sig);
/* Stops it with its ranks, up to a limit of time; false where it did not. */
bool child_pause(struct run_child *c);
/* The answer to what it asked; NULL: there is none. */
void child_answer(struct run_child *c, const char *answer);
/* Kills it where it still runs. */
void child_clear(struct run_child *c);
#endif
