/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsdp2: a configuration for version 1 of FSDP becomes one for version 2.
 *
 * Values are mapped as Accelerate's to-fsdp2 does (FULL_SHARD and HYBRID_SHARD
 * to true, the others to false), and so are the numbers 1 to 5 for them.  Keys
 * that version 2 has no more go; all others stay.
 */
#ifndef RUNTIME_CONFIG_FSDP2_H
#define RUNTIME_CONFIG_FSDP2_H

#include "runtime/config/schema.h"

/* 1 where *c was changed, 0 where there is nothing to do, -1.  "notes" gets a
 * sentence for each key that went, and why there is nothing to do. */
int config_to_fsdp2(struct config *c, struct strv *notes, struct err *err);
#endif
