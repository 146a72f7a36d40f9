/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "probes/probe.h"
#include "runtime/config/rules.h"
#include "runtime/base/banned.h"

void
machine_site(const struct machine *m, struct site *site)
{
	site->memory = (double)m->memory;
	site->gpus = (long)machine_usable_gpus(m, &site->capability);
	site->looked = true;
	for (size_t i = 0; i < m->gpus; i++) {
		const struct gpu	*g = &m->gpu[i];

		if (g->vendor && strcmp(g->vendor, "NVIDIA"))
			site->looked = false;
		if (g->usable && g->memory && (site->gpu_memory <= 0 ||
		    (double)g->memory < site->gpu_memory))
			site->gpu_memory = (double)g->memory;
	}
	if (!site->looked) {
		site->gpus = site->capability = 0;
		site->gpu_memory = 0;
	}
}
