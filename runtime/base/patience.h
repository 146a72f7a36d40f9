/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience: how long a wait may take, in time that this process has had.  Who
 * was stopped (^Z, a machine held up) has not waited meanwhile, and what it waits
 * for may have stood still as well.
 */
#ifndef RUNTIME_BASE_PATIENCE_H
#define RUNTIME_BASE_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>

/* Who has not run for so many seconds was stopped. */
#define AWAY_S 1.0

struct patience {
	double left, turn;
};

/* 0 seconds or less: no limit. */
void patience_begin(struct patience *p, double seconds);
/* Asked at least twice a second, or it takes that for a stop. */
bool patience_over(struct patience *p);

/* Waits for the condition, whose clock is CLOCK_MONOTONIC, for half a second at
 * most; 0, or ETIMEDOUT when the patience is over.  As after any such wait the
 * caller looks whether what it waits for is there. */
int patience_wait(struct patience *p, pthread_cond_t *cond,
    pthread_mutex_t *lock);
#endif
