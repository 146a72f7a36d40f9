/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/weights/zip.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

/* Lengths of the fixed parts, and the texts that they begin with. */
enum { END = 22, END64 = 56, LOCATOR = 20, ENTRY = 46, LOCAL = 30,
	COMMENT_MAX = 65535 };

static uint64_t
get(const unsigned char *p, int width)
{
	uint64_t u = 0;

	for (int i = width - 1; i >= 0; i--)
		u = u << 8 | p[i];
	return u;
}

static int
damaged(struct err *err, const char *what)
{
	err_set(err, "%s", what);
	return err_hint(err, "what torch.save wrote is a zip archive: the file "
	    "is damaged, or cut short");
}

/* Where sizes outgrew 32 bits, a second record before the end has them. */
static int
read_end64(struct zip *z, size_t end, uint64_t *n, uint64_t *at,
    struct err *err)
{
	uint64_t where;

	if (end < LOCATOR || memcmp(z->data + end - LOCATOR, "PK\6\7", 4))
		return 0;
	where = get(z->data + end - LOCATOR + 8, 8);
	if (z->n < END64 || where > z->n - END64 ||
	    memcmp(z->data + where, "PK\6\6", 4))
		return damaged(err, "its 64-bit directory is missing");
	*n = get(z->data + where + 40, 8);
	*at = get(z->data + where + 48, 8);
	return 0;
}

int
zip_open(struct zip *z, const void *data, size_t n, struct err *err)
{
	uint64_t	dir_n, dir;
	size_t		end;

	*z = (struct zip){ data, n, 0, 0 };
	if (n < END)
		return damaged(err, "too short for an archive");
	for (end = n - END; memcmp(z->data + end, "PK\5\6", 4); end--)
		if (!end || n - END - end >= COMMENT_MAX)
			return damaged(err, "its directory is missing");
	dir_n = get(z->data + end + 12, 4);
	dir = get(z->data + end + 16, 4);
	if (read_end64(z, end, &dir_n, &dir, err) < 0)
		return -1;
	if (dir > end || dir_n > end - dir)
		return damaged(err, "the archive's directory lies outside it");
	z->dir = (size_t)dir;
	z->dir_n = (size_t)dir_n;
	return 0;
}

/* Replaces those of the three numbers that are all ones. */
static int
read_extra(const unsigned char *p, size_t n, uint64_t *size, uint64_t *packed,
    uint64_t *at)
{
	uint64_t *number[] = { size, packed, at };

	while (n >= 4) {
		size_t id = (size_t)get(p, 2), len = (size_t)get(p + 2, 2);

		p += 4;
		n -= 4;
		if (len > n)
			return -1;
		for (size_t i = 0, k = 0; id == 1 && i < 3; i++)
			if (*number[i] == 0xffffffff) {
				if (len - k < 8)
					return -1;
				*number[i] = get(p + k, 8);
				k += 8;
			}
		p += len;
		n -= len;
	}
	return 0;
}

static bool
is_named(const unsigned char *entry, size_t n, const char *name)
{
	const unsigned char *slash = memchr(entry, '/', n);

	if (!slash)
		return false;
	n -= (size_t)(slash + 1 - entry);
	return n == strlen(name) && !memcmp(slash + 1, name, n);
}

/* The data stand behind the local header, whose name and extra part have
 * lengths of their own. */
static int
locate(const struct zip *z, uint64_t local, uint64_t size, size_t *at,
    size_t *n, struct err *err)
{
	uint64_t skip;

	if (z->n < LOCAL || local > z->n - LOCAL ||
	    memcmp(z->data + local, "PK\3\4", 4))
		return damaged(err, "a member of the archive is missing");
	skip = LOCAL + get(z->data + local + 26, 2) +
	    get(z->data + local + 28, 2);
	if (skip > z->n - local || size > z->n - local - skip)
		return damaged(err, "a member of the archive lies outside it");
	*at = (size_t)(local + skip);
	*n = (size_t)size;
	return 1;
}

int
zip_find(const struct zip *z, const char *name, size_t *at, size_t *n,
    struct err *err)
{
	const unsigned char	*p = z->data + z->dir;
	size_t			 left = z->dir_n;

	while (left >= ENTRY && !memcmp(p, "PK\1\2", 4)) {
		size_t	 name_n = (size_t)get(p + 28, 2);
		size_t	 extra_n = (size_t)get(p + 30, 2);
		size_t	 whole = ENTRY + name_n + extra_n +
		    (size_t)get(p + 32, 2);
		uint64_t packed = get(p + 20, 4), size = get(p + 24, 4);
		uint64_t local = get(p + 42, 4);

		if (whole > left)
			break;
		if (is_named(p + ENTRY, name_n, name)) {
			if (get(p + 10, 2) != 0 || get(p + 8, 2) & 1) {
				err_set(err, "\"%s\" is compressed or "
				    "encrypted", name);
				return err_hint(err, "torch.save stores "
				    "members as they are");
			}
			if (read_extra(p + ENTRY + name_n, extra_n, &size,
			    &packed, &local) < 0 || size != packed)
				return damaged(err, "a member's sizes make no "
				    "sense");
			return locate(z, local, size, at, n, err);
		}
		p += whole;
		left -= whole;
	}
	return left ? damaged(err, "the archive's directory is damaged") : 0;
}
