/* SPDX-License-Identifier: Apache-2.0 */
/* What fits the machine, and why. */
#include <stdio.h>

#include "tui/form.h"
#include "runtime/base/banned.h"

static int
found(struct config *c, enum field_id id, const char *text, struct err *err)
{
	return config_set(c, id, text, ORIGIN_FOUND, err);
}

int
proposal_make(struct form *f, struct config *c, struct err *err)
{
	const struct machine *m = f->machine;
	int capability;
	size_t n = machine_usable_gpus(m, &capability);
	const char *kind = n > 1 ? "MULTI_GPU" : "NO", *mixed = "no";
	char count[24];

	if (n) {
		mixed = capability >= 80 ? "bf16" : "fp16";
		snprintf(f->reason, sizeof f->reason,
		    "%zu GPU%s found: one process for each; %s because the "
		    "capability is %s.", n, n == 1 ? "" : "s", mixed,
		    capability >= 80 ? "8.0 or more" : !capability ?
		    "not known" : "below 8.0");
	} else if (m->cores >= 2) {
		kind = "MULTI_CPU";
		n = m->numa >= 2 ? m->numa : 2;
		snprintf(f->reason, sizeof f->reason, m->numa >= 2 ?
		    "No GPU that a driver answers for: one process for each "
		    "of %zu NUMA nodes, in full precision." :
		    "No GPU that a driver answers for: %zu processes share "
		    "the cores, in full precision.", n);
	} else {
		n = 1;
		snprintf(f->reason, sizeof f->reason,
		    "One core and no GPU: one process, in full precision.");
	}
	snprintf(count, sizeof count, "%zu", n);
	return found(c, FIELD_main_distributed_type, kind, err) ||
	    found(c, FIELD_main_num_processes, count, err) ||
	    found(c, FIELD_main_mixed_precision, mixed, err) ||
	    found(c, FIELD_main_use_cpu, !machine_usable_gpus(m, NULL) ?
	    "true" : "false", err) ? -1 : 0;
}

