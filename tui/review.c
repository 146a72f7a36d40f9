/* SPDX-License-Identifier: Apache-2.0 */
/* The step Review: the difference, the command, save and launch. */
#include <stdio.h>

#include "tui/page.h"
#include "runtime/base/banned.h"

static void
draw(struct screen *s, struct area a)
{
	const struct form *f = s->form;
	struct buf text = BUF_INIT;
	size_t errors = problems_fatal(&f->problems);

	if (!form_unsaved(f))
		buf_addf(&text, "The file is written.\n");
	else
		buf_addf(&text, "Not yet written.\n");
	if (errors)
		buf_addf(&text, "! %zu problem%s: 5 shows %s.\n", errors,
		    errors == 1 ? "" : "s", errors == 1 ? "it" : "them");
	else
		buf_adds(&text, "No problems found.\n");
	form_idle(f, &text);
	buf_addf(&text, "\nRun it with\n  accel launch --config_file %s %s\n\n",
	    f->path, s->script ? s->script : "SCRIPT");
	if (form_unsaved(f) && f->saved.len) {
		buf_adds(&text, "What saving changes\n");
		screen_difference(s, &text);
	}
	a.x++;
	a.w -= 2;
	paint_wrap(a, (long)s->row[STEP_REVIEW], buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

static bool
act(struct screen *s, enum action action)
{
	size_t *at = &s->row[STEP_REVIEW];

	switch (action) {
	case ACT_UP:	*at -= *at > 0; break;
	case ACT_DOWN:	*at += *at < 1000; break;
	case ACT_ENTER:
		if (form_unsaved(s->form))
			screen_save(s, THEN_STAY);
		else
			screen_quit(s);
		break;
	default:
		return false;
	}
	return true;
}

const struct page page_review = {
	.title = "Review", .enter = "save, then leave", .draw = draw, .act = act,
	.sentence = "Enter writes the file, and then leaves; L writes it and "
	    "launches the script.",
};
