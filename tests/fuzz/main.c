/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz program over its kept corpus: each file is a test. */
#include <dirent.h>
#include <errno.h>

#include "runtime/base/buf.h"
#include "runtime/base/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

static int
visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int
main(int argc, char **argv)
{
	const char	 *top = getenv("top_srcdir");
	const char	 *name = program_invocation_short_name;
	struct dirent	**entry;
	struct buf	  folder = BUF_INIT;
	int		  n;

	(void)argc, (void)argv;
	if (!strncmp(name, "lt-", 3))	/* as libtool starts it */
		name += 3;
	buf_addf(&folder, "%s/tests/fuzz/corpus/%s", top ? top : ".", name);
	n = scandir(buf_text(&folder), &entry, visible, alphasort);
	ok(n > 0, "there is a corpus");
	for (int i = 0; i < n; i++) {
		struct buf	path = BUF_INIT, data = BUF_INIT;
		uint8_t		*copy;

		buf_addf(&path, "%s/%s", buf_text(&folder), entry[i]->d_name);
		/* a copy of just that size, so that a sanitizer sees its end */
		copy = file_read(buf_text(&path), &data, NULL) ? NULL :
		    malloc(data.len ? data.len : 1);
		if (copy) {
			memcpy(copy, buf_text(&data), data.len);
			LLVMFuzzerTestOneInput(copy, data.len);
		}
		ok(copy, "%s", entry[i]->d_name);
		free(copy);
		buf_clear(&data);
		buf_clear(&path);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	buf_clear(&folder);
	return tap_done();
}
