/* SPDX-License-Identifier: Apache-2.0 */
/*
 * popup: what lies over a page until it is answered: a list to pick from, a
 * line of text, or a text to read.
 *
 * One at a time; Esc closes it.  Its end is told to done(), which may open the
 * next.  All texts are copied.
 */
#ifndef TUI_POPUP_H
#define TUI_POPUP_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/buf.h"

struct screen;

enum popup_kind { POPUP_NONE, POPUP_LIST, POPUP_LINE, POPUP_TEXT };

struct popup_row {
	char		*word, *what;	/* owned */
	char		*more;		/* searched as well, not shown; or NULL */
	int		 value;
};

/* value: of the row that was taken; text: the line.  Borrowed.  Called where
 * the answer is given, not when it is closed by Esc. */
typedef void popup_done(struct screen *s, int value, const char *text);

struct popup {
	enum popup_kind	 kind;
	char		 title[160];
	popup_done	*done;
	bool		 seek;		/* a list that always shows its filter */

	struct popup_row *row;
	size_t		 rows;
	size_t		*hit;		/* the rows that match, best first */
	size_t		 hits, pick;	/* pick: of the hits */
	long		 number;	/* being typed, or 0 */

	char		 line[4096];	/* typed: the filter, or the line */
	size_t		 length, caret;
	char		 wrong[600];	/* what was wrong with it, or "" */

	struct buf	 text;
	long		 scroll;
	const char	*keys;		/* for a text: letters that end it, with
					 * the letter as value; or NULL */
	const char	*legend;	/* what they do */
};

/* A list, filled by popup_row_add() after it was opened. */
void popup_list(struct screen *s, const char *title, popup_done *done);
/* 0, or -1 without memory.  "more" may be NULL. */
int  popup_row_add(struct screen *s, int value, const char *word,
    const char *what, const char *more);
/* The row with that value is under the cursor. */
void popup_pick(struct screen *s, int value);
void popup_line(struct screen *s, const char *title, const char *text,
    popup_done *done);
/* Open again, with what was wrong; from within done(). */
void popup_again(struct screen *s, const char *text, const char *wrong);
/* A text to read: its end is given to done() only where "keys" are. */
void popup_text(struct screen *s, const char *title, const char *text,
    const char *keys, const char *legend, popup_done *done);
/* Columns that a text has. */
int  popup_width(void);
void popup_close(struct screen *s);

/* For screen.c. */
void popup_draw(struct screen *s);
void popup_key(struct screen *s, int key, bool code);
void popup_click(struct screen *s, int row, bool mark);
#endif
