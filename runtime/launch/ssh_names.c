/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/ssh_names.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/buf.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"

#include "runtime/base/banned.h"

enum { DEPTH = 4, FILES = 64, NAMES = 10000, FILE_MAX = 4 << 20 };

struct reading {
	struct strv	*names;
	int		 files;		/* read so far */
	int		 status;
};

static void read_file(struct reading *r, const char *path, int depth);

static void
include(struct reading *r, const char *word, int depth)
{
	struct buf	path = BUF_INIT;
	glob_t		found;

	if (*word == '~' && word[1] == '/')
		buf_addf(&path, "%s%s", file_home(), word + 1);
	else if (*word == '/')
		buf_adds(&path, word);
	else
		buf_addf(&path, "%s/.ssh/%s", file_home(), word);
	if (glob(buf_text(&path), 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_file(r, found.gl_pathv[i], depth + 1);
		globfree(&found);
	}
	buf_clear(&path);
}

static void
add(struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->names->count; i++)
		if (!strcmp(r->names->item[i], name))
			return;
	if (!strpbrk(name, "*?!\"#") && r->names->count < NAMES &&
	    strv_add(r->names, name) < 0)
		r->status = -1;
}

static void
read_file(struct reading *r, const char *path, int depth)
{
	struct buf	 text = { .max = FILE_MAX };
	char		*lines = NULL, *words = NULL;

	if (depth > DEPTH || r->files++ >= FILES ||
	    file_read(path, &text, NULL) < 0 || !text.data) {
		buf_clear(&text);
		return;
	}
	for (char *line = strtok_r(text.data, "\r\n", &lines); line;
	    line = strtok_r(NULL, "\r\n", &lines)) {
		char	*word = strtok_r(line, " \t=", &words);
		bool	 host = word && !strcasecmp(word, "Host");

		if (!host && (!word || strcasecmp(word, "Include")))
			continue;
		while ((word = strtok_r(NULL, " \t", &words)))
			if (host)
				add(r, word);
			else
				include(r, word, depth);
	}
	buf_clear(&text);
}

int
ssh_names(struct strv *names, const char *file)
{
	struct reading	r = { names, 0, 0 };
	struct buf	path = BUF_INIT;

	if (file)
		buf_adds(&path, file);
	else
		buf_addf(&path, "%s/.ssh/config", file_home());
	read_file(&r, buf_text(&path), 0);
	buf_clear(&path);
	return r.status;
}
