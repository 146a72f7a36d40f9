/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "probes/probe.h"
#include "probes/software.h"
#include "runtime/base/strv.h"
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

		/* One that only draws is none to train on. */
		if (g->usable && g->vendor && strcmp(g->vendor, "NVIDIA"))
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

/* "2.6.0+cu124", "0.18": the numbers in front. */
static long
version_of(const char *text)
{
	long	part[3] = { 0, 0, 0 };
	char	*end;

	if (!text)
		return ABSENT;
	for (int i = 0; i < 3; i++) {
		part[i] = strtol(text, &end, 10);
		if (end == text || part[i] < 0 || part[i] > 999)
			part[i] = 0;
		if (*end != '.')
			break;
		text = end + 1;
	}
	return RELEASE(part[0], part[1], part[2]);
}

void
software_site(const struct strv *facts, struct site *site)
{
	site->torch = version_of(strv_getenv(facts, "torch"));
	site->transformers = version_of(strv_getenv(facts, "transformers"));
	site->deepspeed = version_of(strv_getenv(facts, "deepspeed"));
	site->megatron = version_of(strv_getenv(facts, "megatron-core"));
	site->transformer_engine = version_of(strv_getenv(facts,
	    "transformer_engine"));
	site->msamp = version_of(strv_getenv(facts, "msamp"));
	site->torchao = version_of(strv_getenv(facts, "torchao"));
}
