/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor that torch.save wrote, as it is and with damage done to it. */
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/weights/torchfile.h"
#include "tests/tap.h"

static struct buf	file = { .max = 1 << 20 };
static size_t		length;		/* of the first archive in it */

/* Where the n-th "text" stands, from 0 on. */
static size_t
find(const char *text, size_t n, int nth)
{
	for (size_t i = 0; i + n <= length; i++)
		if (!memcmp(file.data + i, text, n) && nth-- == 0)
			return i;
	printf("# no \"%s\"\n", text);
	exit(1);
}

static int
try(const void *data, size_t n, struct err *err)
{
	struct torchfile t;

	return torchfile_read(&t, data, n, err);
}

/* "to" stands "offset" bytes behind the n-th "text". */
static void
damaged(const char *text, size_t n, int nth, long offset, const char *to,
    size_t to_n, const char *says)
{
	char		*copy = malloc(length);
	struct err	 err = ERR_INIT;
	int		 ret;

	memcpy(copy, file.data, length);
	memcpy(copy + ((long)find(text, n, nth) + offset), to, to_n);
	ret = try(copy, length, &err);
	ok(ret == -1 && strstr(err.text, says), "refused: %s", says);
	if (ret == 0 || !strstr(err.text, says))
		printf("# %s\n", err.text);
	free(copy);
}
#define DAMAGED(text, nth, offset, to, says) damaged(text, \
	sizeof(text) - 1, nth, offset, to, sizeof(to) - 1, says)

int
main(void)
{
	const char	*top = getenv("top_srcdir");
	struct buf	 path = BUF_INIT;
	struct torchfile t;
	struct err	 err = ERR_INIT;

	buf_addf(&path, "%s/tests/data/dcp/__0_0.distcp", top ? top : ".");
	if (file_read(buf_text(&path), &file, &err) < 0) {
		printf("# %s\n", err.text);
		return 1;
	}
	length = file.len;
	length = find("PK\5\6", 4, 0) + 22;

	ok(torchfile_read(&t, file.data, length, &err) == 0, "a tensor: %s",
	    err.text);
	is(t.dtype->name, "F32", "its type");
	ok(t.rank == 2 && t.shape[0] == 4 && t.shape[1] == 5 &&
	    t.stride[0] == 5 && t.stride[1] == 1, "its shape and strides");
	ok(t.end - t.begin == 80 && t.first == t.begin && t.end < length,
	    "where its elements are");

	/* In an entry of the directory, the method is 36 bytes before the name,
	 * the flags 38, the place of the local header 4. */
	DAMAGED("archive/data.pkl", 1, -36, "\10", "compressed");
	DAMAGED("archive/data.pkl", 1, -38, "\1", "encrypted");
	DAMAGED("archive/data.pkl", 1, -4, "\7", "is missing");
	DAMAGED("archive/data.pkl", 1, -22, "\1", "make no sense");
	DAMAGED("archive/data/0", 1, 0, "archive/data/1", "no \"data/0\"");
	DAMAGED("archive/data.pkl", 1, 0, "archive/dota.pkl",
	    "no data.pkl");
	DAMAGED("PK\1\2", 3, 0, "PK\1\3", "directory is damaged");
	DAMAGED("PK\5\6", 0, 0, "PK\5\5", "directory is missing");
	DAMAGED("PK\6\6", 0, 48, "\377\377\377\177", "outside it");
	DAMAGED("PK\6\7", 0, 8, "\1", "64-bit directory is missing");
	DAMAGED("little", 0, 0, "bigger", "another byte order");
	DAMAGED("FloatStorage", 0, 0, "BloatStorage",
	    "torch.BloatStorage is not among");
	DAMAGED("_rebuild_tensor_v2", 0, 0, "_rebuild_tensor_v9",
	    "_v9 is not among");
	DAMAGED("storage", 0, 0, "sturage", "not described as torch.save does");
	DAMAGED("cpuq\4K\24", 0, 6, "\25", "80 bytes, where 84 were announced");
	DAMAGED("QK\0K\4", 0, 2, "\25", "begins beyond its storage");
	DAMAGED("\x80\2ctorch", 0, 0, "\x80\2i", "data.pkl: byte 2");
	for (size_t n = 0; n < length; n++)
		if (try(file.data, n, &err) == 0 && n < length - 22) {
			ok(0, "cut short to %zu bytes it is refused", n);
			break;
		}
	ok(try(file.data, length - 1, &err) == -1, "cut short it is refused");
	buf_clear(&file);
	buf_clear(&path);
	return tap_done();
}
