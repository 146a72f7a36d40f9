/* SPDX-License-Identifier: Apache-2.0 */
/* The session without a terminal, on described machines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tui/form.h"

static bool
shown(const struct form *f, enum field_id id)
{
	for (int i = form_beside(f, -1, 1); i >= 0; i = form_beside(f, i, 1))
		if (i == (int)id)
			return true;
	return false;
}

static void
proposes(const char *machine, const char *kind, const char *n,
    const char *mixed, const char *cpu)
{
	const struct { enum field_id id; const char *want; } all[] = {
		{ FIELD_main_distributed_type, kind },
		{ FIELD_main_num_processes, n },
		{ FIELD_main_mixed_precision, mixed },
		{ FIELD_main_use_cpu, cpu },
	};
	struct machine m;
	struct form f;
	struct err fault = ERR_INIT;
	char path[4096];

	if (strstr(machine, ".xml")) {
		snprintf(path, sizeof path, "%s/tests/machines/%s",
		    getenv("top_srcdir") ? getenv("top_srcdir") : ".", machine);
		setenv("HWLOC_XMLFILE", path, 1);
	} else
		setenv("HWLOC_SYNTHETIC", machine, 1);
	ok(!machine_probe(&m, NULL), "%s is probed", machine);
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_XMLFILE");
	ok(!form_open(&f, &m, "./no-such-file.yaml", NULL), "a form opens");
	for (size_t i = 0; i < 4; i++) {
		struct buf text = BUF_INIT;

		config_get(form_now(&f), all[i].id, &text);
		is(buf_text(&text), all[i].want, "%s is proposed",
		    fields[all[i].id].key);
		ok(form_now(&f)->origin[all[i].id] == ORIGIN_FOUND,
		    "as found");
		buf_clear(&text);
	}
	ok(*f.reason, "with a reason: %s", f.reason);
	ok(!config_check(form_now(&f), &fault), "and breaks no rule: %s",
	    fault.text);
	form_clear(&f);
	machine_clear(&m);
}

static void
walk(const struct machine *m)
{
	struct form f;
	struct buf start = BUF_INIT, end = BUF_INIT;
	size_t changes = 0, undone = 0, all;

	ok(!form_open(&f, m, "./no-such-file.yaml", NULL), "a walk begins");
	config_print(form_now(&f), &start);
	for (int step = 0; step < STEP_COUNT; step++)
		form_step(&f, step);
	ok(f.step == STEP_REVIEW, "through every step");
	form_step(&f, 99);
	ok(f.step == STEP_REVIEW, "and no further");
	all = f.shown;
	form_filter(&f, FILTER_ALL);
	ok(f.shown > all, "the advanced fields can be shown");
	form_filter(&f, FILTER_USUAL);
	ok(f.shown == all, "and hidden");
	for (size_t i = 0; i < 120; i++) {
		int id = form_item(&f);

		if (id >= 0 && !form_toggle(&f, id))
			changes++;
		form_move(&f, i % 7 ? 1 : -3);
		if (f.cursor + 1 == f.shown)
			f.cursor = 0;
	}
	ok(changes > 20, "%zu fields were changed", changes);
	while (form_undo(&f))
		undone++;
	ok(undone == changes, "all of it was taken back");
	config_print(form_now(&f), &end);
	is(buf_text(&end), buf_text(&start), "byte for byte");
	while (form_redo(&f))
		undone--;
	ok(!undone, "and made again");
	buf_clear(&start);
	buf_clear(&end);
	form_clear(&f);
}

static void
conditions(const struct machine *m)
{
	struct form f;
	struct err err = ERR_INIT;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	ok(!shown(&f, FIELD_main_main_process_ip), "an address is not asked");
	form_set(&f, FIELD_main_num_machines, "2", ORIGIN_USER, NULL);
	ok(shown(&f, FIELD_main_main_process_ip), "before there are machines");
	ok(form_set(&f, FIELD_main_num_machines, "many", ORIGIN_USER, &err) &&
	    *err.text && *f.message && f.bad, "a mistake is told: %s",
	    f.message);
	ok(form_undo(&f) && !shown(&f, FIELD_main_main_process_ip),
	    "and is no change to take back");
	form_clear(&f);
}

static void
files(const struct machine *m)
{
	char path[] = "form-XXXXXX";
	int fd = mkstemp(path);
	struct form f;
	struct err err = ERR_INIT;

	ok(fd >= 0 && write(fd, "no_such_key: [\n", 15) == 15,
	    "a damaged file");
	ok(form_open(&f, m, path, &err) && *err.text, "is refused: %s",
	    err.text);
	unlink(path);
	ok(!form_open(&f, m, path, &err) && form_unsaved(&f),
	    "a new one is not saved");
	ok(!form_save(&f, &err) && !form_unsaved(&f), "until it is");
	form_set(&f, FIELD_main_num_processes, "3", ORIGIN_USER, NULL);
	ok(form_unsaved(&f), "and again after a change");
	form_undo(&f);
	ok(!form_unsaved(&f), "that is taken back");
	form_clear(&f);
	errno = ENOENT;		/* of an earlier call: it says nothing */
	ok(!form_open(&f, m, path, &err) && !form_unsaved(&f) &&
	    f.saved.len, "it is opened");
	form_clear(&f);
	unlink(path);
	close(fd);
}

int
main(void)
{
	struct machine m;

	proposes("two-gpus.xml", "MULTI_GPU", "2", "bf16", "false");
	proposes("package:2 numa:1 core:4 pu:1", "MULTI_CPU", "2", "no",
	    "true");
	proposes("package:4 numa:1 core:4 pu:1", "MULTI_CPU", "4", "no",
	    "true");
	proposes("package:1 core:4 pu:1", "MULTI_CPU", "2", "no", "true");
	proposes("package:1 core:1 pu:1", "NO", "1", "no", "true");
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	ok(!machine_probe(&m, NULL), "a machine");
	walk(&m);
	conditions(&m);
	files(&m);
	machine_clear(&m);
	return tap_done();
}
