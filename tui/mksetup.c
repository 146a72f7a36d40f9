/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mksetup: prints accel-setup(1): the page in the file that is named, where the
 * line .\" KEYS is replaced by the keys, .\" RUN KEYS by those of the launch
 * screen, .\" FLAGS by the flags and .\" SEEDS by what the memory estimate asks.  make update-man keeps it in the tree.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/cli/setup.h"
#include "tui/page.h"
#include "tui/runview_screen.h"
#include "runtime/base/banned.h"

/* Where not everywhere: "In Training, Strategy: ". */
static void
add_keys(struct buf *out)
{
	for (size_t i = 0; i < binding_count; i++) {
		const struct binding *b = &bindings[i];
		const char *before = "In ";

		if (!*b->sentence)
			continue;
		buf_addf(out, ".It %s\n", b->name);
		for (int page = 0; page < STEP_COUNT; page++) {
			if ((b->where & ON_STEPS) == ON_STEPS ||
			    !(b->where & 1u << page))
				continue;
			buf_addf(out, "%s%s", before, pages[page]->title);
			before = ", ";
		}
		buf_addf(out, "%s%s.\n", *before == ',' ? ": " : "",
		    b->sentence);
	}
}

static void
add_run_keys(struct buf *out)
{
	for (size_t i = 0; i < run_binding_count; i++)
		if (*run_bindings[i].sentence)
			buf_addf(out, ".It %s\n%s.\n", *run_bindings[i].name ==
			    '-' ? "\\&-, +" : run_bindings[i].name,
			    run_bindings[i].sentence);
}

static void
add_flags(struct buf *out)
{
	for (const struct option *o = command_setup.options; o->name; o++)
		buf_addf(out, ".It Fl -%s%s%s\n%s.\n", o->name,
		    o->arg ? " Ar " : "", o->arg ? o->arg : "", o->what);
}

static void
add_seeds(struct buf *out)
{
	for (int i = FIELD_COUNT; i < ITEM_COUNT; i++)
		buf_addf(out, ".It %s\n%s\nWithout an answer: %s.\n%s\n",
		    item_row(i)->key, item_row(i)->ask, item_row(i)->def.s,
		    item_row(i)->help);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *mark;
		void (*add)(struct buf *out);
	} marks[] = {
		{ ".\\\" KEYS", add_keys }, { ".\\\" FLAGS", add_flags },
		{ ".\\\" SEEDS", add_seeds },
		{ ".\\\" RUN KEYS", add_run_keys },
	};
	enum { MARKS = sizeof marks / sizeof *marks };
	struct buf text = BUF_INIT, page = BUF_INIT;
	struct err err = ERR_INIT;
	bool seen[MARKS] = { false };
	int status = argc == 2 ? file_read(argv[1], &text, &err) :
	    err_set(&err, "usage: mksetup PAGE");

	for (const char *at = buf_text(&text); !status && *at; ) {
		size_t n = strcspn(at, "\n"), i = 0;

		while (i < MARKS && (n != strlen(marks[i].mark) ||
		    strncmp(at, marks[i].mark, n)))
			i++;
		if (i < MARKS) {
			marks[i].add(&page);
			seen[i] = true;
		} else
			buf_add(&page, at, n + (at[n] == '\n'));
		at += n + (at[n] == '\n');
	}
	for (size_t i = 0; !status && i < MARKS; i++)
		if (!seen[i])
			status = err_set(&err, "%s: no line %s", argv[1],
			    marks[i].mark);
	if (!status && (buf_failed(&page) || fputs(buf_text(&page), stdout) <
	    0 || fflush(stdout)))
		status = err_set(&err, "cannot write the page");
	if (status)
		err_print("mksetup", &err);
	buf_clear(&text);
	buf_clear(&page);
	return status ? 1 : 0;
}
