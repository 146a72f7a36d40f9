/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runview_screen: the launch screen: a run of "accel launch" or "accel run"
 * that is a child, shown on the whole terminal.
 */
#ifndef TUI_RUNVIEW_SCREEN_H
#define TUI_RUNVIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct run_view;
struct screen;

struct runview_order {		/* all borrowed */
	const char	*accel;		/* the program's path */
	char *const	*argv;		/* its words: "accel", "launch", ... */
	bool		 ascii, color, no_mouse;
};

/* Takes the terminal until the user leaves, then prints what the launcher had
 * to say at its end.  The run's exit code, or -1. */
int  runview_run(const struct runview_order *order, struct err *err);

/* Can the screen be had at all?  stdin and stdout are a terminal that can do
 * it, and nobody asked for plain text. */
bool runview_possible(void);

struct run_binding {		/* a row of runview_keys.def */
	int		 key;		/* a curses code, or a character */
	int		 action;
	const char	*name, *label, *sentence;
};
extern const struct run_binding run_bindings[];
extern const size_t run_binding_count;

enum run_wish {			/* what a key leaves to the loop */
	WISH_NOTHING, WISH_STOP, WISH_RESTART, WISH_QUIT, WISH_SUSPEND,
	WISH_REDRAW, WISH_ANSWER, WISH_REFUSE
};

/* The parts, for tests: draw the model on an open curses terminal, whose looks
 * screen_setup() made; take one key (a curses key code where "code"), or a
 * click. */
void runview_draw(struct run_view *v, struct screen *s, int64_t now);
enum run_wish runview_key(struct run_view *v, int key, bool code);
void runview_click(struct run_view *v, int y);
#endif
