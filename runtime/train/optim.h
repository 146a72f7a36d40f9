/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optim: what the ready-made optimizers share.
 *
 * An optimizer works out a range's constants here and leaves the loop to the
 * memory that the range lies in (runtime/device/mem.h).
 */
#ifndef RUNTIME_TRAIN_OPTIM_H
#define RUNTIME_TRAIN_OPTIM_H

#include "runtime/train/train.h"

/* May "name" update the range?  It needs "nstate" state arrays. */
accel_status optim_check(const char *name, const accel_range *r, int nstate);
/* The rate and decay of the range's group. */
double optim_lr(const accel_range *r, double lr);
double optim_decay(const accel_range *r, double decay);

/* The range as floats: parameters of F32 where they lie, of 16 bits their
 * masters, which are then rounded to them. */
struct mem_update optim_update(const accel_range *r);
/* The range's memory; "host" is room for the host's. */
struct mem *optim_mem(const accel_range *r, struct mem *host);
#endif
