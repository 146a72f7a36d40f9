/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"
#include "runtime/launch/plan_map.h"
#include "runtime/launch/xla.h"

#include "runtime/base/banned.h"

/* How many ranks each host gets: into hosts' slots. */
static int
share(struct plan *plan, const struct plan_order *order, struct err *err)
{
	const struct config *c = order->config;
	struct hosts	*hosts = &plan->hosts;
	long		 asked = c->main.num_processes, given = 0, open = 0;

	for (size_t i = 0; i < hosts->count; i++) {
		if (xla_wanted(c))	/* which starts the others itself */
			hosts->host[i].slots = 1;
		given += hosts->host[i].slots;
		open += hosts->host[i].slots == 0;
	}
	if (xla_wanted(c) || order->elastic)
		asked = open ? 0 : given;
	if (asked < 1)		/* a host without slots has one rank */
		asked = given + open;
	if (!open && asked > given) {
		err_set(err, "%ld ranks were asked for, and the hosts have %ld "
		    "slots", asked, given);
		return err_hint(err, "give them more slots, or set "
		    "--num_processes %ld", given);
	}
	if (asked < given + open && open) {
		err_set(err, "%ld ranks are too few for these hosts", asked);
		return err_hint(err, "each host needs one at least: "
		    "--num_processes %ld or more", given + open);
	}
	for (size_t i = 0; i < hosts->count; i++) {
		long *slots = &hosts->host[i].slots;

		if (*slots == 0) {	/* an equal part of what is left */
			long left = asked - given;

			*slots = left / open + (left % open != 0);
			given += *slots;
			open--;
		}
	}
	plan->world = (size_t)asked;
	plan_deal(hosts, asked, plan->map.by);
	return 0;
}

static int
set_number(struct strv *env, const char *name, long value)
{
	char text[32];

	snprintf(text, sizeof text, "%ld", value);
	return strv_setenv(env, name, text);
}

/* What torchrun gives each rank (but for TORCHELASTIC_USE_AGENT_STORE, which
 * would make every rank wait for a store that is not there), and PMI's part. */
static int
rank_env(const struct plan *plan, const struct plan_order *order,
    struct plan_rank *r, long rank)
{
	struct strv	*env = &r->env;
	long		 world = (long)plan->world;

	return set_number(env, "RANK", rank) < 0 ||
	    set_number(env, "LOCAL_RANK", r->local_rank) < 0 ||
	    set_number(env, "WORLD_SIZE", world) < 0 ||
	    set_number(env, "LOCAL_WORLD_SIZE", r->local_world) < 0 ||
	    set_number(env, "GROUP_RANK", (long)r->host) < 0 ||
	    set_number(env, "GROUP_WORLD_SIZE", (long)plan->hosts.count) < 0 ||
	    set_number(env, "ROLE_RANK", rank) < 0 ||
	    set_number(env, "ROLE_WORLD_SIZE", world) < 0 ||
	    strv_setenv(env, "ROLE_NAME", plan->role) < 0 ||
	    set_number(env, "TORCHELASTIC_RESTART_COUNT", order->restarts) < 0 ||
	    set_number(env, "TORCHELASTIC_MAX_RESTARTS",
	    order->config->launch.max_restarts) < 0 ||
	    strv_setenv(env, "TORCHELASTIC_RUN_ID", plan->job) < 0 ||
	    strv_setenv(env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1") < 0 ||
	    set_number(env, "PMI_RANK", rank) < 0 ||
	    set_number(env, "PMI_SIZE", world) < 0 ||
	    set_number(env, "MPI_LOCALRANKID", r->local_rank) < 0 ||
	    set_number(env, "MPI_LOCALNRANKS", r->local_world) < 0 ? -1 : 0;
}

/* What srun would give, were each rank a task of one step: the step of a host's
 * agent has one task, and programs would read that. */
static int
rank_slurm_env(const struct plan *plan, struct plan_rank *r, long rank)
{
	struct strv	*env = &r->env;
	struct buf	 nodes = BUF_INIT;
	int		 ret;

	for (size_t i = 0; i < plan->hosts.count; i++)
		buf_addf(&nodes, "%s%s", i ? "," : "",
		    plan->hosts.host[i].name);
	ret = buf_failed(&nodes) ||
	    set_number(env, "SLURM_PROCID", rank) < 0 ||
	    set_number(env, "SLURM_LOCALID", r->local_rank) < 0 ||
	    set_number(env, "SLURM_NODEID", (long)r->host) < 0 ||
	    set_number(env, "SLURM_NTASKS", (long)plan->world) < 0 ||
	    set_number(env, "SLURM_NPROCS", (long)plan->world) < 0 ||
	    set_number(env, "SLURM_NNODES", (long)plan->hosts.count) < 0 ||
	    set_number(env, "SLURM_STEP_NUM_TASKS", (long)plan->world) < 0 ||
	    set_number(env, "SLURM_STEP_NUM_NODES",
	    (long)plan->hosts.count) < 0 ||
	    strv_setenv(env, "SLURM_STEP_NODELIST", buf_text(&nodes)) < 0 ?
	    -1 : 0;
	buf_clear(&nodes);
	return ret;
}

/* How many ranks each host has. */
static int
rank_pmix_env(const struct plan *plan, struct plan_rank *r)
{
	struct buf	counts = BUF_INIT;
	int		ret;

	for (size_t i = 0; i < plan->hosts.count; i++)
		buf_addf(&counts, "%s%ld", i ? "," : "",
		    plan->hosts.host[i].slots);
	ret = buf_failed(&counts) ? -1 : strv_setenv(&r->env,
	    "ACCEL_PMIX_COUNTS", buf_text(&counts));
	buf_clear(&counts);
	return ret;
}

static int
rank_argv(struct plan_rank *r, const struct plan_order *order, struct err *err)
{
	const struct config	*c = order->config;
	char *const		*word = order->argv;

	if (xla_wanted(c))
		return xla_argv(c, order->python, order->argv, &r->argv, err);
	if (!c->launch.no_python &&
	    (strv_add(&r->argv, order->python) < 0 ||
	    strv_add(&r->argv, "-u") < 0 ||
	    (c->launch.module && strv_add(&r->argv, "-m") < 0)))
		return err_nomem(err);
	for (; *word; word++)
		if (strv_add(&r->argv, *word) < 0)
			return err_nomem(err);
	return 0;
}

int
plan_make(struct plan *plan, const struct plan_order *order, struct err *err)
{
	const struct config	*c = order->config;
	struct plan		 new = { .hosts = HOSTS_INIT, .map = order->map };
	struct env_facts	 facts = { 0 };
	struct strv		 common = STRV_INIT;
	const char		*mask;

	if (order->facts)
		facts = *order->facts;
	for (size_t i = 0; i < order->hosts->count; i++)
		if (hosts_copy(&new.hosts, &order->hosts->host[i], err) < 0)
			goto fail;
	if (new.hosts.count == 0 && c->main.num_machines > 1) {
		err_set(err, "the configuration says %ld machines, and no hosts "
		    "were given", c->main.num_machines);
		err_hint(err, "name them: --hosts node1:8,node2:8, or --hostfile; "
		    "or --num_machines 1");
		goto fail;
	}
	if (new.hosts.count == 0 && hosts_add(&new.hosts, "localhost", err) < 0)
		goto fail;
	if (share(&new, order, err) < 0)
		goto fail;
	new.folder = strdup(order->folder);
	new.script = strdup(!order->argv[0] || c->launch.module ? "" :
	    !c->launch.no_python ? order->argv[0] :
	    order->pmix ? order->pmix : "");
	new.job = strdup(order->job);
	new.role = strdup(c->launch.role ? c->launch.role : "default");
	new.rank = calloc(new.world, sizeof *new.rank);
	if (c->main.main_process_ip)
		new.address = strdup(c->main.main_process_ip);
	if (order->activate && !(new.activate = strdup(order->activate)))
		goto nomem;
	new.sync = order->sync;
	new.python = !c->launch.no_python;
	new.wrapped = order->pmix && new.world > 1;
	if (new.wrapped && new.map.by == MAP_NODE) {
		err_set(err, "--map_by node: ranks of Open MPI fill one host "
		    "after the other");
		err_hint(err, "leave it out, or build the program with MPICH");
		goto fail;
	}
	new.devices = config_wants_device(c) && !c->main.gpu_ids &&
	    !strv_getenv(order->env, "CUDA_VISIBLE_DEVICES");
	new.port = c->main.main_process_port > 0 ? c->main.main_process_port : 0;
	if (!new.folder || !new.script || !new.job || !new.role ||
	    !new.rank)
		goto nomem;
	new.threads = c->launch.num_cpu_threads_per_process > 0 ||
	    strv_getenv(order->env, "OMP_NUM_THREADS") ||
	    getenv("OMP_NUM_THREADS");
	mask = env_mask(env_device(c, facts.device));
	facts.local = new.hosts.host[0].slots;
	if (config_env(c, &facts, &common, err) < 0)
		goto fail;
	plan_seat(&new);
	for (size_t i = 0; i < new.world; i++) {
		struct plan_rank *r = &new.rank[i];

		for (size_t k = 0; k < common.count; k++)
			if (strncmp(common.item[k], "MASTER_", 7) &&
			    strv_add(&r->env, common.item[k]) < 0)
				goto nomem;
		/* One process is no world: Accelerate would look for its
		 * peers. */
		if (new.world > 1 && (xla_wanted(c) ? strv_setenv(&r->env,
		    "ACCELERATE_IN_TPU_POD", "1") :
		    rank_env(&new, order, r, (long)i)) < 0)
			goto nomem;
		if (new.wrapped && (strv_add(&r->argv, order->pmix) < 0 ||
		    rank_pmix_env(&new, r) < 0))
			goto nomem;
		if (order->slurm && rank_slurm_env(&new, r, (long)i) < 0)
			goto nomem;
		if (strv_setenv(&r->env, "ACCEL_JOB", new.job) < 0 ||
		    strv_setenvs(&r->env, order->env) < 0)
			goto nomem;
		if (plan_gpus(&new, r, mask, err) < 0 ||
		    rank_argv(r, order, err) < 0)
			goto fail;
	}
	strv_clear(&common);
	*plan = new;
	return 0;
nomem:
	err_nomem(err);
fail:
	strv_clear(&common);
	plan_clear(&new);
	return -1;
}

void
plan_print(const struct plan *plan, const struct seat *place, struct buf *out)
{
	plan_print_table(plan, place, out);
	buf_addf(out, "\nfolder ");
	buf_add_word(out, plan->folder);
	buf_addf(out, "\nMASTER_ADDR=%s and MASTER_PORT=%.0ld%s are given to every "
	    "rank%s\n", plan->address ? plan->address : plan->hosts.count == 1 &&
	    host_is_local(&plan->hosts.host[0]) ? "127.0.0.1" :
	    "(an address of rank 0's host)", plan->port,
	    plan->port ? "" : "(a free port)",
	    plan->world > 1 ? "" : " of a world of more than one");
	for (size_t i = 0; i < plan->world; i++) {
		const struct plan_rank *r = &plan->rank[i];

		buf_addf(out, "\nrank %zu on %s\n", i,
		    plan->hosts.host[r->host].name);
		for (size_t k = 0; k < r->env.count; k++) {
			buf_adds(out, "  ");
			buf_add_word(out, r->env.item[k]);
			buf_adds(out, "\n");
		}
		buf_adds(out, " ");
		for (size_t k = 0; k < r->argv.count; k++) {
			buf_adds(out, " ");
			buf_add_word(out, r->argv.item[k]);
		}
		buf_adds(out, "\n");
	}
}

void
plan_clear(struct plan *plan)
{
	for (size_t i = 0; plan->rank && i < plan->world; i++) {
		strv_clear(&plan->rank[i].argv);
		strv_clear(&plan->rank[i].env);
	}
	free(plan->rank);
	hosts_clear(&plan->hosts);
	free(plan->folder);
	free(plan->script);
	free(plan->address);
	free(plan->job);
	free(plan->activate);
	free(plan->role);
	*plan = (struct plan)PLAN_INIT;
}
