/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint: text on the screen, for pages.  Curses stays behind it.
 *
 * Nothing is drawn outside of what an area or a width allows; what does not fit
 * ends in ">".  Marks are characters first and looks second, so that a terminal
 * without colours tells the same.
 */
#ifndef TUI_PAINT_H
#define TUI_PAINT_H

#include <stdbool.h>

struct screen;

struct area {
	int	y, x, h, w;
};

enum look {
	LOOK_PLAIN, LOOK_BOLD, LOOK_REVERSE, LOOK_UNDERLINE, LOOK_DIM,
	LOOK_TITLE, LOOK_CHANGED, LOOK_PROBLEM, LOOK_GOOD
};

/* Holds until the next. */
void paint_look(const struct screen *s, enum look look);
/* One line of w columns at most.  Returns the columns that it took. */
int  paint_text(int y, int x, int w, const char *text);
/* w blanks, in the look that holds. */
void paint_blank(int y, int x, int w);
/* Text over lines, broken at blanks, a path behind a "/"; a line that begins
 * with blanks goes on under its first word.  Returns how many lines it took;
 * those before "skip" are counted and not drawn. */
int  paint_wrap(struct area a, long skip, const char *text);
/* A horizontal line; "joint" at column "cross" (-1: none). */
void paint_rule(const struct screen *s, int y, int x, int w, int cross,
    const char *joint);
/* A bar of w columns with its ends, of 0 to 1. */
void paint_bar(const struct screen *s, int y, int x, int w, double part);
/* A frame in the middle, empty inside; returns the inside.  The last line of
 * the frame tells its keys. */
struct area paint_box(const struct screen *s, int h, int w, const char *title,
    const char *keys);
/* Where the cursor stands when all is drawn: on the current field. */
void paint_cursor(struct screen *s, int y, int x);
/* A click in those columns is "row" of the page; "mark": it changes it. */
void paint_hit(struct screen *s, int y, int x, int w, int row, bool mark);
/* Columns that a text takes. */
int  paint_width(const char *text);
/* Lines of a list to skip, so that "focus" of "count" is in sight of h. */
long paint_scroll(long focus, long count, int h);
#endif
