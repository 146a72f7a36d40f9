/* SPDX-License-Identifier: Apache-2.0 */
/* plain: the form as a conversation, for pipes, serial lines and screen
 * readers. */
#ifndef TUI_PLAIN_H
#define TUI_PLAIN_H

#include <stdio.h>

struct form;
struct err;

enum plain_end { PLAIN_WRITTEN, PLAIN_LEFT, PLAIN_LAUNCH };

/* Asks on out, reads answers from in, and writes the file; then, where there is
 * a script, whether to launch it.  An end of the input before the file is
 * written is an error (-1), and nothing is written. */
int plain_run(struct form *f, const char *script, FILE *in, FILE *out,
    struct err *err);
#endif
