/* SPDX-License-Identifier: Apache-2.0 */
/* Launch: not a step; what will run.  The run has the whole terminal
 * (runview_screen.h), once the wizard has left it. */
#include "tui/page.h"
#include "runtime/base/banned.h"

static void
draw(struct screen *s, struct area a)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "Run it with\n  accel launch --config_file %s %s",
	    s->form->path, s->script ? s->script : "SCRIPT");
	if (s->script)
		buf_adds(&text, "\n\nEnter writes the file and launches.");
	a.x++;
	a.w -= 2;
	paint_wrap(a, 0, buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

static bool
act(struct screen *s, enum action action)
{
	if (action != ACT_ENTER || !s->script)
		return false;
	screen_save(s, THEN_LAUNCH);
	return true;
}

const struct page page_launch = {
	.title = "Launch", .full = true, .enter = "launch", .draw = draw,
	.act = act,
};
