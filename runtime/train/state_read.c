/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/state_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/base/safetensors.h"
#include "runtime/train/state_set.h"

#include "runtime/base/banned.h"

#define PIECE ((size_t)1 << 20)

struct file {
	const char		*name;		/* the manifest's */
	int			 fd;
	struct safetensors	 st;		/* empty for an index */
};

struct state_reader {
	char			*folder;
	struct state_manifest	 manifest;
	struct file		*file;
	size_t			 count;
};

static int
damaged(const struct state_reader *r, const char *name, const char *what,
    struct err *err)
{
	err_set(err, "%s/%s is damaged: %s", r->folder, name, what);
	return err_hint(err, "load an earlier checkpoint; nothing was changed");
}

static int
check_bytes(const struct state_reader *r, const struct state_file *f, int fd,
    struct err *err)
{
	char *piece, what[100];
	uint32_t crc = 0;
	uint64_t at = 0;
	struct stat st;
	int ret = 0;

	if (fstat(fd, &st) < 0)
		return err_set(err, "%s/%s: %s", r->folder, f->name,
		    strerror(errno));
	if ((uint64_t)st.st_size != f->bytes) {
		snprintf(what, sizeof(what), "it has %llu bytes, not %llu",
		    (unsigned long long)st.st_size,
		    (unsigned long long)f->bytes);
		return damaged(r, f->name, what, err);
	}
	piece = malloc(PIECE);
	if (piece == NULL)
		return err_nomem(err);
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (ret == 0 && at < f->bytes) {
		ssize_t k = pread(fd, piece, PIECE, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			ret = err_set(err, "%s/%s: %s", r->folder, f->name,
			    strerror(errno));
		else if (k == 0)
			ret = damaged(r, f->name, "it ends early", err);
		else {
			crc = crc32c(crc, piece, (size_t)k);
			at += (uint64_t)k;
		}
	}
	free(piece);
	if (ret == 0 && crc != f->crc)
		ret = damaged(r, f->name, "its checksum is another", err);
	return ret;
}

static int
open_file(struct state_reader *r, const struct state_file *f, struct err *err)
{
	struct file *to = &r->file[r->count];
	size_t n = strlen(f->name), end = strlen(".safetensors");
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", r->folder, f->name) < 0)
		return err_nomem(err);
	*to = (struct file){ f->name, open(path, O_RDONLY | O_CLOEXEC),
	    SAFETENSORS_INIT };
	if (to->fd < 0) {
		ret = err_set(err, "%s: %s", path, strerror(errno));
		err_hint(err, "%s/%s names it: the checkpoint is not whole",
		    r->folder, STATE_MANIFEST);
		free(path);
		return ret;
	}
	r->count++;
	ret = check_bytes(r, f, to->fd, err);
	if (ret == 0 && n > end &&
	    strcmp(f->name + n - end, ".safetensors") == 0)
		ret = safetensors_open(&to->st, path, err);
	free(path);
	return ret;
}

int
state_reader_open(struct state_reader **out, const char *folder,
    struct err *err)
{
	struct state_reader *r = calloc(1, sizeof(*r));
	struct buf text = BUF_INIT;
	char *path = NULL;
	int ret = -1;

	*out = NULL;
	if (r == NULL)
		return err_nomem(err);
	r->folder = strdup(folder);
	if (r->folder == NULL || asprintf(&path, "%s/%s", folder,
	    STATE_MANIFEST) < 0) {
		path = NULL;
		err_nomem(err);
		goto out;
	}
	if (file_read(path, &text, err) != 0 ||
	    state_manifest_parse(&r->manifest, buf_text(&text), text.len, path,
	    err) != 0)
		goto out;
	r->file = calloc(r->manifest.count + 1, sizeof(*r->file));
	if (r->file == NULL) {
		err_nomem(err);
		goto out;
	}
	ret = 0;
	for (size_t i = 0; ret == 0 && i < r->manifest.count; i++)
		ret = open_file(r, &r->manifest.file[i], err);
out:
	buf_clear(&text);
	free(path);
	if (ret == 0)
		*out = r;
	else
		state_reader_close(r);
	return ret;
}

void
state_reader_close(struct state_reader *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->count; i++) {
		safetensors_clear(&r->file[i].st);
		close(r->file[i].fd);
	}
	free(r->file);
	state_manifest_clear(&r->manifest);
	free(r->folder);
	free(r);
}

const char *
state_reader_info(const struct state_reader *r, const char *name)
{
	return strv_getenv(&r->manifest.info, name);
}

int
state_reader_number(const struct state_reader *r, const char *name, long lo,
    long hi, long *out, struct err *err)
{
	const char *text = state_reader_info(r, name);

	if (text != NULL && num_parse(text, lo, hi, out) == 0)
		return 0;
	return err_set(err, "%s/%s: \"%s\" is %.40s, not a number from %ld to "
	    "%ld", r->folder, STATE_MANIFEST, name, text != NULL ? text :
	    "missing", lo, hi);
}

/* STEM.safetensors or STEM-... */
static bool
of_part(const struct file *f, const char *stem)
{
	size_t n = strlen(stem);

	return strncmp(f->name, stem, n) == 0 &&
	    (f->name[n] == '.' || f->name[n] == '-');
}

static void
place(const struct file *f, const struct tensor *t, struct state_place *out)
{
	*out = (struct state_place){ t->name, t->dtype->name, f->name,
	    t->shape, t->rank, t->end - t->begin, f->st.data + t->begin,
	    f->fd };
}

bool
state_reader_find(const struct state_reader *r, const char *stem,
    const char *name, struct state_place *out)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct file *f = &r->file[i];
		const struct tensor *t;

		if (!of_part(f, stem) || f->st.count == 0)
			continue;
		t = safetensors_find(&f->st, name);
		if (t != NULL) {
			place(f, t, out);
			return true;
		}
	}
	return false;
}

bool
state_reader_at(const struct state_reader *r, const char *stem, size_t i,
    struct state_place *out)
{
	for (size_t k = 0; k < r->count; k++) {
		const struct file *f = &r->file[k];

		if (!of_part(f, stem))
			continue;
		if (i < f->st.count) {
			place(f, &f->st.tensor[i], out);
			return true;
		}
		i -= f->st.count;
	}
	return false;
}

int
state_reader_read(const struct state_reader *r, const struct state_place *p,
    void *out, struct err *err)
{
	uint64_t at = 0;

	while (at < p->bytes) {
		ssize_t k = pread(p->fd, (char *)out + at, p->bytes - at,
		    (off_t)(p->offset + at));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return err_set(err, "%s/%s: %s", r->folder, p->file,
			    k < 0 ? strerror(errno) : "it became shorter "
			    "while it was read");
		at += (uint64_t)k;
	}
	return 0;
}
