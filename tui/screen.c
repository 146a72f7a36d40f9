/* SPDX-License-Identifier: Apache-2.0 */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "tui/draft.h"
#include "tui/frame.h"
#include "tui/page.h"
#include "tui/proposal.h"
#include "tui/screen.h"
#include "tui/terminal.h"
#include "runtime/base/clock.h"
#include "runtime/base/banned.h"

const struct binding bindings[] = {
#define KEY(key, name, action, where, label, sentence)			\
	{ key, ACT_##action, where, name, label, sentence },
#include "tui/keys.def"
#undef KEY
};
const size_t binding_count = sizeof bindings / sizeof *bindings;

const struct page *const pages[PAGE_COUNT] = {
	&page_start, &page_machines, &page_training, &page_strategy,
	&page_checks, &page_review, &page_launch,
};

int
screen_open(struct screen *s, struct err *err)
{
	for (int i = 0; i < PAGE_COUNT; i++)
		if (pages[i]->open && pages[i]->open(s, err)) {
			while (i--)
				if (pages[i]->close)
					pages[i]->close(s);
			return -1;
		}
	return 0;
}

void
screen_close(struct screen *s)
{
	popup_close(s);
	for (int i = 0; i < PAGE_COUNT; i++)
		if (pages[i]->close)
			pages[i]->close(s);
}

void
screen_go(struct screen *s, int page)
{
	if (page < 0 || page >= PAGE_COUNT)
		return;
	s->page = page;
	s->file = false;
	form_step(s->form, page);
}

static void
show_keys(struct screen *s)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < binding_count; i++)
		if (*bindings[i].sentence && bindings[i].where & 1u << s->page)
			buf_addf(&text, "%-20s %s\n", bindings[i].name,
			    bindings[i].sentence);
	popup_text(s, "Keys", buf_text(&text), NULL, NULL, NULL);
	buf_clear(&text);
}

static void
show_help(struct screen *s)
{
	struct buf text = BUF_INIT;
	int item = form_item(s->form);

	if (!((1u << s->page) & ON_FIELDS) || item < 0) {
		show_keys(s);
		return;
	}
	form_help(s->form, item, &text);
	popup_text(s, "Help", buf_text(&text), NULL, NULL, NULL);
	buf_clear(&text);
}

static void
show_difference(struct screen *s)
{
	struct buf text = BUF_INIT;

	screen_difference(s, &text);
	popup_text(s, "What saving changes", buf_text(&text), NULL, NULL, NULL);
	buf_clear(&text);
}

static void
found(struct screen *s, int item, const char *text)
{
	(void)text;
	form_go(s->form, item);
	screen_go(s, (int)item_step(item));
}

static void
search(struct screen *s)
{
	popup_list(s, "Search all steps", found);
	s->popup.seek = true;
	for (int i = 0; i < ITEM_COUNT; i++) {
		int item = (i + (int)FIELD_COUNT) % (int)ITEM_COUNT;
		const struct field *row = item_row(item);
		struct buf what = BUF_INIT, more = BUF_INIT;

		if (row->flags & FIELD_FLAGONLY)
			continue;
		form_value(s->form, item, &what);
		buf_addf(&what, "  %s", row->ask);
		buf_addf(&more, "%s %s %s", row->help, row->title, row->group);
		popup_row_add(s, item, row->key, buf_text(&what),
		    buf_text(&more));
		buf_clear(&what);
		buf_clear(&more);
	}
}

static void
set_filter(struct form *f, enum filter to)
{
	form_filter(f, f->filter == to ? FILTER_USUAL : to);
	form_say(f, false, f->filter == FILTER_ALL ? "All fields; those in "
	    "brackets have no effect now." : f->filter == FILTER_CHANGED ?
	    "Changed fields, of all steps." : "The usual fields.");
}

static void
act(struct screen *s, enum action action)
{
	struct form *f = s->form;

	switch (action) {
	case ACT_NEXT:
		screen_go(s, s->page >= STEP_COUNT ? STEP_REVIEW :
		    (s->page + 1) % STEP_COUNT);
		break;
	case ACT_PREV:
		screen_go(s, s->page >= STEP_COUNT ? STEP_REVIEW :
		    (s->page + STEP_COUNT - 1) % STEP_COUNT);
		break;
	case ACT_GO1: case ACT_GO2: case ACT_GO3: case ACT_GO4: case ACT_GO5:
	case ACT_GO6:
		screen_go(s, (int)action - ACT_GO1);
		break;
	case ACT_FILE:	s->file = COLS < FRAME_WIDE && !s->file; break;
	case ACT_PROPOSE:
		if (!form_propose(f, NULL))
			form_say(f, false, "%s", f->reason);
		break;
	case ACT_WHY:	proposal_show(s); break;
	case ACT_ALL:	set_filter(f, FILTER_ALL); break;
	case ACT_CHANGED: set_filter(f, FILTER_CHANGED); break;
	case ACT_UNDO:
		if (!form_undo(f))
			form_say(f, false, "There is nothing to take back.");
		break;
	case ACT_REDO:
		if (!form_redo(f))
			form_say(f, false, "There is nothing to make again.");
		break;
	case ACT_SEARCH: search(s); break;
	case ACT_SAVE:	screen_save(s, THEN_STAY); break;
	case ACT_DIFF:	show_difference(s); break;
	case ACT_HELP:	show_help(s); break;
	case ACT_KEYS:	show_keys(s); break;
	case ACT_QUIT:	screen_quit(s); break;
	case ACT_LAUNCH:
		if (s->script)
			screen_save(s, THEN_LAUNCH);
		else
			form_say(f, true, "There is no script: start with "
			    "accel-setup --launch SCRIPT.");
		break;
	default:
		break;
	}
}

static void
do_action(struct screen *s, enum action action)
{
	s->form->message[0] = '\0';
	if (!pages[s->page]->act || !pages[s->page]->act(s, action))
		act(s, action);
}

void
screen_key(struct screen *s, int key, bool code)
{
	if (code && key == KEY_RESIZE)
		return;
	if (s->popup.kind != POPUP_NONE) {
		popup_key(s, key, code);
		return;
	}
	for (size_t i = 0; i < binding_count; i++)
		if (bindings[i].key == key && (key >= KEY_MIN) == code &&
		    bindings[i].where & 1u << s->page) {
			do_action(s, bindings[i].action);
			return;
		}
}

void
screen_click(struct screen *s, int y, int x)
{
	int who = s->popup.kind != POPUP_NONE ? 1 : 0;

	for (size_t i = s->hits; i-- > 0; ) {
		struct hit h = s->hit[i];

		if (h.y != y || x < h.x || x >= h.x + h.w)
			continue;
		if (h.who == 2 && !who)
			screen_key(s, h.row, h.row >= KEY_MIN);
		else if (h.who == who && who)
			popup_click(s, h.row, h.mark);
		else if (h.who == who && pages[s->page]->click)
			pages[s->page]->click(s, h.row, h.mark);
		return;
	}
}

void
screen_draw(struct screen *s)
{
	const struct page *page = pages[s->page];
	struct frame frame;
	int h, w;

	getmaxyx(stdscr, h, w);
	erase();
	paint_look(s, LOOK_PLAIN);
	s->hits = 0;
	s->drawing = 0;
	s->cursor_y = s->cursor_x = 0;
	if (h < FRAME_ROWS || w < FRAME_COLUMNS) {
		paint_wrap((struct area){ 0, 0, h, w }, 0, "This terminal is "
		    "smaller than 60x16: enlarge it, or leave with q and use "
		    "accel-setup --plain.");
		refresh();
		return;
	}
	s->whole = w >= FRAME_WHOLE;
	frame_lay(&frame, h, w, page->full, page->wish ? page->wish(s) : 0);
	frame_draw(s, &frame);
	for (int y = 0; frame.split >= 0 && y < frame.page.h; y++)
		mvaddstr(frame.page.y + y, frame.split, s->ascii ? "|" : "│");
	if (!page->full && (!frame.narrow || s->file))
		frame_file(s, frame.file);
	if (page->full || !frame.narrow || !s->file)
		page->draw(s, frame.page);
	paint_look(s, LOOK_PLAIN);
	s->drawing = 1;
	popup_draw(s);
	paint_look(s, LOOK_PLAIN);
	move(s->cursor_y, s->cursor_x);
	refresh();
}

enum { WATCHED = 256 };

struct wait {
	struct pollfd	p[WATCHED];
	int		from[PAGE_COUNT], count[PAGE_COUNT];
	int		n, ms;
};

static void
gather(struct screen *s, struct wait *w)
{
	w->p[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	w->n = 1;
	w->ms = -1;
	for (int i = 0; i < PAGE_COUNT; i++) {
		int ms = -1;

		w->from[i] = w->n;
		w->count[i] = pages[i]->watch ? pages[i]->watch(s, w->p + w->n,
		    WATCHED - w->n, &ms) : 0;
		w->n += w->count[i];
		if (ms >= 0 && (w->ms < 0 || ms < w->ms))
			w->ms = ms;
	}
}

/* Tells the pages what came; true where one has something new to show. */
static bool
tell(struct screen *s, const struct wait *w)
{
	bool news = false;

	for (int i = 0; i < PAGE_COUNT; i++)
		if (pages[i]->wake)
			news |= pages[i]->wake(s, w->p + w->from[i],
			    w->count[i]);
	return news;
}

enum news { NEWS_KEY, NEWS_CODE, NEWS_PAGE, NEWS_END };

/* Waits for a key or a page's news. */
static enum news
next(struct screen *s, wint_t *key)
{
	for (;;) {
		struct wait w;
		int kind, found;

		if ((kind = get_wch(key)) != ERR)
			return kind == KEY_CODE_YES ? NEWS_CODE : NEWS_KEY;
		gather(s, &w);
		found = terminal_wait(w.p, w.n, w.ms);
		if (terminal_caught())
			return NEWS_END;
		if (found < 0)
			continue;	/* a signal that curses wants */
		if (w.p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return NEWS_END;	/* the terminal is gone */
		if (tell(s, &w))
			return NEWS_PAGE;
	}
}

/* False where it was no event that means something here. */
static bool
mouse(struct screen *s)
{
	MEVENT e;

	if (getmouse(&e) != OK)
		return false;
	if (e.bstate & BUTTON4_PRESSED)
		screen_key(s, KEY_UP, true);
	else if (e.bstate & BUTTON5_PRESSED)
		screen_key(s, KEY_DOWN, true);
	else if (e.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		screen_click(s, e.y, e.x);
	else
		return false;		/* a button that was let go */
	return true;
}

/* Asks once, where something would be lost; the draft stays. */
static void
interrupted(struct screen *s)
{
	if (s->leaving && s->popup.kind != POPUP_NONE) {
		s->done = DONE_QUIT;
		return;
	}
	popup_close(s);
	screen_quit(s);
}

/* Written after the screen, before the wait: a kill loses nothing that was
 * seen. */
static void
keep_draft(struct screen *s)
{
	struct err err = ERR_INIT;

	if (s->drafted == s->form->turn)
		return;
	s->drafted = s->form->turn;
	if (draft_keep(s->form, &err) && !s->undrafted) {
		s->undrafted = true;
		form_say(s->form, true, "No draft can be kept: %s", err.text);
		screen_draw(s);
	}
}

static void
loop(struct screen *s)
{
	const char *sync = getenv("ACCEL_TEST_SYNC");
	unsigned long keys = 0;
	wint_t key;

	while (s->done == DONE_NOT) {
		enum news news;

		terminal_fit();
		screen_draw(s);
		keep_draft(s);
		if (sync) {	/* tells a test what has been drawn */
			printf("\033]0;%lu\007", keys);
			fflush(stdout);
		}
		news = next(s, &key);
		if (news == NEWS_END && terminal_caught() == SIGINT) {
			terminal_forget();
			interrupted(s);
		} else if (news == NEWS_END)
			return;
		else if (news == NEWS_CODE && key == KEY_MOUSE) {
			keys += mouse(s);
		} else if (news != NEWS_PAGE && !(news == NEWS_CODE &&
		    key == KEY_RESIZE)) {
			screen_key(s, (int)key, news == NEWS_CODE);
			keys++;
		}
	}
}

int
screen_run(struct screen *s, struct err *err)
{
	if (screen_open(s, err))
		return -1;
	if (terminal_open(!s->no_mouse, err)) {
		screen_close(s);
		return -1;
	}
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		s->ascii = true;
	screen_setup(s);
	screen_offer_draft(s);
	loop(s);
	screen_close(s);
	terminal_close();
	return s->done == DONE_NOT ? err_set(err, "the terminal is gone; "
	    "nothing was written") : 0;
}
