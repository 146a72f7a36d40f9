/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: what curses would show, against NAME.screen: the text, and below it
 * the attributes, "r" reverse, "b" bold, "u" underlined.  UPDATE=1 writes those
 * files into the source.
 */
#ifndef TESTS_SCREENS_SNAPSHOT_H
#define TESTS_SCREENS_SNAPSHOT_H

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "runtime/base/buf.h"
#include "runtime/base/file.h"
#include "tests/tap.h"

/* Without the blanks at the ends of lines, which editors eat. */
static inline void
snapshot_trim(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_adds(out, "\n");
}

static inline void
snapshot_take(struct buf *out)
{
	int rows, columns, y, x;

	getyx(stdscr, y, x);
	buf_addf(out, "cursor %d,%d\n", y, x);
	getmaxyx(stdscr, rows, columns);
	for (y = 0; y < rows; y++) {
		wchar_t line[512];

		mvinnwstr(y, 0, line, columns < 511 ? columns : 511);
		buf_addf(out, "%ls", line);
		snapshot_trim(out);
	}
	for (y = 0; y < rows; y++) {
		for (x = 0; x < columns; x++) {
			chtype c = mvinch(y, x);

			buf_adds(out, c & A_REVERSE ? "r" : c & A_BOLD ? "b" :
			    c & A_UNDERLINE ? "u" : " ");
		}
		snapshot_trim(out);
	}
}

static inline void
snapshot_compare(const char *name, const struct buf *got)
{
	const char *src = getenv("top_srcdir");
	struct buf want = BUF_INIT;
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/screens/%s.screen",
	    src ? src : ".", name);
	if (getenv("UPDATE"))
		file_replace(path, got->data, got->len, 0644, NULL);
	file_read(path, &want, NULL);
	is(buf_text(got), buf_text(&want), "%s", name);
	buf_clear(&want);
}
#endif
