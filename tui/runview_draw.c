/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runview_draw: the launch screen, from nothing at each draw:
 *
 *	the command, how it goes, since when
 *	numbers of the training, each with its course
 *	the first failure and its last lines, or what is wrong with hosts
 *	hosts and their ranks
 *	the output
 *	keys, or a question
 */
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "tui/paint.h"
#include "tui/runview.h"
#include "tui/runview_intern.h"
#include "tui/runview_screen.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

enum { LEAST_ROWS = 16, LEAST_COLUMNS = 60, SHOWN = 512,
	TAIL = 16 };	/* "  ? keys  q quit" */

/* Where it is long, its end: that is the script, and what tells runs apart. */
static void
draw_command(const char *command, int w)
{
	static const char cut[] = ".. ";
	int		  begin = (int)strcspn(command, " ");
	const char	  *end = command;

	if (paint_width(command) <= w || w < 20) {
		paint_text(0, 1, w, command);
		return;
	}
	begin += command[begin] ? 1 + (int)strcspn(command + begin + 1, " ") :
	    0;
	for (begin = begin < w / 2 ? begin + 1 : 0; *end &&
	    begin + (int)sizeof cut - 1 + paint_width(end) > w;)
		for (end++; (*end & 0xc0) == 0x80; end++)
			;
	paint_text(0, 1, w, command);
	paint_text(0, 1 + begin, w - begin, cut);
	paint_text(0, 1 + begin + (int)sizeof cut - 1,
	    w - begin - (int)sizeof cut + 1, end);
}

static void
draw_head(const struct run_view *v, const struct screen *s, int w, int64_t now)
{
	char	state[80], time[24], right[200];
	int	n;

	runview_summary(v, state, sizeof state);
	runview_elapsed(v, now, time);
	if (v->hosts)
		snprintf(right, sizeof right, "%s  %s   %zu host%s, %zu rank%s ",
		    state, time, v->hosts, v->hosts == 1 ? "" : "s", v->world,
		    v->world == 1 ? "" : "s");
	else
		snprintf(right, sizeof right, "%s  %s ", state, time);
	n = paint_width(right);
	paint_look(s, LOOK_REVERSE);
	paint_blank(0, 0, w);
	draw_command(v->command, w - n - 3);
	paint_text(0, w - n, n, right);
	paint_look(s, LOOK_PLAIN);
}

/* How many rows they take. */
static int
draw_series(const struct run_view *v, const struct screen *s, int y, int w,
    int rows)
{
	int	across = w >= 110 ? 3 : w >= 72 ? 2 : 1, each = (w - 2) / across;
	int	n = (int)v->serieses, i;

	for (i = 0; i < n && i < across * rows; i++) {
		const struct series	*one = &v->series[i];
		struct buf		 text = BUF_INIT, spark = BUF_INIT;
		char			 number[16];
		int			 x = 1 + i % across * each, used;

		series_number(one->last, number);
		buf_addf(&text, "%.20s %s", one->name, number);
		paint_look(s, LOOK_BOLD);
		used = paint_text(y + i / across, x, each - 1, buf_text(&text));
		if (used < 24 && each > 40)
			used = 24;
		if (each - used - 3 > 4)
			series_spark(one, (size_t)(each - used - 3), s->ascii,
			    &spark);
		paint_look(s, LOOK_TITLE);
		paint_text(y + i / across, x + used + 1, each - used - 2,
		    buf_text(&spark));
		buf_clear(&text);
		buf_clear(&spark);
	}
	paint_look(s, LOOK_PLAIN);
	return (i + across - 1) / across;
}

static int
draw_failure(const struct run_view *v, const struct screen *s, int y, int w,
    int rows)
{
	const struct run_failure *f = &v->failure;
	struct buf	 text = BUF_INIT;
	size_t		 n = f->lines.count, from;
	int		 used;

	if (f->rank < v->world)
		buf_addf(&text, "! rank %zu failed on %s: ", f->rank,
		    f->host ? f->host : "?");
	else
		buf_addf(&text, "! host %s was lost: ", f->host ? f->host :
		    "?");
	buf_adds(&text, f->why ? f->why : "");
	paint_look(s, LOOK_PROBLEM);
	used = paint_wrap((struct area){ y, 1, rows < 2 ? rows : 2, w - 2 }, 0,
	    buf_text(&text));
	used = used > 2 ? 2 : used;
	paint_look(s, LOOK_PLAIN);
	from = n > (size_t)(rows - used) ? n - (size_t)(rows - used) : 0;
	for (; from < n && used < rows; from++)
		paint_text(y + used++, 5, w - 6, f->lines.item[from]);
	buf_clear(&text);
	return used;
}

static int
draw_troubles(const struct run_view *v, const struct screen *s, int y, int w,
    int rows)
{
	int	used = 0;
	size_t	i;

	/* What keeps the run from starting goes first. */
	for (int fatal = 1; fatal >= 0; fatal--)
		for (i = 0; i < v->troubles && used < rows; i++) {
			const struct run_trouble *t = &v->trouble[i];
			struct buf		  text = BUF_INIT;

			if (t->fatal != fatal)
				continue;
			buf_addf(&text, "%s %s: %s", t->fatal ? "!" : "?",
			    t->host, t->what);
			paint_look(s, t->fatal ? LOOK_PROBLEM : LOOK_BOLD);
			paint_text(y + used++, 1, w - 2, buf_text(&text));
			paint_look(s, LOOK_PLAIN);
			if (t->hint && *t->hint && used < rows)
				paint_text(y + used++, 3, w - 4, t->hint);
			buf_clear(&text);
		}
	return used;
}

/* "node1:0-3 ", "*:0-7 "; nothing of a single rank. */
static void
add_prefix(const struct run_view *v, const struct log_line *line,
    struct buf *to)
{
	size_t first, next, host;
	bool   many = false;

	if (!line->ranks.count || v->world == 1)
		return;
	next = first = ranks_next(&line->ranks, 0);
	if (line->ranks.world == v->world) {
		host = v->rank[first].host;
		while ((next = ranks_next(&line->ranks, next + 1)) <
		    line->ranks.world)
			many = many || v->rank[next].host != host;
		if (v->hosts > 1)
			buf_addf(to, "%s:", many ? "*" : v->host[host].name);
	}
	ranks_text(&line->ranks, 4, to);
	buf_adds(to, " ");
}

/* The text behind the first n characters. */
static const char *
skip_characters(const char *text, size_t n)
{
	for (; n && *text; n--)
		for (text++; (*text & 0xc0) == 0x80; text++)
			;
	return text;
}

static void
draw_line(const struct run_view *v, const struct screen *s, int y, int w,
    const struct log_line *line)
{
	struct buf	 prefix = BUF_INIT;
	const char	*text = skip_characters(line->text, v->shift), *hit;
	int		 x;

	add_prefix(v, line, &prefix);
	paint_look(s, LOOK_TITLE);
	x = prefix.len ? paint_text(y, 0, w / 2, buf_text(&prefix)) : 0;
	paint_look(s, line->ranks.count ? LOOK_PLAIN : LOOK_BOLD);
	paint_text(y, x, w - x, text);
	hit = *v->search ? strcasestr(text, v->search) : NULL;
	if (hit) {
		char	part[LOG_WIDTH + 1];
		int	from;

		snprintf(part, sizeof part, "%.*s", (int)(hit - text), text);
		from = paint_width(part);
		snprintf(part, sizeof part, "%.*s", (int)strlen(v->search),
		    hit);
		paint_look(s, LOOK_REVERSE);
		if (from >= 0 && x + from + paint_width(part) < w)
			paint_text(y, x + from, w - x - from, part);
	}
	paint_look(s, LOOK_PLAIN);
	buf_clear(&prefix);
}

static void
draw_output(struct run_view *v, const struct screen *s, int y, int w, int rows)
{
	struct buf	title = BUF_INIT;
	uint64_t	at, low, shown[SHOWN];
	int		n = 0;

	buf_addf(&title, " Output%s%s%s ", *v->only_name ? " of " : "",
	    v->only_name, v->follow ? "" : ", not at its end: G follows");
	if (*v->search)
		buf_addf(&title, "/%s ", v->search);
	paint_rule(s, y, 0, w, -1, "");
	paint_look(s, LOOK_BOLD);
	paint_text(y, 2, w - 4, *v->note ? v->note : buf_text(&title));
	paint_look(s, LOOK_PLAIN);
	buf_clear(&title);
	v->log_h = rows;
	if (!runview_bottom(v, &at)) {
		paint_text(y + 1, 1, w - 2, v->phase == RUN_OVER ?
		    "There was no output." : "There is no output yet.");
		return;
	}
	/* From the lowest up; where there are too few, what follows it. */
	low = at;
	do
		shown[n++] = at;
	while (n < rows && n < SHOWN && log_seek(&v->log, &at, -1,
	    runview_only(v), ""));
	for (int i = 0; i < n; i++)
		draw_line(v, s, y + 1 + i, w, log_get(&v->log,
		    shown[n - 1 - i]));
	for (; n < rows && log_seek(&v->log, &low, 1, runview_only(v), "");
	    n++)
		draw_line(v, s, y + 1 + n, w, log_get(&v->log, low));
}

static void
draw_keys(const struct run_view *v, struct screen *s, int y, int w)
{
	static const char *const questions[] = {
		[ASK_STOP] = "Stop the run?  y stops it, any other key does "
		    "not",
		[ASK_RESTART] = "Stop the run and start it again?  y does, any "
		    "other key does not",
		[ASK_QUIT] = "The run is not over.  y stops it and leaves, any "
		    "other key stays",
	};
	struct buf line = BUF_INIT;

	paint_look(s, LOOK_REVERSE);
	paint_blank(y, 0, w);
	if (v->ask == ASK_SEARCH) {
		buf_addf(&line, " /%s", v->typed);
	} else if (v->ask != ASK_NOTHING && v->ask != ASK_SECRET) {
		buf_addf(&line, " %s", questions[v->ask]);
	} else {
		for (size_t i = 0; i < run_binding_count; i++) {
			const struct run_binding *b = &run_bindings[i];
			size_t n = line.len;

			if (!*b->label || (v->phase == RUN_OVER &&
			    !strcmp(b->label, "stop")))
				continue;
			buf_addf(&line, "%s%.*s %s", n ? "  " : " ",
			    (int)strcspn(b->name, ","), b->name, b->label);
			/* Before all others, how to learn of them and how to
			 * leave. */
			if (line.len + TAIL > (size_t)w &&
			    strcmp(b->label, "keys") &&
			    strcmp(b->label, "quit"))
				line.len = n;
		}
		line.data[line.len] = '\0';
	}
	paint_text(y, 0, w, buf_text(&line));
	if (v->ask != ASK_NOTHING && v->ask != ASK_SECRET)
		paint_cursor(s, y, paint_width(buf_text(&line)) < w ?
		    paint_width(buf_text(&line)) : w - 1);
	paint_look(s, LOOK_PLAIN);
	buf_clear(&line);
}

static void
draw_help(const struct run_view *v, struct screen *s)
{
	struct buf  text = BUF_INIT;
	struct area a;

	if (v->record)
		buf_addf(&text, "The record of this run is %s\n", v->record);
	if (v->logs)
		buf_addf(&text, "Its logs are in %s\n", v->logs);
	for (size_t i = 0; i < run_binding_count; i++)
		if (*run_bindings[i].sentence)
			buf_addf(&text, "%-13s %s\n", run_bindings[i].name,
			    run_bindings[i].sentence);
	a = paint_box(s, 24, 78, "Keys", "Up, Down; any other key closes");
	paint_wrap(a, v->help_top, buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

static void
draw_secret(const struct run_view *v, struct screen *s)
{
	struct area	a = paint_box(s, 5, 70, "The launcher asks",
			    "Enter answers, Esc does not");
	int		n = (int)strlen(v->typed);

	paint_text(a.y, a.x, a.w, v->question);
	n = n < a.w - 1 ? n : a.w - 1;
	for (int i = 0; i < n; i++)
		mvaddch(a.y + 1, a.x + i, '*');
	paint_cursor(s, a.y + 1, a.x + n);
}

/* How many rows the list may have of those that are left. */
static int
list_rows(const struct run_view *v, int left)
{
	int most = left * 2 / 5;

	if (v->big || !v->rows)
		return 0;
	if (most < 3)
		most = 3;
	return v->rows < (size_t)most ? (int)v->rows : most;
}

void
runview_draw(struct run_view *v, struct screen *s, int64_t now)
{
	int h, w, y = 1, list;

	getmaxyx(stdscr, h, w);
	erase();
	paint_look(s, LOOK_PLAIN);
	s->cursor_y = h - 1;
	s->cursor_x = w - 1;
	v->list_h = v->log_h = 0;
	if (h < LEAST_ROWS || w < LEAST_COLUMNS) {
		paint_wrap((struct area){ 0, 0, h, w }, 0, "This terminal is "
		    "smaller than 60x16: enlarge it.  The run goes on; s stops "
		    "it, q leaves.");
		if (h > 3)
			draw_keys(v, s, h - 1, w);
		refresh();
		return;
	}
	draw_head(v, s, w, now);
	y += draw_series(v, s, y, w, h >= 30 ? 2 : 1);
	if (v->failure.known)
		y += draw_failure(v, s, y, w, h >= 40 ? 12 : h >= 24 ? 5 : 3);
	else if (v->troubles)
		y += draw_troubles(v, s, y, w, h >= 40 ? 12 : h >= 24 ? 6 : 4);
	list = list_rows(v, h - y - 3);
	if (list) {
		runview_draw_list(v, s, y, w, list);
		y += list + 1;
	}
	v->list_h = list;
	draw_output(v, s, y, w, h - y - 2);
	draw_keys(v, s, h - 1, w);
	if (v->help)
		draw_help(v, s);
	if (v->ask == ASK_SECRET)
		draw_secret(v, s);
	paint_look(s, LOOK_PLAIN);
	move(s->cursor_y, s->cursor_x);
	refresh();
}
