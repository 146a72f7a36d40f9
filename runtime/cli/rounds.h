/* SPDX-License-Identifier: Apache-2.0 */
/* rounds: the runs of one job: one as a rule, more with --max_restarts and
 * --nnodes MIN:MAX. */
#ifndef RUNTIME_CLI_ROUNDS_H
#define RUNTIME_CLI_ROUNDS_H

struct err;
struct hosts;
struct plan_order;
struct supervise_options;
struct view_order;

/* Runs the job on the hosts (none: on this machine), again where it is to be.
 * Fills in what differs from run to run: the hosts and the job of *order and
 * *show, and how *how ends.  Gives the last run's exit code, or -1. */
int rounds(struct plan_order *order, const struct hosts *hosts,
    const char *nnodes, struct view_order *show, struct supervise_options *how,
    struct err *err);
#endif
