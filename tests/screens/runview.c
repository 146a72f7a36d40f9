/* SPDX-License-Identifier: Apache-2.0 */
/* The launch screen on a curses without a terminal: events and keys go in, and
 * what would be shown is compared with run-NAME.screen. */
#include <curses.h>
#include <locale.h>

#include "tests/screens/snapshot.h"
#include "tui/runview.h"
#include "tui/runview_screen.h"
#include "tui/screen.h"

enum { DOWN = 1, RIGHT = 2, PAGEUP = 3 };

#define PLAN	\
	"{\"event\":\"plan\",\"record\":\"/home/me/run.json\",\"hosts\":"	\
	"[\"node1\",\"node2\"],\"ranks\":[0,0,1,1],\"gpus\":[0,1,0,1]}\n"
#define START	\
	"{\"event\":\"host\",\"number\":0,\"state\":\"running\"}\n"	\
	"{\"event\":\"host\",\"number\":1,\"state\":\"running\"}\n"	\
	"{\"event\":\"start\",\"rank\":0,\"pid\":4711}\n"	\
	"{\"event\":\"start\",\"rank\":1,\"pid\":4712}\n"	\
	"{\"event\":\"start\",\"rank\":2,\"pid\":815}\n"	\
	"{\"event\":\"start\",\"rank\":3,\"pid\":816}\n"
#define USAGE	\
	"{\"event\":\"usage\",\"number\":0,\"cpus\":64,\"cpu\":12.34,"	\
	"\"memory\":126701535232,\"memory_total\":2198754148352,\"gpus\":["	\
	"{\"index\":0,\"busy\":0.97,\"memory\":65498251264,"	\
	"\"memory_total\":85899345920},{\"index\":1,\"busy\":0.95,"	\
	"\"memory\":64424509440,\"memory_total\":85899345920}],\"ranks\":["	\
	"{\"rank\":0,\"cpu\":1.02,\"memory\":12992276070},"	\
	"{\"rank\":1,\"cpu\":0.98,\"memory\":536870912}]}\n"
#define LINE(rank, text)	\
	"{\"event\":\"line\",\"rank\":" #rank ",\"stream\":\"stdout\","	\
	"\"text\":\"" text "\"}\n"
#define ALL(text)	\
	LINE(0, text) LINE(1, text) LINE(2, text) LINE(3, text)
#define OUTPUT	\
	ALL("loading the data set") LINE(2, "a cache of its own: /tmp/x")	\
	ALL("step 1 loss=2.5 10.0 it/s") ALL("step 2 loss=1.5 11.0 it/s")	\
	ALL("step 3 loss=1.1 12.0 it/s") ALL("step 4 loss=0.9 12.5 it/s")	\
	LINE(0, "a line that is longer than any of these screens is wide, "	\
	"which is why it ends in a sign that says so, and the arrows show "	\
	"what stands behind: here it is")
#define FAIL	\
	"{\"event\":\"exit\",\"rank\":3,\"exit_code\":1,\"why\":\"x\"}\n"	\
	"{\"event\":\"failure\",\"rank\":3,\"host\":\"node2\",\"why\":"	\
	"\"exit code 1: ValueError: loss is nan\",\"lines\":["	\
	"\"Traceback (most recent call last):\","	\
	"\"  File \\\"train.py\\\", line 12, in <module>\","	\
	"\"ValueError: loss is nan\"]}\n"	\
	"{\"event\":\"stopping\"}\n"	\
	"{\"event\":\"exit\",\"rank\":0,\"signal\":\"SIGTERM\"}\n"
#define CHECK	\
	"{\"event\":\"host\",\"number\":0,\"state\":\"ready\"}\n"	\
	"{\"event\":\"host\",\"number\":1,\"state\":\"connecting\","	\
	"\"what\":\"logging in\"}\n"	\
	"{\"event\":\"problem\",\"host\":\"node1\",\"number\":0,\"what\":"	\
	"\"there is no Python with torch\",\"hint\":"	\
	"\"--activate names a venv or a conda environment\"}\n"

static const struct {
	const char	*name;
	int		 rows, columns;
	bool		 ascii;
	const char	*events, *keys;
	bool		 over;
} cases[] = {
	{ "run-80x24", 24, 80, false, PLAN START USAGE OUTPUT, "", false },
	{ "run-check-80x24", 24, 80, false, PLAN CHECK, "", false },
	{ "run-failed-80x24", 24, 80, false, PLAN START USAGE OUTPUT FAIL,
	    "\1\1\1\1\1", true },
	{ "run-ascii-80x24", 24, 80, true, PLAN START USAGE OUTPUT, "\1f",
	    false },
	{ "run-search-80x24", 24, 80, false, PLAN START USAGE OUTPUT,
	    "o/step\nn", false },
	{ "run-stop-80x24", 24, 80, false, PLAN START OUTPUT, "s", false },
	{ "run-keys-80x24", 24, 80, false, PLAN START OUTPUT, "?", false },
	{ "run-60x16", 16, 60, false, PLAN START USAGE OUTPUT FAIL, "", false },
	{ "run-120x40", 40, 120, false, PLAN START USAGE OUTPUT FAIL, "\2",
	    false },
	{ "run-begins-80x24", 24, 80, false, "", "", false },
	{ "run-small-50x10", 10, 50, false, PLAN, "", false },
};

static void
feed(struct run_view *v, const char *events)
{
	for (; *events; events += strcspn(events, "\n") + 1)
		runview_event(v, 0, events, strcspn(events, "\n"));
	runview_tick(v, 1000);
}

static void
press(struct run_view *v, struct screen *s, const char *keys)
{
	for (; *keys; keys++) {
		runview_draw(v, s, 0);
		if (*keys == DOWN)
			runview_key(v, KEY_DOWN, true);
		else if (*keys == RIGHT)
			runview_key(v, KEY_RIGHT, true);
		else if (*keys == PAGEUP)
			runview_key(v, KEY_PPAGE, true);
		else
			runview_key(v, *keys, false);
	}
	runview_draw(v, s, 754000);
}

static SCREEN *
open_screen(FILE *file[2], int rows, int columns, struct screen *s)
{
	SCREEN *terminal;

	file[0] = fopen("/dev/null", "w");
	file[1] = fopen("/dev/null", "r");
	terminal = newterm("vt100", file[0], file[1]);
	if (!terminal)
		return NULL;
	resizeterm(rows, columns);
	screen_setup(s);
	return terminal;
}

static void
close_screen(FILE *file[2], SCREEN *terminal)
{
	if (terminal) {
		endwin();
		delscreen(terminal);
	}
	fclose(file[0]);
	fclose(file[1]);
}

static void
test_screens(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct screen	s = { .ascii = cases[i].ascii };
		struct run_view	v;
		struct buf	got = BUF_INIT, again = BUF_INIT;
		FILE		*file[2];
		SCREEN		*terminal = open_screen(file, cases[i].rows,
				    cases[i].columns, &s);

		if (!terminal) {
			skip("no vt100 in terminfo");
			close_screen(file, terminal);
			continue;
		}
		runview_init(&v, "accel launch train.py", 0);
		feed(&v, cases[i].events);
		if (cases[i].over)
			runview_over(&v, 61000, 1);
		press(&v, &s, cases[i].keys);
		snapshot_take(&got);
		for (int k = 0; k < 3; k++) {	/* no state depends on it */
			static const int sizes[][2] = { { 16, 60 }, { 3, 9 },
			    { 100, 300 } };

			resizeterm(sizes[k][0], sizes[k][1]);
			runview_draw(&v, &s, 754000);
		}
		resizeterm(cases[i].rows, cases[i].columns);
		runview_draw(&v, &s, 754000);
		snapshot_take(&again);
		close_screen(file, terminal);
		snapshot_compare(cases[i].name, &got);
		is(buf_text(&again), buf_text(&got), "the same after resizes");
		buf_clear(&got);
		buf_clear(&again);
		runview_clear(&v);
	}
}

/* 512 ranks on 64 hosts: all can be reached, and a draw does not take long
 * enough to be felt by the one who waits for it. */
static void
test_many(void)
{
	struct screen	s = { .ascii = true };
	struct run_view	v;
	struct buf	text = BUF_INIT;
	FILE		*file[2];
	SCREEN		*terminal = open_screen(file, 24, 80, &s);
	bool		seen = false;

	if (!terminal) {
		skip("no vt100 in terminfo");
		close_screen(file, terminal);
		return;
	}
	buf_adds(&text, "{\"event\":\"plan\",\"hosts\":[");
	for (int h = 0; h < 64; h++)
		buf_addf(&text, "%s\"node%d\"", h ? "," : "", h);
	buf_adds(&text, "],\"ranks\":[");
	for (int i = 0; i < 512; i++)
		buf_addf(&text, "%s%d", i ? "," : "", i / 8);
	buf_adds(&text, "]}\n");
	runview_init(&v, "accel launch train.py", 0);
	feed(&v, buf_text(&text));
	ok(v.rows == 64, "of many ranks, hosts are listed first");
	runview_key(&v, 'e', false);
	ok(v.rows == 64 + 512, "then all");
	for (size_t i = 0; i < v.rows; i++) {
		struct buf screen = BUF_INIT;

		runview_key(&v, KEY_DOWN, true);
		runview_draw(&v, &s, 0);
		if (i + 2 < v.rows)
			continue;
		snapshot_take(&screen);
		seen = seen || strstr(buf_text(&screen), "rank 511");
		buf_clear(&screen);
	}
	ok(seen && v.cursor == v.rows - 1, "the last can be reached");
	ok(v.list_h >= 3 && v.log_h >= 3, "both parts have room");
	runview_click(&v, v.list_y);
	ok(v.row[v.cursor].rank < 511, "a click moves the cursor");
	close_screen(file, terminal);
	buf_clear(&text);
	runview_clear(&v);
}

static void
test_questions(void)
{
	struct run_view v;

	runview_init(&v, "x", 0);
	feed(&v, PLAN START);
	ok(runview_key(&v, 's', false) == WISH_NOTHING && v.ask == ASK_STOP,
	    "s asks");
	ok(runview_key(&v, 'x', false) == WISH_NOTHING && v.ask == ASK_NOTHING,
	    "another key is no");
	runview_key(&v, 's', false);
	ok(runview_key(&v, 'y', false) == WISH_STOP, "y is yes");
	v.stop_asked = true;
	ok(runview_key(&v, 's', false) == WISH_STOP, "again: at once");
	ok(runview_key(&v, 'r', false) == WISH_NOTHING && v.ask == ASK_RESTART,
	    "r asks while it runs");
	ok(runview_key(&v, 'r', false) == WISH_RESTART, "twice is yes");
	ok(runview_key(&v, 'q', false) == WISH_NOTHING && v.ask == ASK_QUIT,
	    "so does q");
	runview_over(&v, 9, 0);
	ok(v.ask == ASK_QUIT && runview_key(&v, 'n', false) == WISH_NOTHING,
	    "no stays, though it ended meanwhile");
	ok(runview_key(&v, 'q', false) == WISH_QUIT, "over, q leaves");
	ok(runview_key(&v, 'r', false) == WISH_RESTART, "and r restarts");
	ok(runview_key(&v, 3, false) == WISH_NOTHING && *v.note,
	    "there is nothing to stop");
	v.ask = ASK_SECRET;
	runview_key(&v, 'q', false);
	runview_key(&v, 0xe9, false);
	runview_key(&v, KEY_BACKSPACE, true);
	runview_key(&v, '!', false);
	ok(runview_key(&v, '\n', false) == WISH_ANSWER, "a secret is typed");
	is(v.typed, "q!", "as it was meant");
	ok(runview_key(&v, 27, false) == WISH_REFUSE && !*v.typed,
	    "or not, and forgotten");
	runview_clear(&v);
}

int
main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	test_screens();
	test_many();
	test_questions();
	return tap_done();
}
