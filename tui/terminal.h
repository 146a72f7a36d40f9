/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal: the terminal is given back as it was, on every way out.
 *
 * Signals that ask to end are held back but in terminal_wait(), so that none is
 * missed between a look and a wait, and the program leaves by its own door.
 * Those of a fault restore the terminal on the spot, and then kill as they
 * would have.
 */
#ifndef TUI_TERMINAL_H
#define TUI_TERMINAL_H

#include <poll.h>
#include <stdbool.h>

struct err;

/* Takes the terminal of stdin and stdout for curses. */
int  terminal_open(bool mouse, struct err *err);
/* Gives it back; where a signal had come, dies of it. */
void terminal_close(void);

/* Takes the size that it has now: a key may overtake the signal, and none comes
 * to a job that was stopped. */
void terminal_fit(void);
/* As ppoll(2); -1 with EINTR where a signal came. */
int  terminal_wait(struct pollfd *p, int n, int ms);
/* The signal that asked to end, or 0; SIGINT may be forgotten. */
int  terminal_caught(void);
void terminal_forget(void);
#endif
