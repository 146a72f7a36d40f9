/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys: any keys, in any order, at any size: no crash, no dead end, the
 * cursor in sight.  "keys [SECONDS [SEED]]" goes on for that long ("make keys", which
 * .ci/run runs under the sanitizers); without, a few thousand keys.
 */
#include <curses.h>
#include <dirent.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "tests/tap.h"
#include "tui/form.h"
#include "tui/page.h"
#include "tui/screen.h"

enum { KEYS = 3000, ROUND = 400 };

static uint64_t state;

static uint32_t
draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* A curses key, a letter that means something, or any character.  Nothing that
 * leads out of the folder of this test. */
static void
press(struct screen *s)
{
	static const int codes[] = { KEY_UP, KEY_DOWN, KEY_LEFT, KEY_RIGHT,
	    KEY_PPAGE, KEY_NPAGE, KEY_HOME, KEY_END, KEY_BTAB, KEY_F(1),
	    KEY_F(2), KEY_F(5), KEY_BACKSPACE, KEY_DC, KEY_ENTER, KEY_RESIZE,
	    KEY_MOUSE, KEY_F(60) };
	static const int plain[] = { '\n', ' ', 27, '\t', 127, 1, 5, 11, 21,
	    23, 0xe9, 0x65e5, 0x1f600, 0x301, 0xd800, 0x10ffff };
	int key;

	if (s->popup.kind != POPUP_LINE && draw(40) == 0) {
		key = '/';
	} else if (draw(3) == 0) {
		screen_key(s, codes[draw(sizeof codes / sizeof *codes)], true);
		return;
	} else if (draw(3) == 0) {
		key = plain[draw(sizeof plain / sizeof *plain)];
	} else if (draw(2)) {
		key = bindings[draw((uint32_t)binding_count)].key;
		if (key >= KEY_MIN || key == '/')
			key = '\n';
	} else {
		do
			key = (int)(' ' + draw(95));
		while (strchr("/.~", key));
	}
	screen_key(s, key, false);
}

/* Esc closes what is open, and q leaves, after a question at most. */
static bool
gets_out(struct screen *s)
{
	bool out;

	for (int i = 0; i < 3 && s->popup.kind != POPUP_NONE; i++)
		screen_key(s, 27, false);
	if (s->popup.kind == POPUP_NONE && s->done == DONE_NOT)
		screen_key(s, 'q', false);
	if (s->done == DONE_NOT)
		screen_key(s, 'q', false);
	out = s->done != DONE_NOT;
	s->done = DONE_NOT;
	popup_close(s);
	return out;
}

static bool
cursor_inside(void)
{
	int y, x, rows, columns;

	getyx(stdscr, y, x);
	getmaxyx(stdscr, rows, columns);
	return y >= 0 && y < rows && x >= 0 && x < columns;
}

/* One session; false, with the keys that led there, where a law is broken. */
static bool
session(const struct machine *m, unsigned long keys)
{
	static const struct { int rows, columns; } sizes[] = {
		{ 24, 80 }, { 16, 60 }, { 30, 100 }, { 100, 300 }, { 15, 59 },
		{ 1, 1 }, { 17, 71 },
	};
	struct form f;
	struct screen s = { .form = &f };
	bool good;

	if (form_open(&f, m, "c.yaml", NULL))
		return false;
	good = !screen_open(&s, NULL);
	screen_setup(&s);
	for (unsigned long i = 0; good && i < keys; i++) {
		if (draw(30) == 0) {
			size_t k = draw(sizeof sizes / sizeof *sizes);

			resizeterm(sizes[k].rows, sizes[k].columns);
		}
		screen_draw(&s);
		good = cursor_inside();
		if (draw(12) == 0)
			screen_click(&s, (int)draw((uint32_t)LINES),
			    (int)draw((uint32_t)COLS));
		else
			press(&s);
		if (s.done != DONE_NOT) {
			s.done = DONE_NOT;
			popup_close(&s);
		}
	}
	if (!good)
		printf("# the cursor is outside\n");
	if (good && !gets_out(&s)) {
		printf("# no way out of page %d\n", s.page);
		good = false;
	}
	screen_close(&s);
	form_clear(&f);
	return good;
}

/* The files that the keys have written; there are no folders. */
static void
empty(void)
{
	DIR *here = opendir(".");
	struct dirent *entry;

	while (here && (entry = readdir(here)))
		unlink(entry->d_name);
	if (here)
		closedir(here);
}

int
main(int argc, char **argv)
{
	FILE *out = fopen("/dev/null", "w"), *in = fopen("/dev/null", "r");
	struct machine m;
	char dir[] = "keys-XXXXXX";
	long seconds = 0, seed = 1;
	unsigned long keys = 0;
	int64_t end;
	SCREEN *terminal;
	bool good = true;

	setlocale(LC_CTYPE, "C.UTF-8");
	if ((argc > 1 && num_parse(argv[1], 0, 86400, &seconds)) ||
	    (argc > 2 && num_parse(argv[2], 0, 99999999999, &seed)))
		return fputs("usage: keys [SECONDS [SEED]]\n", stderr), 2;
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	ok(!machine_probe(&m, NULL), "a machine");
	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	terminal = newterm("vt100", out, in);
	if (!terminal) {
		skip("no vt100 in terminfo");
		return tap_done();
	}
	end = clock_ms() + seconds * 1000;
	do {
		state = (uint64_t)seed;
		good = session(&m, ROUND);
		if (!good)
			printf("# again with: keys 1 %ld\n", seed);
		keys += ROUND;
		seed++;
		empty();
	} while (good && (seconds ? clock_ms() < end : keys < KEYS));
	ok(good, "%lu keys, without a crash and a dead end", keys);
	endwin();
	delscreen(terminal);
	fclose(out);
	fclose(in);
	machine_clear(&m);
	if (chdir("..") || rmdir(dir))
		return 1;
	return tap_done();
}
