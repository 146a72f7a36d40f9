/* SPDX-License-Identifier: Apache-2.0 */
/* spawned: a link to an agent over the stdin and stdout of a program that is
 * started here: the agent itself, or one that starts it elsewhere. */
#ifndef RUNTIME_LAUNCH_SPAWNED_H
#define RUNTIME_LAUNCH_SPAWNED_H

#include <stdbool.h>

struct err;

/* Starts the program, looked for on PATH where it has no slash, as the leader
 * of a process group: the terminal's ^C is for us alone.  With "words", its
 * stderr is kept for spawned_said(). */
int  spawned_open(const char *file, char *const argv[], char *const envp[],
    bool words, void **link, struct err *err);
int  spawned_fd(const void *link);
/* Waits for it.  Its status as of waitpid, or 0 where that is known already. */
int  spawned_wait(void *link);
/* What it said first that calls itself an error, else last; "" if nothing.
 * Given by malloc; NULL without memory. */
char *spawned_said(const void *link);
/* Closes the link and waits for the program, 20 s at most if its agent has
 * greeted, until it is told to end; a stopped one goes on first.  "told" is how:
 * a signal, before SIGKILL. */
void spawned_close(void *link, bool greeted, int told);
#endif
