/* SPDX-License-Identifier: Apache-2.0 */
/* .accelignore, by examples of gitignore(5). */
#include "runtime/base/buf.h"
#include "runtime/base/strv.h"
#include "runtime/launch/ignore.h"
#include "tests/tap.h"

int
main(void)
{
	static const struct { const char *text, *path; bool folder, out; } rows[] = {
		{ "*.o\n", "a.o", false, true },
		{ "*.o\n", "deep/down/a.o", false, true },
		{ "*.o\n", "a.c", false, false },
		{ "# *.c\n\n", "a.c", false, false },
		{ "\\#a\n", "#a", false, true },
		{ "data/\n", "data", true, true },
		{ "data/\n", "data", false, false },
		{ "data/\n", "x/data", true, true },
		{ "/data\n", "x/data", true, false },
		{ "/data\n", "data", false, true },
		{ "a/b\n", "a/b", false, true },
		{ "a/b\n", "x/a/b", false, false },
		{ "a/*\n", "a/b", false, true },
		{ "a/*.c\n", "a/b/x.c", false, false },
		{ "a/**\n", "a/b/c", false, true },
		{ "a/**/z\n", "a/z", false, true },
		{ "a/**/z\n", "a/b/c/z", false, true },
		{ "**/logs\n", "x/y/logs", true, true },
		{ "**/logs\n", "logs", true, true },
		{ "*.bin\n!keep.bin\n", "keep.bin", false, false },
		{ "!keep.bin\n*.bin\n", "keep.bin", false, true },
		{ "f?o\n", "foo", false, true },
		{ "f?o\n", "f/o", false, false },
		{ "f[a-c]o\n", "fbo", false, true },
		{ "f[!a-c]o\n", "fbo", false, false },
		{ "f[a\n", "fa", false, false },
		{ "blank \r\n", "blank", false, true },
		{ "last", "last", false, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf	text = BUF_INIT;
		struct strv	patterns = STRV_INIT;

		buf_adds(&text, rows[i].text);
		ok(ignore_parse(&patterns, &text) == 0 && ignore_path(&patterns,
		    rows[i].path, rows[i].folder) == rows[i].out,
		    "row %zu: %s", i, rows[i].path);
		strv_clear(&patterns);
		buf_clear(&text);
	}
	return tap_done();
}
