/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/train/state_set.h"

#include "runtime/base/banned.h"

#define NUMBERED "checkpoint_"

static void
release(struct state_folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->temp);
	*f = (struct state_folder){ NULL, NULL, -1 };
}

/* Is it a file that checkpoints are made of? */
static bool
is_ours(const char *name)
{
	static const char *const ends[] = {
		".safetensors", ".safetensors.index.json",
	};
	size_t n = strlen(name);

	if (strcmp(name, STATE_MANIFEST) == 0)
		return true;
	for (int i = 0; i < 2; i++) {
		size_t k = strlen(ends[i]);

		if (n > k && strcmp(name + n - k, ends[i]) == 0)
			return true;
	}
	return false;
}

/* A folder that may be replaced: empty, or a checkpoint and nothing else. */
static int
check_old(const char *path, struct err *err)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char odd[300] = "";
	bool manifest = false, any = false;

	if (d == NULL)
		return errno == ENOENT ? 0 : err_set(err, "%s: %s", path,
		    strerror(errno));
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		any = true;
		manifest |= strcmp(e->d_name, STATE_MANIFEST) == 0;
		if (!is_ours(e->d_name))
			snprintf(odd, sizeof(odd), "%s", e->d_name);
	}
	closedir(d);
	if (!any || (manifest && odd[0] == '\0'))
		return 0;
	if (manifest)
		err_set(err, "%s has the file %s, which no checkpoint has, and "
		    "would be replaced with it", path, odd);
	else
		err_set(err, "%s is there already, and is no checkpoint", path);
	return err_hint(err, "give a folder of its own");
}

int
state_folder_each(int dir, const char *path, int (*fn)(int dir, int other,
    const char *name), int other, struct err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int ret = 0;

	if (d == NULL) {
		ret = err_set(err, "%s: %s", path, strerror(errno));
		if (copy >= 0)
			close(copy);
		return ret;
	}
	while (ret == 0 && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0 &&
		    fn(dir, other, e->d_name) < 0)
			ret = err_set(err, "%s/%s: %s", path, e->d_name,
			    strerror(errno));
	closedir(d);
	return ret;
}

int
state_folder_drop(int dir, int other, const char *name)
{
	(void)other;
	return unlinkat(dir, name, 0);
}

static int
remove_folder(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, "%s: %s", path,
		    strerror(errno));
	ret = state_folder_each(fd, path, state_folder_drop, -1, err);
	close(fd);
	if (ret == 0 && rmdir(path) < 0)
		ret = err_set(err, "%s: %s", path, strerror(errno));
	return ret;
}

/* The folder above, "." where there is none. */
static char *
parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static void
sync_parent(const char *path)
{
	char *parent = parent_of(path);
	int fd = parent == NULL ? -1 :
	    open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(parent);
}

/* The real path without slashes at its end, and the name beside it. */
static int
name_both(struct state_folder *f, const char *path, struct err *err)
{
	const char *slash;
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	f->path = strndup(path, n);
	if (f->path == NULL)
		return err_nomem(err);
	if (access(f->path, F_OK) == 0) {
		char *real = realpath(f->path, NULL);

		if (real != NULL) {
			free(f->path);
			f->path = real;
		}
	}
	slash = strrchr(f->path, '/');
	if (f->path[0] == '\0' || (slash != NULL && slash[1] == '\0')) {
		err_set(err, "\"%s\" is no folder for a checkpoint", path);
		return err_hint(err, "give a folder of its own");
	}
	if (asprintf(&f->temp, "%.*s.%s.saving",
	    slash == NULL ? 0 : (int)(slash - f->path + 1), f->path,
	    slash == NULL ? f->path : slash + 1) < 0) {
		f->temp = NULL;
		return err_nomem(err);
	}
	return 0;
}

int
state_folder_begin(struct state_folder *f, const char *path, struct err *err)
{
	char *parent;
	int ret;

	*f = (struct state_folder){ NULL, NULL, -1 };
	if (name_both(f, path, err) != 0 || check_old(f->path, err) != 0)
		goto failed;
	parent = parent_of(f->path);
	ret = parent == NULL ? err_nomem(err) :
	    file_mkdirs(parent, 0777, err);
	free(parent);
	if (ret != 0)
		goto failed;
	if (mkdir(f->temp, 0777) < 0 && errno != EEXIST) {
		err_set(err, "%s: %s", f->temp, strerror(errno));
		err_hint(err, "a checkpoint is written beside the old one, so "
		    "the folder above must be writable");
		goto failed;
	}
	f->fd = open(f->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0) {
		err_set(err, "%s: %s", f->temp, strerror(errno));
		goto failed;
	}
	/* File systems without locks have no second writer either, we hope. */
	if (flock(f->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		err_set(err, "%s: another process is saving there", f->path);
		goto failed;
	}
	if (state_folder_each(f->fd, f->temp, state_folder_drop, -1, err) != 0)
		goto failed;
	return 0;
failed:
	release(f);
	return -1;
}

void
state_folder_abort(struct state_folder *f)
{
	struct err ignored;

	if (f->temp != NULL)
		remove_folder(f->temp, &ignored);
	release(f);
}

/* For file systems that cannot exchange: a kill between the two renames
 * leaves the old one as .NAME.old, and the new one whole as .NAME.saving. */
static int
rename_twice(const struct state_folder *f, struct err *err)
{
	const char *slash = strrchr(f->path, '/');
	char *old;
	int ret;

	if (asprintf(&old, "%.*s.%s.old",
	    slash == NULL ? 0 : (int)(slash - f->path + 1), f->path,
	    slash == NULL ? f->path : slash + 1) < 0)
		return err_nomem(err);
	ret = remove_folder(old, err);
	if (ret == 0 && (rename(f->path, old) < 0 ||
	    rename(f->temp, f->path) < 0))
		ret = err_set(err, "%s: %s", f->path, strerror(errno));
	if (ret == 0)
		ret = remove_folder(old, err);
	free(old);
	return ret;
}

int
state_folder_commit(struct state_folder *f, struct err *err)
{
	int ret = 0;

	if (fsync(f->fd) < 0) {
		ret = err_set(err, "%s: %s", f->temp, strerror(errno));
	} else if (rename(f->temp, f->path) == 0) {
		sync_parent(f->path);		/* absent, or empty */
	} else if (errno != EEXIST && errno != ENOTEMPTY) {
		ret = err_set(err, "%s: %s", f->path, strerror(errno));
	} else if (check_old(f->path, err) != 0) {
		ret = -1;			/* it came meanwhile */
	} else if (renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path,
	    RENAME_EXCHANGE) == 0) {
		sync_parent(f->path);
		ret = remove_folder(f->temp, err);
	} else {
		ret = rename_twice(f, err);
		sync_parent(f->path);
	}
	if (ret != 0)
		state_folder_abort(f);
	release(f);
	return ret;
}

/* ---- automatic names ----------------------------------------------------- */

/* Lowest and highest N of FOLDER/checkpoints, and how many; -1 for none. */
static int
scan(const char *folder, long *low, long *high, int *count, struct err *err)
{
	char path[PATH_MAX];
	struct dirent *e;
	long number;
	DIR *d;

	*low = *high = -1;
	*count = 0;
	snprintf(path, sizeof(path), "%s/checkpoints", folder);
	d = opendir(path);
	if (d == NULL)
		return errno == ENOENT ? 0 : err_set(err, "%s: %s", path,
		    strerror(errno));
	while ((e = readdir(d)) != NULL) {
		const char *digits = e->d_name + strlen(NUMBERED);

		if (strncmp(e->d_name, NUMBERED, strlen(NUMBERED)) != 0 ||
		    num_parse(digits, 0, LONG_MAX - 1, &number) != 0)
			continue;
		if (*low < 0 || number < *low)
			*low = number;
		if (number > *high)
			*high = number;
		++*count;
	}
	closedir(d);
	return 0;
}

static char *
numbered(const char *folder, long number, struct err *err)
{
	char *path;

	if (asprintf(&path, "%s/checkpoints/" NUMBERED "%ld", folder,
	    number) >= 0)
		return path;
	err_nomem(err);
	return NULL;
}

char *
state_folder_next(const char *folder, struct err *err)
{
	long low, high;
	int count;

	if (scan(folder, &low, &high, &count, err) != 0)
		return NULL;
	return numbered(folder, high + 1, err);
}

char *
state_folder_last(const char *folder, struct err *err)
{
	long low, high;
	int count;

	if (scan(folder, &low, &high, &count, err) != 0)
		return NULL;
	if (count > 0)
		return numbered(folder, high, err);
	err_set(err, "%s has neither %s nor checkpoints/" NUMBERED "N", folder,
	    STATE_MANIFEST);
	err_hint(err, "name the folder that accel_save_state was given");
	return NULL;
}

/* Removes what killed processes left of checkpoints that are no more; one that
 * is being written is locked. */
static int
sweep(const char *folder, struct err *err)
{
	char path[PATH_MAX];
	struct dirent *e;
	int ret = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/checkpoints", folder);
	d = opendir(path);
	if (d == NULL)
		return 0;
	while (ret == 0 && (e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name), k = strlen(".saving");
		int fd;

		if (strncmp(e->d_name, "." NUMBERED, 1 + strlen(NUMBERED)) ||
		    n < k || strcmp(e->d_name + n - k, ".saving") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/checkpoints/%s", folder,
		    e->d_name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			ret = remove_folder(path, err);
		close(fd);
	}
	closedir(d);
	return ret;
}

int
state_folder_limit(const char *folder, int limit, struct err *err)
{
	long low, high;
	int count;

	if (sweep(folder, err) != 0)
		return -1;
	for (;;) {
		char *path, *gone = NULL;
		int ret;

		if (scan(folder, &low, &high, &count, err) != 0)
			return -1;
		if (count <= limit)
			return 0;
		path = numbered(folder, low, err);
		if (path == NULL)
			return -1;
		ret = check_old(path, err);
		/* Under another name first, so that nobody loads half of it. */
		if (ret == 0 && asprintf(&gone, "%s/checkpoints/." NUMBERED
		    "%ld.saving", folder, low) < 0) {
			gone = NULL;
			ret = err_nomem(err);
		}
		if (ret == 0)
			ret = remove_folder(gone, err);
		if (ret == 0 && rename(path, gone) < 0)
			ret = err_set(err, "%s: %s", path, strerror(errno));
		if (ret == 0)
			ret = remove_folder(gone, err);
		free(gone);
		free(path);
		if (ret != 0)
			return -1;
	}
}
