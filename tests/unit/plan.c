/* SPDX-License-Identifier: Apache-2.0 */
/* The rank table. */
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"
#include "runtime/launch/plan.h"
#include "tests/tap.h"

static struct config	config;
static struct hosts	hosts = HOSTS_INIT;
static struct strv	env = STRV_INIT;
static struct err	err;
static char		*argv[] = { "train.py", "--lr", "a b", NULL };

static int
make(struct plan *plan, const char *list, const char *ranks)
{
	struct plan_order order = {
		.config = &config, .hosts = &hosts, .python = "python3",
		.argv = argv, .env = &env, .folder = "/somewhere", .job = "j0",
	};

	hosts_clear(&hosts);
	if (hosts_add(&hosts, list, &err) < 0 ||
	    config_set(&config, FIELD_main_num_processes, ranks, ORIGIN_FLAG,
	    &err) < 0)
		return -2;
	return plan_make(plan, &order, &err);
}

/* "host:local/of ..." for all ranks. */
static const char *
table(const struct plan *plan)
{
	static char	text[400];
	size_t		n = 0;

	for (size_t i = 0; i < plan->world; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%ld/%ld",
		    i ? " " : "", plan->hosts.host[plan->rank[i].host].name,
		    plan->rank[i].local_rank, plan->rank[i].local_world);
	return text;
}

static void
test_table(void)
{
	static const struct {
		const char *list, *ranks, *table;
	} good[] = {
		{ "", "1", "localhost:0/1" },
		{ "", "3", "localhost:0/3 localhost:1/3 localhost:2/3" },
		{ "a:2,b:1", "null", "a:0/2 a:1/2 b:0/1" },
		{ "a,b", "null", "a:0/1 b:0/1" },
		{ "a,b", "3", "a:0/2 a:1/2 b:0/1" },
		{ "a:1,b", "3", "a:0/1 b:0/2 b:1/2" },
		{ "a:4,b:4", "2", "a:0/2 a:1/2" },
		{ "a:2,b:2", "3", "a:0/2 a:1/2 b:0/1" },
	};
	struct plan plan = PLAN_INIT;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ok(make(&plan, good[i].list, good[i].ranks) == 0,
		    "hosts \"%s\", %s ranks", good[i].list, good[i].ranks);
		is(table(&plan), good[i].table, "every rank has its place");
		plan_clear(&plan);
	}
	ok(make(&plan, "a:1,b:1", "3") == -1 && strstr(err.text, "3 ranks") &&
	    strstr(err.hint, "--num_processes 2"), "too many ranks for the slots");
	ok(make(&plan, "a,b,c", "2") == -1 && strstr(err.hint, "3 or more"),
	    "too few ranks for the hosts");
}

static void
test_rank(void)
{
	struct plan		 plan = PLAN_INIT;
	const struct plan_rank	*r;

	strv_setenv(&env, "RANK", "spoilt");
	strv_setenv(&env, "MINE", "a=b\nc");
	ok(make(&plan, "a:2,b:1", "null") == 0,
	    "19: a plan over two hosts, without a machine_rank");
	r = &plan.rank[2];
	is(strv_getenv(&r->env, "MINE"), "a=b\nc", "a user's variable, byte by byte");
	is(strv_getenv(&r->env, "RANK"), "spoilt", "--env has the last word");
	is(strv_getenv(&r->env, "LOCAL_RANK"), "0", "LOCAL_RANK");
	is(strv_getenv(&r->env, "WORLD_SIZE"), "3", "WORLD_SIZE");
	is(strv_getenv(&r->env, "LOCAL_WORLD_SIZE"), "1", "LOCAL_WORLD_SIZE is this host's");
	is(strv_getenv(&r->env, "GROUP_RANK"), "1", "GROUP_RANK is the host");
	is(strv_getenv(&r->env, "TORCHELASTIC_USE_AGENT_STORE"), NULL,
	    "no store of an agent: ranks would wait for it for ever");
	ok(r->argv.count == 5 && !strcmp(r->argv.item[0], "python3") &&
	    !strcmp(r->argv.item[1], "-u") && !strcmp(r->argv.item[4], "a b"),
	    "the script and its arguments, unbuffered");
	plan_clear(&plan);
	strv_clear(&env);

	ok(make(&plan, "", "1") == 0, "a plan for one process");
	is(strv_getenv(&plan.rank[0].env, "LOCAL_RANK"), NULL,
	    "one process is no world");
	plan_clear(&plan);

	config.main.num_machines = 2;
	ok(make(&plan, "", "2") == -1 && strstr(err.hint, "--hosts"),
	    "machines without names are an error that says --hosts");
	config.main.num_machines = 1;
	config.launch.no_python = true;
	ok(make(&plan, "", "2") == 0 && !strcmp(plan.rank[0].argv.item[0], "train.py"),
	    "--no_python runs the program itself");
	plan_clear(&plan);
}

/* Threads are for the ranks that really are on a host. */
static void
test_facts(void)
{
	struct env_facts	facts = { .cores = 8 };
	struct plan_order	order = {
		.config = &config, .facts = &facts, .hosts = &hosts,
		.python = "python3", .argv = argv, .env = &env,
		.folder = "/somewhere", .job = "j0",
	};
	struct plan		plan = PLAN_INIT;

	unsetenv("OMP_NUM_THREADS");
	unsetenv("MPI_LOCALNRANKS");
	config.main.use_cpu = true;
	config.main.num_processes = 0;
	hosts_clear(&hosts);
	ok(hosts_add(&hosts, "a:2,b:1", &err) == 0 &&
	    plan_make(&plan, &order, &err) == 0, "a plan of CPU ranks");
	is(strv_getenv(&plan.rank[0].env, "OMP_NUM_THREADS"), "4",
	    "8 cores for the 2 ranks of the first host");
	plan_clear(&plan);
	config.main.use_cpu = false;
}

/* The environment's value, or "-". */
static const char *
value(const struct plan *plan, size_t rank, const char *name)
{
	const char *text = strv_getenv(&plan->rank[rank].env, name);

	return text ? text : "-";
}

static int
map(struct plan *plan, const char *list, const char *ranks, enum map_by by,
    bool gpu_per_rank)
{
	struct plan_order order = {
		.config = &config, .hosts = &hosts, .python = "python3",
		.argv = argv, .env = &env, .folder = "/somewhere", .job = "j0",
		.map = { .by = by, .gpu_per_rank = gpu_per_rank },
	};

	hosts_clear(&hosts);
	if (hosts_add(&hosts, list, &err) < 0 ||
	    config_set(&config, FIELD_main_num_processes, ranks, ORIGIN_FLAG,
	    &err) < 0)
		return -2;
	return plan_make(plan, &order, &err);
}

static void
test_map(void)
{
	static const struct {
		const char *list, *ranks, *table;
	} turns[] = {
		{ "a:2,b:1,c:3", "null",
		    "a:0/2 b:0/1 c:0/3 a:1/2 c:1/3 c:2/3" },
		{ "a:4,b:4", "3", "a:0/2 b:0/1 a:1/2" },
		{ "a:4,b:4", "1", "a:0/1" },
		{ "a:1,b:4", "4", "a:0/1 b:0/3 b:1/3 b:2/3" },
	};
	struct plan	plan = PLAN_INIT;

	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("CUDA_DEVICE_ORDER");
	for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
		ok(map(&plan, turns[i].list, turns[i].ranks, MAP_NODE, false) ==
		    0, "by node: \"%s\", %s ranks", turns[i].list,
		    turns[i].ranks);
		is(table(&plan), turns[i].table, "a rank for each host in turn");
		plan_clear(&plan);
	}
	ok(map(&plan, "a:2/gpus=3+1,b:1", "null", MAP_SLOT, false) == 0,
	    "a host with a list of GPUs");
	is(value(&plan, 1, "CUDA_VISIBLE_DEVICES"), "3,1", "its ranks see those");
	is(value(&plan, 1, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID",
	    "by the numbers of nvidia-smi");
	is(value(&plan, 2, "CUDA_VISIBLE_DEVICES"), "-", "other hosts all");
	ok(plan.rank[1].gpu == 1, "the second uses GPU 1");
	plan_clear(&plan);
	ok(map(&plan, "a:2/gpus=3+1,b:2", "null", MAP_SLOT, true) == 0,
	    "the same, with a GPU per rank");
	is(value(&plan, 0, "CUDA_VISIBLE_DEVICES"), "3", "the first of the list");
	is(value(&plan, 1, "CUDA_VISIBLE_DEVICES"), "1", "and the second");
	is(value(&plan, 3, "CUDA_VISIBLE_DEVICES"), "1",
	    "without a list, that of the local rank");
	plan_clear(&plan);
	strv_setenv(&env, "CUDA_VISIBLE_DEVICES", "MIG-a,7");
	ok(map(&plan, "a:2", "null", MAP_SLOT, true) == 0,
	    "the list of a variable");
	is(value(&plan, 0, "CUDA_VISIBLE_DEVICES"), "MIG-a", "is dealt out");
	ok(plan.rank[0].gpu == -1 && plan.rank[1].gpu == 7,
	    "a name has no number");
	plan_clear(&plan);
	ok(map(&plan, "a:3", "null", MAP_SLOT, true) == -1 &&
	    strstr(err.text, "host a: 3 ranks and a list of 2 GPUs"),
	    "and is an error where it is too short");
	strv_clear(&env);
}

int
main(void)
{
	config_init(&config);
	test_table();
	test_rank();
	test_facts();
	test_map();
	hosts_clear(&hosts);
	config_clear(&config);
	return tap_done();
}
