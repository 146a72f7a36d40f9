/* SPDX-License-Identifier: Apache-2.0 */
/* records: rows of any length, mapped; and writing them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/buf.h"
#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/train/formats.h"
#include "runtime/train/source.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

struct records {
	struct accel_source	base;
	struct mapping		index, data;
};

static void
records_free(struct accel_source *s)
{
	struct records *r = (struct records *)s;

	mapping_close(&r->index);
	mapping_close(&r->data);
	free(r);
}

static uint64_t
begin_of(const struct records *r, int64_t index)
{
	return index > 0 ? records_end(r->index.data, (uint64_t)index - 1) : 0;
}

static size_t
records_bytes(const struct accel_source *s, int64_t index)
{
	const struct records	*r = (const struct records *)s;
	uint64_t		 begin = begin_of(r, index);
	uint64_t		 end = records_end(r->index.data, (uint64_t)index);

	return end > begin && end <= r->data.size ? (size_t)(end - begin) : 0;
}

static int
records_read(const struct accel_source *s, int64_t index, void *row,
    size_t bytes, struct err *err)
{
	const struct records	*r = (const struct records *)s;
	uint64_t		 begin = begin_of(r, index);
	uint64_t		 want = le_get(r->index.data + RECORDS_HEAD +
	    index * RECORDS_ENTRY + 8, 8);

	if (mapping_check(&r->index, err) != 0 ||
	    mapping_check(&r->data, err) != 0)
		return -1;
	/* Both files are mapped: one who writes into them may have changed
	 * what was checked when they were opened. */
	if (begin <= r->data.size && bytes <= r->data.size - begin) {
		if (bytes > 0)
			memcpy(row, r->data.data + begin, bytes);
		if (hash_bytes(row, bytes) == want)
			return 0;
	}
	err_set(err, "%s: record %lld (%zu bytes at %" PRIu64 ") is not what "
	    "its hash says", r->data.path, (long long)index, bytes, begin);
	return records_damaged(err);
}

static const struct source_ops records_ops = {
	records_bytes, records_read, records_free
};

static char *
beside(const char *path, const char *end)
{
	char *name;

	return asprintf(&name, "%s%s", path, end) < 0 ? NULL : name;
}

accel_status
accel_source_records(const char *path, accel_source **out)
{
	struct records	*r = calloc(1, sizeof(*r));
	char		*name = beside(path, ".idx");
	struct err	*err = accel__err();
	uint64_t	 count;

	*out = NULL;
	if (r == NULL || name == NULL) {
		free(r);
		free(name);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	r->index = r->data = (struct mapping)MAPPING_INIT;
	r->base.ops = &records_ops;
	if (mapping_open(&r->index, name, err) != 0 ||
	    mapping_open(&r->data, path, err) != 0 ||
	    records_parse(r->index.data, r->index.size, r->data.size, name,
	    &count, err) != 0) {
		records_free(&r->base);
		free(name);
		return ACCEL_EIO;
	}
	free(name);
	r->base.n = (int64_t)count;
	*out = &r->base;
	return ACCEL_OK;
}

/* ---- writing ------------------------------------------------------------ */

struct accel_records {
	char		*path, *part;
	FILE		*file;
	struct buf	 index;
	uint64_t	 end;
};

static void
writer_free(accel_records *w)
{
	if (w->file != NULL)
		fclose(w->file);
	if (w->part != NULL)
		unlink(w->part);
	free(w->path);
	free(w->part);
	buf_clear(&w->index);
	free(w);
}

accel_status
accel_records_new(const char *path, accel_records **out)
{
	accel_records *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (w == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	w->index.max = SIZE_MAX / 4;
	w->path = strdup(path);
	w->part = beside(path, ".part");
	if (w->path == NULL || w->part == NULL) {
		writer_free(w);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	w->file = fopen(w->part, "wbe");
	if (w->file == NULL) {
		accel__fail(ACCEL_EIO, "%s: %s", w->part, strerror(errno));
		writer_free(w);
		return ACCEL_EIO;
	}
	*out = w;
	return ACCEL_OK;
}

accel_status
accel_records_add(accel_records *w, const void *data, size_t bytes)
{
	unsigned char entry[RECORDS_ENTRY];

	if (bytes > 0 && fwrite(data, bytes, 1, w->file) != 1)
		return accel__fail(ACCEL_EIO, "%s: %s", w->part,
		    strerror(errno));
	w->end += bytes;
	le_put(entry, w->end, 8);
	le_put(entry + 8, hash_bytes(data, bytes), 8);
	if (buf_add(&w->index, entry, sizeof(entry)) != 0)
		return accel__fail(ACCEL_ENOMEM, "%s: no memory for the index",
		    w->path);
	return ACCEL_OK;
}

/* The index goes last: with the data of before beside it, or none, it tells
 * that they do not fit. */
static int
commit(accel_records *w, struct err *err)
{
	unsigned char	 head[RECORDS_HEAD] = { 0 };
	struct buf	 file = BUF_INIT;
	char		*name = beside(w->path, ".idx");
	FILE		*data = w->file;
	int		 rc = -1, saved;

	memcpy(head, records_magic, sizeof(records_magic));
	le_put(head + 8, RECORDS_VERSION, 4);
	le_put(head + 16, w->index.len / RECORDS_ENTRY, 8);
	le_put(head + 24, hash_bytes(w->index.data, w->index.len), 8);
	file.max = SIZE_MAX / 4;
	buf_add(&file, head, sizeof(head));
	buf_add(&file, w->index.data, w->index.len);
	if (name == NULL || buf_failed(&file)) {
		err_nomem(err);
		goto out;
	}
	saved = fflush(data) != 0 || fsync(fileno(data)) != 0 ? errno : 0;
	w->file = NULL;
	if (fclose(data) != 0 && saved == 0)
		saved = errno;
	if (saved == 0 && rename(w->part, w->path) != 0)
		saved = errno;
	if (saved != 0) {
		err_set(err, "%s: %s", w->part, strerror(saved));
		goto out;
	}
	rc = file_replace(name, file.data, file.len, 0644, err);
out:
	free(name);
	buf_clear(&file);
	return rc;
}

accel_status
accel_records_close(accel_records *w, int keep)
{
	accel_status st = ACCEL_OK;

	if (w == NULL)
		return ACCEL_OK;
	if (keep && w->end == 0)
		st = accel__fail(ACCEL_EINVAL, "%s: records without a byte in "
		    "all of them are not to be written", w->path);
	else if (keep && commit(w, accel__err()) != 0)
		st = ACCEL_EIO;
	writer_free(w);
	return st;
}
