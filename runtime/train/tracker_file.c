/* SPDX-License-Identifier: Apache-2.0 */
/* tracker_file: lines added to a file: JSON (see track.h), or CSV with the
 * columns time, rank, step, key, value; a setting has no step. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/train/track.h"

#include "runtime/base/banned.h"

struct lines {
	int		 fd;
	struct buf	 buf;
};

static int
make_folder(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int ret;

	if (slash == NULL || slash == path)
		return 0;
	folder = strndup(path, (size_t)(slash - path));
	if (folder == NULL)
		return err_nomem(err);
	ret = file_mkdirs(folder, 0777, err);
	free(folder);
	return ret;
}

/* "where" is a path, or "fd:" and the number of an open descriptor. */
static int
open_fd(const char *where, int *fd, struct err *err)
{
	long number;

	if (strncmp(where, "fd:", 3) == 0) {
		if (num_parse(where + 3, 0, 1000000, &number) != 0)
			return err_set(err, "\"%.40s\" is no descriptor",
			    where + 3);
		*fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
		return *fd < 0 ? err_set(err, "descriptor %ld: %s", number,
		    strerror(errno)) : 0;
	}
	if (*where == '\0')
		return err_set(err, "no file is named");
	if (make_folder(where, err) != 0)
		return -1;
	*fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return *fd < 0 ? err_set(err, "%s: %s", where, strerror(errno)) : 0;
}

static int
lines_open(void **state, const char *where, int rank, struct err *err)
{
	struct lines *l = calloc(1, sizeof(*l));

	(void)rank;
	if (l == NULL)
		return err_nomem(err);
	if (open_fd(where, &l->fd, err) != 0) {
		free(l);
		return -1;
	}
	*state = l;
	return 0;
}

static int
lines_close(void *state, struct err *err)
{
	struct lines *l = state;
	int ret = close(l->fd);

	buf_clear(&l->buf);
	free(l);
	/* A full disk of a file server may be told here alone. */
	return ret != 0 ? err_set(err, "%s", strerror(errno)) : 0;
}

static int
jsonl_event(void *state, const struct track_event *e, struct err *err)
{
	struct lines *l = state;

	l->buf.len = 0;
	if (track_line(&l->buf, e, err) != 0)
		return -1;
	return track_write(l->fd, l->buf.data, (unsigned)l->buf.len, err) < 0 ?
	    -1 : 0;
}

/* As RFC 4180 quotes. */
static void
add_cell(struct buf *out, const char *text)
{
	if (text[strcspn(text, ",\"\r\n")] == '\0') {
		buf_adds(out, text);
		return;
	}
	buf_adds(out, "\"");
	for (; *text != '\0'; text++)
		buf_addf(out, *text == '"' ? "\"%c" : "%c", *text);
	buf_adds(out, "\"");
}

static int
csv_open(void **state, const char *where, int rank, struct err *err)
{
	static const char head[] = "time,rank,step,key,value\r\n";
	struct lines *l;
	struct stat st;
	struct err ignored;

	if (lines_open(state, where, rank, err) != 0)
		return -1;
	l = *state;
	if (fstat(l->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		return 0;
	if (track_write(l->fd, head, sizeof(head) - 1, err) >= 0)
		return 0;
	lines_close(l, &ignored);
	return err_at(err, "%s", where);
}

static int
csv_event(void *state, const struct track_event *e, struct err *err)
{
	struct lines *l = state;
	int64_t ms = (int64_t)(e->time * 1000);
	char number[TRACK_NUMBER];

	if (e->kind != TRACK_LOG && e->kind != TRACK_CONFIG)
		return 0;
	l->buf.len = 0;
	buf_addf(&l->buf, "%" PRId64 ".%03d,%d,", ms / 1000, (int)(ms % 1000),
	    e->rank);
	if (e->kind == TRACK_LOG)
		buf_addf(&l->buf, "%" PRId64, e->step);
	buf_adds(&l->buf, ",");
	add_cell(&l->buf, e->key);
	buf_adds(&l->buf, ",");
	if (e->kind == TRACK_LOG) {
		track_number(e->value, number);
		buf_adds(&l->buf, number);
	} else {
		add_cell(&l->buf, e->text);
	}
	buf_adds(&l->buf, "\r\n");
	if (buf_failed(&l->buf))
		return err_nomem(err);
	return track_write(l->fd, l->buf.data, (unsigned)l->buf.len, err) < 0 ?
	    -1 : 0;
}

const struct tracker_ops tracker_jsonl = {
	"jsonl", lines_open, jsonl_event, lines_close,
};

const struct tracker_ops tracker_csv = {
	"csv", csv_open, csv_event, lines_close,
};
