/* SPDX-License-Identifier: Apache-2.0 */
/* frame: what is around a page: head, file, memory, foot, keys. */
#ifndef TUI_FRAME_H
#define TUI_FRAME_H

#include "tui/paint.h"

struct screen;

/* Rows of the screen, from its size, and a page's wish. */
struct frame {
	struct area	page, file, memory, foot;
	int		split;		/* column of the line, or -1 */
	int		keys;		/* the last row */
	bool		narrow;		/* the file is a page of its own */
};

enum { FRAME_ROWS = 16, FRAME_COLUMNS = 60, FRAME_WIDE = 72,
    FRAME_WHOLE = 100 };

/* "wish": columns for the page, where the screen is wide enough. */
void frame_lay(struct frame *frame, int h, int w, bool full, int wish);
void frame_draw(struct screen *s, const struct frame *frame);
void frame_file(struct screen *s, struct area a);
/* The labels of the keys that work here, as one line. */
void frame_labels(struct screen *s, int y, int w);
#endif
