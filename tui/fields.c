/* SPDX-License-Identifier: Apache-2.0 */
/* The steps Training and Strategy: items, their values and marks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/page.h"
#include "runtime/base/banned.h"

enum { PAGE = 10 };

/* Columns: " > Name   value   *"; in brackets what has no effect now. */
static void
draw_row(struct screen *s, struct area a, int y, size_t i, int column)
{
	const struct form *f = s->form;
	int item = f->list[i];
	bool here = i == f->cursor, idle = !form_applies(f, item);
	const struct problem *p = form_problem(f, item);
	struct buf value = BUF_INIT;
	char name[88], plain[80];

	item_name(item, plain, sizeof plain);
	snprintf(name, sizeof name, idle ? "(%s)" : "%s", plain);
	form_value(f, item, &value);
	if (item_row(item)->type == TYPE_BOOL) {
		bool on = !strcmp(buf_text(&value), "true");

		buf_clear(&value);
		buf_adds(&value, on ? "[x]" : "[ ]");
	}
	paint_look(s, here ? LOOK_REVERSE : idle ? LOOK_DIM : LOOK_PLAIN);
	if (here) {
		paint_blank(y, a.x, a.w);
		paint_cursor(s, y, a.x + 1);
	}
	paint_text(y, a.x + 1, 1, here ? ">" : " ");
	paint_text(y, a.x + 3, column - 4, name);
	paint_text(y, a.x + column, a.w - column - 3, buf_text(&value));
	paint_text(y, a.x + a.w - 2, 2, (p && p->fatal) || f->refused[item] ?
	    "!" : form_changed(f, item) ? "*" : p ? "?" : " ");
	paint_look(s, LOOK_PLAIN);
	paint_hit(s, y, a.x, a.w, (int)i, false);
	paint_hit(s, y, a.x + column, a.w - column, (int)i, true);
	buf_clear(&value);
}

/* The widest name, if the values keep a third of w (0: any width). */
static int
name_column(const struct form *f, int w)
{
	int most = 0, column;
	char name[80];

	for (size_t i = 0; i < f->shown; i++) {
		int n;

		item_name(f->list[i], name, sizeof name);
		n = paint_width(name) + (form_applies(f, f->list[i]) ? 0 : 2);
		if (n > most)
			most = n;
	}
	column = most + 5;
	if (!w)
		return column;
	return column > w * 2 / 3 ? w * 2 / 3 : column < w / 2 ? w / 2 : column;
}

/* Names and values whole, and the marks. */
static int
wish(struct screen *s)
{
	const struct form *f = s->form;
	int name = name_column(f, 0), most = 0;

	for (size_t i = 0; i < f->shown; i++) {
		struct buf value = BUF_INIT;
		int n;

		form_value(f, f->list[i], &value);
		n = item_row(f->list[i])->type == TYPE_BOOL ? 3 :
		    paint_width(buf_text(&value));
		if (n > most)
			most = n;
		buf_clear(&value);
	}
	return name + most + 3;
}

static void
draw(struct screen *s, struct area a)
{
	const struct form *f = s->form;
	const char *title = NULL;
	long rows = 0, focus = 0, top, y = 0;
	int column = name_column(f, a.w);

	for (size_t i = 0; i < f->shown; i++, rows++) {
		const char *own = item_title(f->list[i]);

		rows += !title || strcmp(title, own);
		title = own;
		if (i == f->cursor)
			focus = rows;
	}
	if (!f->shown)
		paint_text(a.y, a.x + 1, a.w - 2, "Nothing was changed.");
	/* The title of the first group is seen with its first row. */
	top = paint_scroll(focus == 1 ? 0 : focus, rows, a.h);
	title = NULL;
	for (size_t i = 0; i < f->shown; i++, y++) {
		const char *own = item_title(f->list[i]);

		if (!title || strcmp(title, own)) {
			paint_look(s, LOOK_TITLE);
			if (y >= top && y < top + a.h)
				paint_text(a.y + (int)(y - top), a.x + 1,
				    a.w - 1, own);
			paint_look(s, LOOK_PLAIN);
			y++;
		}
		title = own;
		if (y >= top && y < top + a.h)
			draw_row(s, a, a.y + (int)(y - top), i, column);
	}
}

static void
chosen(struct screen *s, int value, const char *word)
{
	(void)value;
	form_set(s->form, s->editing, word, ORIGIN_USER, NULL);
}

static void
typed(struct screen *s, int value, const char *text)
{
	struct err err = ERR_INIT;
	char wrong[600];

	(void)value;
	if (!form_set(s->form, s->editing, text, ORIGIN_USER, &err))
		return;
	snprintf(wrong, sizeof wrong, "%.300s%s%.280s", err.text,
	    *err.hint ? ": " : "", err.hint);
	popup_again(s, text, wrong);
}

void
screen_edit(struct screen *s, int item)
{
	struct form *f = s->form;
	const struct field *row = item_row(item);
	struct buf now = BUF_INIT;

	s->editing = item;
	form_text(f, item, &now);
	if (row->choice) {
		popup_list(s, row->ask, chosen);
		for (size_t i = 0; i < form_choices(f, item); i++) {
			popup_row_add(s, (int)i, row->choice[i].word,
			    row->choice[i].what, NULL);
			if (!strcmp(row->choice[i].word, buf_text(&now)))
				popup_pick(s, (int)i);
		}
	} else if (row->type == TYPE_BOOL) {
		form_toggle(f, item);
	} else {
		char *text = strdup(f->refused[item] ? f->refused[item] :
		    buf_text(&now));

		for (char *p = text; p && *p; p++)
			if (*p == '\n')
				*p = p[1] ? ',' : '\0';
		popup_line(s, row->ask, text ? text : "", typed);
		free(text);
	}
	buf_clear(&now);
}

static bool
act(struct screen *s, enum action action)
{
	struct form *f = s->form;
	int item = form_item(f);

	if (item < 0)
		return false;
	switch (action) {
	case ACT_UP:	form_move(f, -1); break;
	case ACT_DOWN:	form_move(f, 1); break;
	case ACT_PAGEUP: form_move(f, -PAGE); break;
	case ACT_PAGEDOWN: form_move(f, PAGE); break;
	case ACT_FIRST:	form_move(f, -ITEM_COUNT); break;
	case ACT_LAST:	form_move(f, ITEM_COUNT); break;
	case ACT_DEFAULT: form_default(f, item); break;
	case ACT_ENTER:	screen_edit(s, item); break;
	case ACT_TOGGLE:
		if (form_toggle(f, item) && !item_row(item)->choice)
			screen_edit(s, item);
		break;
	default:
		return false;
	}
	return true;
}

static void
click(struct screen *s, int row, bool mark)
{
	struct form *f = s->form;

	if (row < 0 || (size_t)row >= f->shown)
		return;
	f->cursor = (size_t)row;
	if (mark)
		act(s, ACT_TOGGLE);
}

const struct page page_training = {
	.title = "Training", .enter = "change", .draw = draw, .act = act,
	.click = click, .wish = wish,
};

const struct page page_strategy = {
	.title = "Strategy", .enter = "change", .draw = draw, .act = act,
	.click = click, .wish = wish,
};
