/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkpage: prints what the manual has from the table; make update-man keeps it
 * in the tree.  Without words, accel.yaml(5).  With the name of a page, that
 * page, where the line that begins with .\" FLAGS is replaced by the flags.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/config/schema.h"
#include "runtime/base/banned.h"

static int
fill(const char *path, struct buf *page, struct err *err)
{
	static const char	mark[] = "\n.\\\" FLAGS";
	struct buf		text = BUF_INIT;
	const char		*at;
	int			rc = file_read(path, &text, err);

	at = strstr(buf_text(&text), mark);
	if (!rc && !at)
		rc = err_set(err, "%s: no line for the flags", path);
	if (!rc) {
		buf_add(page, buf_text(&text), (size_t)(at + 1 -
		    buf_text(&text)));
		rc = config_page_flags(page);
		at = strchr(at + 1, '\n');
		buf_adds(page, at ? at + 1 : "");
	}
	buf_clear(&text);
	return rc;
}

int
main(int argc, char **argv)
{
	struct buf	page = BUF_INIT;
	struct err	err = ERR_INIT;
	int		rc = argc > 1 ? fill(argv[1], &page, &err) :
	    config_page(&page);

	if (!rc)
		rc = fputs(buf_text(&page), stdout) < 0 || fflush(stdout);
	else
		err_print("mkpage", &err);
	buf_clear(&page);
	return rc != 0;
}
