/* SPDX-License-Identifier: Apache-2.0 */
/* The file of "accel probe": written, read, and read where it is wrong. */
#include "probes/fleet.h"

#include <stdlib.h>

#include "probes/attribute.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "tests/tap.h"

/* A value of its own for each member, so that none can be mistaken. */
static void
fill(const struct attribute *table, void *object, int salt)
{
	char text[64];
	int n = salt;

	for (const struct attribute *a = table; a->key; a++, n++) {
		const char *value = text;

		snprintf(text, sizeof text, a->type == ATTRIBUTE_TEXT ?
		    "%d: \"no\" #%d" : "%d", n, n);
		if (a->type == ATTRIBUTE_BOOL)
			value = "true";
		else if (a->type == ATTRIBUTE_CAPABILITY)
			value = "8.6";
		else if (a->type == ATTRIBUTE_LINK)
			value = "nvlink";
		else if (a->type == ATTRIBUTE_REAL)
			snprintf(text, sizeof text, "%d.3", n);
		ok(!attribute_set(a, object, value), "%s takes %s", a->key,
		    value);
	}
}

static void
fill_fleet(struct fleet *f)
{
	for (int i = 0; i < 2; i++) {
		struct machine *m = fleet_add(f);

		fill(machine_attributes, m, 100 * i + 1);
		for (const struct attribute_list *l = machine_lists; l->key;
		    l++)
			for (int k = 0; k < 2; k++)
				fill(l->of, l->add(m), 1000 * i + 300 * k + 7);
		m->link[0].a = m->link[1].a = 0;
		m->link[0].b = m->link[1].b = 1;
	}
	fill(between_attributes, fleet_add_between(f), 0);
}

static void
round_trip(void)
{
	struct fleet	one = FLEET_INIT, two = FLEET_INIT;
	struct buf	yaml = BUF_INIT, again = BUF_INIT, json = BUF_INIT;
	struct strv	warnings = STRV_INIT;
	struct err	err = ERR_INIT;

	fill_fleet(&one);
	ok(!fleet_yaml(&one, &yaml), "a fleet is written");
	ok(!fleet_parse(&two, buf_text(&yaml), yaml.len, "f.yaml", &warnings,
	    &err), "and read: %s", err.text);
	ok(!warnings.count, "without a warning");
	ok(!fleet_yaml(&two, &again), "and written again");
	is(buf_text(&again), buf_text(&yaml), "every fact comes back");
	fleet_clear(&two);
	ok(!fleet_json(&one, &json), "as JSON");
	ok(!fleet_parse(&two, buf_text(&json), json.len, "f.json", &warnings,
	    &err), "that is read too: %s", err.text);
	buf_clear(&again);
	fleet_yaml(&two, &again);
	is(buf_text(&again), buf_text(&yaml), "with the same facts");
	ok(!fleet_parse(&two, buf_text(&yaml), yaml.len, "f.yaml", NULL, &err) &&
	    two.count == 4 && two.between[1].from == 2,
	    "a second file adds, and its numbers move");
	fleet_clear(&one);
	fleet_clear(&two);
	buf_clear(&yaml);
	buf_clear(&again);
	buf_clear(&json);
	strv_clear(&warnings);
}

static void
wrongs(void)
{
	static const struct { const char *text, *says, *what; } rows[] = {
		{ "", "no facts of machines", "an empty file" },
		{ "[1, 2]", "no facts of machines", "a list" },
		{ "machines: []", "no \"accel_probe\"", "no version" },
		{ "accel_probe: 1", "no \"machines\"", "no machines" },
		{ "accel_probe: x\nmachines: []", "f:1:14: \"accel_probe\"",
		    "a version that is none" },
		{ "machines: []\naccel_probe: x", "f:2:14: \"accel_probe\"",
		    "the same behind the machines" },
		{ "accel_probe: 1\nmachines: 5", "f:2:11: \"machines\" is not "
		    "a list", "a number for a list" },
		{ "accel_probe: 1\nmachines:\n- 5", "f:3:3: here are no",
		    "a number for a machine" },
		{ "accel_probe: 1\nmachines:\n- cores: many",
		    "f:3:10: \"cores\" is not a whole number", "a word" },
		{ "accel_probe: 1\nmachines:\n- cores: -1", "f:3:10", "-1 cores" },
		{ "accel_probe: 1\nmachines:\n- memory: 9999999999999999999999",
		    "f:3:11: \"memory\" is not a number of bytes",
		    "too much memory" },
		{ "accel_probe: 1\nmachines:\n- cpu_limit: .nan", "f:3:14",
		    "no number" },
		{ "accel_probe: 1\nmachines:\n- gpus:\n  - capability: 9",
		    "f:4:17: \"capability\"", "half a capability" },
		{ "accel_probe: 1\nmachines:\n- gpus:\n  - model: x",
		    "GPU 0 has no vendor", "a GPU of nobody" },
		{ "accel_probe: 1\nmachines:\n- links:\n  - {a: 0, b: 1}",
		    "from GPU 0 to 1, of 0", "a link to nowhere" },
		{ "accel_probe: 1\nmachines: []\nnetwork:\n- {from: 0, to: 1}",
		    "from machine 0 to 1, of 0", "a network of nobody" },
		{ "{\"accel_probe\": 1, \"machines\": [", "f:", "half a JSON" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct fleet	f = FLEET_INIT;
		struct err	err = ERR_INIT;

		ok(fleet_parse(&f, rows[i].text, strlen(rows[i].text), "f",
		    NULL, &err) == -1 && strstr(err.text, rows[i].says) &&
		    !f.count, "%s is refused: %s", rows[i].what, err.text);
		fleet_clear(&f);
	}
}

static void
versions(void)
{
	static const char text[] = "accel_probe: 7\nmachines:\n"
	    "- hostname: later\n  cores: 4\n  qubits: 12\n  gpus:\n"
	    "  - vendor: NVIDIA\n  - vendor: NVIDIA\n  links:\n"
	    "  - {a: 0, b: 1, kind: photon}\n";
	static const char alone[] = "{\"host\": \"n1\", \"problem\": \"no\"}";
	struct fleet	f = FLEET_INIT;
	struct strv	warnings = STRV_INIT;
	struct err	err = ERR_INIT;

	ok(!fleet_parse(&f, text, sizeof text - 1, "m", &warnings, &err),
	    "what a later accel wrote is read: %s", err.text);
	ok(f.count == 1 && f.machine[0].cores == 4 && f.machine[0].cpus == 4 &&
	    f.machine[0].links == 1 && !f.machine[0].link[0].kind,
	    "as far as it is known");
	ok(warnings.count == 3 &&
	    strstr(warnings.item[0], "m: version 7 of the form") &&
	    strstr(warnings.item[1], "m:5:3: the key \"qubits\" is not known") &&
	    strstr(warnings.item[2], "\"photon\""), "and what is not, is said");
	fleet_clear(&f);
	ok(!fleet_parse(&f, alone, sizeof alone - 1, "row", &warnings, &err) &&
	    f.count == 1, "a row of one machine is read");
	is(f.machine[0].problem, "no", "with its problem");
	fleet_clear(&f);
	strv_clear(&warnings);
}

static void
terminal(void)
{
	static const char text[] = "accel_probe: 1\nmachines:\n"
	    "- hostname: \"a\\e[31mb\\n\"\n";
	struct fleet	f = FLEET_INIT;

	ok(!fleet_parse(&f, text, sizeof text - 1, "m", NULL, NULL),
	    "a name with a terminal's commands in it");
	is(f.machine[0].hostname, "a?[31mb?", "commands nothing");
	fleet_clear(&f);
}

int
main(void)
{
	round_trip();
	wrongs();
	versions();
	terminal();
	return tap_done();
}
