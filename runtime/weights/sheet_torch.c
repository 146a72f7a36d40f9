/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch.save makes of a dict of tensors: a zip archive with a pickle, and
 * a member for each storage at a multiple of 64.
 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "runtime/base/err.h"
#include "runtime/weights/sheet.h"
#include "runtime/weights/torchtype.h"

#include "runtime/base/banned.h"

enum { ALIGN = 64, LOCAL = 30, CRC_IN_LOCAL = 14, CRC_IN_ENTRY = 16,
	ZIP64 = 45, BIG = 1 << 30 };
#define FOLDER	"archive/"

/* ---- the pickle ---------------------------------------------------------- */

static void
put(struct buf *b, uint64_t value, int width)
{
	unsigned char p[8];

	for (int i = 0; i < width; i++)
		p[i] = (unsigned char)(value >> (8 * i));
	buf_add(b, p, (size_t)width);
}

static void
put_int(struct buf *b, uint64_t value)
{
	if (value < 1u << 31) {
		buf_adds(b, "J");
		put(b, value, 4);
	} else {
		buf_add(b, "\x8a\x09", 2);	/* a ninth byte: no minus */
		put(b, value, 8);
		put(b, 0, 1);
	}
}

static void
put_text(struct buf *b, const char *text)
{
	buf_adds(b, "X");
	put(b, strlen(text), 4);
	buf_adds(b, text);
}

/* "module name" becomes two lines. */
static void
put_name(struct buf *b, const char *name)
{
	const char *blank = strchr(name, ' ');

	buf_adds(b, "c");
	buf_add(b, name, (size_t)(blank - name));
	buf_addf(b, "\n%s\n", blank + 1);
}

static void
put_tensor(struct buf *b, const struct whole *t, size_t key)
{
	const struct torchtype	*type = torchtype_of_dtype(t->dtype);
	uint64_t		 size = t->dtype->bits / 8, pitch = 1;
	int64_t			 stride[WEIGHTS_RANK];
	char			 text[24];

	snprintf(text, sizeof text, "%zu", key);
	put_name(b, type->storage ? TORCH_TENSOR : TORCH_TENSOR3);
	buf_adds(b, "((");
	put_text(b, "storage");
	put_name(b, type->storage ? type->storage : TORCH_UNTYPED);
	put_text(b, text);
	put_text(b, "cpu");
	put_int(b, type->storage ? t->bytes / size : t->bytes);
	buf_adds(b, "tQ");
	put_int(b, 0);
	buf_adds(b, "(");
	for (int i = 0; i < t->rank; i++)
		put_int(b, (uint64_t)t->shape[i]);
	buf_adds(b, "t(");
	for (int i = t->rank - 1; i >= 0; i--) {
		stride[i] = (int64_t)pitch;
		pitch *= t->shape[i] ? (uint64_t)t->shape[i] : 1;
	}
	for (int i = 0; i < t->rank; i++)
		put_int(b, (uint64_t)stride[i]);
	buf_adds(b, "t\x89");
	put_name(b, "collections OrderedDict");
	buf_adds(b, ")R");
	if (!type->storage)
		put_name(b, type->torch);
	buf_adds(b, "tR");
}

/* ---- the archive --------------------------------------------------------- */

struct archive {
	struct sheet	*s;
	struct buf	 dir;
	size_t		 members;
	struct err	*err;
};

/* The local header of a member, padded so that its data are aligned, and its
 * entry in the directory; *data is where its bytes go.  Sizes stand in the
 * 64-bit extra field, whatever they are: one form for all. */
static int
add_member(struct archive *a, const char *name, uint64_t n, uint32_t crc,
    uint64_t *data)
{
	struct buf	b = BUF_INIT;
	uint64_t	local = a->s->size;
	size_t		name_n = strlen(name), pad;
	int		ret;

	pad = (size_t)((ALIGN - (local + LOCAL + name_n + 20 + 4) % ALIGN) %
	    ALIGN);
	buf_add(&b, "PK\3\4", 4);
	put(&b, ZIP64, 2);
	put(&b, 0, 2 + 2);		/* no flags; stored */
	put(&b, 0x21 << 16, 4);		/* 1 January 1980 */
	put(&b, crc, 4);
	put(&b, 0xffffffff, 4);
	put(&b, 0xffffffff, 4);
	put(&b, name_n, 2);
	put(&b, 20 + 4 + pad, 2);
	buf_adds(&b, name);
	put(&b, 1, 2);
	put(&b, 16, 2);
	put(&b, n, 8);
	put(&b, n, 8);
	buf_adds(&b, "FB");		/* PyTorch's own padding */
	put(&b, pad, 2);
	for (size_t i = 0; i < pad; i++)
		buf_adds(&b, "Z");
	*data = local + b.len;
	ret = sheet_put(a->s, local, b.data, b.len, a->err);
	buf_clear(&b);
	a->s->size = *data + n;

	buf_add(&a->dir, "PK\1\2", 4);
	put(&a->dir, ZIP64, 2);
	put(&a->dir, ZIP64, 2);
	put(&a->dir, 0, 2 + 2);
	put(&a->dir, 0x21 << 16, 4);
	put(&a->dir, crc, 4);
	put(&a->dir, 0xffffffff, 4);
	put(&a->dir, 0xffffffff, 4);
	put(&a->dir, name_n, 2);
	put(&a->dir, 28, 2);
	put(&a->dir, 0, 8);		/* comment, disk, two attributes */
	put(&a->dir, 0, 2);
	put(&a->dir, 0xffffffff, 4);
	buf_adds(&a->dir, name);
	put(&a->dir, 1, 2);
	put(&a->dir, 24, 2);
	put(&a->dir, n, 8);
	put(&a->dir, n, 8);
	put(&a->dir, local, 8);
	a->members++;
	return ret;
}

static int
add_text(struct archive *a, const char *name, const void *text, size_t n)
{
	uint64_t at;
	uint32_t crc = (uint32_t)crc32(0, text, (uInt)n);

	if (add_member(a, name, n, crc, &at) < 0)
		return -1;
	return sheet_put(a->s, at, text, n, a->err);
}

static int
add_end(struct archive *a)
{
	struct buf	*b = &a->dir;
	uint64_t	 dir = a->s->size, dir_n = b->len;

	buf_add(b, "PK\6\6", 4);
	put(b, 44, 8);
	put(b, ZIP64, 2);
	put(b, ZIP64, 2);
	put(b, 0, 8);			/* two numbers of disks */
	put(b, a->members, 8);
	put(b, a->members, 8);
	put(b, dir_n, 8);
	put(b, dir, 8);
	buf_add(b, "PK\6\7", 4);
	put(b, 0, 4);
	put(b, dir + dir_n, 8);
	put(b, 1, 4);
	buf_add(b, "PK\5\6", 4);
	put(b, 0, 4);
	put(b, 0xffffffff, 4);		/* both counts: see above */
	put(b, 0xffffffff, 4);
	put(b, 0xffffffff, 4);
	put(b, 0, 2);
	return buf_failed(b) ? err_nomem(a->err) :
	    sheet_put(a->s, dir, b->data, b->len, a->err);
}

int
sheet_torch(struct sheet *s, const struct weights *w, struct err *err)
{
	struct archive	a = { .s = s, .dir = { .max = BIG }, .err = err };
	struct buf	pickle = { .max = BIG };
	int		ret = -1;

	s->text.max = (size_t)2 * BIG;
	buf_add(&pickle, "\x80\x02}(", 4);
	for (size_t i = 0; i < s->tensors; i++) {
		const struct whole *t = &w->tensor[s->tensor[i]];

		if (!torchtype_of_dtype(t->dtype)) {
			err_set(err, "tensor \"%s\" is of %s, which torch.save "
			    "has no type for", t->key, t->dtype->name);
			goto out;
		}
		put_text(&pickle, weights_name(t));
		put_tensor(&pickle, t, i);
	}
	buf_adds(&pickle, "u.");
	if (buf_failed(&pickle)) {
		err_nomem(err);
		goto out;
	}
	if (add_text(&a, FOLDER "data.pkl", pickle.data, pickle.len) < 0 ||
	    add_text(&a, FOLDER "byteorder", "little", 6) < 0)
		goto out;
	for (size_t i = 0; i < s->tensors; i++) {
		char name[48];

		snprintf(name, sizeof name, FOLDER "data/%zu", i);
		if (add_member(&a, name, w->tensor[s->tensor[i]].bytes, 0,
		    &s->at[i]) < 0)
			goto out;
	}
	if (add_text(&a, FOLDER "version", "3\n", 2) < 0 || add_end(&a) < 0)
		goto out;
	ret = 0;
out:
	buf_clear(&a.dir);
	buf_clear(&pickle);
	return ret;
}

static uint64_t
get(const unsigned char *p, int width)
{
	uint64_t u = 0;

	for (int i = width - 1; i >= 0; i--)
		u = u << 8 | p[i];
	return u;
}

/* The local header of tensor i ends where its data begin; its entry in the
 * directory is number i + 2, behind those of the two texts. */
void
sheet_torch_seal(const struct sheet *s, unsigned char *file)
{
	unsigned char *dir = file + s->patch[s->patches - 1].at;

	for (size_t i = 0; i < s->tensors + 2; i++) {
		size_t		 n = 46 + (size_t)get(dir + 28, 2) + 28;
		unsigned char	*local = file + get(dir + n - 8, 8);
		uint64_t	 size = get(dir + n - 24, 8);
		uLong		 crc;

		if (i >= 2) {
			crc = crc32_z(0, file + s->at[i - 2], size);
			for (int k = 0; k < 4; k++)
				dir[CRC_IN_ENTRY + k] =
				    local[CRC_IN_LOCAL + k] =
				    (unsigned char)(crc >> (8 * k));
		}
		dir += n;
	}
}
