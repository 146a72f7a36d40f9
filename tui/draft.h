/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draft: what was answered and not saved, beside the file as FILE.draft, for
 * the next start.  Private (0600), written whole or not at all, gone once the
 * file is saved.
 *
 * A line each: "accel-setup draft 1", "base HASH" (of the file that it
 * changes), "step N", and "WHO KEY=VALUE" for what somebody set: WHO is file,
 * found, flag or user, or seed, or typed for what was no value; a line end in a value is "\n", a backslash
 * "\\".  What is not named has its default.
 */
#ifndef TUI_DRAFT_H
#define TUI_DRAFT_H

#include "tui/form.h"

/* Writes the draft, where something is unsaved; else removes it. */
int  draft_keep(const struct form *f, struct err *err);
void draft_drop(const struct form *f);
bool draft_there(const struct form *f);

/* Reads the draft as one change of the form; *stale: the file has changed since.
 * On -1 nothing has changed. */
int  draft_take(struct form *f, bool *stale, struct err *err);

/* The parts, for tests. */
int  draft_print(const struct form *f, struct buf *out);
int  draft_parse(struct form *f, const char *text, size_t n, const char *name,
    bool *stale, struct err *err);
#endif
