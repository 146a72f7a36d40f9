/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen: the form on a full terminal.  Curses is known in screen.c, frame.c,
 * paint.c and popup.c alone; every draw begins from nothing, so no state
 * depends on the size.
 */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/form.h"
#include "tui/popup.h"

struct err;

enum { PAGE_LAUNCH = STEP_COUNT, PAGE_COUNT };

/* Where a key has a meaning: a bit for each page. */
enum {
	ON_START = 1 << STEP_START, ON_MACHINES = 1 << STEP_MACHINES,
	ON_TRAINING = 1 << STEP_TRAINING, ON_STRATEGY = 1 << STEP_STRATEGY,
	ON_CHECKS = 1 << STEP_CHECKS, ON_REVIEW = 1 << STEP_REVIEW,
	ON_LAUNCH = 1 << PAGE_LAUNCH,
	ON_FIELDS = ON_TRAINING | ON_STRATEGY,
	ON_STEPS = ON_LAUNCH - 1, ON_ALL = ON_STEPS | ON_LAUNCH
};

/* What keys do: each name of keys.def once. */
enum action {
	ACT_NONE, ACT_UP, ACT_DOWN, ACT_PAGEUP, ACT_PAGEDOWN, ACT_FIRST,
	ACT_LAST, ACT_ENTER, ACT_TOGGLE, ACT_NEXT, ACT_PREV, ACT_GO1, ACT_GO2,
	ACT_GO3, ACT_GO4, ACT_GO5, ACT_GO6, ACT_FILE, ACT_PROPOSE, ACT_DEFAULT,
	ACT_ALL, ACT_CHANGED, ACT_UNDO, ACT_REDO, ACT_SEARCH, ACT_SAVE,
	ACT_DIFF, ACT_LAUNCH, ACT_HELP, ACT_KEYS, ACT_QUIT, ACT_CLOSE,
	/* of one page */
	ACT_TEMPLATE, ACT_OPEN, ACT_ADD, ACT_REMOVE, ACT_IMPORT, ACT_MEASURE,
	ACT_AGAIN, ACT_WHY, ACT_TEST, ACT_STOP
};

struct binding {
	int		 key;		/* a curses code, or a character */
	enum action	 action;
	unsigned	 where;		/* ON_... */
	const char	*name, *label, *sentence;
};
extern const struct binding bindings[];
extern const size_t binding_count;

enum done { DONE_NOT, DONE_QUIT, DONE_LAUNCH };

/* What follows a save that succeeded. */
enum then { THEN_STAY, THEN_LEAVE, THEN_LAUNCH };

struct hit {
	int	y, x, w, row;
	bool	mark;
	int	who;			/* 0 page, 1 popup, 2 last line */
};

struct screen {
	struct form	*form;		/* borrowed */
	struct machine	*late;		/* the form's: its Python is not known
					 * yet, and asked by Start; or NULL */
	const char	*script;	/* to launch, or NULL; borrowed */
	bool		 ascii, color;	/* what to draw with */
	bool		 no_mouse;
	enum done	 done;
	int		 page;		/* a step, or PAGE_LAUNCH */
	bool		 file;		/* narrow: the file, not the page */
	size_t		 row[PAGE_COUNT];	/* of pages with rows of their own */
	void		*data[PAGE_COUNT];	/* of each page: its own */
	bool		 whole;		/* so wide that nothing is cut */
	struct popup	 popup;
	enum then	 then;
	bool		 leaving;	/* asked, and not yet answered */
	bool		 undrafted;	/* it was said that there is none */
	unsigned long	 drafted;	/* the form's turn in the draft */
	int		 editing;	/* the item in a popup */
	int		 drawing;	/* whose hits: 0 page, 1 popup, 2 keys */
	struct hit	 hit[512];
	size_t		 hits;
	int		 cursor_y, cursor_x;
};

/* Takes the terminal until the user leaves.  0, or -1. */
int  screen_run(struct screen *s, struct err *err);

/* For pages: to another page; leave, after a question where something is
 * unsaved; write the file, after a look at the difference. */
void screen_go(struct screen *s, int page);
void screen_quit(struct screen *s);
void screen_save(struct screen *s, enum then then);
/* What saving would change. */
void screen_difference(const struct screen *s, struct buf *out);
/* Asks whether to take up a draft, where there is one. */
void screen_offer_draft(struct screen *s);
/* Change an item by the way that fits its type: a list, a line, at once. */
void screen_edit(struct screen *s, int item);

/* The parts, for tests: open the pages, set up the attributes of an open curses
 * terminal, draw it, and take one key (a curses key code where "code"). */
int  screen_open(struct screen *s, struct err *err);
void screen_close(struct screen *s);
void screen_setup(struct screen *s);
void screen_draw(struct screen *s);
void screen_key(struct screen *s, int key, bool code);
void screen_click(struct screen *s, int y, int x);
#endif
