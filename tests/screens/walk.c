/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk: the form's laws, on walks that a seed decides.
 *
 * Each field is shown and hidden, each choice taken; any way through the screens
 * ends in the file of the straight one; n changes and n undos are the start,
 * byte for byte; a draft gives back what was answered.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/config/words.h"
#include "tests/tap.h"
#include "tui/draft.h"
#include "tui/form.h"
#include "tui/minimal.h"

static uint64_t state = 20260711;

static uint32_t
draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* A value that the item takes. */
static void
some_value(const struct form *f, int item, char *text, size_t room)
{
	const struct field *row = item_row(item);
	size_t n = form_choices(f, item);

	if (row->type == TYPE_BOOL)
		snprintf(text, room, draw(2) ? "true" : "false");
	else if (n)
		snprintf(text, room, "%s", row->choice[draw((uint32_t)n)].word);
	else if (row->type == TYPE_INT)
		snprintf(text, room, "%ld", (long)row->lo + 3 >
		    (long)row->hi ? (long)row->lo + draw(2) :
		    (long)row->lo + draw(4));
	else if (row->type == TYPE_REAL)
		snprintf(text, room, "%.9g", row->lo + (row->hi - row->lo) / 2);
	else if (item == ITEM_model)
		snprintf(text, room, "%u", 1000 + draw(1000));
	else
		snprintf(text, room, "%s", draw(3) ? "x" : "");
}

static bool
asked(int item)
{
	return !(item_row(item)->flags & FIELD_FLAGONLY);
}

static bool
listed(struct form *f, int item)
{
	form_step(f, (int)item_step(item));
	for (size_t i = 0; i < f->shown; i++)
		if (f->list[i] == item)
			return true;
	return false;
}

/* Shown and hidden by conditions; the walk ends when all were both. */
static void
conditions(const struct machine *m)
{
	static bool seen[ITEM_COUNT], hidden[ITEM_COUNT];
	struct form f;
	int left = ITEM_COUNT, turns;

	ok(!form_open(&f, m, "./no-such-file.yaml", NULL), "a form");
	for (turns = 0; left && turns < 60000; turns++) {
		int item = (int)draw(ITEM_COUNT);
		char text[64];

		some_value(&f, item, text, sizeof text);
		/* Both kinds of place, but mostly ours. */
		if (item == FIELD_main_compute_environment && draw(4))
			snprintf(text, sizeof text, "LOCAL_MACHINE");
		if (asked(item))
			form_set(&f, item, text, ORIGIN_FILE, NULL);
		left = 0;
		for (int i = 0; i < ITEM_COUNT; i++) {
			if (!asked(i))
				continue;
			if (form_applies(&f, i))
				seen[i] = true;
			else
				hidden[i] = true;
			left += !seen[i] || (!hidden[i] &&
			    (strcmp(item_row(i)->when_text, "true") ||
			    item_row(i)->flags & FIELD_CLOUD));
		}
	}
	for (int i = 0; i < ITEM_COUNT; i++) {
		if (!asked(i))
			continue;
		ok(seen[i], "%s was shown", item_row(i)->key);
		ok(hidden[i] || !strcmp(item_row(i)->when_text, "true"),
		    "and hidden, unless it always applies");
	}
	printf("# %d turns\n", turns);
	form_clear(&f);
}

/* On the screen: the filters, and what a condition does to the list. */
static void
filters(const struct machine *m)
{
	struct form f;
	int all = 0;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	ok(!listed(&f, FIELD_fsdp_version), "FSDP's fields are not listed");
	form_set(&f, FIELD_main_distributed_type, "FSDP", ORIGIN_USER, NULL);
	ok(listed(&f, FIELD_fsdp_version), "before there is FSDP");
	ok(!listed(&f, FIELD_fsdp_ignored_modules), "nor one for experts");
	form_filter(&f, FILTER_ALL);
	for (int i = 0; i < ITEM_COUNT; i++)
		if (asked(i)) {
			all++;
			ok(listed(&f, i), "%s is listed with the rest",
			    item_row(i)->key);
		}
	ok(all > 120, "%d items", all);
	ok(item_step(FIELD_main_num_processes) == STEP_TRAINING &&
	    item_step(FIELD_mpirun_hostfile) == STEP_STRATEGY &&
	    item_step(FIELD_fp8_format) == STEP_TRAINING,
	    "each on the step that it is about");
	form_filter(&f, FILTER_CHANGED);
	ok(f.shown == 1 && f.list[0] == FIELD_main_distributed_type,
	    "one was changed");
	form_filter(&f, FILTER_USUAL);
	form_go(&f, FIELD_megatron_tp_degree);
	ok(form_item(&f) == FIELD_megatron_tp_degree &&
	    f.filter == FILTER_ALL && f.step == STEP_STRATEGY,
	    "a jump shows what it goes to");
	form_clear(&f);
}

static void
choices(const struct machine *m)
{
	struct form f;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	for (int item = 0; item < ITEM_COUNT; item++) {
		const struct field *row = item_row(item);

		for (size_t i = 0; i < form_choices(&f, item); i++) {
			struct buf text = BUF_INIT;

			form_set(&f, item, row->choice[i].word, ORIGIN_USER,
			    NULL);
			form_text(&f, item, &text);
			is(buf_text(&text), row->choice[i].word, "%s",
			    row->key);
			buf_clear(&text);
			ok(*row->choice[i].what, "has a meaning");
		}
		form_set(&f, FIELD_main_compute_environment, "LOCAL_MACHINE",
		    ORIGIN_USER, NULL);
	}
	form_clear(&f);
}

/* The same answers in the end, by any way. */
static void
ways(const struct machine *m)
{
	static char want[ITEM_COUNT][64];
	struct form straight, wild;
	struct buf model = BUF_INIT;

	form_open(&straight, m, "./no-such-file.yaml", NULL);
	form_open(&wild, m, "./no-such-file.yaml", NULL);
	for (int i = 0; i < ITEM_COUNT; i++)
		some_value(&straight, i, want[i], sizeof want[i]);
	snprintf(want[FIELD_main_compute_environment], 64, "LOCAL_MACHINE");
	for (int i = 0; i < ITEM_COUNT; i++)
		if (asked(i))
			form_set(&straight, i, want[i], ORIGIN_USER, NULL);
	for (int i = 0; i < 1500; i++) {
		int item = (int)draw(ITEM_COUNT);
		char text[64];

		switch (draw(8)) {
		case 0:	form_undo(&wild); break;
		case 1:	form_redo(&wild); break;
		case 2:	form_step(&wild, (int)draw(8) - 1); break;
		case 3:	form_move(&wild, (long)draw(9) - 4); break;
		case 4:	form_filter(&wild, (enum filter)draw(3)); break;
		case 5:
			if (form_item(&wild) >= 0)
				form_toggle(&wild, form_item(&wild));
			break;
		case 6:	form_set(&wild, item, "no such value", ORIGIN_USER,
			    NULL);
			break;
		default:
			some_value(&wild, item, text, sizeof text);
			if (asked(item))
				form_set(&wild, item, text, ORIGIN_USER, NULL);
		}
	}
	/* In another order, each twice. */
	for (int k = 0; k < 2; k++)
		for (int i = ITEM_COUNT - 1; i >= 0; i--)
			if (asked(i))
				form_set(&wild, i, want[i], ORIGIN_USER, NULL);
	is(buf_text(&wild.text), buf_text(&straight.text),
	    "a wild way ends in the same file");
	form_text(&wild, ITEM_model, &model);
	is(buf_text(&model), want[ITEM_model], "with the same model");
	buf_clear(&model);
	form_clear(&straight);
	form_clear(&wild);
}

static void
undo(const struct machine *m)
{
	struct form f;
	struct buf start = BUF_INIT, end = BUF_INIT;
	int changes = 0, undone = 0, redone = 0;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	draft_print(&f, &start);
	for (int step = 0; changes < 200; step++) {
		char text[64];
		int item;

		form_step(&f, step % STEP_COUNT);
		item = (int)draw(ITEM_COUNT);
		some_value(&f, item, text, sizeof text);
		if (asked(item) && !form_set(&f, item, text, ORIGIN_USER,
		    NULL))
			changes++;
	}
	while (form_undo(&f))
		undone++;
	ok(undone == 200, "200 changes are taken back: %d", undone);
	form_step(&f, 0);
	draft_print(&f, &end);
	is(buf_text(&end), buf_text(&start), "byte for byte, origins too");
	while (form_redo(&f))
		redone++;
	ok(redone == 200, "and made again");
	form_toggle(&f, FIELD_main_debug);
	for (undone = 0; form_undo(&f); )
		undone++;
	ok(undone == 200, "of 201, the last 200");
	buf_clear(&start);
	buf_clear(&end);
	form_clear(&f);
}

static void
drafts(const struct machine *m)
{
	static const char *const damaged[] = {
		"", "\n", "accel-setup draft 2\n", "accel-setup draft 1",
		"accel-setup draft 1\nuser", "accel-setup draft 1\nuser x\n",
		"accel-setup draft 1\nuser num_machines=many\n",
		"accel-setup draft 1\nseed sequence_length=0\n",
		"accel-setup draft 1\nuser debug=tr",
	};
	struct form f, g;
	struct buf text = BUF_INIT, again = BUF_INIT;
	struct err err = ERR_INIT;
	bool stale;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	for (int i = 0; i < 120; i++) {
		int item = (int)draw(ITEM_COUNT);
		char value[64];

		some_value(&f, item, value, sizeof value);
		if (asked(item))
			form_set(&f, item, value, ORIGIN_USER, NULL);
	}
	form_set(&f, FIELD_main_rdzv_backend, "a\\b\nc=d", ORIGIN_USER, NULL);
	form_set(&f, FIELD_main_num_machines, "many\n\\", ORIGIN_USER, NULL);
	form_step(&f, STEP_STRATEGY);
	ok(!draft_print(&f, &text), "a draft");
	form_open(&g, m, "./no-such-file.yaml", NULL);
	ok(!draft_parse(&g, text.data, text.len, "d", &stale, &err) && !stale,
	    "is read: %s", err.text);
	is(buf_text(&g.text), buf_text(&f.text), "with the same file");
	ok(g.step == STEP_STRATEGY, "on the same step");
	is(g.refused[FIELD_main_num_machines], "many\n\\",
	    "with what was no value");
	draft_print(&g, &again);
	is(buf_text(&again), buf_text(&text), "and is the same draft again");
	ok(form_undo(&g) && !form_undo(&g), "as one change");
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		err = (struct err)ERR_INIT;
		ok(draft_parse(&g, damaged[i], strlen(damaged[i]), "d",
		    &stale, &err) && *err.text && !g.at,
		    "a damaged one changes nothing: %s", err.text);
	}
	ok(!draft_parse(&g, "accel-setup draft 1\nbase 0\nuser new_key=1\n",
	    42, "d", &stale, NULL) && stale,
	    "of another version, and of another file");
	buf_clear(&text);
	buf_clear(&again);
	form_clear(&f);
	form_clear(&g);
}

/* The least file means the same. */
static void
minimal(const struct machine *m)
{
	bool same = true;

	for (int round = 0; same && round < 30; round++) {
		struct form f;
		struct buf text = BUF_INIT, back = BUF_INIT, want = BUF_INIT;
		struct config c, whole;
		struct err err = ERR_INIT;

		form_open(&f, m, "./no-such-file.yaml", NULL);
		for (int i = 0; i < 60; i++) {
			int item = (int)draw(FIELD_COUNT);
			char value[64];

			some_value(&f, item, value, sizeof value);
			if (asked(item))
				form_set(&f, item, value, ORIGIN_USER, NULL);
		}
		list_minimal(&f, &text);
		config_init(&c);
		config_init(&whole);
		same = !config_parse(&c, buf_text(&text), text.len, "m",
		    &err) && !config_parse(&whole, buf_text(&f.text),
		    f.text.len, "w", &err);
		for (int i = 0; same && i < FIELD_COUNT; i++) {
			if (!asked(i) || !form_applies(&f, i))
				continue;
			buf_clear(&back);
			buf_clear(&want);
			config_get(&c, (enum field_id)i, &back);
			config_get(&whole, (enum field_id)i, &want);
			same = !strcmp(buf_text(&back), buf_text(&want));
			if (!same)
				printf("# %s: %s, not %s\n", fields[i].key,
				    buf_text(&back), buf_text(&want));
		}
		if (*err.text)
			printf("# %s\n%s", err.text, buf_text(&text));
		config_clear(&c);
		config_clear(&whole);
		buf_clear(&text);
		buf_clear(&back);
		buf_clear(&want);
		form_clear(&f);
	}
	ok(same, "the least file means the same");
}

int
main(void)
{
	struct machine m;

	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	ok(!machine_probe(&m, NULL), "a machine");
	conditions(&m);
	filters(&m);
	choices(&m);
	ways(&m);
	undo(&m);
	drafts(&m);
	minimal(&m);
	machine_clear(&m);
	return tap_done();
}
