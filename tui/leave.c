/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and leaving, with their questions. */
#include <stdio.h>
#include <stdlib.h>

#include "tui/draft.h"
#include "tui/screen.h"
#include "runtime/base/lines.h"
#include "runtime/base/banned.h"

void
screen_difference(const struct screen *s, struct buf *out)
{
	const struct form *f = s->form;

	if (form_unsaved(f))
		lines_diff(buf_text(&f->saved), buf_text(&f->text),
		    f->saved.len ? f->path : "/dev/null", f->path, out);
	else
		buf_adds(out, "Nothing: the file says all of this already.\n");
}

static void
save(struct screen *s)
{
	struct err err = ERR_INIT;

	if (form_save(s->form, &err))
		return;
	draft_drop(s->form);
	if (s->then == THEN_LEAVE)
		s->done = DONE_QUIT;
	else if (s->then == THEN_LAUNCH)
		s->done = DONE_LAUNCH;
}

static void
save_answered(struct screen *s, int key, const char *text)
{
	(void)key;
	(void)text;
	save(s);
}

static void
add_problems(const struct form *f, struct buf *out)
{
	for (size_t i = 0; i < f->problems.count; i++) {
		const struct problem *p = &f->problems.item[i];

		if (p->fatal)
			buf_addf(out, "! %s%s%s\n", p->what,
			    *p->hint ? ": " : "", p->hint);
	}
}

void
screen_save(struct screen *s, enum then then)
{
	const struct form *f = s->form;
	bool stale = form_stale(f);
	size_t errors = problems_fatal(&f->problems);
	struct buf text = BUF_INIT;

	s->then = then;
	/* Review shows the difference already. */
	if (!stale && !errors && (s->page == STEP_REVIEW ||
	    !form_unsaved(f))) {
		save(s);
		return;
	}
	if (stale)
		buf_addf(&text, "Another has changed %s since it was read "
		    "here.  Saving writes the answers of this screen into "
		    "what is there now.\n\n", f->path);
	if (errors) {
		add_problems(f, &text);
		buf_adds(&text, "\n");
	}
	screen_difference(s, &text);
	popup_text(s, errors ? "Save with problems?" : stale ?
	    "Save what has changed on disk?" : "Save this?", buf_text(&text),
	    "s\n", "Enter or s writes it, Esc stays", save_answered);
	buf_clear(&text);
}

static void
leave_answered(struct screen *s, int key, const char *text)
{
	(void)text;
	if (key == 's') {
		s->page = STEP_REVIEW;	/* no second look at the difference */
		screen_save(s, THEN_LEAVE);
		return;
	}
	if (key == 'q')
		draft_drop(s->form);
	s->done = DONE_QUIT;
}

void
screen_quit(struct screen *s)
{
	struct buf text = BUF_INIT;

	if (!form_unsaved(s->form)) {
		s->done = DONE_QUIT;
		return;
	}
	buf_addf(&text, "%s is not written.\n\ns  save and leave\n"
	    "q  leave without%s\n", s->form->path, s->form->at ?
	    "\nk  leave, and keep a draft for the next start" : "");
	popup_text(s, "Unsaved changes", buf_text(&text), s->form->at ?
	    "sqk" : "sq", "Esc stays", leave_answered);
	buf_clear(&text);
	s->leaving = true;
}

static void
draft_answered(struct screen *s, int key, const char *text)
{
	struct err err = ERR_INIT;
	bool stale;

	(void)text;
	if (key == 'x') {
		draft_drop(s->form);
		form_say(s->form, false, "The draft is gone.");
	} else if (draft_take(s->form, &stale, &err)) {
		form_say(s->form, true, "%s%s%s", err.text, *err.hint ? ": " :
		    "", err.hint);
	} else {
		screen_go(s, (int)s->form->step);
		form_say(s->form, false, "The draft is taken up; u takes it "
		    "back.%s", stale ? "  The file has changed since." : "");
	}
}

/* What it would change is shown by taking it, and taking it back. */
void
screen_offer_draft(struct screen *s)
{
	struct form *f = s->form;
	struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	enum step step = f->step;
	bool stale;

	if (!draft_there(f))
		return;
	buf_adds(&text, "Answers of an earlier start were not saved.\n\n");
	if (draft_take(f, &stale, &err)) {
		buf_addf(&text, "But they cannot be read: %s\n", err.text);
	} else {
		if (stale)
			buf_adds(&text, "The file has changed since.\n\n");
		lines_diff(buf_text(&f->first), buf_text(&f->text), f->path,
		    "the draft", &text);
		form_undo(f);
		f->message[0] = '\0';
		form_step(f, step);
	}
	popup_text(s, "A draft is there", buf_text(&text), "\nx",
	    "Enter takes it up, x drops it, Esc leaves it", draft_answered);
	buf_clear(&text);
	f->turn = s->drafted;
}
