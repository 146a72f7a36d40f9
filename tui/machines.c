/* SPDX-License-Identifier: Apache-2.0 */
/* The step Machines: this machine alone, or the hosts of the run, which are
 * asked in the background: roster.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/launch/slurm.h"
#include "runtime/launch/ssh_names.h"
#include "tui/page.h"
#include "tui/roster.h"
#include "runtime/base/banned.h"

enum { PAGE = 5 };		/* lines of details that a key moves */

static struct roster *
roster_of(const struct screen *s)
{
	return s->data[STEP_MACHINES];
}

static void
complain(struct screen *s, const struct err *err)
{
	form_say(s->form, true, "%s%s%s", err->text, *err->hint ? ": " : "",
	    err->hint);
}

/* --- what is shown --- */

/* "41.2 us and 9.41 Gbit/s to node2", a line each. */
static void
add_network(const struct roster *r, size_t host, struct buf *out)
{
	for (size_t k = 0; k < r->hosts.count; k++) {
		const struct between *b = fleet_between(&r->fleet,
		    (unsigned)host, (unsigned)k);

		if (!b)
			continue;
		buf_addf(out, "to %s: ", r->hosts.host[k].name);
		if (b->problem)
			buf_addf(out, "%s\n", b->problem);
		else
			buf_addf(out, "%.4g Gbit/s, %.4g us\n", b->gbit_s,
			    b->latency_us);
	}
}

static void
add_details(const struct roster *r, size_t host, struct buf *out)
{
	const struct machine *m = &r->fleet.machine[host];

	switch (r->state[host]) {
	case ROSTER_WAITS:
	case ROSTER_ASKED:
		buf_addf(out, "%s is being asked.  Go on meanwhile.\n", m->host);
		break;
	case ROSTER_FAILED:
		buf_addf(out, "%s\n", m->problem ? m->problem : "");
		if (m->hint && *m->hint)
			buf_addf(out, "%s\n", m->hint);
		buf_adds(out, "r asks again, x takes it from the list.\n");
		break;
	case ROSTER_KNOWN:
		add_network(r, host, out);
		machine_print(m, out);
		break;
	}
}

/* A row: a mark, the name, what it has. */
static void
draw_row(struct screen *s, struct area a, size_t host, size_t width)
{
	static const struct { const char *mark; enum look look; } marks[] = {
		[ROSTER_WAITS] = { ".", LOOK_DIM },
		[ROSTER_ASKED] = { "?", LOOK_DIM },
		[ROSTER_KNOWN] = { " ", LOOK_PLAIN },
		[ROSTER_FAILED] = { "!", LOOK_PROBLEM },
	};
	const struct roster	*r = roster_of(s);
	bool			 here = host == s->row[STEP_MACHINES];
	enum roster_state	 state = r->state[host];
	struct buf		 text = BUF_INIT;
	char			 mark[3];

	snprintf(mark, sizeof mark, "%c%s", here ? '>' : ' ',
	    marks[state].mark);
	paint_look(s, here ? LOOK_BOLD : marks[state].look);
	paint_text(a.y, a.x, 2, mark);
	buf_addf(&text, "%-*s  ", (int)width, r->hosts.host[host].name);
	if (state >= ROSTER_KNOWN)
		machine_row(&r->fleet.machine[host], &text);
	else
		buf_adds(&text, state == ROSTER_ASKED ? "asking" : "");
	paint_text(a.y, a.x + 3, a.w - 3, buf_text(&text));
	paint_look(s, LOOK_PLAIN);
	if (here)
		paint_cursor(s, a.y, a.x);
	paint_hit(s, a.y, a.x, a.w, (int)host, false);
	buf_clear(&text);
}

static void
draw_alone(struct screen *s, struct area a)
{
	struct buf text = BUF_INIT;

	buf_adds(&text, "This machine, alone.  a adds others by name, i "
	    "imports them.\n\n");
	machine_print(s->form->machine, &text);
	paint_wrap(a, (long)s->row[STEP_MACHINES], buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

static void
draw(struct screen *s, struct area a)
{
	struct roster	*r = roster_of(s);
	struct buf	 text = BUF_INIT;
	size_t		 width = 0, count;
	long		 skip;
	int		 rows;

	a.x++;
	a.w -= 2;
	if (r)			/* after an undo, it is another list */
		roster_sync(r, s->form);
	if (!r || !r->hosts.count) {
		draw_alone(s, a);
		return;
	}
	count = r->hosts.count;
	if (s->row[STEP_MACHINES] >= count)
		s->row[STEP_MACHINES] = count - 1;
	for (size_t i = 0; i < count; i++)
		if (strlen(r->hosts.host[i].name) > width)
			width = strlen(r->hosts.host[i].name);
	width = width < 20 ? width : 20;
	roster_say(r, &text);
	if (r->measuring)
		buf_addf(&text, "; measuring, %zu of %zu directions",
		    r->measured, count * (count - 1));
	paint_look(s, LOOK_TITLE);
	paint_text(a.y, a.x, a.w, buf_text(&text));
	paint_look(s, LOOK_PLAIN);
	buf_clear(&text);
	rows = a.h / 2 < (int)count ? a.h / 2 : (int)count;
	skip = paint_scroll((long)s->row[STEP_MACHINES], (long)count, rows);
	for (int y = 0; y < rows; y++)
		draw_row(s, (struct area){ a.y + 1 + y, a.x, 1, a.w },
		    (size_t)(skip + y), width);
	a.y += rows + 2;
	a.h -= rows + 2;
	add_details(r, s->row[STEP_MACHINES], &text);
	if (r->scroll > 0) {
		long all = paint_wrap((struct area){ 0, 0, 0, a.w }, 0,
		    buf_text(&text));

		if (r->scroll > all - a.h)
			r->scroll = all > a.h ? all - a.h : 0;
	}
	paint_wrap(a, r->scroll, buf_text(&text));
	buf_clear(&text);
}

/* --- what keys do --- */

static void
typed(struct screen *s, int value, const char *text)
{
	struct err err = ERR_INIT;
	char wrong[600];

	(void)value;
	if (!*text || !roster_add(roster_of(s), s->form, text, &err))
		return;
	snprintf(wrong, sizeof wrong, "%.300s%s%.280s", err.text,
	    *err.hint ? ": " : "", err.hint);
	popup_again(s, text, wrong);
}

static void
file_named(struct screen *s, int value, const char *path)
{
	struct err err = ERR_INIT;
	char wrong[600];

	(void)value;
	if (!*path || !roster_add_file(roster_of(s), s->form, path, &err))
		return;
	snprintf(wrong, sizeof wrong, "%.300s%s%.280s", err.text,
	    *err.hint ? ": " : "", err.hint);
	popup_again(s, path, wrong);
}

enum { FROM_FILE, FROM_SLURM, FROM_SSH };

static void import(struct screen *s);

static void
imported(struct screen *s, int value, const char *name)
{
	struct roster *r = roster_of(s);
	struct err err = ERR_INIT;

	if (value == FROM_FILE) {
		popup_line(s, "Which host file? (a line a host: node1 slots=8)",
		    "", file_named);
		return;
	}
	if (value == FROM_SLURM ? roster_add_slurm(r, s->form, &err) :
	    roster_add(r, s->form, name, &err))
		complain(s, &err);
	else if (value == FROM_SSH)
		import(s);	/* the next; Esc ends it */
}

/* A host file, the nodes of a Slurm job, and each name that ssh's configuration
 * has. */
static void
import(struct screen *s)
{
	const struct roster *r = roster_of(s);
	struct strv names = STRV_INIT;

	popup_list(s, "Hosts from where?  Esc ends it", imported);
	popup_row_add(s, FROM_FILE, "a host file", "a line a host, as "
	    "DeepSpeed and Open MPI have it", NULL);
	if (slurm_inside())
		popup_row_add(s, FROM_SLURM, "Slurm", "the nodes of this "
		    "allocation", NULL);
	ssh_names(&names, r->ssh_config);
	for (size_t i = 0; i < names.count; i++) {
		size_t k = 0;

		while (k < r->hosts.count && strcmp(r->hosts.host[k].name,
		    names.item[i]))
			k++;
		if (k == r->hosts.count)
			popup_row_add(s, FROM_SSH, names.item[i],
			    "of ssh's configuration", NULL);
	}
	strv_clear(&names);
}

static void
measure(struct screen *s)
{
	struct roster *r = roster_of(s);

	if (r->hosts.count < 2)
		form_say(s->form, true, "A network is between two machines: a "
		    "adds one.");
	else if (roster_busy(r))
		form_say(s->form, true, "Hosts are being asked: once more when "
		    "they are known.");
	else {
		roster_measure(r);
		form_say(s->form, false, "Each way is measured for a second, "
		    "about %zu s in all.", 2 * r->hosts.count);
	}
}

static bool
act(struct screen *s, enum action action)
{
	struct roster	*r = roster_of(s);
	size_t		*at = &s->row[STEP_MACHINES];
	size_t		 last = r && r->hosts.count ? r->hosts.count - 1 : 1000;
	struct err	 err = ERR_INIT;

	if (!r)
		return false;
	if (action != ACT_PAGEUP && action != ACT_PAGEDOWN)
		r->scroll = 0;
	switch (action) {
	case ACT_PAGEUP:
		r->scroll -= r->scroll < PAGE ? r->scroll : PAGE;
		break;
	case ACT_PAGEDOWN:
		r->scroll += PAGE;
		break;
	case ACT_UP:	*at -= *at > 0; break;
	case ACT_DOWN:	*at += *at < last; break;
	case ACT_FIRST:	*at = 0; break;
	case ACT_LAST:	*at = r->hosts.count ? last : 0; break;
	case ACT_ENTER:	screen_go(s, s->page + 1); break;
	case ACT_ADD:
		popup_line(s, "Which hosts? (node1,node2: as ssh knows them)",
		    "", typed);
		break;
	case ACT_IMPORT: import(s); break;
	case ACT_MEASURE: measure(s); break;
	case ACT_AGAIN:
		if (r->hosts.count && r->state[*at] == ROSTER_FAILED)
			roster_ask(r, *at);
		else
			roster_again(r);
		break;
	case ACT_REMOVE:
		if (!r->hosts.count)
			form_say(s->form, true, "This machine is the only "
			    "one.");
		else if (roster_remove(r, s->form, *at, &err))
			complain(s, &err);
		else
			form_say(s->form, false, "Taken from the list; u "
			    "brings it back.");
		break;
	default:
		return false;
	}
	return true;
}

static void
click(struct screen *s, int row, bool mark)
{
	(void)mark;
	s->row[STEP_MACHINES] = (size_t)row;
}

/* --- in the background --- */

static int
open_page(struct screen *s, struct err *err)
{
	struct roster *r = calloc(1, sizeof *r);

	if (!r || roster_init(r, NULL, err)) {
		free(r);
		return err_nomem(err);
	}
	r->ssh_config = s->form->beside.ssh_config;
	s->data[STEP_MACHINES] = r;
	/* A file told of them: they may be out of reach. */
	return s->form->fleet ? roster_take(r, s->form, s->form->fleet, err) :
	    0;
}

/* Undo, a draft, another file: the list may be another one. */
static int
watch(struct screen *s, struct pollfd *p, int room, int *ms)
{
	struct roster *r = roster_of(s);

	if (!r)
		return 0;
	if (roster_sync(r, s->form)) {
		roster_go(r);
		*ms = 0;
	}
	if (r->stale)
		*ms = 0;
	/* Its pipes end before it does. */
	if (r->running && r->child.out < 0 && r->child.err < 0)
		*ms = 20;
	return roster_watch(r, p, room);
}

static bool
wake(struct screen *s, const struct pollfd *p, int n)
{
	struct roster *r = roster_of(s);

	(void)p, (void)n;
	if (!r || (!roster_wake(r, s->form) && !r->stale))
		return false;
	r->stale = false;
	return true;
}

static void
close_page(struct screen *s)
{
	struct roster *r = roster_of(s);

	if (!r)
		return;
	s->form->fleet = NULL;
	roster_clear(r);
	free(r);
	s->data[STEP_MACHINES] = NULL;
}

const struct page page_machines = {
	.title = "Machines", .enter = "go on", .open = open_page, .draw = draw,
	.act = act, .click = click, .watch = watch, .wake = wake,
	.close = close_page,
	.sentence = "Which machines take part, and what they have.",
};
