/* SPDX-License-Identifier: Apache-2.0 */
/* plan_map: which rank is on which host with which GPU, for plan.c alone. */
#ifndef RUNTIME_LAUNCH_PLAN_MAP_H
#define RUNTIME_LAUNCH_PLAN_MAP_H

#include "runtime/launch/map.h"
#include "runtime/launch/plan.h"

/* Leaves each host the slots of those ranks that it gets, and drops the hosts
 * that get none.  There are enough. */
void plan_deal(struct hosts *hosts, long ranks, enum map_by by);
/* The host and local rank of each. */
void plan_seat(struct plan *plan);
/* Which GPUs a rank sees, by the variable "mask", over what its environment
 * says; then the number of its own. */
int  plan_gpus(const struct plan *plan, struct plan_rank *r, const char *mask,
    struct err *err);
#endif
