/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optim: what the ready-made optimizers share.
 *
 * An optimizer sees a range as pieces of floats: parameters of F32 where they
 * lie, of 16 bits their masters, which are rounded to them piece by piece, while
 * still in the cache.
 */
#ifndef RUNTIME_TRAIN_OPTIM_H
#define RUNTIME_TRAIN_OPTIM_H

#include "runtime/train/train.h"

#define OPTIM_PIECE 1024	/* elements: 4 KiB an array, all in L1 */

struct piece {
	float		*p, *state[4];
	const float	*g;
	size_t		 n;
};

/* May "name" update the range?  It needs "nstate" state arrays. */
accel_status optim_check(const char *name, const accel_range *r, int nstate);
/* The rate and decay of the range's group. */
double optim_lr(const accel_range *r, double lr);
double optim_decay(const accel_range *r, double decay);

/* Elements [at, at + n) of the range; when p has changed, optim_close. */
struct piece optim_open(const accel_range *r, size_t at, size_t n);
void optim_close(const accel_range *r, size_t at, const struct piece *x);

/* Calls fn over the whole range, in order. */
void optim_each(const accel_range *r,
    void (*fn)(const struct piece *, const void *), const void *arg);
#endif
