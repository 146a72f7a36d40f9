/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean: bytes of programs made harmless for a terminal, and for JSON.
 *
 * A rank may be on a host that is not ours, or print a file of any bytes: what
 * it writes must not move the cursor over other lines, change the title, ask
 * the terminal for an answer or turn text round.  Colours (SGR) may pass, the
 * rest of escape sequences goes, with what it encloses.  Bytes that are no
 * UTF-8 become U+FFFD.  Sequences may be cut anywhere between two calls.
 */
#ifndef RUNTIME_LAUNCH_CLEAN_H
#define RUNTIME_LAUNCH_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

struct clean {
	bool	 colour;	/* SGR may pass */
	bool	 live;		/* the line there may be written anew: CR,
				   backspace and "erase in line" pass */
	bool	 coloured;	/* something is on that a reset must end */
	int	 state;
	char	 seq[64];	/* of a control sequence, or of a letter */
	unsigned n;		/* bytes in seq */
};

/* Adds what may pass of n bytes. */
void clean_bytes(struct clean *c, struct buf *out, const char *text, size_t n);
/* The text ends here: a cut letter is none, and colours are reset. */
void clean_end(struct clean *c, struct buf *out);

/* A whole line at once. */
void clean_line(struct buf *out, const char *text, size_t n, bool colour);

/* That line alone, by malloc; NULL without memory. */
char *clean_text(const char *text);

/* The text in quotes, as JSON has it; always valid UTF-8. */
void clean_json(struct buf *out, const char *text, size_t n);
#endif
