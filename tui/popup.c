/* SPDX-License-Identifier: Apache-2.0 */
#include <curses.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "tui/paint.h"
#include "tui/popup.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

enum { ESCAPE = 27, FIRST = 1, LAST = 5, KILL = 11, ERASE = 21, WORD = 23,
    RUBOUT = 127, PAGE = 10 };

static void
rows_free(struct popup_row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(row[i].word);
		free(row[i].what);
		free(row[i].more);
	}
	free(row);
}

void
popup_close(struct screen *s)
{
	struct popup *p = &s->popup;

	rows_free(p->row, p->rows);
	free(p->hit);
	buf_clear(&p->text);
	memset(p, 0, sizeof *p);
	s->leaving = false;
}

static struct popup *
begin(struct screen *s, enum popup_kind kind, const char *title,
    popup_done *done)
{
	struct popup *p = &s->popup;

	popup_close(s);
	p->kind = kind;
	p->done = done;
	snprintf(p->title, sizeof p->title, "%s", title);
	return p;
}

void
popup_list(struct screen *s, const char *title, popup_done *done)
{
	begin(s, POPUP_LIST, title, done);
}

int
popup_row_add(struct screen *s, int value, const char *word, const char *what,
    const char *more)
{
	struct popup *p = &s->popup;
	struct popup_row *row, new = { .value = value };
	size_t *hits;

	row = realloc(p->row, (p->rows + 1) * sizeof *row);
	if (row)
		p->row = row;
	hits = realloc(p->hit, (p->rows + 1) * sizeof *hits);
	if (hits)
		p->hit = hits;
	new.word = strdup(word);
	new.what = strdup(what);
	new.more = more ? strdup(more) : NULL;
	if (!row || !hits || !new.word || !new.what || (more && !new.more)) {
		free(new.word);
		free(new.what);
		free(new.more);
		return -1;
	}
	p->hit[p->hits++] = p->rows;
	p->row[p->rows++] = new;
	return 0;
}

void
popup_pick(struct screen *s, int value)
{
	struct popup *p = &s->popup;

	for (size_t i = 0; i < p->hits; i++)
		if (p->row[p->hit[i]].value == value)
			p->pick = i;
}

/* Every word that was typed is somewhere in the row. */
static bool
matches(const struct popup_row *row, const char *typed)
{
	while (*(typed += strspn(typed, " "))) {
		size_t n = strcspn(typed, " ");
		char word[256];

		snprintf(word, sizeof word, "%.*s", (int)n, typed);
		if (!strcasestr(row->word, word) &&
		    !strcasestr(row->what, word) &&
		    !(row->more && strcasestr(row->more, word)))
			return false;
		typed += n;
	}
	return true;
}

/* Those whose word begins with it first, then those that have it there. */
static int
rank_of(const struct popup_row *row, const char *typed)
{
	return !strncasecmp(row->word, typed, strlen(typed)) ? 0 :
	    strcasestr(row->word, typed) ? 1 : 2;
}

static void
narrow(struct popup *p)
{
	p->hits = p->pick = 0;
	p->number = 0;
	for (int rank = 0; rank < 3; rank++)
		for (size_t i = 0; i < p->rows; i++)
			if (matches(&p->row[i], p->line) &&
			    rank_of(&p->row[i], p->line) == rank)
				p->hit[p->hits++] = i;
}

static void
set_line(struct popup *p, const char *text)
{
	snprintf(p->line, sizeof p->line, "%s", text);
	/* a whole character, whatever its bytes */
	p->length = strlen(p->line);
	while (p->length && text[p->length] && (text[p->length] & 0xc0) == 0x80)
		p->length--;
	p->line[p->length] = '\0';
	p->caret = p->length;
}

void
popup_line(struct screen *s, const char *title, const char *text,
    popup_done *done)
{
	set_line(begin(s, POPUP_LINE, title, done), text);
}

void
popup_again(struct screen *s, const char *text, const char *wrong)
{
	struct popup *p = &s->popup;
	char title[sizeof p->title], line[sizeof p->line];

	snprintf(title, sizeof title, "%s", p->title);
	snprintf(line, sizeof line, "%s", text);
	popup_line(s, title, line, p->done);
	snprintf(s->popup.wrong, sizeof s->popup.wrong, "%s", wrong);
}

void
popup_text(struct screen *s, const char *title, const char *text,
    const char *keys, const char *legend, popup_done *done)
{
	struct popup *p = begin(s, POPUP_TEXT, title, done);

	buf_adds(&p->text, text);
	p->keys = keys;
	p->legend = legend ? legend : "Up, Down; any other key closes";
}

/* The answer: the popup is gone before it is told, unless done() opens one. */
static void
answer(struct screen *s, int value, const char *text)
{
	struct popup old = s->popup;
	char line[sizeof old.line];

	snprintf(line, sizeof line, "%s", text);
	s->popup.kind = POPUP_NONE;
	if (old.done)
		old.done(s, value, line);
	if (s->popup.kind == POPUP_NONE)
		popup_close(s);
}

static void
step(struct popup *p, long by)
{
	long to = (long)p->pick + by, last = (long)p->hits - 1;

	if (by == 1 || by == -1)	/* round and round */
		to = to < 0 ? last : to > last ? 0 : to;
	p->pick = to < 0 || last < 0 ? 0 : (size_t)(to > last ? last : to);
	p->number = 0;
}

/* Bytes of the character before, or under, the caret. */
static size_t
before(const struct popup *p)
{
	size_t n = 0;

	while (n < p->caret && (p->line[p->caret - ++n] & 0xc0) == 0x80)
		;
	return n;
}

static size_t
under(const struct popup *p)
{
	size_t n = p->caret < p->length;

	while (p->caret + n < p->length &&
	    (p->line[p->caret + n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void
cut(struct popup *p, size_t from, size_t n)
{
	memmove(p->line + from, p->line + from + n, p->length - from - n + 1);
	p->length -= n;
	p->caret = from;
}

/* Keys of a line that is typed; false for others. */
static bool
type(struct popup *p, int key, bool code)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = { 0 };
	size_t n;

	if (code ? key == KEY_BACKSPACE : key == RUBOUT || key == '\b') {
		n = before(p);
		cut(p, p->caret - n, n);
	} else if (code && key == KEY_DC) {
		cut(p, p->caret, under(p));
	} else if (!code && key == ERASE) {
		cut(p, 0, p->caret);
	} else if (!code && key == KILL) {
		cut(p, p->caret, p->length - p->caret);
	} else if (!code && key == WORD) {
		for (n = p->caret; n && p->line[n - 1] == ' '; n--)
			;
		for (; n && p->line[n - 1] != ' '; n--)
			;
		cut(p, n, p->caret - n);
	} else if (!code && key >= ' ') {
		n = wcrtomb(bytes, (wchar_t)key, &state);
		if (n == (size_t)-1 || p->length + n >= sizeof p->line)
			return true;
		memmove(p->line + p->caret + n, p->line + p->caret,
		    p->length - p->caret + 1);
		memcpy(p->line + p->caret, bytes, n);
		p->length += n;
		p->caret += n;
	} else
		return false;
	p->wrong[0] = '\0';
	return true;
}

static bool
is_enter(int key, bool code)
{
	return code ? key == KEY_ENTER : key == '\n' || key == '\r';
}

static void
take_pick(struct screen *s)
{
	struct popup *p = &s->popup;

	if (p->pick < p->hits)
		answer(s, p->row[p->hit[p->pick]].value,
		    p->row[p->hit[p->pick]].word);
}

/* A number goes to its row; the next digit goes on, where there are so many. */
static void
number(struct popup *p, int digit)
{
	long n = p->number * 10 + digit;

	if (n < 1 || n > (long)p->hits)
		n = digit;
	if (n < 1 || n > (long)p->hits)
		return;
	p->pick = (size_t)n - 1;
	p->number = n;
}

static void
key_list(struct screen *s, int key, bool code)
{
	struct popup *p = &s->popup;

	if (is_enter(key, code) || (!code && key == ' ' && !p->length &&
	    !p->seek))
		take_pick(s);
	else if (code && key == KEY_UP)
		step(p, -1);
	else if (code ? key == KEY_DOWN : key == '\t')
		step(p, 1);
	else if (code && key == KEY_PPAGE)
		step(p, -PAGE);
	else if (code && key == KEY_NPAGE)
		step(p, PAGE);
	else if (!code && key >= '0' && key <= '9' && !p->length && !p->seek)
		number(p, key - '0');
	else if (type(p, key, code))
		narrow(p);
}

static void
key_line(struct screen *s, int key, bool code)
{
	struct popup *p = &s->popup;

	if (is_enter(key, code))
		answer(s, 0, p->line);
	else if (code && key == KEY_LEFT)
		p->caret -= before(p);
	else if (code && key == KEY_RIGHT)
		p->caret += under(p);
	else if (code ? key == KEY_HOME : key == FIRST)
		p->caret = 0;
	else if (code ? key == KEY_END : key == LAST)
		p->caret = p->length;
	else
		type(p, key, code);
}

static void
key_text(struct screen *s, int key, bool code)
{
	struct popup *p = &s->popup;

	if (code ? key == KEY_DOWN : key == 'j')
		p->scroll++;
	else if (code ? key == KEY_UP : key == 'k')
		p->scroll -= p->scroll > 0;
	else if (code ? key == KEY_NPAGE : key == ' ')
		p->scroll += PAGE;
	else if (code && key == KEY_PPAGE)
		p->scroll = p->scroll > PAGE ? p->scroll - PAGE : 0;
	else if (!p->keys)
		popup_close(s);
	else if (!code && key > ' ' && key < RUBOUT && strchr(p->keys, key))
		answer(s, key, "");
	else if (is_enter(key, code) && strchr(p->keys, '\n'))
		answer(s, '\n', "");
}

void
popup_key(struct screen *s, int key, bool code)
{
	if (!code && key == ESCAPE)
		popup_close(s);
	else if (s->popup.kind == POPUP_LIST)
		key_list(s, key, code);
	else if (s->popup.kind == POPUP_LINE)
		key_line(s, key, code);
	else
		key_text(s, key, code);
}

void
popup_click(struct screen *s, int row, bool mark)
{
	struct popup *p = &s->popup;

	if (p->kind != POPUP_LIST || row < 0 || (size_t)row >= p->hits)
		return;
	if (mark || p->pick == (size_t)row) {
		p->pick = (size_t)row;
		take_pick(s);
	} else
		p->pick = (size_t)row;
}

static int
word_width(const struct popup *p)
{
	int most = 10;

	for (size_t i = 0; i < p->rows; i++) {
		int w = paint_width(p->row[i].word);

		if (w > most)
			most = w;
	}
	return most > 34 ? 34 : most;
}

static void
draw_list(struct screen *s)
{
	struct popup *p = &s->popup;
	bool typed = p->seek || p->length;
	int column = word_width(p);
	struct area a = paint_box(s, (int)(p->seek ? 999 : p->rows + 2 +
	    (size_t)typed), p->seek || s->whole ? 96 : 72, p->title, p->seek ?
	    "Enter goes there, Esc back" :
	    "Enter takes it, digits and letters find it, Esc");
	long top;

	if (typed) {
		paint_look(s, LOOK_UNDERLINE);
		paint_blank(a.y, a.x, a.w);
		paint_text(a.y, a.x, 2, "/ ");
		paint_cursor(s, a.y, a.x + 2 + paint_text(a.y, a.x + 2,
		    a.w - 3, p->line));
		paint_look(s, LOOK_PLAIN);
		a.y++;
		a.h--;
	}
	if (!p->hits)
		paint_text(a.y, a.x, a.w, "Nothing has that.");
	top = paint_scroll((long)p->pick, (long)p->hits, a.h);
	for (long i = top; i < (long)p->hits && i < top + a.h; i++) {
		const struct popup_row *row = &p->row[p->hit[i]];
		int y = a.y + (int)(i - top), x = a.x;
		char mark[24];

		if (i == (long)p->pick) {
			paint_look(s, LOOK_REVERSE);
			paint_blank(y, a.x, a.w);
			if (!typed)
				paint_cursor(s, y, a.x);
		}
		snprintf(mark, sizeof mark, "%c%2ld ", i == (long)p->pick ?
		    '>' : ' ', i + 1);
		if (p->seek)
			mark[1] = '\0';
		x += paint_text(y, x, 6, mark) + p->seek;
		paint_text(y, x, column, row->word);
		paint_text(y, x + column + 1, a.x + a.w - x - column - 1,
		    row->what);
		paint_look(s, LOOK_PLAIN);
		paint_hit(s, y, a.x, a.w, (int)i, false);
	}
}

static void
draw_line(struct screen *s)
{
	struct popup *p = &s->popup;
	int wrong = *p->wrong ? paint_wrap((struct area){ 0, 0, 0, 66 }, 0,
	    p->wrong) : 0;
	struct area a = paint_box(s, 3 + wrong, 72, p->title,
	    "Enter takes it, Esc leaves, Ctrl-U empties");
	char part[sizeof p->line];
	const char *from = p->line;

	/* What is before the caret is in sight. */
	snprintf(part, sizeof part, "%.*s", (int)p->caret, p->line);
	while (paint_width(part + (from - p->line)) > a.w - 2)
		for (from++; (*from & 0xc0) == 0x80; from++)
			;
	paint_look(s, LOOK_UNDERLINE);
	paint_blank(a.y, a.x, a.w);
	paint_text(a.y, a.x, a.w, from);
	paint_look(s, LOOK_PROBLEM);
	if (wrong)
		paint_wrap((struct area){ a.y + 1, a.x, a.h - 1, a.w }, 0,
		    p->wrong);
	paint_look(s, LOOK_PLAIN);
	paint_cursor(s, a.y, a.x + paint_width(part + (from - p->line)));
}

/* With the frame, which takes two on each side. */
static int
text_box(void)
{
	int w = COLS < 100 ? 76 : 92;

	return w > COLS - 4 ? COLS - 4 : w;
}

int
popup_width(void)
{
	return text_box() - 4;
}

static void
draw_text(struct screen *s)
{
	struct popup *p = &s->popup;
	const char *text = buf_text(&p->text);
	int w = text_box(), lines;
	struct area a;

	lines = paint_wrap((struct area){ 0, 0, 0, w - 4 }, 0, text);
	a = paint_box(s, lines + 2, w, p->title, p->legend);
	if (p->scroll > lines - a.h)
		p->scroll = lines > a.h ? lines - a.h : 0;
	paint_wrap(a, p->scroll, text);
	paint_cursor(s, a.y, a.x);
}

void
popup_draw(struct screen *s)
{
	if (s->popup.kind == POPUP_LIST)
		draw_list(s);
	else if (s->popup.kind == POPUP_LINE)
		draw_line(s);
	else if (s->popup.kind == POPUP_TEXT)
		draw_text(s);
}
