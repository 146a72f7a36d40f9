/* SPDX-License-Identifier: Apache-2.0 */
/* plan_command: one process of any program on each host, which do not meet. */
#include "runtime/launch/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/launch/plan_map.h"

#include "runtime/base/banned.h"

/* What tells the processes apart: no RANK, which programs take for a world. */
static int
environment(struct plan *plan, size_t i, const struct strv *env)
{
	struct plan_rank	*r = &plan->rank[i];
	char			 number[32], count[32];

	snprintf(number, sizeof number, "%zu", i);
	snprintf(count, sizeof count, "%zu", plan->world);
	if (strv_setenv(&r->env, "ACCEL_JOB", plan->job) < 0 ||
	    strv_setenv(&r->env, "ACCEL_HOST",
	    host_label(&plan->hosts.host[i])) < 0 ||
	    strv_setenv(&r->env, "ACCEL_HOST_RANK", number) < 0 ||
	    strv_setenv(&r->env, "ACCEL_HOST_COUNT", count) < 0)
		return -1;
	return strv_setenvs(&r->env, env);
}

int
plan_command(struct plan *plan, const struct hosts *hosts, char *const *argv,
    const struct strv *env, const char *folder, const char *job,
    struct err *err)
{
	struct plan new = PLAN_INIT;

	for (size_t i = 0; i < hosts->count; i++) {
		if (hosts_copy(&new.hosts, &hosts->host[i], err) < 0)
			goto fail;
		new.hosts.host[i].slots = 1;
	}
	if (!new.hosts.count && hosts_add(&new.hosts, "localhost:1", err) < 0)
		goto fail;
	new.world = new.hosts.count;
	new.apart = true;
	new.folder = strdup(folder);
	new.script = strdup("");
	new.job = strdup(job);
	new.role = strdup("default");
	new.rank = calloc(new.world, sizeof *new.rank);
	if (!new.folder || !new.script || !new.job || !new.role || !new.rank)
		goto nomem;
	for (size_t i = 0; i < new.world; i++) {
		new.rank[i].host = i;
		new.rank[i].local_world = 1;
		for (size_t k = 0; argv[k]; k++)
			if (strv_add(&new.rank[i].argv, argv[k]) < 0)
				goto nomem;
		if (environment(&new, i, env) < 0)
			goto nomem;
		if (new.hosts.host[i].gpus && plan_gpus(&new, &new.rank[i],
		    "CUDA_VISIBLE_DEVICES", err) < 0)
			goto fail;
	}
	*plan = new;
	return 0;
nomem:
	err_nomem(err);
fail:
	plan_clear(&new);
	return -1;
}
