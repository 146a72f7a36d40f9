/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"

#include "runtime/base/banned.h"

int
file_read(const char *path, struct buf *out, struct err *err)
{
	char	block[16384];
	ssize_t	n;
	int	fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, "%s: %s", path, strerror(errno));
	while ((n = read(fd, block, sizeof block)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_set(err, "%s: %s", path, strerror(errno));
			close(fd);
			return -1;
		}
		if (buf_add(out, block, (size_t)n) < 0) {
			close(fd);
			return err_set(err, "%s: the file is too large", path);
		}
	}
	close(fd);
	return 0;
}

int
file_mkdirs(const char *path, unsigned mode, struct err *err)
{
	char	*copy = strdup(path);
	int	 ret = 0;

	if (!copy)
		return err_nomem(err);
	for (char *p = copy + 1; ret == 0; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (*copy && mkdir(copy, mode) < 0 && errno != EEXIST)
			ret = err_set(err, "%s: %s", copy, strerror(errno));
		*p = c;
		if (c == '\0')
			break;
	}
	free(copy);
	return ret;
}

static int
write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t k = write(fd, data, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		data += k;
		n -= (size_t)k;
	}
	return 0;
}

static int
write_pieces(int fd, file_next next, void *user)
{
	size_t	 room = 1 << 18, n;
	char	*piece = malloc(room);
	int	 ret = piece ? 0 : -1;

	while (ret == 0 && (n = next(user, piece, room)) > 0)
		ret = write_all(fd, piece, n);
	free(piece);
	return ret;
}

/* Makes the folder that the file is in. */
static int
make_folder(const char *path, struct err *err)
{
	const char	*slash = strrchr(path, '/');
	char		*folder;
	int		 ret;

	if (!slash || slash == path)
		return 0;
	folder = strndup(path, (size_t)(slash - path));
	if (!folder)
		return err_nomem(err);
	ret = file_mkdirs(folder, 0777, err);
	free(folder);
	return ret;
}

/* A new file beside "path", whose name the caller frees; or -1. */
static int
open_beside(const char *path, char **temp, struct err *err)
{
	int fd;

	if (asprintf(temp, "%s.XXXXXX", path) < 0) {
		*temp = NULL;
		return err_nomem(err);
	}
	fd = mkstemp(*temp);
	if (fd < 0 && errno == ENOENT) {
		if (make_folder(path, err) < 0)
			return -1;
		memset(*temp + strlen(path) + 1, 'X', 6);
		fd = mkstemp(*temp);
	}
	if (fd < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		err_hint(err, "the folder must be writable: the new file is "
		    "written beside the old one");
	}
	return fd;
}

struct content {
	const void	*data;
	size_t		 n;
	file_next	 next;		/* NULL: it is n bytes at data */
	void		*user;
};

static int
replace(const char *path, const struct content *c, unsigned mode, bool sync,
    struct err *err)
{
	struct stat	 st;
	char		*real = NULL, *temp = NULL;
	int		 fd, ret = -1;
	bool		 there = lstat(path, &st) == 0;

	/* A link is followed, so that it stays a link. */
	if (there && S_ISLNK(st.st_mode)) {
		real = realpath(path, NULL);
		there = stat(path, &st) == 0;
	}
	if (!real)
		real = strdup(path);
	if (!real)
		return err_nomem(err);
	fd = open_beside(real, &temp, err);
	if (fd < 0)
		goto out;
	if (there)
		mode = st.st_mode & 07777;
	if ((c->next ? write_pieces(fd, c->next, c->user) :
	    write_all(fd, c->data, c->n)) < 0 || fchmod(fd, (mode_t)mode) < 0 ||
	    (sync && fsync(fd) < 0) || rename(temp, real) < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		unlink(temp);
		goto out;
	}
	ret = 0;
out:
	if (fd >= 0)
		close(fd);
	free(temp);
	free(real);
	return ret;
}

int
file_replace(const char *path, const void *data, size_t n, unsigned mode,
    struct err *err)
{
	return replace(path, &(struct content){ data, n, NULL, NULL }, mode,
	    true, err);
}

int
file_replace_by(const char *path, file_next next, void *user, unsigned mode,
    struct err *err)
{
	return replace(path, &(struct content){ NULL, 0, next, user }, mode,
	    true, err);
}

int
file_note(const char *path, const void *data, size_t n, unsigned mode,
    struct err *err)
{
	return replace(path, &(struct content){ data, n, NULL, NULL }, mode,
	    false, err);
}

const char *
file_home(void)
{
	const char	*home = getenv("HOME");
	struct passwd	*pw;

	if (home && *home)
		return home;
	pw = getpwuid(getuid());
	return pw && pw->pw_dir ? pw->pw_dir : "/";
}
