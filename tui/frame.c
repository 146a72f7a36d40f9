/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/frame.h"
#include "tui/page.h"
#include "runtime/base/banned.h"

void
frame_lay(struct frame *r, int h, int w, bool full, int wish)
{
	int foot = h < 30 ? 3 : 5, memory = h < 20 ? 1 : h < 28 ? 2 : 3;
	int y = h - 2;			/* the line above the keys */

	memset(r, 0, sizeof *r);
	r->keys = h - 1;
	r->narrow = w < FRAME_WIDE;
	r->split = full || r->narrow ? -1 : w / 2;
	if (r->split >= 0 && w >= FRAME_WHOLE && wish > r->split)
		r->split = wish < w * 13 / 20 ? wish : w * 13 / 20;
	if (full) {
		r->page = (struct area){ 2, 0, y - 2, w };
		return;
	}
	y -= foot;
	r->foot = (struct area){ y, 1, foot, w - 2 };
	y -= memory + 1;
	r->memory = (struct area){ y, 1, memory, w - 2 };
	y--;
	r->page = (struct area){ 2, 0, y - 2, r->narrow ? w : r->split };
	r->file = r->narrow ? r->page : (struct area){ 2, r->split + 2, y - 2,
	    w - r->split - 2 };
}

static void
draw_head(struct screen *s, int w)
{
	const struct form *f = s->form;
	const char *name = strrchr(f->path, '/');
	struct buf sum = BUF_INIT, left = BUF_INIT;
	char step[64];
	int at;

	paint_look(s, LOOK_REVERSE);
	paint_blank(0, 0, w);
	machine_summary(f->machine, &sum);
	if (s->page < STEP_COUNT)
		snprintf(step, sizeof step, "%d/%d %s", s->page + 1,
		    STEP_COUNT, pages[s->page]->title);
	else
		snprintf(step, sizeof step, "%s", pages[s->page]->title);
	buf_addf(&left, " accel-setup  %s%s", name ? name + 1 : f->path,
	    form_unsaved(f) ? " *" : "");
	at = w - paint_width(buf_text(&sum)) - 1;
	if (at > paint_width(buf_text(&left)) + paint_width(step) + 4)
		paint_text(0, at, w - at, buf_text(&sum));
	else
		at = w;
	at -= paint_width(step) + 3;
	paint_text(0, 0, at - 1, buf_text(&left));
	paint_text(0, at, w - at, step);
	paint_look(s, LOOK_PLAIN);
	buf_clear(&sum);
	buf_clear(&left);
}

static bool
has_line(const char *text, const char *line, size_t n)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") == n && !strncmp(text, line, n))
			return true;
	return false;
}

/* The lines with an error. */
static bool
has_problem(const struct form *f, long line)
{
	for (size_t i = 0; i < f->problems.count; i++)
		if (f->problems.item[i].fatal &&
		    f->problems.item[i].field >= 0 &&
		    form_line(f, f->problems.item[i].field) == line)
			return true;
	return false;
}

/* One line of the file; returns how many rows it took. */
static int
draw_line(struct screen *s, struct area a, char mark, const char *line,
    size_t n, enum look look)
{
	char text[1024];
	size_t blanks = strspn(line, " ");

	paint_look(s, look);
	snprintf(text, sizeof text, "%c ", mark);
	if (a.h > 0)
		paint_text(a.y, a.x, 2, text);
	snprintf(text, sizeof text, "%.*s", (int)(n < 1000 ? n : 1000), line);
	/* From 100 columns on nothing is cut. */
	if (s->whole && blanks < n)
		n = (size_t)paint_wrap((struct area){ a.y, a.x + 2, a.h,
		    a.w - 2 }, 0, text);
	else if (a.h > 0)
		n = (size_t)paint_text(a.y, a.x + 2, a.w - 2, text) > 0;
	paint_look(s, LOOK_PLAIN);
	return n ? (int)n : 1;
}

/* The file as it will be, scrolled so that the last change, or the field under
 * the cursor, is in sight. */
void
frame_file(struct screen *s, struct area a)
{
	const struct form *f = s->form;
	const char *before = buf_text(&f->first), *at;
	long line = 0, lines = 0, focus = -1, top;
	int y = 0;

	for (at = buf_text(&f->text); (at = strchr(at, '\n')); at++)
		lines++;
	if (f->changed >= 0)
		focus = form_line(f, f->changed);
	if (focus < 0 && form_item(f) >= 0)
		focus = form_line(f, form_item(f));
	top = focus < a.h ? 0 : paint_scroll(focus, lines, a.h);
	for (at = buf_text(&f->text); *at && y < a.h; line++) {
		size_t n = strcspn(at, "\n");
		bool changed = !has_line(before, at, n);
		bool bad = has_problem(f, line);

		if (line >= top)
			y += draw_line(s, (struct area){ a.y + y, a.x,
			    a.h - y, a.w }, bad ? '!' : changed ? '*' : ' ',
			    at, n, bad ? LOOK_PROBLEM : changed ?
			    LOOK_CHANGED : LOOK_PLAIN);
		at += n + (at[n] == '\n');
	}
}

static void
draw_memory(struct screen *s, struct area a)
{
	struct buf line = BUF_INIT;
	struct need need;
	bool known = form_memory(s->form, &need);
	int x = a.x, bar = a.w >= 90 ? 34 : a.w >= 70 ? 22 : 14;

	paint_look(s, need.over ? LOOK_PROBLEM : LOOK_PLAIN);
	paint_text(a.y, 0, 1, need.over ? "!" : " ");
	x += paint_text(a.y, x, a.w, form_now(s->form)->main.use_cpu ?
	    "Memory per rank  " : "Memory per GPU  ");
	if (known && need.room > 0) {
		paint_bar(s, a.y, x, bar, need.bytes / need.room);
		x += bar + 1;
	}
	form_memory_say(s->form, &line);
	paint_text(a.y, x, a.x + a.w - x, buf_text(&line));
	paint_look(s, LOOK_PLAIN);
	buf_clear(&line);
	form_memory_parts(s->form, &line);
	if (a.h == 2)
		paint_text(a.y + 1, a.x + 2, a.w - 2, buf_text(&line));
	else if (a.h > 2)
		paint_wrap((struct area){ a.y + 1, a.x + 2, a.h - 1, a.w - 2 },
		    0, buf_text(&line));
	buf_clear(&line);
}

static void
draw_item(struct screen *s, struct area a, int item)
{
	const struct form *f = s->form;
	const struct field *row = item_row(item);
	const struct problem *p = form_problem(f, item);
	struct buf line = BUF_INIT, needs = BUF_INIT;
	bool wrong = f->refused[item] || p;
	int y = 1;

	buf_addf(&line, "%s", row->ask);
	if (row->flags & FIELD_NOFLAG)
		buf_addf(&line, "   %s", row->key);
	else
		buf_addf(&line, "   --%s", row->flag ? row->flag : row->key);
	paint_look(s, LOOK_BOLD);
	paint_text(a.y, a.x, a.w, buf_text(&line));
	paint_look(s, LOOK_PLAIN);
	/* Where there is little room, what is wrong comes first. */
	if (a.h > 3)
		y += paint_wrap((struct area){ a.y + 1, a.x, a.h - 3, a.w },
		    0, row->help);
	else if (!wrong)
		y += paint_text(a.y + 1, a.x, a.w, row->help) > 0;
	y = y > a.h - 1 ? a.h - 1 : y;
	buf_clear(&line);
	if (f->refused[item])
		buf_addf(&line, "! \"%s\" was not taken: Enter mends it",
		    f->refused[item]);
	else if (p)
		buf_addf(&line, "%c %s%s%s", p->fatal ? '!' : '?', p->what,
		    *p->hint ? ": " : "", p->hint);
	else {
		buf_addf(&line, "From: %s.", form_origin(f, item));
		item_needs(item, &needs);
		if (needs.len)
			buf_addf(&line, "  Needs: %s.", buf_text(&needs));
	}
	paint_look(s, wrong ? LOOK_PROBLEM : LOOK_PLAIN);
	paint_wrap((struct area){ a.y + y, a.x, a.h - y, a.w }, 0,
	    buf_text(&line));
	paint_look(s, LOOK_PLAIN);
	buf_clear(&needs);
	buf_clear(&line);
}

static void
draw_foot(struct screen *s, struct area a)
{
	const struct form *f = s->form;
	struct buf line = BUF_INIT;
	int item = form_item(f);

	if (*f->message) {
		paint_look(s, f->bad ? LOOK_PROBLEM : LOOK_TITLE);
		buf_addf(&line, "%s%s", f->bad ? "! " : "", f->message);
		paint_wrap(a, 0, buf_text(&line));
		paint_look(s, LOOK_PLAIN);
	} else if ((1 << s->page) & ON_FIELDS && item >= 0)
		draw_item(s, a, item);
	else if (pages[s->page]->sentence)
		paint_wrap(a, 0, pages[s->page]->sentence);
	buf_clear(&line);
}

/* Those that fit; the last one always does. */
void
frame_labels(struct screen *s, int y, int w)
{
	const struct page *page = pages[s->page];
	int x = 1, last = 0, room;
	char text[80];

	paint_look(s, LOOK_REVERSE);
	paint_blank(y, 0, w);
	for (size_t i = 0; i < binding_count; i++)
		if (*bindings[i].label)
			last = (int)i;
	room = w - (int)strlen(bindings[last].label) - 4;
	if (page->enter) {
		snprintf(text, sizeof text, "Enter %s", page->enter);
		paint_hit(s, y, x, (int)strlen(text), '\n', true);
		x += paint_text(y, x, w - x, text) + 2;
	}
	for (size_t i = 0; i < binding_count; i++) {
		const struct binding *b = &bindings[i];
		int n;

		if (!*b->label || !(b->where & 1u << s->page) ||
		    (b->action == ACT_FILE && w >= FRAME_WIDE))
			continue;
		n = snprintf(text, sizeof text, "%.*s %s",
		    (int)strcspn(b->name, ","), b->name, b->label);
		if (x + n > ((int)i == last ? w : room))
			continue;
		paint_hit(s, y, x, n, b->key, true);
		x += paint_text(y, x, w - x, text) + 2;
	}
	paint_look(s, LOOK_PLAIN);
}

void
frame_draw(struct screen *s, const struct frame *r)
{
	int w = r->foot.w ? r->foot.w + 2 : r->page.w;

	draw_head(s, w);
	paint_rule(s, 1, 0, w, r->split, "┬");
	if (r->foot.h) {
		paint_rule(s, r->page.y + r->page.h, 0, w, r->split, "┴");
		draw_memory(s, r->memory);
		paint_rule(s, r->foot.y - 1, 0, w, -1, "");
		draw_foot(s, r->foot);
	}
	paint_rule(s, r->keys - 1, 0, w, -1, "");
	s->drawing = 2;
	frame_labels(s, r->keys, w);
	s->drawing = 0;
}
