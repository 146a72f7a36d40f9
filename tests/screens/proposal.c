/* SPDX-License-Identifier: Apache-2.0 */
/* The proposal of a form: what it counts on, and that it is one change. */
#include <stdlib.h>

#include "probes/fleet.h"
#include "tests/tap.h"
#include "tui/proposal.h"

static const char two_hosts[] =
    "accel_probe: 1\nmachines:\n"
    "- hostname: a\n  memory: 256000000000\n  gpus:\n"
    "  - {vendor: NVIDIA, model: A100, memory: 80000000000, usable: true, "
    "capability: \"8.0\"}\n"
    "  - {vendor: NVIDIA, model: A100, memory: 80000000000, usable: true, "
    "capability: \"8.0\"}\n"
    "  interfaces:\n  - {name: ib0, up: true, speed: 200000, rdma: mlx5_0}\n"
    "- hostname: b\n  memory: 256000000000\n  gpus:\n"
    "  - {vendor: NVIDIA, model: A100, memory: 80000000000, usable: true, "
    "capability: \"8.0\"}\n"
    "  - {vendor: NVIDIA, model: A100, memory: 80000000000, usable: true, "
    "capability: \"8.0\"}\n"
    "  interfaces:\n  - {name: ib0, up: true, speed: 200000, rdma: mlx5_0}\n";

static void
value(const struct form *f, enum field_id id, const char *want,
    const char *what)
{
	struct buf	text = BUF_INIT;

	config_get(form_now(f), id, &text);
	is(buf_text(&text), want, "%s", what);
	buf_clear(&text);
}

static void
here(struct machine *m)
{
	char	path[4096];

	snprintf(path, sizeof path, "%s/tests/machines/two-gpus.xml",
	    getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	setenv("HWLOC_XMLFILE", path, 1);
	ok(!machine_probe(m, NULL), "a machine is there");
	unsetenv("HWLOC_XMLFILE");
	for (size_t i = 0; i < m->gpus; i++)
		m->gpu[i].memory = 80000000000;
}

static void
test_one_change(const struct machine *m)
{
	struct form	f;
	struct err	err = ERR_INIT;
	struct buf	text = BUF_INIT, before = BUF_INIT;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	ok(proposal_text(&f, 76, &text, &err) < 0 && *err.text && *err.hint,
	    "without a model there is none, and what to do is said");
	ok(!text.len, "and no text");
	form_set(&f, ITEM_model, "1.3B", ORIGIN_USER, NULL);
	form_set(&f, ITEM_total, "32", ORIGIN_USER, NULL);
	config_print(form_now(&f), &before);
	ok(proposal_ways(&f, &err) == 3, "with one it has two alternatives");
	ok(!proposal_text(&f, 60, &text, &err) && strstr(buf_text(&text),
	    "Alternatives") && strstr(buf_text(&text), "optimizer"),
	    "and reasons, memory and alternatives");
	for (const char *p = buf_text(&text), *end; *p; p = end + 1) {
		end = strchr(p, '\n');
		if (end - p > 60)
			ok(0, "no line is wider than 60: %.*s",
			    (int)(end - p), p);
	}
	ok(!proposal_take(&f, 0, &err), "it is taken");
	value(&f, FIELD_main_num_processes, "2", "both GPUs are used");
	is(form_origin(&f, FIELD_main_distributed_type), "the proposal",
	    "and each value says whence it comes");
	ok(f.past[f.at].seed[ITEM_batch - (int)FIELD_COUNT] != NULL,
	    "the micro-batch is the memory estimate's");
	ok(!problems_fatal(&f.problems), "nothing is wrong with it");
	ok(form_undo(&f), "one undo");
	buf_clear(&text);
	config_print(form_now(&f), &text);
	is(buf_text(&text), buf_text(&before), "takes all of it back");
	ok(!proposal_take(&f, 2, &err), "an alternative is taken");
	ok(proposal_take(&f, 3, &err) < 0 && *err.text,
	    "there is no third one");
	form_set(&f, ITEM_model, "./none.json", ORIGIN_USER, NULL);
	ok(proposal_take(&f, 0, &err) < 0 && strstr(err.text, "none.json"),
	    "a model that cannot be read is said");
	buf_clear(&text);
	buf_clear(&before);
	form_clear(&f);
}

static void
test_too_large(const struct machine *m)
{
	struct form	f;
	struct err	err = ERR_INIT;
	struct buf	text = BUF_INIT;
	size_t		at;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	form_set(&f, ITEM_model, "400B", ORIGIN_USER, NULL);
	at = f.at;
	ok(proposal_ways(&f, &err) == 0, "a model that is too large has no "
	    "way");
	ok(proposal_take(&f, 0, &err) < 0 && f.at == at &&
	    form_propose(&f, &err) < 0 && f.at == at,
	    "nothing is changed then");
	ok(!proposal_text(&f, 76, &text, &err) && strstr(buf_text(&text),
	    "What would fit"), "what would fit is said");
	buf_clear(&text);
	form_clear(&f);
}

static void
test_hosts(const struct machine *m)
{
	struct fleet	fleet = FLEET_INIT;
	struct form	f;
	struct err	err = ERR_INIT;

	ok(!fleet_parse(&fleet, two_hosts, sizeof two_hosts - 1, "two", NULL,
	    &err), "two hosts: %s", err.text);
	form_open(&f, m, "./no-such-file.yaml", NULL);
	f.fleet = &fleet;
	form_set(&f, ITEM_model, "7B", ORIGIN_USER, NULL);
	ok(!proposal_take(&f, 0, &err), "the hosts that were named count");
	value(&f, FIELD_main_num_machines, "2", "two machines");
	value(&f, FIELD_main_num_processes, "4", "with two GPUs each");
	form_clear(&f);
	fleet_clear(&fleet);
}

int
main(void)
{
	struct machine	m;

	here(&m);
	test_one_change(&m);
	test_too_large(&m);
	test_hosts(&m);
	machine_clear(&m);
	return tap_done();
}
