/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a Slurm allocation, from its variables. */
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/slurm.h"
#include "tests/tap.h"

/* The names with blanks between. */
static char *
joined(const char *list)
{
	struct strv	names = STRV_INIT;
	struct buf	text = BUF_INIT;

	if (slurm_expand(list, &names, NULL) < 0)
		buf_adds(&text, "refused");
	for (size_t i = 0; i < names.count; i++)
		buf_addf(&text, "%s%s", i ? " " : "", names.item[i]);
	strv_clear(&names);
	return buf_detach(&text);
}

static void
test_expand(void)
{
	static const struct {
		const char *list, *names;
	} all[] = {
		{ "n1", "n1" },
		{ "login,n2", "login n2" },
		{ "n[1-3]", "n1 n2 n3" },
		{ "n[1-2,7],m[9]", "n1 n2 n7 m9" },
		{ "n[08-11]", "n08 n09 n10 n11" },
		{ "n[098,099-100]", "n098 n099 n100" },
		{ "r[0-1]n[1-2]", "r0n1 r0n2 r1n1 r1n2" },
		{ "n[1-2]-ib", "n1-ib n2-ib" },
		{ "a,,b", "refused" },
		{ "", "refused" },
		{ "a,", "refused" },
		{ "n[1-2", "refused" },
		{ "n1-2]", "refused" },
		{ "n[]", "refused" },
		{ "n[1,]", "refused" },
		{ "n[2-1]", "refused" },
		{ "n[1-]", "refused" },
		{ "n[1-2-3]", "refused" },
		{ "n[a-c]", "refused" },
		{ "n[1-99999999]", "refused" },
		{ "n[0-300][0-300]", "refused" },
		{ "n[9999999999]", "refused" },
	};
	struct err	 err = ERR_INIT;
	struct strv	 names = STRV_INIT;
	char		*got;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		got = joined(all[i].list);
		is(got, all[i].names, "node list \"%s\"", all[i].list);
		free(got);
	}
	got = joined("n[1-65536]");
	ok(got && strlen(got) > 65536, "many nodes");
	free(got);
	ok(slurm_expand("ok,n[x]", &names, &err) == -1 && names.count == 0,
	    "a bad list adds nothing");
	is(err.text, "\"ok,n[x]\" is not a list of nodes", "and it is shown");
}

static void
test_counts(void)
{
	static const char *const bad[] = {
		"", "2", "2,1", "2(x4)", "2(x3", "2(x0),1", "x", "2,1,", "2(3),1",
		"2(x2),1,", "99999999999,1",
	};
	long	count[3];

	ok(slurm_counts("2(x2),1", count, 3) == 0 && count[0] == 2 &&
	    count[1] == 2 && count[2] == 1, "2(x2),1");
	ok(slurm_counts("4,5,6", count, 3) == 0 && count[2] == 6, "4,5,6");
	ok(slurm_counts("8(x3)", count, 3) == 0 && count[2] == 8, "8(x3)");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(slurm_counts(bad[i], count, 3) == -1,
		    "\"%s\" is no count for three nodes", bad[i]);
}

/* "n1:2 n2:1" of variables, or what is wrong. */
static char *
hosts_of(const char *nodes, const char *tasks, const char *gpus, bool devices,
    const char *step_tasks)
{
	struct hosts	hosts = HOSTS_INIT;
	struct buf	text = BUF_INIT;
	struct err	err = ERR_INIT;
	const struct {
		const char *name, *value;
	} all[] = {
		{ "SLURM_JOB_NODELIST", nodes },
		{ "SLURM_TASKS_PER_NODE", tasks },
		{ "SLURM_GPUS_PER_NODE", gpus },
		{ "SLURM_STEP_NUM_TASKS", step_tasks },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].value)
			setenv(all[i].name, all[i].value, 1);
		else
			unsetenv(all[i].name);
	if (slurm_hosts(&hosts, devices, &err) < 0)
		buf_adds(&text, err.text);
	for (size_t i = 0; i < hosts.count; i++)
		buf_addf(&text, "%s%s:%ld", i ? " " : "", hosts.host[i].name,
		    hosts.host[i].slots);
	hosts_clear(&hosts);
	return buf_detach(&text);
}

static void
test_hosts(void)
{
	static const struct {
		const char *nodes, *tasks, *gpus;
		bool devices;
		const char *step_tasks, *hosts, *why;
	} all[] = {
		{ "n[1-2]", "2,1", NULL, true, NULL, "n1:2 n2:1",
		  "tasks are slots" },
		{ "n[1-2]", "1(x2)", NULL, true, NULL, "n1:0 n2:0",
		  "one task a node says nothing" },
		{ "n[1-2]", "1(x2)", "4", true, NULL, "n1:4 n2:4",
		  "then GPUs are slots" },
		{ "n[1-2]", "1(x2)", "a100:2,h100:1", true, NULL, "n1:3 n2:3",
		  "of all types" },
		{ "n[1-2]", "1(x2)", "4", false, NULL, "n1:0 n2:0",
		  "but not for CPU ranks" },
		{ "n[1-2]", "3(x2)", "4", true, NULL, "n1:3 n2:3",
		  "several tasks win" },
		{ "n[1-3]", "1", NULL, true, "1", "n1:0 n2:0 n3:0",
		  "a step's counts are not the job's" },
		{ "n[1-2]", "2(x2)", NULL, true, "4",
		  "srun started 4 of these launchers, and one is enough for all "
		  "nodes", "one of several tasks" },
		{ "n[1-", NULL, NULL, true, NULL,
		  "SLURM_JOB_NODELIST: \"n[1-\" is not a list of nodes",
		  "no list" },
		{ "n1,n1", NULL, NULL, true, NULL, "host n1 is there twice",
		  "a node twice" },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		char	*got = hosts_of(all[i].nodes, all[i].tasks, all[i].gpus,
			    all[i].devices, all[i].step_tasks);

		is(got, all[i].hosts, "%s", all[i].why);
		free(got);
	}
}

static void
test_choose(void)
{
	struct hosts	none = HOSTS_INIT, given = HOSTS_INIT;
	struct err	err = ERR_INIT;
	bool		srun = true;

	unsetenv("SLURM_JOB_ID");
	ok(slurm_choose(NULL, &none, true, &srun, &err) == 0 && !srun &&
	    none.count == 0, "without an allocation, nothing");
	ok(slurm_choose("srun", &none, true, &srun, &err) == -1,
	    "srun needs one");
	is(err.text, "--transport srun: this is no Slurm allocation", "it says");
	setenv("SLURM_JOB_ID", "7", 1);
	free(hosts_of("n[1-2]", "2(x2)", NULL, true, NULL));
	ok(slurm_choose(NULL, &none, true, &srun, &err) == 0 && srun &&
	    none.count == 2, "an allocation's nodes are reached by srun");
	hosts_clear(&none);
	ok(slurm_choose("ssh", &none, true, &srun, &err) == 0 && !srun &&
	    none.count == 2, "or by ssh");
	hosts_clear(&none);
	ok(hosts_add(&given, "n2:1", &err) == 0 &&
	    slurm_choose(NULL, &given, true, &srun, &err) == 0 && !srun &&
	    given.count == 1, "hosts that were given win, and ssh");
	ok(slurm_choose("srun", &given, true, &srun, &err) == 0 && srun &&
	    given.count == 1, "or srun");
	ok(slurm_choose("rsh", &given, true, &srun, &err) == -1, "no other");
	hosts_clear(&given);
}

int
main(void)
{
	unsetenv("SLURM_HET_SIZE");
	unsetenv("SLURM_GPUS_ON_NODE");
	test_expand();
	test_counts();
	test_hosts();
	test_choose();
	return tap_done();
}
