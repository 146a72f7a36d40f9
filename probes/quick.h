/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quick: what a launcher must know of this machine, from a few files of /dev,
 * /proc and /sys: no driver is loaded, no program started.
 *
 * Tecorigin's devices are not looked for: there distributed_type says it.
 */
#ifndef PROBES_QUICK_H
#define PROBES_QUICK_H

#include "runtime/base/strv.h"
#include "runtime/config/environ.h"

struct err;

struct quick {
	struct env_facts	 facts;		/* points into the others */
	struct strv		 gpus;		/* NVIDIA's models */
	char			 driver[32];
};

#define QUICK_INIT { .gpus = STRV_INIT }

/* Fills *q, which is empty.  "root" stands before each path: "" as a rule.
 * What cannot be read is not known; -1 only without memory. */
int  quick_probe(struct quick *q, const char *root, struct err *err);
void quick_clear(struct quick *q);
#endif
