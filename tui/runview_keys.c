/* SPDX-License-Identifier: Apache-2.0 */
/* runview_keys: keys of the launch screen. */
#include <curses.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tui/runview.h"
#include "tui/runview_screen.h"
#include "runtime/base/banned.h"

#define CTRL(c)	((c) & 0x1f)
enum { ESCAPE = 27, RUBOUT = 127, SHIFT = 16, WHEEL = 3 };

enum action {
	NONE, STOP, RESTART, UP, DOWN, OPEN, OPEN_ALL, FILTER, ALL, PAGEUP,
	PAGEDOWN, LINEUP, LINEDOWN, FIRST, FOLLOW, LEFT, RIGHT, SEARCH, EARLIER,
	LATER, BIG, HELP, REDRAW, SUSPEND, QUIT
};
const struct run_binding run_bindings[] = {
#define KEY(key, name, action, label, sentence)				\
	{ key, action, name, label, sentence },
#include "tui/runview_keys.def"
#undef KEY
};
const size_t run_binding_count = sizeof run_bindings / sizeof *run_bindings;

static enum action
action_of(int key, bool code)
{
	for (size_t i = 0; i < run_binding_count; i++)
		if (run_bindings[i].key == key && (key >= KEY_MIN) == code)
			return (enum action)run_bindings[i].action;
	return NONE;
}

/* Typing on the last line; true at its end. */
static bool
type(struct run_view *v, int key, bool code)
{
	size_t	  n = strlen(v->typed), more;
	char	  bytes[MB_LEN_MAX];
	mbstate_t state = { 0 };

	if (key == '\n' || key == '\r' || (code && key == KEY_ENTER))
		return true;
	if ((code && key == KEY_BACKSPACE) || (!code &&
	    (key == RUBOUT || key == '\b'))) {
		while (n && (v->typed[--n] & 0xc0) == 0x80)
			;
		v->typed[n] = '\0';
	} else if (!code && key == CTRL('u')) {
		explicit_bzero(v->typed, sizeof v->typed);
	} else if (!code && key >= ' ') {
		more = wcrtomb(bytes, (wchar_t)key, &state);
		if (more == (size_t)-1 || n + more >= sizeof v->typed)
			return false;
		memcpy(v->typed + n, bytes, more);
		v->typed[n + more] = '\0';
	}
	return false;
}

static enum run_wish
key_search(struct run_view *v, int key, bool code)
{
	if (!code && (key == ESCAPE || key == CTRL('c'))) {
		v->ask = ASK_NOTHING;
	} else if (type(v, key, code)) {
		v->ask = ASK_NOTHING;
		if (*v->typed)
			snprintf(v->search, sizeof v->search, "%.*s",
			    (int)sizeof v->search - 1, v->typed);
		runview_search(v, -1);
	}
	return WISH_NOTHING;
}

static enum run_wish
key_secret(struct run_view *v, int key, bool code)
{
	if (!code && (key == ESCAPE || key == CTRL('c'))) {
		explicit_bzero(v->typed, sizeof v->typed);
		v->ask = ASK_NOTHING;
		return WISH_REFUSE;
	}
	return type(v, key, code) ? WISH_ANSWER : WISH_NOTHING;
}

/* "y", or the key that asked once more. */
static enum run_wish
key_question(struct run_view *v, int key, bool code)
{
	enum view_ask	ask = v->ask;
	enum action	action = action_of(key, code);

	v->ask = ASK_NOTHING;
	if (!(!code && (key == 'y' || key == 'Y')) &&
	    !(ask == ASK_STOP && action == STOP) &&
	    !(ask == ASK_RESTART && action == RESTART) &&
	    !(ask == ASK_QUIT && (action == QUIT || action == STOP)))
		return WISH_NOTHING;
	return ask == ASK_STOP ? WISH_STOP : ask == ASK_RESTART ?
	    WISH_RESTART : WISH_QUIT;
}

static enum run_wish
want(struct run_view *v, enum action action)
{
	bool over = v->phase == RUN_OVER;

	if (action == STOP && over)
		snprintf(v->note, sizeof v->note,
		    "It is over: r starts it again, q leaves.");
	else if (action == STOP && v->stop_asked)
		return WISH_STOP;	/* again: at once */
	else if (action == RESTART && over)
		return WISH_RESTART;
	else if (action == QUIT && over)
		return WISH_QUIT;
	else
		v->ask = action == STOP ? ASK_STOP : action == RESTART ?
		    ASK_RESTART : ASK_QUIT;
	return WISH_NOTHING;
}

static enum run_wish
act(struct run_view *v, enum action action)
{
	long page = v->log_h > 1 ? v->log_h - 1 : 1;

	switch (action) {
	case STOP: case RESTART: case QUIT:
		return want(v, action);
	case SUSPEND:	return WISH_SUSPEND;
	case REDRAW:	return WISH_REDRAW;
	case UP:	runview_move(v, -1); break;
	case DOWN:	runview_move(v, 1); break;
	case OPEN:	runview_open(v); break;
	case OPEN_ALL:	runview_open_all(v); break;
	case FILTER:	runview_filter(v); break;
	case ALL:	runview_unfilter(v); break;
	case PAGEUP:	runview_scroll(v, -page); break;
	case PAGEDOWN:	runview_scroll(v, page); break;
	case LINEUP:	runview_scroll(v, -1); break;
	case LINEDOWN:	runview_scroll(v, 1); break;
	case FIRST:	runview_first(v); break;
	case FOLLOW:	runview_follow(v); break;
	case LEFT:	v->shift -= v->shift < SHIFT ? v->shift : SHIFT; break;
	case RIGHT:	v->shift += v->shift < LOG_WIDTH ? SHIFT : 0; break;
	case EARLIER:	runview_search(v, -1); break;
	case LATER:	runview_search(v, 1); break;
	case BIG:	v->big = !v->big; break;
	case HELP:	v->help = true, v->help_top = 0; break;
	case SEARCH:
		v->ask = ASK_SEARCH;
		v->typed[0] = '\0';
		break;
	default:
		break;
	}
	return WISH_NOTHING;
}

enum run_wish
runview_key(struct run_view *v, int key, bool code)
{
	enum action action = action_of(key, code);

	v->note[0] = '\0';
	if (action == SUSPEND || action == REDRAW)
		return act(v, action);
	if (v->ask == ASK_SEARCH)
		return key_search(v, key, code);
	if (v->ask == ASK_SECRET)
		return key_secret(v, key, code);
	if (v->ask != ASK_NOTHING)
		return key_question(v, key, code);
	if (v->help) {
		if (action == UP || action == DOWN) {
			v->help_top += action == DOWN ? 1 : -(v->help_top > 0);
			return WISH_NOTHING;
		}
		v->help = false;
		if (action != STOP)
			return WISH_NOTHING;
	}
	return act(v, action);
}

void
runview_click(struct run_view *v, int y)
{
	size_t row = v->top + (size_t)(y - v->list_y);

	if (v->ask != ASK_NOTHING || v->help || y < v->list_y ||
	    y >= v->list_y + v->list_h || row >= v->rows)
		return;
	if (row != v->cursor)
		v->cursor = row;
	else if (v->row[row].rank == v->world)
		runview_open(v);
	else
		runview_filter(v);
}
