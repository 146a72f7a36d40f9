/* SPDX-License-Identifier: Apache-2.0 */
/* The step Machines: this machine, as far as it is known. */
#include "tui/page.h"
#include "runtime/base/banned.h"

static void
draw(struct screen *s, struct area a)
{
	struct buf text = BUF_INIT;

	machine_print(s->form->machine, &text);
	a.x++;
	a.w -= 2;
	paint_wrap(a, (long)s->row[STEP_MACHINES], buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

static bool
act(struct screen *s, enum action action)
{
	if (action != ACT_ENTER)
		return false;
	screen_go(s, s->page + 1);
	return true;
}

const struct page page_machines = {
	.title = "Machines", .enter = "go on", .draw = draw, .act = act,
	.sentence = "What was found here.",
};
