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
#include "tui/runview_screen.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

enum { LEAST_ROWS = 16, LEAST_COLUMNS = 60, SHOWN = 512,
	TAIL = 16 };	/* "  ? keys  q quit" */

struct columns {		/* of the list, as wide as the screen lets them */
	int	name, state, cpu, memory, gpu, gpu_memory, more;
};

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

/* "12.1G"; "-" where it is unknown. */
static void
put_bytes(char *text, size_t room, double n)
{
	static const char units[] = "KMGTP";
	int unit = 0;

	if (n < 0) {
		snprintf(text, room, "-");
		return;
	}
	for (n /= 1024; n >= 1000 && units[unit + 1]; unit++)
		n /= 1024;
	snprintf(text, room, "%.*f%c", n >= 100 || unit < 2 ? 0 : 1, n,
	    units[unit]);
}

static void
put_share(char *text, size_t room, double used, double all, bool wide)
{
	char of[16];

	put_bytes(text, room, used);
	if (!wide || used < 0 || all < 0)
		return;
	put_bytes(of, sizeof of, all);
	snprintf(text + strlen(text), room - strlen(text), "/%s", of);
}

/* Against the right of its column. */
static void
put_right(int y, int x, int w, const char *text)
{
	int n = paint_width(text);

	if (w > 1)
		paint_text(y, n < w - 1 ? x + w - 1 - n : x, w - 1, text);
}

static void
lay_columns(struct columns *c, int w)
{
	bool wide = w >= 80;

	*c = (struct columns){ .cpu = wide ? 10 : 7, .memory = wide ? 12 : 7,
	    .gpu = 6, .gpu_memory = wide ? 12 : 8 };
	w -= 3 + c->cpu + c->memory + c->gpu + c->gpu_memory;
	c->more = w >= 60 ? w - 52 : 0;
	w -= c->more;
	c->state = w * 4 / 7;
	c->name = w - c->state;
}

/* What one row says behind name and state. */
static void
draw_use(const struct columns *c, int y, int x, const struct run_use *use,
    double cpus, double memory, double gpu_memory, bool wide)
{
	char text[48];

	if (use->cpu < 0)
		snprintf(text, sizeof text, "-");
	else if (cpus > 0 && wide)
		snprintf(text, sizeof text, "%.1f/%.0f", use->cpu, cpus);
	else
		snprintf(text, sizeof text, "%.1f", use->cpu);
	put_right(y, x, c->cpu, text);
	x += c->cpu;
	put_share(text, sizeof text, use->memory, memory, wide);
	put_right(y, x, c->memory, text);
	x += c->memory;
	if (use->gpu < 0)
		snprintf(text, sizeof text, "-");
	else
		snprintf(text, sizeof text, "%.0f%%", use->gpu * 100);
	put_right(y, x, c->gpu, text);
	x += c->gpu;
	put_share(text, sizeof text, use->gpu_memory, gpu_memory, wide);
	put_right(y, x, c->gpu_memory, text);
}

/* "7 running, 1 failed", or what the host itself does. */
static void
host_state(const struct run_view *v, size_t host, struct buf *out)
{
	static const enum run_state order[] = { STATE_FAILED, STATE_LOST,
	    STATE_RUNNING, STATE_STOPPED, STATE_ENDED };
	const struct run_host *h = &v->host[host];

	if (h->state != STATE_RUNNING && h->state != STATE_ENDED &&
	    h->state != STATE_LOST) {
		buf_adds(out, run_state_words[h->state]);
		return;
	}
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		size_t n = runview_count(v, host, order[i]);

		if (n)
			buf_addf(out, "%s%zu %s", out->len ? ", " : "", n,
			    run_state_words[order[i]]);
	}
	if (!out->len)
		buf_adds(out, run_state_words[h->state]);
}

static void
draw_host(const struct run_view *v, const struct screen *s,
    const struct columns *c, int y, size_t host, bool wide)
{
	const struct run_host	*h = &v->host[host];
	struct run_use		 use = h->use;
	struct buf		 state = BUF_INIT;
	double			 gpu_memory;
	int			 x = 3;
	bool			 bad = h->state == STATE_UNFIT ||
				     h->state == STATE_LOST ||
				     runview_count(v, host, STATE_FAILED);

	runview_host_gpu(v, host, &use.gpu, &use.gpu_memory, &gpu_memory);
	host_state(v, host, &state);
	mvaddstr(y, 1, h->closed ? "+" : "-");
	paint_text(y, x, c->name - 1, h->name);
	x += c->name;
	if (bad)
		paint_look(s, LOOK_PROBLEM);
	paint_text(y, x, c->state - 1, buf_text(&state));
	if (bad)
		paint_look(s, LOOK_PLAIN);
	draw_use(c, y, x + c->state, &use, h->cpus, h->memory, gpu_memory,
	    wide);
	x += c->state + c->cpu + c->memory + c->gpu + c->gpu_memory;
	if (c->more)
		paint_text(y, x + 1, c->more - 1, h->what);
	else if (*h->what) {	/* nothing is used yet: there is room */
		paint_blank(y, 3 + c->name + c->state, c->cpu + c->memory +
		    c->gpu + c->gpu_memory);
		paint_text(y, 3 + c->name + c->state, c->cpu + c->memory +
		    c->gpu + c->gpu_memory, h->what);
	}
	buf_clear(&state);
}

static void
draw_rank(const struct run_view *v, const struct screen *s,
    const struct columns *c, int y, size_t rank, bool wide)
{
	const struct run_rank	*r = &v->rank[rank];
	struct run_use		 use = r->use;
	char			 text[80];
	int			 x = 3;
	bool			 bad = r->state == STATE_FAILED ||
				     r->state == STATE_LOST;

	runview_rank_gpu(v, rank, &use.gpu, &use.gpu_memory);
	snprintf(text, sizeof text, "rank %zu", rank);
	paint_text(y, x + 2, c->name - 3, text);
	x += c->name;
	snprintf(text, sizeof text, "%s%s%s", run_state_words[r->state],
	    *r->end ? ": " : "", r->end);
	if (bad)
		paint_look(s, LOOK_PROBLEM);
	paint_text(y, x, c->state - 1, text);
	if (bad)
		paint_look(s, LOOK_PLAIN);
	draw_use(c, y, x + c->state, &use, -1, -1, -1, wide);
	x += c->state + c->cpu + c->memory + c->gpu + c->gpu_memory;
	if (c->more && r->pid > 0) {
		if (r->gpu >= 0)
			snprintf(text, sizeof text, "pid %ld, GPU %ld", r->pid,
			    r->gpu);
		else
			snprintf(text, sizeof text, "pid %ld", r->pid);
		paint_text(y, x + 1, c->more - 1, text);
	}
}

/* The title and "rows" of hosts and ranks. */
static void
draw_list(struct run_view *v, struct screen *s, int y, int w, int rows)
{
	struct columns	c;
	bool		wide = w >= 80;
	int		x = 3;

	lay_columns(&c, w);
	paint_look(s, LOOK_BOLD);
	paint_text(y, x, c.name - 1, "Host, rank");
	paint_text(y, x += c.name, c.state - 1, "State");
	put_right(y, x += c.state, c.cpu, "CPU");
	put_right(y, x += c.cpu, c.memory, "memory");
	put_right(y, x += c.memory, c.gpu, "GPU");
	put_right(y, x + c.gpu, c.gpu_memory, wide ? "GPU memory" : "memory");
	paint_look(s, LOOK_PLAIN);
	v->top = (size_t)paint_scroll((long)v->cursor, (long)v->rows, rows);
	v->list_y = y + 1;
	for (int i = 0; i < rows && v->top + (size_t)i < v->rows; i++) {
		const struct run_row *row = &v->row[v->top + (size_t)i];

		if (v->top + (size_t)i == v->cursor) {
			mvaddstr(y + 1 + i, 0, ">");
			paint_cursor(s, y + 1 + i, 0);
		}
		if (row->rank == v->world)
			draw_host(v, s, &c, y + 1 + i, row->host, wide);
		else
			draw_rank(v, s, &c, y + 1 + i, row->rank, wide);
	}
	if (v->top + (size_t)rows < v->rows) {
		char text[40];

		snprintf(text, sizeof text, wide ? "%zu more below" : "%zu more",
		    v->rows - v->top - (size_t)rows);
		paint_look(s, LOOK_DIM);
		paint_text(y, 9 + c.name, c.state - 7, text);
		paint_look(s, LOOK_PLAIN);
	}
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
		draw_list(v, s, y, w, list);
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
