/* SPDX-License-Identifier: Apache-2.0 */
/* What a job does after a run of it: restarts, hosts that go and come. */
#include "runtime/base/err.h"
#include "runtime/launch/elastic.h"
#include "tests/tap.h"

static struct hosts	all;
static struct elastic	e;
static struct err	err;

static void
begin(const char *nnodes, long restarts)
{
	elastic_clear(&e);
	if (elastic_init(&e, &all, nnodes, restarts, &err) < 0)
		printf("# %s\n", err.text);
}

/* Who takes part now: "a b c" without the others. */
static const char *
present(void)
{
	static char	 names[64];
	struct hosts	 in, out;

	names[0] = '\0';
	if (elastic_hosts(&e, &in, &out, &err) < 0)
		return "?";
	for (size_t i = 0; i < in.count; i++)
		strncat(names, in.host[i].name, 8);
	strncat(names, "-", 2);
	for (size_t i = 0; i < out.count; i++)
		strncat(names, out.host[i].name, 8);
	hosts_clear(&in);
	hosts_clear(&out);
	return names;
}

int
main(void)
{
	static const bool none[4], second[4] = { false, true };
	static const bool first[4] = { true };

	hosts_add(&all, "a:2,b:2,c:2,d:2", &err);

	begin(NULL, 0);
	is(present(), "abcd-", "all hosts take part");
	ok(!elastic_again(&e, ENDED, none), "what ended is over");
	ok(!elastic_again(&e, ENDED_BY_RANK, none), "no restart unasked");
	ok(!elastic_again(&e, ENDED_AT_START, second), "nor without a host");

	begin(NULL, 2);
	ok(elastic_again(&e, ENDED_BY_RANK, none) && e.restarts == 1,
	    "a failed rank is a restart");
	ok(elastic_again(&e, ENDED_BY_HOST, second) && e.restarts == 2,
	    "so is a lost host");
	is(present(), "abcd-", "which is waited for, as all are needed");
	ok(!elastic_again(&e, ENDED_BY_RANK, none), "two, and no third");

	begin("2:4", 9);
	ok(elastic_again(&e, ENDED_AT_START, second) && e.restarts == 0,
	    "to begin without a host is no restart");
	is(present(), "acd-b", "it is missing");
	ok(elastic_again(&e, ENDED_BY_HOST, second) && e.restarts == 1,
	    "the second of those present goes");
	is(present(), "ad-bc", "two are left");
	ok(elastic_again(&e, ENDED_BY_RETURN, none), "one comes back");
	is(present(), "abcd-", "all are tried");
	ok(elastic_again(&e, ENDED_AT_START, second), "one cannot");
	ok(elastic_again(&e, ENDED_BY_HOST, first), "another goes");
	is(present(), "cd-ab", "two are left");
	ok(!elastic_again(&e, ENDED_BY_HOST, first), "one is too few");

	begin("2", 1);
	is(present(), "ab-", "of more hosts than wanted, the first");
	ok(elastic_again(&e, ENDED_BY_HOST, first), "one goes");
	is(present(), "bc-a", "a spare one takes its place");

	elastic_clear(&e);
	ok(elastic_init(&e, &all, "5", 0, &err) < 0, "more than there are");
	is(err.text, "--nnodes 5: 4 hosts were given", "is said");
	ok(elastic_init(&e, &all, "3:2", 0, &err) < 0, "least over most");
	ok(elastic_init(&e, &all, "two", 0, &err) < 0, "and a word as well");
	elastic_clear(&e);
	hosts_clear(&all);
	return tap_done();
}
