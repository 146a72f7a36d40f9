/* SPDX-License-Identifier: Apache-2.0 */
/* The step Start: what was found, and what to begin with. */
#include <stdio.h>
#include <string.h>

#include "tui/page.h"
#include "runtime/base/file.h"
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

const struct page page_start = {
	.title = "Start", .enter = "take it", .draw = draw, .act = act,
	.sentence = "Nothing is written before you say so, and u takes each "
	    "change back.",
};
