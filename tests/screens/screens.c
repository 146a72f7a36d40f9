/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screens: real curses without a terminal.  Keys go in, and what would be shown
 * is compared with NAME.screen: the text, and below it the attributes, "r"
 * reverse, "b" bold, "u" underlined.  UPDATE=1 ("make update-screens") writes
 * those files into the source.
 */
#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "runtime/base/file.h"
#include "tests/tap.h"
#include "tui/form.h"
#include "tui/screen.h"

static const struct {
	const char	*name;
	int		 rows, columns;
	bool		 ascii;
	const char	*keys;		/* \1 = Down, \2 = F1 */
} cases[] = {
	{ "start-80x24", 24, 80, false, "" },
	{ "training-80x24", 24, 80, false, "3\1\1" },
	{ "choices-80x24", 24, 80, false, "4\n\1" },
	{ "text-80x24", 24, 80, false, "3\1\n\025many\n" },
	{ "help-80x24", 24, 80, false, "4?" },
	{ "keys-80x24", 24, 80, false, "\2" },
	{ "review-80x24", 24, 80, false, "6" },
	{ "problems-80x24", 24, 80, false, "3\1\n\0253\n5" },
	{ "quit-80x24", 24, 80, false, "q" },
	{ "fsdp-100x30", 30, 100, false, "4\n4\n\1\1\1\1\1\1\1" },
	{ "training-60x16", 16, 60, false, "3" },
	{ "file-60x16", 16, 60, false, "37" },
	{ "ascii-80x24", 24, 80, true, "3" },
	{ "small-50x10", 10, 50, false, "" },
};

static void
press(struct screen *s, const char *keys)
{
	for (; *keys; keys++) {
		screen_draw(s);
		if (*keys == '\1')
			screen_key(s, KEY_DOWN, true);
		else if (*keys == '\2')
			screen_key(s, KEY_F(1), true);
		else
			screen_key(s, *keys, false);
	}
	screen_draw(s);
}

/* Without the blanks at the ends of lines, which editors eat. */
static void
trim(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_adds(out, "\n");
}

static void
snapshot(struct buf *out)
{
	int rows, columns, y, x;

	getyx(stdscr, y, x);
	buf_addf(out, "cursor %d,%d\n", y, x);
	getmaxyx(stdscr, rows, columns);
	for (y = 0; y < rows; y++) {
		wchar_t line[256];

		mvinnwstr(y, 0, line, columns);
		buf_addf(out, "%ls", line);
		trim(out);
	}
	for (y = 0; y < rows; y++) {
		for (x = 0; x < columns; x++) {
			chtype c = mvinch(y, x);

			buf_adds(out, c & A_REVERSE ? "r" : c & A_BOLD ? "b" :
			    c & A_UNDERLINE ? "u" : " ");
		}
		trim(out);
	}
}

static void
compare(const char *name, const struct buf *got)
{
	const char *src = getenv("top_srcdir");
	struct buf want = BUF_INIT;
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/screens/%s.screen",
	    src ? src : ".", name);
	if (getenv("UPDATE"))
		file_replace(path, got->data, got->len, 0644, NULL);
	file_read(path, &want, NULL);
	is(buf_text(got), buf_text(&want), "%s", name);
	buf_clear(&want);
}

int
main(void)
{
	struct machine m;
	char path[4096];

	setlocale(LC_CTYPE, "C.UTF-8");
	snprintf(path, sizeof path, "%s/tests/machines/two-gpus.xml",
	    getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	setenv("HWLOC_XMLFILE", path, 1);
	ok(!machine_probe(&m, NULL), "a machine");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		FILE *out = fopen("/dev/null", "w"), *in = fopen("/dev/null",
		    "r");
		SCREEN *terminal = newterm("vt100", out, in);
		struct buf got = BUF_INIT, again = BUF_INIT;
		struct form f;
		struct screen s = { .form = &f, .ascii = cases[i].ascii };

		if (!terminal) {
			skip("no vt100 in terminfo");
			continue;
		}
		form_open(&f, &m, "./no-such-file.yaml", NULL);
		resizeterm(cases[i].rows, cases[i].columns);
		screen_open(&s, NULL);
		screen_setup(&s);
		press(&s, cases[i].keys);
		snapshot(&got);
		resizeterm(16, 60);
		screen_draw(&s);
		resizeterm(3, 9);
		screen_draw(&s);
		resizeterm(cases[i].rows, cases[i].columns);
		screen_draw(&s);
		snapshot(&again);
		endwin();
		screen_close(&s);
		delscreen(terminal);
		fclose(out);
		fclose(in);
		compare(cases[i].name, &got);
		is(buf_text(&again), buf_text(&got), "the same after resizes");
		buf_clear(&got);
		buf_clear(&again);
		form_clear(&f);
	}
	machine_clear(&m);
	return tap_done();
}
