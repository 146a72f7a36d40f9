/* SPDX-License-Identifier: Apache-2.0 */
/* What two hosts' facts say against each other, which real hosts of a test
 * cannot say: another time of day, GPUs, drivers. */
#include "runtime/launch/run.h"

#include "tests/tap.h"

static struct trouble	 no_trouble;
static char		*argv[] = { (char []){ "true" }, NULL };

struct pair {
	struct plan			 plan;
	struct supervise_options	 options;
	struct peer			 peer[2];
	struct run			 run;
};

/* Facts are "name=value" and end with NULL. */
static void
pair_begin(struct pair *p, const char *names, const char *const *one,
    const char *const *other)
{
	struct hosts	 two = HOSTS_INIT;
	struct strv	 env = STRV_INIT;

	*p = (struct pair){ .plan = PLAN_INIT, .options.output.mode =
	    OUTPUT_LINES };
	ok(hosts_add(&two, names, NULL) == 0 && plan_command(&p->plan, &two,
	    argv, &env, "/", "token", NULL) == 0, "hosts %s", names);
	hosts_clear(&two);
	for (; *one; one++)
		strv_add(&p->peer[0].facts, *one);
	for (; *other; other++)
		strv_add(&p->peer[1].facts, *other);
	p->run = (struct run){ .plan = &p->plan, .options = &p->options,
	    .peer = p->peer, .signals = -1 };
}

static void
pair_end(struct pair *p)
{
	run_check_clear(&p->peer[0]);
	run_check_clear(&p->peer[1]);
	plan_clear(&p->plan);
}

static const struct trouble *
only(const struct peer *peer)
{
	return peer->troubles == 1 ? peer->trouble : &no_trouble;
}

static void
clocks(void)
{
	static const char *const facts[] = { "time=1", NULL };
	struct pair p;

	pair_begin(&p, "a,b", facts, facts);
	p.peer[0].ahead_s = 1.5;
	p.peer[1].ahead_s = -2.5;	/* an answer may be late by seconds */
	run_compare(&p.run);
	ok(p.peer[0].troubles + p.peer[1].troubles == 0,
	    "4 s apart is a slow answer");
	p.peer[1].ahead_s = -3600;
	run_compare(&p.run);
	is(only(&p.peer[1])->what, "its clock is 3602 s behind that of a",
	    "an hour apart is said of the second");
	ok(!only(&p.peer[1])->fatal && !p.peer[0].troubles,
	    "as a warning, and of no other host");
	pair_end(&p);
}

static void
devices(void)
{
	static const char *const eight[] = { "devices=8", "driver=550.1", NULL };
	static const char *const one[] = { "devices=1", "driver=535.2", NULL };
	static const char *const none[] = { "devices=0", NULL };
	struct pair p;

	pair_begin(&p, "a,b", eight, one);
	p.plan.devices = true;
	p.plan.hosts.host[0].slots = 8;
	p.plan.hosts.host[1].slots = 2;
	run_compare(&p.run);
	ok(p.peer[0].troubles == 0, "8 ranks have 8 GPUs");
	ok(p.peer[1].troubles == 2, "the other host has two troubles");
	is(p.peer[1].trouble[0].what,
	    "the NVIDIA driver is 535.2 here, and 550.1 on a",
	    "drivers that differ are named");
	ok(!p.peer[1].trouble[0].fatal, "which is a warning");
	is(p.peer[1].trouble[1].what, "2 ranks and 1 GPU", "too few GPUs");
	ok(p.peer[1].trouble[1].fatal && p.peer[1].bad, "are an error");
	is(p.peer[1].trouble[1].hint, "give it fewer slots", "with a way out");
	pair_end(&p);

	pair_begin(&p, "a,b", eight, none);
	p.plan.devices = true;
	run_compare(&p.run);
	is(only(&p.peer[1])->hint,
	    "is its driver loaded? --cpu trains without", "no GPU at all");
	pair_end(&p);

	pair_begin(&p, "a,b", none, none);
	p.plan.devices = true;
	run_compare(&p.run);
	ok(p.peer[1].troubles == 0, "where no host has one, none does");
	pair_end(&p);

	pair_begin(&p, "a,b", eight, one);
	run_compare(&p.run);
	ok(p.peer[1].troubles == 0, "ranks without devices need none");
	pair_end(&p);
}

static void
space(void)
{
	static const char *const big[] = { "disk_free=5e9", "shm_free=1e9",
		NULL };
	static const char *const small[] = { "disk_free=900e6",
		"shm_free=64e6", NULL };
	struct pair p;

	pair_begin(&p, "a,b", big, small);
	run_compare(&p.run);
	ok(p.peer[0].troubles == 0, "enough of both");
	ok(p.peer[1].troubles == 2, "too little of both");
	is(p.peer[1].trouble[0].what,
	    "the disk of the working folder has 900 MB left", "the disk");
	is(p.peer[1].trouble[1].what, "/dev/shm has 64 MB left",
	    "shared memory");
	pair_end(&p);
}

int
main(void)
{
	clocks();
	devices();
	space();
	return tap_done();
}
