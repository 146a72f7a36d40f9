/* SPDX-License-Identifier: Apache-2.0 */
/* Writes whole tensors as one file, or as several with an index. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/weights/sheet.h"

#include "runtime/base/banned.h"

/* What a signal handler removes: the folder beside the files, and in it. */
static char		**doomed, *doomed_folder;
static volatile size_t	  doomed_count;

struct set {
	const struct weights	 *w;
	const struct weights_out *out;
	struct sheet		 *sheet;
	size_t			  sheets;
	char			 *folder;	/* beside the files */
	char			 *index;	/* name, or NULL: one file */
	bool			  made;		/* the output's folder, by us */
	uint64_t		  done, total;	/* bytes of tensors */
};

void
weights_abandon(void)
{
	for (size_t i = 0; i < doomed_count; i++)
		unlink(doomed[i]);
	if (doomed_folder)
		rmdir(doomed_folder);
}

/* Fills sheets up to the limit, in the checkpoint's order; a larger tensor has
 * a file of its own. */
static int
deal(struct set *s, struct err *err)
{
	const struct weights	*w = s->w;
	struct sheet		*sheet = NULL;
	uint64_t		 room = 0, max = s->out->shard_max;
	size_t			 first = 0;

	s->sheet = calloc(w->tensors + 1, sizeof *s->sheet);
	if (!s->sheet)
		return err_nomem(err);
	for (size_t i = 0; i < w->tensors; i++) {
		uint64_t n = w->tensor[i].bytes;

		if (!sheet || (max && sheet->tensors && n > room)) {
			sheet = &s->sheet[s->sheets++];
			room = max;
		}
		sheet->tensors++;
		room -= n < room ? n : room;
		s->total += n;
	}
	for (size_t k = 0; k < s->sheets; k++) {
		sheet = &s->sheet[k];
		sheet->tensor = calloc(sheet->tensors + 1,
		    sizeof *sheet->tensor);
		sheet->at = calloc(sheet->tensors + 1, sizeof *sheet->at);
		if (!sheet->tensor || !sheet->at)
			return err_nomem(err);
		for (size_t i = 0; i < sheet->tensors; i++)
			sheet->tensor[i] = first + i;
		first += sheet->tensors;
	}
	return 0;
}

static int
name_files(struct set *s, struct err *err)
{
	const char *stem = s->out->torch ? "pytorch_model" : "model";
	const char *end = s->out->torch ? "bin" : "safetensors";

	for (size_t i = 0; i < s->sheets; i++)
		if ((s->sheets == 1 ?
		    asprintf(&s->sheet[i].name, "%s.%s", stem, end) :
		    asprintf(&s->sheet[i].name, "%s-%05zu-of-%05zu.%s", stem,
		    i + 1, s->sheets, end)) < 0) {
			s->sheet[i].name = NULL;
			return err_nomem(err);
		}
	if (s->sheets > 1 &&
	    asprintf(&s->index, "%s.%s.index.json", stem, end) < 0) {
		s->index = NULL;
		return err_nomem(err);
	}
	return 0;
}

/* A loader takes the one file where there is one, and an index before files
 * that no index names. */
static int
check_folder(const struct set *s, struct err *err)
{
	const char	*stem = s->out->torch ? "pytorch_model" : "model";
	const char	*end = s->out->torch ? "bin" : "safetensors";
	char		*path;
	int		 ret = 0;

	if (asprintf(&path, "%s/%s.%s%s", s->out->folder, stem, end,
	    s->index ? "" : ".index.json") < 0)
		return err_nomem(err);
	if (access(path, F_OK) == 0) {
		err_set(err, "%s is there already, and would be loaded instead "
		    "of what is merged now, or beside it", path);
		ret = err_hint(err, "remove it, or give another folder");
	}
	free(path);
	return ret;
}

static int
check_room(const struct set *s, struct err *err)
{
	struct statvfs	st;
	uint64_t	need = 0, have;

	for (size_t i = 0; i < s->sheets; i++)
		need += s->sheet[i].size;
	if (statvfs(s->out->folder, &st) < 0)
		return err_set(err, "%s: %s", s->out->folder, strerror(errno));
	have = (uint64_t)st.f_bavail * st.f_frsize;
	if (need <= have)
		return 0;
	err_set(err, "%s: %.1f MB are needed, and %.1f MB are free",
	    s->out->folder, (double)need / 1e6, (double)have / 1e6);
	return err_hint(err, "give a folder on a larger disk; the checkpoint "
	    "was not touched");
}

/* Makes the folder beside the files, and notes what will be in it. */
static int
begin(struct set *s, struct err *err)
{
	char **paths;

	if (asprintf(&s->folder, "%s/.merge-XXXXXX", s->out->folder) < 0) {
		s->folder = NULL;
		return err_nomem(err);
	}
	if (!mkdtemp(s->folder)) {
		free(s->folder);
		s->folder = NULL;
		return err_set(err, "%s: %s", s->out->folder, strerror(errno));
	}
	doomed_folder = s->folder;
	paths = calloc(s->sheets + 1, sizeof *paths);
	if (!paths)
		return err_nomem(err);
	doomed = paths;
	for (size_t i = 0; i < s->sheets + (s->index ? 1 : 0); i++) {
		if (asprintf(&paths[i], "%s/%s", s->folder, i < s->sheets ?
		    s->sheet[i].name : s->index) < 0)
			return err_nomem(err);
		doomed_count = i + 1;
	}
	return 0;
}

static void
end(struct set *s)
{
	size_t n = doomed_count;

	weights_abandon();
	doomed_count = 0;
	doomed_folder = NULL;
	for (size_t i = 0; i < n; i++)
		free(doomed[i]);
	free(doomed);
	doomed = NULL;
	for (size_t i = 0; s->sheet && i < s->sheets; i++)
		sheet_clear(&s->sheet[i]);
	free(s->sheet);
	free(s->folder);
	free(s->index);
}

static void
moved(void *user, uint64_t n)
{
	struct set *s = user;

	s->done += n;
	if (s->out->progress)
		s->out->progress(s->out->user, s->done, s->total);
}

static int
fill(struct set *s, const struct sheet *sheet, unsigned char *file,
    struct err *err)
{
	for (size_t i = 0; i < sheet->patches; i++)
		memcpy(file + sheet->patch[i].at,
		    sheet->text.data + sheet->patch[i].from,
		    sheet->patch[i].n);
	for (size_t i = 0; i < sheet->tensors; i++)
		if (weights_copy(s->w, sheet->tensor[i], file + sheet->at[i],
		    moved, s, err) < 0)
			return -1;
	if (s->out->torch)
		sheet_torch_seal(sheet, file);
	return 0;
}

static int
write_sheet(struct set *s, const struct sheet *sheet, const char *path,
    struct err *err)
{
	int	 fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int	 ret = -1, code;
	void	*file;

	if (fd < 0)
		return err_set(err, "%s: %s", path, strerror(errno));
	/* All blocks at once: later there could be none left, and writing to
	 * the mapped file could not say so. */
	code = posix_fallocate(fd, 0, (off_t)sheet->size);
	if (code) {
		err_set(err, "%s: %s", path, strerror(code));
		goto out;
	}
	file = mmap(NULL, sheet->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    0);
	if (file == MAP_FAILED) {
		err_set(err, "%s: %s", path, strerror(errno));
		goto out;
	}
	ret = fill(s, sheet, file, err);
	if (munmap(file, sheet->size) < 0 || fsync(fd) < 0)
		ret = err_set(err, "%s: %s", path, strerror(errno));
out:
	close(fd);
	return ret;
}

static int
write_index(const struct set *s, const char *path, struct err *err)
{
	json_t	*map = json_object(), *root;
	char	*text;
	int	 ret = 0;

	for (size_t i = 0; i < s->sheets; i++)
		for (size_t k = 0; k < s->sheet[i].tensors; k++)
			if (json_object_set_new(map, weights_name(
			    &s->w->tensor[s->sheet[i].tensor[k]]),
			    json_string(s->sheet[i].name)) < 0)
				ret = err_nomem(err);
	root = json_pack("{s:{s:I}, s:o}", "metadata", "total_size",
	    (json_int_t)s->total, "weight_map", map);
	text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
	json_decref(root);
	if (!text)
		return err_nomem(err);
	if (ret == 0)
		ret = file_replace(path, text, strlen(text), 0644, err);
	free(text);
	return ret;
}

/* The index, if any, is the last that a reader can see. */
static int
rename_all(const struct set *s, struct err *err)
{
	int	fd, ret = 0;

	for (size_t i = 0; i < s->sheets + (s->index ? 1 : 0); i++) {
		char *to;

		if (asprintf(&to, "%s/%s", s->out->folder,
		    strrchr(doomed[i], '/') + 1) < 0)
			return err_nomem(err);
		if (rename(doomed[i], to) < 0)
			ret = err_set(err, "%s: %s", to, strerror(errno));
		free(to);
		if (ret < 0)
			return -1;
	}
	fd = open(s->out->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	return 0;
}

int
weights_write(const struct weights *w, const struct weights_out *out,
    struct err *err)
{
	struct set	s = { .w = w, .out = out };
	int		ret = -1;

	if (deal(&s, err) < 0 || name_files(&s, err) < 0)
		goto done;
	for (size_t i = 0; i < s.sheets; i++)
		if ((out->torch ? sheet_torch(&s.sheet[i], w, err) :
		    sheet_safetensors(&s.sheet[i], w, err)) < 0)
			goto done;
	s.made = access(out->folder, F_OK) < 0;
	if (file_mkdirs(out->folder, 0777, err) < 0 ||
	    check_folder(&s, err) < 0 || check_room(&s, err) < 0 ||
	    begin(&s, err) < 0)
		goto done;
	for (size_t i = 0; i < s.sheets; i++)
		if (write_sheet(&s, &s.sheet[i], doomed[i], err) < 0)
			goto done;
	if (s.index && write_index(&s, doomed[s.sheets], err) < 0)
		goto done;
	ret = rename_all(&s, err);
done:
	end(&s);
	if (ret < 0 && s.made)
		rmdir(out->folder);
	return ret;
}
