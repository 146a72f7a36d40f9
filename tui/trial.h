/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial: "accel test" with what is answered so far, beside the screen: the
 * collectives, and a small training.  Nothing of it waits; the file that it
 * tests is one of its own.
 */
#ifndef TUI_TRIAL_H
#define TUI_TRIAL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/buf.h"

struct err;
struct form;

struct trial {
	pid_t		 child;		/* its group; 0: none runs */
	int		 from;		/* its output */
	char		*file;		/* owned: what it reads */
	struct buf	 said;
	int64_t		 began;		/* clock_ms() */
	int64_t		 took;
	bool		 over, good;	/* it has ended, and well */
};

#define TRIAL_INIT { .from = -1 }

int  trial_start(struct trial *t, const struct form *f, struct err *err);
/* The descriptor to wait for: 1, or 0 where none runs. */
int  trial_watch(const struct trial *t, struct pollfd *p, int *ms);
/* True where there is news. */
bool trial_wake(struct trial *t, const struct pollfd *p);
/* Ends it, if it runs, and everything it started. */
void trial_clear(struct trial *t);
#endif
