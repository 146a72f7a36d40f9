/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: stands between libaccel and a backend.  It numbers the operations,
 * compares their arguments on all ranks where asked to (ACCEL_DEBUG), limits
 * waits, and moves running operations on from a thread of its own.
 *
 * All ranks begin the same operations in the same order, so a number means the
 * same one on all of them.  The thread polls the backend while something is
 * afloat and nobody else does, and sleeps between: it takes no core.
 *
 * Once an operation has failed, or was not waited for to its end, or a rank is
 * gone, the backend is not called again but to close it: it would write to the
 * memory of operations that nobody waits for any more.
 */
#ifndef RUNTIME_DEVICE_GUARD_H
#define RUNTIME_DEVICE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/device/device.h"

struct guard;

/* Takes the opened backend over.  NULL without memory. */
struct guard *guard_new(const struct device_ops *ops, void *state,
    struct ctl *ctl, int rank, int world);
/* Ends the thread and closes the backend ("dead": without waiting). */
void guard_free(struct guard *g, bool dead);

/* The table whose "state" is a guard; "err" is not NULL here. */
extern const struct device_ops guard_ops;

/* For what the next operations are, such as "bucket 3": in messages.  Borrowed;
 * NULL for nothing. */
void guard_label(struct guard *g, const char *label);
/* Compare arguments from now on; the same on all ranks. */
void guard_debug(struct guard *g, bool on);
/* So many operations more run while the caller computes (less: negative). */
void guard_afloat(struct guard *g, int more);
/* May the thread be used?  0 also where the backend cannot. */
void guard_thread(struct guard *g, bool on);

/* Says that this rank comes to something that is no operation, such as the end.
 * Numbered like one. */
void guard_mark(struct guard *g, const char *what);

/* Seconds that a wait may take, or what the program's stream waits for; 0: no
 * limit.  When they are over all ranks are told to stop. */
void guard_limit(struct guard *g, double limit_s);
bool guard_timed_out(struct guard *g);

/* Waits for a request.  -1 failed, a rank is gone, or the limit is over; err then
 * says which ranks have not come. */
int guard_wait(struct guard *g, void *req, struct err *err);
#endif
