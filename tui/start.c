/* SPDX-License-Identifier: Apache-2.0 */
/* The step Start: what was found, and what to begin with.  Python is asked while
 * the screen is used. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tui/page.h"
#include "runtime/base/clock.h"
#include "runtime/config/templates.h"
#include "runtime/base/banned.h"

static void
draw(struct screen *s, struct area a)
{
	const struct form *f = s->form;
	struct buf text = BUF_INIT;

	if (f->saved.len)
		buf_addf(&text, "This file is opened to be changed:\n%s\n\n"
		    "Tab goes through it step by step, Enter to the end; p "
		    "takes the values that fit instead.\n\n", f->path);
	else
		buf_addf(&text, "A new file. %s\n\nEnter takes it, Tab goes "
		    "through it step by step.\n\n", f->reason);
	buf_adds(&text, "This machine\n");
	machine_print(f->machine, &text);
	a.x++;
	a.w -= 2;
	paint_wrap(a, 0, buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

static void
template_taken(struct screen *s, int value, const char *name)
{
	const struct template *t = template_find(name);
	struct err err = ERR_INIT;

	(void)value;
	if (!t)
		return;
	if (form_take(s->form, template_body(t), strlen(template_body(t)),
	    name, &err))
		form_say(s->form, true, "%s", err.text);
	else
		form_say(s->form, false, "Begun with the template %s; u takes "
		    "it back.", name);
}

static void
choose_template(struct screen *s)
{
	popup_list(s, "Begin with a template", template_taken);
	for (int i = 0; templates[i].name; i++) {
		struct buf about = BUF_INIT;

		template_about(&templates[i], &about);
		popup_row_add(s, i, templates[i].name, buf_text(&about), NULL);
		buf_clear(&about);
	}
}

static void
opened(struct screen *s, int value, const char *path)
{
	struct err err = ERR_INIT;
	char wrong[600];

	(void)value;
	if (!form_reopen(s->form, path, &err)) {
		s->drafted = s->form->turn;
		screen_go(s, STEP_START);
		screen_offer_draft(s);
		return;
	}
	snprintf(wrong, sizeof wrong, "%.300s%s%.280s", err.text,
	    *err.hint ? ": " : "", err.hint);
	popup_again(s, path, wrong);
}

static bool
act(struct screen *s, enum action action)
{
	switch (action) {
	/* Every question has its answer already. */
	case ACT_ENTER:	screen_go(s, STEP_REVIEW); break;
	case ACT_TEMPLATE: choose_template(s); break;
	case ACT_OPEN:
		popup_line(s, "Which file? (a new one is fine)", s->form->path,
		    opened);
		break;
	default:
		return false;
	}
	return true;
}

struct asked {
	pid_t		 child;		/* or 0 */
	int		 from;
	int64_t		 end;		/* no longer than until then */
	struct buf	 said;
};

enum { LIMIT_MS = 10000 };

static int
open_start(struct screen *s, struct err *err)
{
	struct asked *a;

	if (!s->late || !s->late->here || s->late->python)
		return 0;
	if (!(a = calloc(1, sizeof *a)))
		return err_nomem(err);
	if (probe_python_start(&a->child, &a->from)) {
		free(a);		/* there is none */
		return 0;
	}
	fcntl(a->from, F_SETFL, O_NONBLOCK);
	a->end = clock_ms() + LIMIT_MS;
	s->late->asking = true;
	s->data[STEP_START] = a;
	return 0;
}

static void
close_start(struct screen *s)
{
	struct asked *a = s->data[STEP_START];

	if (!a)
		return;
	kill(-a->child, SIGKILL);
	waitpid(a->child, NULL, 0);
	close(a->from);
	buf_clear(&a->said);
	free(a);
	s->data[STEP_START] = NULL;
	s->late->asking = false;
}

static int
watch(struct screen *s, struct pollfd *p, int room, int *ms)
{
	struct asked *a = s->data[STEP_START];
	int64_t left;

	if (!a || !room)
		return 0;
	left = a->end - clock_ms();
	*ms = left > 0 ? (int)left : 0;
	*p = (struct pollfd){ .fd = a->from, .events = POLLIN };
	return 1;
}

static bool
wake(struct screen *s, const struct pollfd *p, int n)
{
	struct asked *a = s->data[STEP_START];
	char bytes[512];
	ssize_t got = -1;

	if (!a || !n)
		return false;
	if (p->revents)
		while ((got = read(a->from, bytes, sizeof bytes)) > 0)
			buf_add(&a->said, bytes, (size_t)got);
	if (got && clock_ms() < a->end)
		return false;
	if (!got)
		probe_python_take(s->late, buf_text(&a->said), NULL);
	close_start(s);
	return s->page == STEP_START || s->page == STEP_MACHINES;
}

const struct page page_start = {
	.open = open_start, .watch = watch, .wake = wake, .close = close_start,
	.title = "Start", .enter = "take it", .draw = draw, .act = act,
	.sentence = "Nothing is written before you say so, and u takes each "
	    "change back.",
};
