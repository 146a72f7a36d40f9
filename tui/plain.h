/* SPDX-License-Identifier: Apache-2.0 */
/* plain: the form as a conversation, for pipes, serial lines and screen
 * readers. */
#ifndef TUI_PLAIN_H
#define TUI_PLAIN_H

#include <stdio.h>

struct form;
struct err;

/* Asks on out, reads answers from in, and writes the file.  0 written, 1 the
 * user did not want it, -1 error, the end of the input included: nothing is
 * written then. */
int plain_run(struct form *f, FILE *in, FILE *out, struct err *err);
#endif
