/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/sysfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

/* The whole path; false where it has no room. */
static bool
join(char full[PATH_MAX], const char *root, const char *path, va_list ap)
{
	int n = snprintf(full, PATH_MAX, "%s", root), more;

	if (n < 0 || n >= PATH_MAX)
		return false;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	more = vsnprintf(full + n, (size_t)(PATH_MAX - n), path, ap);
#pragma GCC diagnostic pop
	return more >= 0 && more < PATH_MAX - n;
}

#define JOIN(full, root, path, ok)	do {				\
	va_list ap_;							\
	va_start(ap_, path);						\
	(ok) = join(full, root, path, ap_);				\
	va_end(ap_);							\
} while (0)

static bool
read_start(const char *full, char *text, size_t room)
{
	int	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t	n = 0, got;

	/* /proc gives a page at a time. */
	while (fd >= 0 && (size_t)n < room - 1 &&
	    (got = read(fd, text + n, room - 1 - (size_t)n)) > 0)
		n += got;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	for (char *c = text; *c; c++)
		if (((unsigned char)*c < ' ' && *c != '\n') || *c == 127)
			*c = ' ';
	return *text != '\0';
}

bool
sysfile_text(char *text, size_t room, const char *root, const char *path, ...)
{
	char	full[PATH_MAX];
	bool	fits;

	JOIN(full, root, path, fits);
	*text = '\0';
	return fits && read_start(full, text, room);
}

bool
sysfile_line(char *text, size_t room, const char *root, const char *path, ...)
{
	char	full[PATH_MAX];
	bool	fits;

	JOIN(full, root, path, fits);
	*text = '\0';
	if (!fits || !read_start(full, text, room))
		return false;
	text[strcspn(text, "\n")] = '\0';
	for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	return *text != '\0';
}

unsigned long long
sysfile_number(unsigned long long otherwise, const char *root,
    const char *path, ...)
{
	char			 full[PATH_MAX], text[64], *end;
	unsigned long long	 n;
	bool			 fits;

	JOIN(full, root, path, fits);
	if (!fits || !read_start(full, text, sizeof text) ||
	    text[strspn(text, " ")] == '-')
		return otherwise;
	n = strtoull(text, &end, 0);
	return end == text ? otherwise : n;
}

bool
sysfile_link(char *name, size_t room, const char *root, const char *path, ...)
{
	char	 full[PATH_MAX], to[PATH_MAX], *last;
	ssize_t	 n;
	bool	 fits;

	JOIN(full, root, path, fits);
	*name = '\0';
	n = fits ? readlink(full, to, sizeof to - 1) : -1;
	if (n < 0)
		return false;
	to[n] = '\0';
	last = strrchr(to, '/');
	snprintf(name, room, "%s", last ? last + 1 : to);
	return *name != '\0';
}

bool
sysfile_exists(const char *root, const char *path, ...)
{
	char	full[PATH_MAX];
	bool	fits;

	JOIN(full, root, path, fits);
	return fits && access(full, F_OK) == 0;
}

bool
sysfile_value(char *value, size_t room, const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		const char *at = text + n;

		if (strncmp(text, name, n))
			continue;
		at += strspn(at, " \t");
		if (*at != ':')
			continue;
		at += 1 + strspn(at + 1, " \t");
		snprintf(value, room, "%.*s", (int)strcspn(at, "\n"), at);
		return *value != '\0';
	}
	*value = '\0';
	return false;
}

static int
by_number(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int
sysfile_names(struct strv *names, const char *root, const char *path, ...)
{
	char		 full[PATH_MAX];
	DIR		*dir;
	struct dirent	*entry;
	size_t		 had = names->count;
	int		 ret = 0;
	bool		 fits;

	JOIN(full, root, path, fits);
	if (!fits || !(dir = opendir(full)))
		return 0;
	while (!ret && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < 64)
			ret = strv_add(names, entry->d_name);
	closedir(dir);
	if (names->count > had)
		qsort(names->item + had, names->count - had,
		    sizeof *names->item, by_number);
	return ret;
}
