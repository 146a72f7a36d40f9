/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"
#include "runtime/launch/ignore.h"

#include "runtime/base/banned.h"

enum { DEPTH = 200, ENTRIES = 4000000 };

static int
add(struct listing *tree, struct listing_entry new)
{
	/* Room grows by doubling. */
	if ((tree->count & (tree->count - 1)) == 0) {
		struct listing_entry *more = realloc(tree->entry,
		    (tree->count ? 2 * tree->count : 1) * sizeof *more);

		if (!more)
			return -1;
		tree->entry = more;
	}
	tree->entry[tree->count++] = new;
	return 0;
}

static int
add_one(struct listing *tree, int dir, const char *name, const char *path,
    const struct stat *st, struct err *err)
{
	struct listing_entry new = {
		.kind = S_ISDIR(st->st_mode) ? 'd' : S_ISREG(st->st_mode) ? 'f' :
		    'l',
		.mode = st->st_mode & 0777, .size = (uint64_t)st->st_size,
		.mtime_s = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
	};
	char	target[4096];
	ssize_t	n;

	if (new.kind == 'l') {
		n = readlinkat(dir, name, target, sizeof target - 1);
		if (n < 0)
			return err_set(err, "cannot read the link %s: %s", path,
			    strerror(errno));
		target[n] = '\0';
		new.target = strdup(target);
	}
	new.path = strdup(path);
	if (!new.path || (new.kind == 'l' && !new.target) ||
	    add(tree, new) < 0) {
		free(new.path);
		free(new.target);
		return err_nomem(err);
	}
	return 0;
}

static int
read_folder(struct listing *tree, int fd, const char *below, int depth,
    const struct strv *out, struct err *err)
{
	DIR		*dir = fdopendir(fd);
	struct dirent	*entry;
	int		 ret = 0;

	if (!dir) {
		close(fd);
		return err_nomem(err);
	}
	while (!ret && (entry = readdir(dir))) {
		const char	*name = entry->d_name;
		char		 path[4096];
		struct stat	 st;
		int		 sub;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s%s%s", below,
		    *below ? "/" : "", name) >= sizeof path) {
			ret = err_set(err, "a path below %.200s is too long",
			    below);
			break;
		}
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)	/* it went meanwhile */
				ret = err_set(err, "cannot look at %s: %s", path,
				    strerror(errno));
			continue;
		}
		if ((!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) &&
		    !S_ISLNK(st.st_mode)) ||
		    ignore_path(out, path, S_ISDIR(st.st_mode)))
			continue;
		if (tree->count >= ENTRIES || depth > DEPTH) {
			err_set(err, "the working folder has too many files");
			ret = err_hint(err, "leave some out with .accelignore");
			break;
		}
		ret = add_one(tree, fd, name, path, &st, err);
		if (ret || !S_ISDIR(st.st_mode))
			continue;
		sub = openat(fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0) {
			err_set(err, "cannot read the folder %s: %s", path,
			    strerror(errno));
			ret = err_hint(err, "or leave it out: .accelignore");
		} else
			ret = read_folder(tree, sub, path, depth + 1, out, err);
	}
	closedir(dir);
	return ret;
}

int
listing_read(struct listing *tree, const char *folder, struct err *err)
{
	struct strv	out = STRV_INIT;
	struct buf	text = BUF_INIT;
	char		path[4200];
	int		fd, ret = 0;

	snprintf(path, sizeof path, "%s/.accelignore", folder);
	if (strv_add(&out, ".git") < 0 || strv_add(&out, "__pycache__/") < 0)
		ret = err_nomem(err);
	else if (access(path, F_OK) == 0)
		ret = file_read(path, &text, err);
	if (!ret && ignore_parse(&out, &text) < 0)
		ret = err_nomem(err);
	if (!ret) {
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ret = fd < 0 ? err_set(err, "%s: %s", folder, strerror(errno)) :
		    read_folder(tree, fd, "", 0, &out, err);
	}
	if (ret)
		listing_clear(tree);
	buf_clear(&text);
	strv_clear(&out);
	return ret;
}

void
listing_clear(struct listing *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		free(tree->entry[i].path);
		free(tree->entry[i].target);
	}
	free(tree->entry);
	*tree = (struct listing){ 0 };
}
