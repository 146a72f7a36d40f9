/* SPDX-License-Identifier: Apache-2.0 */
/* Launch: not a step; the command that starts the run. */
#include "tui/page.h"
#include "runtime/base/banned.h"

static void
draw(struct screen *s, struct area a)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "Run it with\n  accel launch --config_file %s %s",
	    s->form->path, s->script ? s->script : "SCRIPT");
	a.x++;
	a.w -= 2;
	paint_wrap(a, 0, buf_text(&text));
	paint_cursor(s, a.y, a.x);
	buf_clear(&text);
}

const struct page page_launch = {
	.title = "Launch", .full = true, .draw = draw,
};
