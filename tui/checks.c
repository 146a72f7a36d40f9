/* SPDX-License-Identifier: Apache-2.0 */
/* The step Checks: all that is wrong, each a way to its field. */
#include <stdio.h>
#include <stdlib.h>

#include "tui/page.h"
#include "tui/trial.h"
#include "runtime/base/clock.h"
#include "runtime/base/banned.h"

static struct trial *
trial_of(const struct screen *s)
{
	return s->data[STEP_CHECKS];
}

/* The last lines of the test run, and how it stands; returns the rows taken,
 * at the bottom of the area. */
static int
draw_trial(struct screen *s, struct area a)
{
	const struct trial *t = trial_of(s);
	struct buf text = BUF_INIT;
	int rows, all;

	if (!t || (!t->child && !t->over))
		return 0;
	if (t->child)
		buf_addf(&text, "Test run: %lld s...  T stops it.",
		    (long long)(clock_ms() - t->began) / 1000);
	else
		buf_addf(&text, "Test run: %s, after %.1f s.", t->good ?
		    "passed" : "! failed", (double)t->took / 1000);
	rows = a.h / 2 < 3 ? 3 : a.h / 2;
	all = paint_wrap((struct area){ 0, 0, 0, a.w }, 0, buf_text(&t->said));
	if (all < rows)
		rows = all + 1;
	a.y += a.h - rows;
	paint_look(s, t->over && !t->good ? LOOK_PROBLEM : LOOK_TITLE);
	paint_text(a.y, a.x, a.w, buf_text(&text));
	paint_look(s, LOOK_PLAIN);
	if (t->said.len)
		paint_wrap((struct area){ a.y + 1, a.x, rows - 1, a.w },
		    all > rows - 1 ? all - rows + 1 : 0, buf_text(&t->said));
	buf_clear(&text);
	return rows;
}

static void
draw(struct screen *s, struct area a)
{
	const struct problems *all = &s->form->problems;
	size_t *at = &s->row[STEP_CHECKS];
	int lines[64], y = 0, skip = 0;
	size_t count = all->count < 64 ? all->count : 64;

	a.x++;
	a.w -= 2;
	paint_cursor(s, a.y, a.x);
	a.h -= draw_trial(s, a);
	if (!count) {
		paint_text(a.y, a.x, a.w, "No problems found.");
		return;
	}
	if (*at >= count)
		*at = count - 1;
	for (size_t i = 0; i < count; i++) {
		struct area none = { 0, 0, 0, a.w - 4 };

		lines[i] = paint_wrap(none, 0, all->item[i].what) +
		    (*all->item[i].hint ? paint_wrap(none, 0,
		    all->item[i].hint) : 0);
		y += i <= *at ? lines[i] : 0;
	}
	/* From the first that lets the one under the cursor be seen whole. */
	while (y > a.h && (size_t)skip < *at)
		y -= lines[skip++];
	y = 0;
	for (size_t i = (size_t)skip; i < count && y < a.h; i++) {
		const struct problem *p = &all->item[i];
		bool here = i == *at;
		char mark[4];
		int n;

		snprintf(mark, sizeof mark, "%c%c", here ? '>' : ' ',
		    p->fatal ? '!' : '?');
		if (here)
			paint_cursor(s, a.y + y, a.x);
		paint_look(s, p->fatal ? LOOK_PROBLEM : LOOK_BOLD);
		paint_text(a.y + y, a.x, 2, mark);
		n = paint_wrap((struct area){ a.y + y, a.x + 3, a.h - y,
		    a.w - 3 }, 0, p->what);
		for (int k = 0; k < n && y + k < a.h; k++)
			paint_hit(s, a.y + y + k, a.x, a.w, (int)i, false);
		y += n;
		paint_look(s, LOOK_PLAIN);
		if (*p->hint && y < a.h)
			y += paint_wrap((struct area){ a.y + y, a.x + 3,
			    a.h - y, a.w - 3 }, 0, p->hint);
	}
}

static void
jump(struct screen *s)
{
	const struct problems *all = &s->form->problems;
	size_t at = s->row[STEP_CHECKS];

	if (at >= all->count) {
		screen_go(s, STEP_REVIEW);
	} else if (all->item[at].field >= 0) {
		form_go(s->form, all->item[at].field);
		screen_go(s, (int)item_step(all->item[at].field));
	} else
		form_say(s->form, false, "No field alone can mend it.");
}

static void
test(struct screen *s)
{
	struct trial *t = trial_of(s);
	struct err err = ERR_INIT;

	if (t->child)
		form_say(s->form, false, "It runs already; T stops it.");
	else if (problems_fatal(&s->form->problems))
		form_say(s->form, true, "With an error nothing would start.");
	else if (trial_start(t, s->form, &err))
		form_say(s->form, true, "%s", err.text);
}

static bool
act(struct screen *s, enum action action)
{
	size_t *at = &s->row[STEP_CHECKS], count = s->form->problems.count;

	switch (action) {
	case ACT_UP:	*at -= *at > 0; break;
	case ACT_DOWN:	*at += *at + 1 < count; break;
	case ACT_ENTER:	jump(s); break;
	case ACT_TEST:	test(s); break;
	case ACT_STOP:	trial_clear(trial_of(s)); break;
	default:
		return false;
	}
	return true;
}

static void
click(struct screen *s, int row, bool mark)
{
	if (mark || s->row[STEP_CHECKS] == (size_t)row)
		jump(s);
	else
		s->row[STEP_CHECKS] = (size_t)row;
}

static int
open_trial(struct screen *s, struct err *err)
{
	struct trial *t = calloc(1, sizeof *t);

	if (!t)
		return err_nomem(err);
	*t = (struct trial)TRIAL_INIT;
	s->data[STEP_CHECKS] = t;
	return 0;
}

static int
watch(struct screen *s, struct pollfd *p, int room, int *ms)
{
	return room ? trial_watch(trial_of(s), p, ms) : 0;
}

static bool
wake(struct screen *s, const struct pollfd *p, int n)
{
	return n && trial_wake(trial_of(s), p) && s->page == STEP_CHECKS;
}

static void
close_trial(struct screen *s)
{
	trial_clear(trial_of(s));
	free(trial_of(s));
	s->data[STEP_CHECKS] = NULL;
}

const struct page page_checks = {
	.open = open_trial, .watch = watch, .wake = wake, .close = close_trial,
	.title = "Checks", .enter = "to the field", .draw = draw, .act = act,
	.click = click,
	.sentence = "An error keeps a run from starting, a warning does not.  "
	    "Saving with a problem is possible.",
};
