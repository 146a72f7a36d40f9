/* SPDX-License-Identifier: Apache-2.0 */
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "tui/form.h"
#include "tui/screen.h"
#include "runtime/config/words.h"
#include "runtime/base/banned.h"

enum { FOOT = 6 };		/* line, three of help, line, keys */
enum { PAIR_CHANGED = 1, PAIR_PROBLEM, PAIR_TITLE };

struct area {
	int	y, x, h, w;
};

static attr_t
look(const struct screen *s, attr_t attr, int pair)
{
	return attr | (s->color ? (attr_t)COLOR_PAIR(pair) : 0);
}

/* One line of w columns at most; ">" where it was cut. */
static void
put(int y, int x, int w, const char *text)
{
	wchar_t wide[1024];
	size_t n = mbstowcs(wide, text, 1023), i = 0;
	int used = 0, one;

	if (n == (size_t)-1) {		/* not in this locale: as it is */
		mvaddnstr(y, x, text, w);
		return;
	}
	wide[n] = L'\0';
	if (wcswidth(wide, n) <= w) {
		mvaddwstr(y, x, wide);
		return;
	}
	for (; i < n; i++) {
		one = wcwidth(wide[i]) < 0 ? 1 : wcwidth(wide[i]);
		if (used + one > w - 1)
			break;
		used += one;
	}
	if (w > 0) {
		mvaddnwstr(y, x, wide, (int)i);
		mvaddch(y, x + used, '>');
	}
}

/* Text over lines, broken at blanks; returns how many it took.  Lines before
 * "skip" are counted and not drawn. */
static int
wrap(struct area a, long skip, const char *text)
{
	long line = 0;

	for (;;) {
		size_t n = strcspn(text, "\n"), cut = n;
		char part[512];

		if (a.w > 0 && n > (size_t)a.w) {
			for (cut = (size_t)a.w; cut && text[cut] != ' '; cut--)
				;
			if (!cut)
				cut = (size_t)a.w;
		}
		snprintf(part, sizeof part, "%.*s", (int)cut, text);
		if (line >= skip && line - skip < a.h)
			put(a.y + (int)(line - skip), a.x, a.w, part);
		line++;
		text += cut;
		if (cut < n)
			text += strspn(text, " ");
		else if (!*text || !*++text)
			return (int)line;
	}
}

static void
rule(const struct screen *s, int y, int w, int cross, const char *joint)
{
	for (int x = 0; x < w; x++)
		mvaddstr(y, x, s->ascii ? (x == cross ? "+" : "-") :
		    x == cross ? joint : "─");
}

static void
draw_head(const struct screen *s, int w)
{
	const struct form *f = s->form;
	const char *name = strrchr(f->path, '/');
	struct buf sum = BUF_INIT, left = BUF_INIT;
	char step[48];
	int at;

	attrset(A_REVERSE);
	mvprintw(0, 0, "%*s", w, "");
	machine_summary(f->machine, &sum);
	snprintf(step, sizeof step, "%d/%d %s", f->step + 1, STEP_COUNT,
	    step_title[f->step]);
	buf_addf(&left, " accel-setup  %s%s", name ? name + 1 : f->path,
	    form_unsaved(f) ? " *" : "");
	at = w - (int)strlen(buf_text(&sum)) - 1;
	if (at > (int)(left.len + strlen(step)) + 4)
		put(0, at, w - at, buf_text(&sum));
	else
		at = w;
	put(0, 0, at - (int)strlen(step) - 2, buf_text(&left));
	at = at - (int)strlen(step) - 3;
	put(0, at, w - at, step);
	attrset(A_NORMAL);
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

/* The file as it will be, scrolled so that a change is in sight. */
static void
draw_file(const struct screen *s, struct area a)
{
	struct buf yaml = BUF_INIT;
	const char *before = buf_text(&s->form->first), *at;
	long line = 0, top = 0;

	config_print(form_now(s->form), &yaml);
	for (at = buf_text(&yaml); *at; line++) {
		size_t n = strcspn(at, "\n");

		if (!has_line(before, at, n) && line >= a.h)
			top = line - a.h + 1;
		at += n + (at[n] == '\n');
	}
	line = 0;
	for (at = buf_text(&yaml); *at && line < top + a.h; line++) {
		size_t n = strcspn(at, "\n");
		char text[512];
		bool changed = !has_line(before, at, n);

		snprintf(text, sizeof text, "%s %.*s", changed ? "*" : " ",
		    (int)n, at);
		if (changed)
			attrset(look(s, A_BOLD, PAIR_CHANGED));
		if (line >= top)
			put(a.y + (int)(line - top), a.x, a.w, text);
		attrset(A_NORMAL);
		at += n + (at[n] == '\n');
	}
	buf_clear(&yaml);
}

/* What to call a field in a narrow column: its key in words. */
static void
name_of(enum field_id id, char *name, size_t room)
{
	static const char *const capitals[] = { "GPU", "CPU", "IP" };
	const char *key = fields[id].key;

	if (!strncmp(key, "fsdp_", 5))
		key += 5;
	snprintf(name, room, "%s", key);
	for (char *p = name; *p; p++) {
		bool head = p == name || p[-1] == ' ';

		for (size_t i = 0; head && i < 3; i++) {
			size_t n = strlen(capitals[i]);

			if (!strncasecmp(p, capitals[i], n) &&
			    (p[n] == '_' || !p[n]))
				memcpy(p, capitals[i], n);
		}
		if (*p == '_')
			*p = ' ';
	}
	if (*name >= 'a' && *name <= 'z')
		*name = (char)(*name - 'a' + 'A');
}

static void
draw_fields(const struct screen *s, struct area a)
{
	const struct form *f = s->form;
	int rows = 0, focus = 0, top, y = 0, cy = a.y, column = a.w * 11 / 20;
	const char *title = NULL;

	for (size_t i = 0; i < f->shown; i++, rows++) {
		if (title != fields[f->list[i]].title)
			rows++;
		title = fields[f->list[i]].title;
		if (i == f->cursor)
			focus = rows;
	}
	top = focus > a.h - 2 ? focus - a.h + 2 : 0;
	title = NULL;
	for (size_t i = 0; i < f->shown; i++, y++) {
		enum field_id id = f->list[i];
		struct buf value = BUF_INIT;
		char name[80], line[160];

		if (title != fields[id].title) {
			title = fields[id].title;
			attrset(look(s, A_BOLD, PAIR_TITLE));
			if (y >= top && y < top + a.h)
				put(a.y + y - top, a.x + 1, a.w - 1, title);
			attrset(A_NORMAL);
			y++;
		}
		if (y < top || y >= top + a.h)
			continue;
		name_of(id, name, sizeof name);
		if (fields[id].type == TYPE_BOOL) {
			form_value(f, id, &value);
			snprintf(line, sizeof line, "%s", !strcmp(
			    buf_text(&value), "true") ? "[x]" : "[ ]");
		} else {
			form_value(f, id, &value);
			snprintf(line, sizeof line, "%.150s", buf_text(&value));
		}
		if (i == f->cursor) {
			cy = a.y + y - top;
			attrset(A_REVERSE);
			mvprintw(cy, a.x, "%*s", a.w, "");
		}
		mvaddstr(a.y + y - top, a.x + 1, i == f->cursor ? ">" : " ");
		put(a.y + y - top, a.x + 3, column - 4, name);
		put(a.y + y - top, a.x + column, a.w - column - 2, line);
		if (form_changed(f, id))
			mvaddstr(a.y + y - top, a.x + a.w - 2, "*");
		attrset(A_NORMAL);
		buf_clear(&value);
	}
	move(cy, a.x + 1);
}

static void
draw_start(const struct screen *s, struct area a)
{
	const struct form *f = s->form;
	struct buf text = BUF_INIT;

	if (f->saved.len)
		buf_addf(&text, "This file is opened to be changed: %s\n\n"
		    "p takes the values that fit this machine instead.\n\n",
		    f->path);
	else
		buf_addf(&text, "A new file. %s\n\n", f->reason);
	buf_adds(&text, "Enter goes on, s writes the file as it stands.\n\n"
	    "This machine\n");
	machine_print(f->machine, &text);
	a.x++;
	a.w -= 2;
	wrap(a, 0, buf_text(&text));
	buf_clear(&text);
	move(a.y, a.x);
}

static void
draw_review(const struct screen *s, struct area a)
{
	const struct form *f = s->form;
	struct buf text = BUF_INIT;
	struct problems problems = PROBLEMS_INIT;
	int y = 0;

	a.x++;
	a.w -= 2;
	form_problems(f, &problems, NULL);
	for (size_t i = 0; i < problems.count; i++) {
		const struct problem *p = &problems.item[i];

		buf_addf(&text, "%c %s", p->fatal ? '!' : '?', p->what);
		attrset(look(s, A_BOLD, PAIR_PROBLEM));
		y += wrap((struct area){ a.y + y, a.x, a.h - y, a.w }, 0,
		    buf_text(&text));
		attrset(A_NORMAL);
		y += wrap((struct area){ a.y + y, a.x + 2, a.h - y, a.w - 2 },
		    0, p->hint);
		buf_clear(&text);
	}
	if (problems.count == 0)
		put(a.y, a.x, a.w, "No problems found.");
	y += problems.count ? 1 : 2;
	problems_clear(&problems);
	buf_addf(&text, "%s\n\nRun it with\n  accel launch --config_file %s "
	    "%s\n\ns  write the file\n", form_unsaved(f) ?
	    "Not yet written." : "The file is written.", f->path, s->script ?
	    s->script : "SCRIPT");
	if (s->script)
		buf_addf(&text, "x  write it and launch %s\n", s->script);
	buf_adds(&text, "q  leave\n");
	a.y += y;
	a.h -= y;
	wrap(a, 0, buf_text(&text));
	move(a.y, a.x);
	buf_clear(&text);
}

static void
draw_foot(const struct screen *s, int y, int w)
{
	const struct form *f = s->form;
	struct buf line = BUF_INIT, needs = BUF_INIT;
	int id = form_field(f);
	bool wide = w >= 72;
	static const struct { const char *name, *label; } keys[] = {
#define KEY(key, name, action, label, sentence)	{ name, label },
#include "tui/keys.def"
#undef KEY
	};

	if (*f->message) {
		attrset(look(s, A_BOLD, f->bad ? PAIR_PROBLEM : PAIR_TITLE));
		buf_addf(&line, "%s%s", f->bad ? "! " : "", f->message);
		wrap((struct area){ y, 1, 3, w - 2 }, 0, buf_text(&line));
		attrset(A_NORMAL);
	} else if (f->step == STEP_TRAINING && id >= 0) {
		buf_addf(&line, "%s", fields[id].ask);
		if (!(fields[id].flags & FIELD_NOFLAG))
			buf_addf(&line, "   --%s",
			    field_flag((enum field_id)id));
		attrset(A_BOLD);
		put(y, 1, w - 2, buf_text(&line));
		attrset(A_NORMAL);
		put(y + 1, 1, w - 2, fields[id].help);
		buf_clear(&line);
		buf_addf(&line, "From: %s.", form_origin(f, (enum field_id)id));
		field_needs((enum field_id)id, &needs);
		if (needs.len)
			buf_addf(&line, "  Needs: %s.", buf_text(&needs));
		buf_clear(&needs);
		put(y + 2, 1, w - 2, buf_text(&line));
	} else if (f->step == STEP_START)
		wrap((struct area){ y, 1, 3, w - 2 }, 0, "Nothing is written "
		    "before you say so, and u takes each change back.");
	else
		wrap((struct area){ y, 1, 3, w - 2 }, 0, config_check(
		    form_now(f), NULL) ? "2 goes back to the fields.  Saving "
		    "with a problem is possible; launching is not." :
		    "2 goes back to the fields.");
	buf_clear(&line);
	buf_addf(&line, " %s", f->step == STEP_TRAINING ? "Enter change" :
	    f->step == STEP_START ? "Enter go on" : "Enter save");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (*keys[i].label && (f->step == STEP_TRAINING ||
		    !strchr("?d", *keys[i].name)) && (wide ?
		    keys[i].name[1] != '5' : keys[i].name[1] != '1' &&
		    !strchr("du", *keys[i].name)))
			buf_addf(&line, "  %.*s %s",
			    (int)strcspn(keys[i].name, ","), keys[i].name,
			    keys[i].label);
	attrset(A_REVERSE);
	mvprintw(y + 4, 0, "%*s", w, "");
	put(y + 4, 0, w, buf_text(&line));
	attrset(A_NORMAL);
	buf_clear(&line);
}

/* A frame in the middle, empty inside; returns the inside. */
static struct area
draw_box(const struct screen *s, int h, int w, const char *title)
{
	int rows, columns;
	struct area a;

	getmaxyx(stdscr, rows, columns);
	if (h > rows - 2)
		h = rows - 2;
	if (w > columns - 4)
		w = columns - 4;
	a = (struct area){ (rows - h) / 2, (columns - w) / 2, h, w };
	for (int y = 0; y < h; y++) {
		bool edge = !y || y == h - 1;

		mvprintw(a.y + y, a.x, "%*s", w, "");
		for (int x = 0; edge && x < w; x++)
			mvaddstr(a.y + y, a.x + x, s->ascii ? "-" : "─");
		mvaddstr(a.y + y, a.x, s->ascii ? edge ? "+" : "|" :
		    !y ? "┌" : edge ? "└" : "│");
		mvaddstr(a.y + y, a.x + w - 1, s->ascii ? edge ? "+" : "|" :
		    !y ? "┐" : edge ? "┘" : "│");
	}
	attrset(A_BOLD);
	put(a.y, a.x + 2, w - 4, title);
	attrset(A_NORMAL);
	return (struct area){ a.y + 1, a.x + 2, h - 2, w - 4 };
}

static void
draw_choices(const struct screen *s, enum field_id id)
{
	int n = (int)config_choices(form_now(s->form), id), top, y;
	struct area a;

	a = draw_box(s, n + 2, 62, fields[id].ask);
	top = (int)s->pick >= a.h ? (int)s->pick - a.h + 1 : 0;
	for (int i = top; i < n && i < top + a.h; i++) {
		char line[160];

		snprintf(line, sizeof line, "%c %-18s %s",
		    i == (int)s->pick ? '>' : ' ', fields[id].choice[i].word,
		    fields[id].choice[i].what);
		if (i == (int)s->pick)
			attrset(A_REVERSE);
		put(a.y + i - top, a.x, a.w, line);
		attrset(A_NORMAL);
	}
	y = a.y + (int)s->pick - top;
	move(y, a.x);
}

static void
draw_text(const struct screen *s, enum field_id id)
{
	struct area a = draw_box(s, *s->form->message ? 6 : 4, 62,
	    fields[id].ask);
	const char *text = s->edit;
	int shown;

	while (strlen(text) > (size_t)a.w - 1)	/* the end is in sight */
		text++;
	attrset(A_UNDERLINE);
	mvprintw(a.y, a.x, "%*s", a.w, "");
	put(a.y, a.x, a.w, text);
	shown = getcurx(stdscr);
	attrset(A_NORMAL);
	put(a.y + 1, a.x, a.w, "Enter takes it, Esc leaves, Ctrl-U empties");
	if (*s->form->message)
		wrap((struct area){ a.y + 2, a.x, 2, a.w }, 0,
		    s->form->message);
	move(a.y, *text ? shown : a.x);
}

static void
draw_help(const struct screen *s)
{
	int rows;
	struct buf text = BUF_INIT;
	static const struct { const char *name, *sentence; } keys[] = {
#define KEY(key, name, action, label, sentence)	{ name, sentence },
#include "tui/keys.def"
#undef KEY
	};

	if (s->mode == MODE_HELP)
		form_help(s->form, (enum field_id)form_field(s->form), &text);
	for (size_t i = 0; s->mode == MODE_KEYS && i < sizeof keys /
	    sizeof *keys; i++)
		if (*keys[i].sentence)
			buf_addf(&text, "%-10s %s\n", keys[i].name,
			    keys[i].sentence);
	/* Drawn over by the box: this counts the lines. */
	rows = wrap((struct area){ 0, 0, 0, COLS < 72 ? COLS - 8 : 68 }, 0,
	    buf_text(&text));
	wrap(draw_box(s, rows + 2, 72, s->mode == MODE_KEYS ?
	    "Keys (Up, Down; any other key closes)" :
	    "Help (Up, Down; any other key closes)"), s->scroll,
	    buf_text(&text));
	buf_clear(&text);
}

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
}

void
screen_draw(const struct screen *s)
{
	int h, w, split = -1;
	int id = form_field(s->form);
	struct area a;

	getmaxyx(stdscr, h, w);
	erase();
	if (h < 16 || w < 60) {
		wrap((struct area){ 0, 0, h, w }, 0, "This terminal is smaller "
		    "than 60x16: enlarge it, or leave with q and use "
		    "accel-setup --plain.");
		refresh();
		return;
	}
	if (w >= 72)
		split = w / 2;
	draw_head(s, w);
	draw_foot(s, h - FOOT + 1, w);
	a = (struct area){ 2, 0, h - FOOT - 2, split < 0 ? w : split };
	if (split >= 0 || s->file)
		draw_file(s, split < 0 ? a : (struct area){ 2, split + 2, a.h,
		    w - split - 2 });
	for (int y = 0; split >= 0 && y < a.h; y++)
		mvaddstr(a.y + y, split, s->ascii ? "|" : "│");
	rule(s, 1, w, split, "┬");
	rule(s, h - FOOT, w, split, "┴");
	rule(s, h - 2, w, -1, "");
	if (split >= 0 || !s->file) {
		if (s->form->step == STEP_TRAINING)
			draw_fields(s, a);
		else if (s->form->step == STEP_START)
			draw_start(s, a);
		else
			draw_review(s, a);
	}
	if (s->mode == MODE_CHOICE)
		draw_choices(s, (enum field_id)id);
	else if (s->mode == MODE_TEXT)
		draw_text(s, (enum field_id)id);
	else if (s->mode == MODE_HELP || s->mode == MODE_KEYS)
		draw_help(s);
	else if (s->mode == MODE_QUIT)
		put(draw_box(s, 3, 56, "Unsaved changes").y, (w - 56) / 2 + 2,
		    52, "s saves and leaves, q leaves, any other key stays");
	refresh();
}
