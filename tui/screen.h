/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen: the form on a full terminal.  Curses is known in screen.c and draw.c
 * alone; every draw begins from nothing, so no state depends on the size.
 */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct form;
struct err;

enum mode {
	MODE_FIELDS, MODE_CHOICE, MODE_TEXT, MODE_HELP, MODE_KEYS, MODE_QUIT
};
enum done { DONE_NOT, DONE_QUIT, DONE_LAUNCH };

struct screen {
	struct form	*form;		/* borrowed */
	const char	*script;	/* to launch, or NULL; borrowed */
	bool		 ascii, color;	/* what to draw with */
	enum mode	 mode;
	enum done	 done;
	bool		 file;		/* narrow: the file, not the fields */
	size_t		 pick;		/* in a list of choices */
	long		 scroll;	/* of help */
	char		 edit[512];	/* a text being changed */
	size_t		 length;
};

/* Takes the terminal until the user leaves.  0, or -1. */
int  screen_run(struct screen *s, struct err *err);

/* The parts, for tests: set up the attributes of an open curses terminal, draw
 * it, and take one key (a curses key code where "code"). */
void screen_setup(struct screen *s);
void screen_draw(const struct screen *s);
void screen_key(struct screen *s, int key, bool code);
#endif
