/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch takes where nobody said it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"
#include "runtime/base/banned.h"

bool
config_wants_device(const struct config *c)
{
	return !c->main.use_cpu && c->main.distributed_type != dist_NO &&
	    c->main.distributed_type != dist_MULTI_CPU &&
	    c->main.compute_environment == place_LOCAL_MACHINE;
}

static const char *
type_of(enum env_device device)
{
	switch (device) {
	case ENV_XPU:
		return "MULTI_XPU";
	case ENV_MLU:
		return "MULTI_MLU";
	case ENV_SDAA:
		return "MULTI_SDAA";
	case ENV_MUSA:
		return "MULTI_MUSA";
	case ENV_NPU:
		return "MULTI_NPU";
	case ENV_HPU:
		return "MULTI_HPU";
	case ENV_NEURON:
		return "MULTI_NEURON";
	case ENV_CUDA:
		return "MULTI_GPU";
	case ENV_TPU:
		return "XLA";
	default:
		return "MULTI_CPU";
	}
}

/* Devices that a process may use: those of gpu_ids, or of the variable that
 * masks them, or all. */
static long
usable(const struct config *c, const struct env_facts *facts)
{
	const char	*mask = c->main.gpu_ids;
	long		 n = 1;

	if (!mask || !strcmp(mask, "all"))
		mask = getenv(env_mask(facts->device));
	if (!mask)
		return facts->devices;
	if (!*mask)
		return 0;
	for (; *mask; mask++)
		n += *mask == ',';
	return n < facts->devices ? n : facts->devices;
}

static int
count(struct config *c, long n, struct err *err)
{
	char	text[24];

	snprintf(text, sizeof(text), "%ld", n);
	return config_set(c, FIELD_main_num_processes, text, ORIGIN_FOUND, err);
}

int
config_settle(struct config *c, const struct env_facts *facts, long ranks,
    struct err *err)
{
	bool	unsaid = c->main.num_processes < 1 && ranks == 0;
	long	devices = usable(c, facts);

	if (c->main.compute_environment != place_LOCAL_MACHINE ||
	    c->main.distributed_type == dist_XLA)
		return 0;
	if (unsaid && config_wants_device(c)) {
		if (devices > 0)
			return count(c, devices, err);
		err_set(err, "num_processes is not set, and no accelerator is "
		    "found here to count");
		return err_hint(err, "give --num_processes, or name the hosts: "
		    "--hosts node1:8");
	}
	if (unsaid && !c->main.use_cpu && devices > 1 &&
	    c->main.num_machines == 1 &&
	    c->origin[FIELD_main_distributed_type] == ORIGIN_DEFAULT) {
		if (count(c, devices, err))
			return -1;
		ranks = devices;
	}
	if ((c->main.num_processes <= 1 && ranks <= 1) ||
	    c->main.distributed_type != dist_NO)
		return 0;
	/* Without it each CPU rank would believe that it is alone. */
	if (devices < 1 && config_set(c, FIELD_main_use_cpu, "true",
	    ORIGIN_FOUND, err))
		return -1;
	return config_set(c, FIELD_main_distributed_type, type_of(
	    c->main.use_cpu ? ENV_NONE : facts->device), ORIGIN_FOUND, err);
}
