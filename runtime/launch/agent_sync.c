/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_sync: a copy of the launcher's working folder, on a host that does not
 * share it, in the user's cache.
 *
 * Nothing outside that copy is touched: paths are taken apart, and no link on
 * the way is followed.  What is no longer in the launcher's folder goes, if it
 * came from there; what ranks wrote stays.
 */
#include "runtime/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/banned.h"

#define TEMPORARY ".accel-incoming"

struct entry {
	char		*path, *target;
	struct timespec	 mtime;
	off_t		 size;
	mode_t		 mode;
	char		 kind;
};

static struct {			/* one a process, as the link is */
	struct entry	*entry;
	size_t		 count, room;
	char		 root[4096], list[4200];
	int		 fd;		/* of the root, or -1 */
	size_t		 wanted, come;
	int		 file;		/* being written, or -1 */
	bool		 failed, told;
} sync_ = { .fd = -1, .file = -1 };

static void
say_synced(struct agent *a, const char *problem, const char *hint)
{
	size_t frame;

	if (sync_.told)
		return;
	sync_.told = true;
	sync_.failed = *problem != '\0';
	if (!*problem)
		a->staged = sync_.root;
	frame = wire_begin(&a->out, WIRE_SYNCED);
	wire_put_text(&a->out, problem);
	wire_put_text(&a->out, hint);
	wire_put_text(&a->out, *problem ? "" : sync_.root);
	wire_end(&a->out, frame);
}

static void
say_failed(struct agent *a, const char *what)
{
	char	text[500];
	int	error = errno;

	snprintf(text, sizeof text, "cannot write %.160s/%.200s: %s", sync_.root,
	    what, strerror(error));
	say_synced(a, text, error == ENOSPC || error == EDQUOT ?
	    "make room there, or leave files out with .accelignore" :
	    "the copy of the working folder is in the user's cache there");
}

/* a/b/c: no empty part, no "." or "..". */
static bool
is_below(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n == 1 && *path == '.') ||
		    (n == 2 && !strncmp(path, "..", 2)))
			return false;
		path += n;
		if (*path == '/' && !*++path)
			return false;
	}
	return true;
}

/* The folder that a path is in, by way of no link; its last part in *base. */
static int
parent(const char *path, const char **base)
{
	int fd = fcntl(sync_.fd, F_DUPFD_CLOEXEC, 3);

	while (fd >= 0 && strchr(path, '/')) {
		char	part[256];
		size_t	n = strcspn(path, "/");
		int	next;

		if (n >= sizeof part) {
			close(fd);
			errno = ENAMETOOLONG;
			return -1;
		}
		snprintf(part, sizeof part, "%.*s", (int)n, path);
		next = openat(fd, part,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
		path += n + 1;
	}
	*base = path;
	return fd;
}

static bool
is_there(const struct entry *e)
{
	const char	*base;
	struct stat	 st;
	int		 dir = parent(e->path, &base);
	bool		 yes;

	if (dir < 0)
		return false;
	yes = fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size == e->size &&
	    st.st_mtim.tv_sec == e->mtime.tv_sec &&
	    st.st_mtim.tv_nsec == e->mtime.tv_nsec &&
	    (st.st_mode & 0100) == (e->mode & 0100);
	close(dir);
	return yes;
}

/* A folder or a link. */
static int
make(const struct entry *e)
{
	const char	*base;
	char		 target[4096];
	struct stat	 st;
	int		 dir = parent(e->path, &base), ret = 0;
	ssize_t		 n;

	if (dir < 0)
		return -1;
	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		n = e->kind == 'l' && S_ISLNK(st.st_mode) ? readlinkat(dir, base,
		    target, sizeof target - 1) : -1;
		target[n > 0 ? n : 0] = '\0';
		if ((e->kind == 'd' && S_ISDIR(st.st_mode)) ||
		    (n > 0 && !strcmp(target, e->target))) {
			close(dir);
			return 0;
		}
		ret = unlinkat(dir, base, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	}
	if (!ret)
		ret = e->kind == 'd' ? mkdirat(dir, base, 0700) :
		    symlinkat(e->target, dir, base);
	n = errno;
	close(dir);
	errno = (int)n;
	return ret;
}

static int
mkdirs(char *path)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(path, 0700);
			*p = '/';
		}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

/* Beside the agent, where it is in the cache, else in the usual one. */
static int
open_root(const char *name)
{
	char		 cache[3000];
	ssize_t		 n = readlink("/proc/self/exe", cache, sizeof cache - 1);
	char		*slash;
	const char	*xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	cache[n > 0 ? n : 0] = '\0';
	slash = strrchr(cache, '/');
	if (slash && !strncmp(slash, "/agent-", 7))
		*slash = '\0';
	else if (xdg && *xdg == '/')
		snprintf(cache, sizeof cache, "%s/accel", xdg);
	else
		snprintf(cache, sizeof cache, "%s/.cache/accel",
		    home ? home : "/tmp");
	snprintf(sync_.root, sizeof sync_.root, "%s/sync/%s", cache, name);
	snprintf(sync_.list, sizeof sync_.list, "%s.list", sync_.root);
	if (mkdirs(sync_.root) < 0)
		return -1;
	sync_.fd = open(sync_.root,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return sync_.fd;
}

static bool
is_name(const char *name)
{
	return *name && *name != '.' &&
	    !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path,
	    ((const struct entry *)b)->path);
}

/* Removes what an earlier copy brought and this one has not. */
static void
remove_old(void)
{
	FILE		*old = fopen(sync_.list, "re");
	struct entry	*sorted = malloc((sync_.count + 1) * sizeof *sorted);
	char		*line = NULL;
	size_t		 room = 0;

	if (sorted) {
		if (sync_.count)
			memcpy(sorted, sync_.entry, sync_.count * sizeof *sorted);
		qsort(sorted, sync_.count, sizeof *sorted, by_path);
	}
	while (old && sorted && getdelim(&line, &room, '\0', old) > 0) {
		struct entry	 key = { .path = line };
		const char	*base;
		int		 dir;

		if (bsearch(&key, sorted, sync_.count, sizeof key, by_path) ||
		    !is_below(line) || !*line || (dir = parent(line, &base)) < 0)
			continue;
		/* A folder only where it is empty. */
		if (unlinkat(dir, base, 0) < 0 && errno == EISDIR)
			unlinkat(dir, base, AT_REMOVEDIR);
		close(dir);
	}
	free(line);
	free(sorted);
	if (old)
		fclose(old);
}

/* Deepest first, so that folders are empty by then. */
static int
write_list(void)
{
	char	 path[4300];
	FILE	*new;
	bool	 bad;

	snprintf(path, sizeof path, "%s.%ld", sync_.list, (long)getpid());
	new = fopen(path, "we");
	if (!new)
		return -1;
	for (size_t i = sync_.count; i-- > 0;)
		fwrite(sync_.entry[i].path, 1, strlen(sync_.entry[i].path) + 1,
		    new);
	bad = ferror(new);
	if (fclose(new) != 0 || bad || rename(path, sync_.list) < 0) {
		unlink(path);
		return -1;
	}
	return 0;
}

static void
finish(struct agent *a)
{
	remove_old();
	if (write_list() < 0)
		say_failed(a, ".list");
	else
		say_synced(a, "", "");
}

/* All entries are known: what is missing? */
static void
compare(struct agent *a)
{
	uint32_t	*want = calloc(sync_.count + 1, sizeof *want);
	size_t		 frame;

	if (!want) {
		errno = ENOMEM;
		say_failed(a, "");
		return;
	}
	for (size_t i = 0; i < sync_.count; i++) {
		const struct entry *e = &sync_.entry[i];

		if (e->kind == 'f') {
			if (!is_there(e))
				want[sync_.wanted++] = (uint32_t)i;
		} else if (make(e) < 0) {
			say_failed(a, e->path);
			free(want);
			return;
		}
		if (i % 1000 == 999)
			agent_beat(a);
	}
	frame = wire_begin(&a->out, WIRE_WANT);
	wire_put(&a->out, (uint32_t)sync_.wanted);
	for (size_t i = 0; i < sync_.wanted; i++)
		wire_put(&a->out, want[i]);
	wire_end(&a->out, frame);
	free(want);
	if (!sync_.wanted)
		finish(a);
}

static bool
read_entry(struct wire_frame *frame)
{
	struct entry	 e = { .kind = (char)wire_get(frame) };
	uint32_t	 low;

	e.path = wire_get_text(frame);
	e.target = wire_get_text(frame);
	e.mode = wire_get(frame) & 0777;
	low = wire_get(frame);
	e.size = (off_t)((uint64_t)wire_get(frame) << 32 | low);
	low = wire_get(frame);
	e.mtime.tv_sec = (time_t)((uint64_t)wire_get(frame) << 32 | low);
	e.mtime.tv_nsec = (long)wire_get(frame);
	if (frame->bad || !e.path || !e.target || !*e.path ||
	    !is_below(e.path) || !strchr("dfl", e.kind))
		goto bad;
	if (sync_.count == sync_.room) {
		size_t		 room = sync_.room ? 2 * sync_.room : 64;
		struct entry	*more = realloc(sync_.entry, room * sizeof *more);

		if (!more)
			goto bad;
		sync_.entry = more;
		sync_.room = room;
	}
	sync_.entry[sync_.count++] = e;
	return true;
bad:
	free(e.path), free(e.target);
	return false;
}

/* The very folder, on a file system that both see: same inode, same change to
 * the nanosecond. */
static bool
is_shared(const char *folder, const char *mark)
{
	struct stat	st;
	char		mine[100];

	if (stat(folder, &st) < 0)
		return false;
	snprintf(mine, sizeof mine, "%llu %lld.%09ld",
	    (unsigned long long)st.st_ino, (long long)st.st_ctim.tv_sec,
	    st.st_ctim.tv_nsec);
	return !strcmp(mine, mark);
}

void
agent_tree(struct agent *a, struct wire_frame *frame)
{
	char		*folder = wire_get_text(frame);
	char		*mark = wire_get_text(frame);
	char		*name = wire_get_text(frame);
	bool		 last = wire_get(frame) != 0;
	uint32_t	 n = wire_get(frame);

	if (sync_.told || sync_.wanted)
		goto out;
	if (!folder || !mark || !name || !is_name(name)) {
		say_synced(a, "a broken message", "");
		goto out;
	}
	if (sync_.fd < 0 && is_shared(folder, mark)) {
		say_synced(a, "", "");
		a->staged = NULL;
		goto out;
	}
	if (sync_.fd < 0 && open_root(name) < 0) {
		say_failed(a, "");
		goto out;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!read_entry(frame)) {
			say_synced(a, "a path that does not belong there", "");
			goto out;
		}
	if (last)
		compare(a);
out:
	free(folder), free(mark), free(name);
}

void
agent_file(struct agent *a, struct wire_frame *frame)
{
	size_t		 index = wire_get(frame), n;
	bool		 last = wire_get(frame) != 0;
	const char	*bytes = wire_get_bytes(frame, &n), *base;
	struct entry	*e;
	struct timespec	 times[2];
	int		 dir;

	if (sync_.told || frame->bad || index >= sync_.count ||
	    sync_.entry[index].kind != 'f')
		return;
	e = &sync_.entry[index];
	if (sync_.file < 0) {
		unlinkat(sync_.fd, TEMPORARY, 0);
		sync_.file = openat(sync_.fd, TEMPORARY,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (sync_.file < 0)
		goto fail;
	while (n) {
		ssize_t w = write(sync_.file, bytes, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			goto fail;
		bytes += w;
		n -= (size_t)w;
	}
	if (!last)
		return;
	times[0] = times[1] = e->mtime;
	if (fchmod(sync_.file, 0600 | (e->mode & 0100)) < 0 ||
	    futimens(sync_.file, times) < 0 || close(sync_.file) < 0)
		goto fail;
	sync_.file = -1;
	dir = parent(e->path, &base);
	if (dir < 0 || renameat(sync_.fd, TEMPORARY, dir, base) < 0)
		goto fail;
	close(dir);
	if (++sync_.come == sync_.wanted)
		finish(a);
	return;
fail:
	say_failed(a, e->path);
}
