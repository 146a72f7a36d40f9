/* SPDX-License-Identifier: Apache-2.0 */
/* lines: how one text becomes another, line by line. */
#ifndef RUNTIME_BASE_LINES_H
#define RUNTIME_BASE_LINES_H

struct buf;

/* Adds the difference as diff -u prints it, behind two lines with the names;
 * nothing where the texts are equal.  The smallest difference, except for texts
 * of thousands of changed lines.  -1 without memory. */
int lines_diff(const char *was, const char *is, const char *was_name,
    const char *is_name, struct buf *out);
#endif
