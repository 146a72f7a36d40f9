/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: one step of the wizard on the full screen, in a file of its own.
 *
 * A page draws into its area with paint.h, from nothing at each call, so that
 * no state depends on the size; it is told of keys by what they mean (keys.def)
 * and of clicks by the number that it gave to paint_hit().  While the screen
 * waits for keys, it waits for the page's descriptors as well: a page that
 * probes or runs something never blocks.
 *
 * Every member but title and draw may be NULL.
 */
#ifndef TUI_PAGE_H
#define TUI_PAGE_H

#include <poll.h>
#include <stdbool.h>

#include "tui/form.h"
#include "tui/paint.h"
#include "tui/screen.h"

struct page {
	const char	*title;
	const char	*sentence;	/* of the foot, where no item is */
	const char	*enter;		/* what Enter does, for the last line */
	bool		 full;		/* neither file, memory nor foot beside */

	/* Columns that it would like, where the screen is wide. */
	int	(*wish)(struct screen *s);
	/* Once, before the first draw; what it keeps goes to s->data[STEP]. */
	int	(*open)(struct screen *s, struct err *err);
	void	(*draw)(struct screen *s, struct area a);
	/* True where the page took it; else the screen's own meaning holds. */
	bool	(*act)(struct screen *s, enum action action);
	/* On the mark of that row, which changes it, or beside, which
	 * selects. */
	void	(*click)(struct screen *s, int row, bool mark);

	/* What to wait for: fills at most "room" entries and says how many;
	 * lowers *ms (-1: for ever) to be woken by time.  Asked before each
	 * wait, of every page, shown or not. */
	int	(*watch)(struct screen *s, struct pollfd *p, int room,
	    int *ms);
	/* After a wait that found something, or whose time came: the entries
	 * that it filled in.  True where the screen must be drawn anew. */
	bool	(*wake)(struct screen *s, const struct pollfd *p, int n);
	void	(*close)(struct screen *s);
};

/* By enum step, and PAGE_LAUNCH behind them.  One file each: machines.c,
 * fields.c, checks.c... */
extern const struct page *const pages[PAGE_COUNT];

extern const struct page page_start, page_machines, page_training,
    page_strategy, page_checks, page_review, page_launch;
#endif
