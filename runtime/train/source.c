/* SPDX-License-Identifier: Apache-2.0 */
/* source: rows from memory and from callbacks, and what all sources share. */
#include "runtime/train/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

/* ---- rows --------------------------------------------------------------- */

char *
rows_room(struct rows *r, size_t bytes)
{
	if (r->count + 1 >= r->slots) {
		int	 slots = r->slots ? 2 * r->slots : 16;
		size_t	*more = reallocarray(r->offset, (size_t)slots,
		    sizeof(*more));

		if (more == NULL)
			return NULL;
		if (r->slots == 0)
			more[0] = 0;
		r->offset = more;
		r->slots = slots;
	}
	if (r->data == NULL || bytes > r->room - r->len) {
		size_t	 want = 2 * r->room > r->len + bytes ? 2 * r->room :
		    r->len + bytes + 1;
		char	*more = want > r->len ? realloc(r->data, want) : NULL;

		if (more == NULL)
			return NULL;
		r->data = more;
		r->room = want;
	}
	return r->data + r->len;
}

static void
rows_added(struct rows *r, size_t bytes)
{
	r->len += bytes;
	r->offset[++r->count] = r->len;
}

static accel_status
no_room(size_t bytes, struct err *err)
{
	err_set(err, "no memory for a row of %zu bytes", bytes);
	return ACCEL_ENOMEM;
}

accel_status
rows_copy(struct rows *r, const struct rows *from, int i, struct err *err)
{
	size_t	 bytes = from->offset[i + 1] - from->offset[i];
	char	*to = rows_room(r, bytes);

	if (to == NULL)
		return no_room(bytes, err);
	if (bytes > 0)
		memcpy(to, from->data + from->offset[i], bytes);
	rows_added(r, bytes);
	return ACCEL_OK;
}

void
rows_reset(struct rows *r)
{
	r->len = 0;
	r->count = 0;
}

void
rows_clear(struct rows *r)
{
	free(r->data);
	free(r->offset);
	*r = (struct rows){ 0 };
}

/* ---- reading ------------------------------------------------------------ */

/* The caller's function says how long its row is; one that does not fit is
 * asked for again, with room. */
static accel_status
read_callback(const struct accel_source *s, int64_t epoch, int64_t index,
    struct rows *rows, struct err *err)
{
	size_t room = s->row_bytes > 0 ? s->row_bytes : 4096, bytes;

	for (int tries = 0; tries < 2; tries++) {
		char		*to = rows_room(rows, room);
		accel_status	 st;

		if (to == NULL)
			return no_room(room, err);
		bytes = s->row_bytes;
		st = s->fn(s->user, epoch, index, to, room, &bytes);
		if (st == ACCEL_END && s->n < 0)
			return st;
		if (st != ACCEL_OK) {
			err_set(err, "the callback for sample %lld of epoch "
			    "%lld returned %d", (long long)index,
			    (long long)epoch, (int)st);
			return st < 0 ? st : ACCEL_EINVAL;
		}
		if (bytes <= room && (s->row_bytes == 0 ||
		    bytes == s->row_bytes)) {
			rows_added(rows, bytes);
			return ACCEL_OK;
		}
		if (s->row_bytes > 0)
			break;
		room = bytes;
	}
	err_set(err, "the callback for sample %lld says %zu bytes where "
	    "there is room for %zu", (long long)index, bytes, room);
	err_hint(err, s->row_bytes > 0 ? "rows of this source have one size" :
	    "the second call, with the room asked for, must fit");
	return ACCEL_EINVAL;
}

accel_status
source_read(const struct accel_source *s, int64_t epoch, int64_t index,
    struct rows *rows, struct err *err)
{
	size_t	 bytes;
	char	*to;

	if (s->ops == NULL)
		return read_callback(s, epoch, index, rows, err);
	bytes = s->row_bytes > 0 ? s->row_bytes : s->ops->bytes(s, index);
	to = rows_room(rows, bytes);
	if (to == NULL)
		return no_room(bytes, err);
	if (s->ops->read(s, index, to, bytes, err) != 0)
		return ACCEL_EIO;
	rows_added(rows, bytes);
	return ACCEL_OK;
}

/* ---- memory ------------------------------------------------------------- */

struct memory {
	struct accel_source	 base;
	const char		*rows;
};

static int
memory_read(const struct accel_source *s, int64_t index, void *row,
    size_t bytes, struct err *err)
{
	const struct memory *m = (const struct memory *)s;

	(void)err;
	memcpy(row, m->rows + (size_t)index * bytes, bytes);
	return 0;
}

static void
memory_free(struct accel_source *s)
{
	free(s);
}

static const struct source_ops memory_ops = { NULL, memory_read, memory_free };

accel_status
accel_source_memory(const void *rows, int64_t n, size_t row_bytes,
    accel_source **out)
{
	struct memory *m;

	*out = NULL;
	if (rows == NULL || n < 1 || row_bytes < 1 ||
	    (uint64_t)n > PTRDIFF_MAX / row_bytes)
		return accel__fail(ACCEL_EINVAL, "accel_source_memory: %lld "
		    "rows of %zu bytes at %p are no data", (long long)n,
		    row_bytes, rows);
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	m->base.ops = &memory_ops;
	m->base.n = n;
	m->base.row_bytes = row_bytes;
	m->rows = rows;
	*out = &m->base;
	return ACCEL_OK;
}

/* ---- callback ----------------------------------------------------------- */

accel_status
accel_source_callback(accel_read_fn fn, void *user, int64_t n,
    size_t row_bytes, accel_source **out)
{
	struct accel_source *s;

	*out = NULL;
	if (fn == NULL || n == 0 || n < -1)
		return accel__fail(ACCEL_EINVAL, "accel_source_callback: it "
		    "wants a function, and a number of samples or -1 (got "
		    "%lld)", (long long)n);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	s->fn = fn;
	s->user = user;
	s->n = n;
	s->row_bytes = row_bytes;
	*out = s;
	return ACCEL_OK;
}

/* ---- all ---------------------------------------------------------------- */

void
accel_source_free(accel_source *s)
{
	if (s == NULL)
		return;
	if (s->ops != NULL)
		s->ops->free(s);
	else
		free(s);
}

int64_t
accel_source_count(const accel_source *s)
{
	return s->n;
}

size_t
accel_source_row_bytes(const accel_source *s)
{
	return s->row_bytes;
}

/* ---- mapping ------------------------------------------------------------ */

int
mapping_open(struct mapping *m, const char *path, struct err *err)
{
	struct mapping	 new = MAPPING_INIT;
	struct stat	 st;
	void		*data;

	new.path = strdup(path);
	if (new.path == NULL)
		return err_nomem(err);
	/* Else a pipe without a writer would hold us here. */
	new.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (new.fd < 0 || fstat(new.fd, &st) != 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		mapping_close(&new);
		return -1;
	}
	if (!S_ISREG(st.st_mode) || st.st_size < 1) {
		err_set(err, "%s: %s", path, S_ISREG(st.st_mode) ?
		    "the file is empty" : "this is no plain file");
		mapping_close(&new);
		return -1;
	}
	new.size = (size_t)st.st_size;
	data = mmap(NULL, new.size, PROT_READ, MAP_SHARED, new.fd, 0);
	if (data == MAP_FAILED) {
		err_set(err, "%s: mapping %zu bytes: %s", path, new.size,
		    strerror(errno));
		mapping_close(&new);
		return -1;
	}
	new.data = data;
	*m = new;
	return 0;
}

void
mapping_close(struct mapping *m)
{
	if (m->data != NULL)
		munmap((void *)(uintptr_t)m->data, m->size);
	if (m->fd >= 0)
		close(m->fd);
	free(m->path);
	*m = (struct mapping)MAPPING_INIT;
}

int
mapping_check(const struct mapping *m, struct err *err)
{
	struct stat st;

	if (fstat(m->fd, &st) != 0)
		return err_set(err, "%s: %s", m->path, strerror(errno));
	if ((uint64_t)st.st_size >= m->size)
		return 0;
	err_set(err, "%s: was %zu bytes when it was opened, and is %lld now",
	    m->path, m->size, (long long)st.st_size);
	return err_hint(err, "write data beside and rename, never into a file "
	    "that a run reads");
}
