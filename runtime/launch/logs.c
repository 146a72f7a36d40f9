/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/logs.h"

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

#include "runtime/base/banned.h"

static const char *const names[2] = { "stdout.log", "stderr.log" };

struct logs {
	char		*folder;
	size_t		 world;
	unsigned	 attempt;
	unsigned char	*keep;		/* of each rank: STREAM_ bits */
	int		(*fd)[2];	/* the same; -1 where there is none */
	struct err	 problem;	/* the first that came up in writing */
};

int
logs_new(const char *folder, struct logs **out, struct err *err)
{
	struct logs	*l = calloc(1, sizeof *l);
	const char	*slash = strrchr(folder, '/');
	char		*above = slash && slash != folder ?
			    strndup(folder, (size_t)(slash - folder)) : NULL;
	int		 ret = 0;

	if (!l || !(l->folder = strdup(folder)))
		ret = err_nomem(err);
	if (!ret && above)
		ret = file_mkdirs(above, 0700, err);
	/* New, so that nobody has put a link there. */
	if (!ret && mkdir(folder, 0700) < 0)
		ret = err_set(err, "%s: %s", folder, strerror(errno));
	free(above);
	if (ret < 0) {
		err_hint(err, "the logs of a run go there: choose another "
		    "--log_dir");
		if (l)
			logs_free(l, NULL);
		return -1;
	}
	*out = l;
	return 0;
}

static void
close_all(struct logs *l)
{
	for (size_t i = 0; l->fd && i < l->world; i++)
		for (int s = 0; s < 2; s++)
			if (l->fd[i][s] >= 0)
				close(l->fd[i][s]);
	free(l->fd);
	free(l->keep);
	l->fd = NULL;
	l->keep = NULL;
	l->world = 0;
}

/* A new folder in another, opened; -1 with errno. */
static int
folder_in(int at, const char *name)
{
	if (mkdirat(at, name, 0700) < 0)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
}

static int
rank_begin(struct logs *l, int attempt, size_t rank)
{
	char	number[32];
	int	at, ret = 0;

	snprintf(number, sizeof number, "%zu", rank);
	if ((at = folder_in(attempt, number)) < 0)
		return -1;
	for (int s = 0; s < 2; s++)
		if (l->keep[rank] >> s & 1 && (l->fd[rank][s] = openat(at,
		    names[s], O_WRONLY | O_CREAT | O_EXCL | O_APPEND |
		    O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
			ret = -1;
	close(at);
	return ret;
}

int
logs_begin(struct logs *l, unsigned attempt, const unsigned char *keep,
    size_t world, struct err *err)
{
	char	name[32];
	int	top, at, ret = 0;

	close_all(l);
	l->keep = malloc(world + 1);
	l->fd = calloc(world + 1, sizeof *l->fd);
	if (!l->keep || !l->fd)
		return err_nomem(err);
	memcpy(l->keep, keep, world);
	for (size_t i = 0; i < world; i++)
		l->fd[i][0] = l->fd[i][1] = -1;
	l->world = world;
	l->attempt = attempt;
	snprintf(name, sizeof name, "attempt_%u", attempt);
	top = open(l->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	at = top < 0 ? -1 : folder_in(top, name);
	for (size_t i = 0; at >= 0 && !ret && i < l->world; i++)
		if (l->keep[i])
			ret = rank_begin(l, at, i);
	if (at < 0 || ret < 0)
		ret = err_set(err, "%s/%s: %s", l->folder, name,
		    strerror(errno));
	if (at >= 0)
		close(at);
	if (top >= 0)
		close(top);
	return ret;
}

void
logs_write(struct logs *l, size_t rank, int stream, const char *data, size_t n)
{
	int fd = l->fd[rank][stream - 1];

	while (fd >= 0 && n) {
		ssize_t k = write(fd, data, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			struct buf path = BUF_INIT;

			if (!*l->problem.text) {
				logs_path(l, rank, stream, &path);
				err_set(&l->problem, "%s: %s", buf_text(&path),
				    strerror(errno));
				err_hint(&l->problem, "that log, and perhaps "
				    "others, are not whole");
			}
			buf_clear(&path);
			return;
		}
		data += k;
		n -= (size_t)k;
	}
}

const char *
logs_folder(const struct logs *l)
{
	return l->folder;
}

void
logs_path(const struct logs *l, size_t rank, int stream, struct buf *out)
{
	if (l->keep[rank] >> (stream - 1) & 1)
		buf_addf(out, "%s/attempt_%u/%zu/%s", l->folder, l->attempt,
		    rank, names[stream - 1]);
}

int
logs_free(struct logs *l, struct err *err)
{
	bool bad = *l->problem.text;

	close_all(l);
	if (bad && err)
		*err = l->problem;
	free(l->folder);
	free(l);
	return bad ? -1 : 0;
}
