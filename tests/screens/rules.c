/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that a file can break: its text on Checks, the way to its field, and
 * the text below the field. */
#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/tap.h"
#include "tests/unit/rules_cases.h"
#include "tui/form.h"
#include "tui/page.h"
#include "tui/screen.h"

/* So wide that no text is broken. */
enum { ROWS = 100, COLUMNS = 1400 };

static bool
on_screen(struct screen *s, const char *text)
{
	bool found = false;

	screen_draw(s);
	for (int y = 0; y < ROWS && !found; y++) {
		static wchar_t wide[COLUMNS + 1];
		static char line[4 * COLUMNS + 1];

		mvinnwstr(y, 0, wide, COLUMNS);
		if (wcstombs(line, wide, sizeof line) != (size_t)-1)
			found = strstr(line, text) != NULL;
	}
	if (!found)
		printf("# lacks: %s\n", text);
	return found;
}

/* The problem of that rule, or NULL. */
static const struct problem *
problem_of(const struct form *f, const char *id, size_t *at)
{
	for (*at = 0; *at < f->problems.count; ++*at)
		if (!strcmp(f->problems.item[*at].id, id))
			return &f->problems.item[*at];
	return NULL;
}

static void
show(const struct machine *m, const char *id, const struct half *half)
{
	struct form f;
	struct screen s = { .form = &f };
	struct err err = ERR_INIT;
	const struct problem *p;
	char what[1024];
	size_t at;
	int field;

	form_open(&f, m, "./no-such-file.yaml", NULL);
	f.site = half->site;
	if (form_take(&f, half->yaml, strlen(half->yaml), "case", &err)) {
		ok(false, "%s: %s", id, err.text);
		form_clear(&f);
		return;
	}
	if (half->site.parameters > 0) {
		snprintf(what, sizeof what, "%.0f", half->site.parameters);
		form_set(&f, ITEM_model, what, ORIGIN_USER, NULL);
	}
	p = problem_of(&f, id, &at);
	ok(p, "%s is found", id);
	if (p) {
		snprintf(what, sizeof what, "%s", p->what);
		field = p->field;
		screen_open(&s, NULL);
		screen_go(&s, STEP_CHECKS);
		s.row[STEP_CHECKS] = at;
		ok(on_screen(&s, what), "its text is on Checks");
		screen_key(&s, '\n', false);
		if (field >= 0) {
			ok(form_item(&f) == field && s.page ==
			    (int)item_step(field), "Enter goes to its field");
			/* The first problem of a field is the one below it. */
			snprintf(what, sizeof what, "%s",
			    form_problem(&f, field)->what);
			ok(on_screen(&s, what), "which says it");
		} else
			ok(s.page == STEP_CHECKS, "it has no field");
		screen_close(&s);
	}
	form_clear(&f);
}

int
main(void)
{
	FILE *out = fopen("/dev/null", "w"), *in = fopen("/dev/null", "r");
	struct machine m;
	SCREEN *terminal;
	int shown = 0;

	setlocale(LC_CTYPE, "C.UTF-8");
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	ok(!machine_probe(&m, NULL), "a machine");
	terminal = newterm("vt100", out, in);
	if (!terminal) {
		skip("no vt100 in terminfo");
		return tap_done();
	}
	resizeterm(ROWS, COLUMNS);
	for (size_t i = 0; i < CASES; i++) {
		const struct half *bad = &cases[i].bad;

		/* What flags alone can say, and what hosts have. */
		if (bad->flags[0] || bad->site.hosts || bad->site.json.read)
			continue;
		show(&m, cases[i].id, bad);
		shown++;
	}
	ok(shown > 80, "%d rules", shown);
	endwin();
	delscreen(terminal);
	fclose(out);
	fclose(in);
	machine_clear(&m);
	return tap_done();
}
