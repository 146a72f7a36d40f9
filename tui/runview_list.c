/* SPDX-License-Identifier: Apache-2.0 */
/* runview_list: of the launch screen, the hosts and their ranks. */
#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "tui/paint.h"
#include "tui/runview_intern.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

struct columns {		/* of the list, as wide as the screen lets them */
	int	name, state, cpu, memory, gpu, gpu_memory, more;
};

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

void
runview_draw_list(struct run_view *v, struct screen *s, int y, int w, int rows)
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
