/* SPDX-License-Identifier: Apache-2.0 */
/* child: runs another program, with the very words that are given: no shell. */
#ifndef RUNTIME_CLI_CHILD_H
#define RUNTIME_CLI_CHILD_H

struct buf;
struct err;

/* Waits for it and gives its exit code, or 128 + n for a signal; -1 where it
 * could not be started or took longer than limit_s (0: any time), which ends
 * it.  "out" gets both of its outputs; with NULL they are ours.  argv[0] is
 * looked for on PATH; "more" (NAME, VALUE, ..., NULL; or NULL) goes to its
 * environment.  Its input is ours.  It is told to stop when we die. */
int child_run(const char *const argv[], const char *const more[],
    double limit_s, struct buf *out, struct err *err);
#endif
