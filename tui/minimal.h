/* SPDX-License-Identifier: Apache-2.0 */
/* minimal: what a file does not say yet, and the least that it must say. */
#ifndef TUI_MINIMAL_H
#define TUI_MINIMAL_H

#include "tui/form.h"

/* The questions that have a meaning and no answer in the file: "KEY=DEFAULT",
 * a line each, with the question behind "#". */
int  list_new(const struct form *f, struct buf *out);
/* The file without what is a default and need not be there.  It reads as the
 * same configuration. */
int  list_minimal(const struct form *f, struct buf *out);
#endif
