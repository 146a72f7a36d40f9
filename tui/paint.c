/* SPDX-License-Identifier: Apache-2.0 */
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tui/paint.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

enum { PAIR_CHANGED = 1, PAIR_PROBLEM, PAIR_TITLE, PAIR_GOOD };
enum { WIDE = 1024 };

void
screen_setup(struct screen *s)
{
	s->color = s->color && has_colors();
	if (!s->color)
		return;
	start_color();
	use_default_colors();
	init_pair(PAIR_CHANGED, COLOR_YELLOW, -1);
	init_pair(PAIR_PROBLEM, COLOR_RED, -1);
	init_pair(PAIR_TITLE, COLOR_CYAN, -1);
	init_pair(PAIR_GOOD, COLOR_GREEN, -1);
}

void
paint_look(const struct screen *s, enum look look)
{
	static const struct { attr_t attr; int pair; } looks[] = {
		[LOOK_PLAIN] = { A_NORMAL, 0 }, [LOOK_BOLD] = { A_BOLD, 0 },
		[LOOK_REVERSE] = { A_REVERSE, 0 },
		[LOOK_UNDERLINE] = { A_UNDERLINE, 0 },
		[LOOK_DIM] = { A_DIM, 0 },
		[LOOK_TITLE] = { A_BOLD, PAIR_TITLE },
		[LOOK_CHANGED] = { A_BOLD, PAIR_CHANGED },
		[LOOK_PROBLEM] = { A_BOLD, PAIR_PROBLEM },
		[LOOK_GOOD] = { A_BOLD, PAIR_GOOD },
	};

	attrset((int)(looks[look].attr | (s->color && looks[look].pair ?
	    (attr_t)COLOR_PAIR(looks[look].pair) : 0)));
}

/* The text as wide characters, printable ones alone. */
static size_t
widen(const char *text, wchar_t *wide)
{
	mbstate_t state = { 0 };
	size_t n = 0, took;

	for (; *text && n < WIDE - 1; text += took) {
		took = mbrtowc(&wide[n], text, MB_CUR_MAX, &state);
		if (took == (size_t)-1 || took == (size_t)-2) {
			memset(&state, 0, sizeof state);
			wide[n] = L'?';
			took = 1;
		}
		if (wcwidth(wide[n]) < 0)
			wide[n] = L'?';
		n++;
	}
	wide[n] = L'\0';
	return n;
}

int
paint_width(const char *text)
{
	wchar_t wide[WIDE];
	size_t n = widen(text, wide);

	return wcswidth(wide, n);
}

int
paint_text(int y, int x, int w, const char *text)
{
	wchar_t wide[WIDE];
	size_t n = widen(text, wide), i = 0;
	int used = wcswidth(wide, n);

	if (w <= 0)
		return 0;
	if (used <= w) {
		mvaddnwstr(y, x, wide, (int)n);
		return used;
	}
	for (used = 0; i < n && used + wcwidth(wide[i]) <= w - 1; i++)
		used += wcwidth(wide[i]);
	mvaddnwstr(y, x, wide, (int)i);
	mvaddch(y, x + used, '>');
	return used + 1;
}

void
paint_blank(int y, int x, int w)
{
	for (; w > 0; w--)
		mvaddch(y, x++, ' ');
}

/* How many of the first n bytes fit in w columns, cut where a reader would. */
static size_t
fit(const char *text, size_t n, int w)
{
	mbstate_t state = { 0 };
	size_t at = 0, blank = 0, slash = 0;
	int used = 0;

	while (at < n) {
		wchar_t c;
		size_t took = mbrtowc(&c, text + at, n - at, &state);
		int columns;

		if (took == (size_t)-1 || took == (size_t)-2 || !took) {
			memset(&state, 0, sizeof state);
			took = 1;
			c = L'?';
		}
		columns = wcwidth(c) < 0 ? 1 : wcwidth(c);
		if (c == L' ' && at)
			blank = at;
		if (used + columns > w)
			break;
		used += columns;
		at += took;
		if (c == L'/' || c == L',')
			slash = at;
	}
	if (at >= n)
		return n;
	/* A path that would leave most of its line empty is cut in itself. */
	if (blank && !(slash > blank && used - (int)blank > w / 2))
		return blank;
	return slash ? slash : at ? at : 1;
}

int
paint_wrap(struct area a, long skip, const char *text)
{
	long line = 0;

	for (;;) {
		size_t n = strcspn(text, "\n"), blanks = strspn(text, " "), cut;
		int indent = 0;
		char part[WIDE];

		if (blanks >= n || (int)blanks > a.w / 2)
			blanks = 0;
		do {
			cut = a.w > indent ? fit(text, n, a.w - indent) : n;
			snprintf(part, sizeof part, "%.*s", (int)cut, text);
			if (line >= skip && line - skip < a.h)
				paint_text(a.y + (int)(line - skip),
				    a.x + indent, a.w - indent, part);
			line++;
			text += cut;
			n -= cut;
			while (n && *text == ' ') {
				text++;
				n--;
			}
			/* There is more than can be seen. */
			if (line - skip == a.h && text[strspn(text, "\n")])
				mvaddch(a.y + a.h - 1, a.x + a.w - 1, '>');
			indent = (int)blanks;
		} while (n);
		if (!*text || !*++text)
			return (int)line;
	}
}

void
paint_rule(const struct screen *s, int y, int x, int w, int cross,
    const char *joint)
{
	for (int i = 0; i < w; i++)
		mvaddstr(y, x + i, s->ascii ? (i == cross ? "+" : "-") :
		    i == cross ? joint : "─");
}

void
paint_bar(const struct screen *s, int y, int x, int w, double part)
{
	static const char *const eighths[] = {
		" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"
	};
	int full;

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	w -= 2;
	full = (int)(part * w * 8 + 0.5);
	mvaddstr(y, x, s->ascii ? "[" : "▕");
	for (int i = 0; i < w; i++)
		mvaddstr(y, x + 1 + i, s->ascii ? (full >= i * 8 + 4 ? "#" :
		    ".") : full >= i * 8 + 8 ? "█" : full > i * 8 ?
		    eighths[full - i * 8] : " ");
	mvaddstr(y, x + 1 + w, s->ascii ? "]" : "▏");
}

struct area
paint_box(const struct screen *s, int h, int w, const char *title,
    const char *keys)
{
	int rows, columns;
	struct area a;

	getmaxyx(stdscr, rows, columns);
	if (h > rows - 2)
		h = rows - 2;
	if (w > columns - 4)
		w = columns - 4;
	a = (struct area){ (rows - h) / 2, (columns - w) / 2, h, w };
	paint_look(s, LOOK_PLAIN);
	for (int y = 0; y < h; y++) {
		bool edge = !y || y == h - 1;

		paint_blank(a.y + y, a.x, w);
		if (edge)
			paint_rule(s, a.y + y, a.x, w, -1, "");
		mvaddstr(a.y + y, a.x, s->ascii ? edge ? "+" : "|" :
		    !y ? "┌" : edge ? "└" : "│");
		mvaddstr(a.y + y, a.x + w - 1, s->ascii ? edge ? "+" : "|" :
		    !y ? "┐" : edge ? "┘" : "│");
	}
	paint_look(s, LOOK_BOLD);
	paint_text(a.y, a.x + 2, w - 4, title);
	paint_look(s, LOOK_PLAIN);
	paint_text(a.y + h - 1, a.x + 2, w - 4, keys);
	return (struct area){ a.y + 1, a.x + 2, h - 2, w - 4 };
}

void
paint_cursor(struct screen *s, int y, int x)
{
	s->cursor_y = y;
	s->cursor_x = x;
}

static void
hit(struct screen *s, int y, int x, int w, int row, bool mark, int who)
{
	if (s->hits < sizeof s->hit / sizeof *s->hit)
		s->hit[s->hits++] = (struct hit){ y, x, w, row, mark, who };
}

void
paint_hit(struct screen *s, int y, int x, int w, int row, bool mark)
{
	hit(s, y, x, w, row, mark, s->drawing);
}

long
paint_scroll(long focus, long count, int h)
{
	long top = focus - h / 2;

	if (top > count - h)
		top = count - h;
	return top < 0 ? 0 : top;
}
