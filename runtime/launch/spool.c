/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/banned.h"

enum { BLOCK = 1 << 20 };

/* Private, and without a name from the start, or from the next moment on where
 * the file system cannot do that. */
static int
nameless(void)
{
	const char	*folder = getenv("TMPDIR");
	struct buf	 name = BUF_INIT;
	int		 fd;

	if (!folder || !*folder)
		folder = "/var/tmp";	/* /tmp may be memory */
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	buf_addf(&name, "%s/accel-XXXXXX", folder);
	if (!buf_failed(&name) && (fd = mkostemp(name.data, O_CLOEXEC)) >= 0)
		unlink(name.data);
	buf_clear(&name);
	return fd;
}

int
spool_add(struct spool *s, const void *data, size_t n)
{
	const char *at = data;

	if (s->from == s->to && s->head.len + n <= SPOOL_MEMORY)
		return buf_add(&s->head, data, n);
	if (s->fd < 0 && (s->fd = nameless()) < 0)
		return -1;
	for (size_t done = 0; done < n;) {
		ssize_t k = pwrite(s->fd, at + done, n - done,
		    s->to + (off_t)done);

		if (k <= 0)	/* a full disk: as if it never came */
			return -1;
		done += (size_t)k;
	}
	s->to += (off_t)n;
	return 0;
}

size_t
spool_peek(struct spool *s, const char **data)
{
	char	block[65536];
	ssize_t	n;

	while (s->from < s->to && s->head.len < BLOCK) {
		size_t want = s->to - s->from < (off_t)sizeof block ?
		    (size_t)(s->to - s->from) : sizeof block;

		n = pread(s->fd, block, want, s->from);
		if (n <= 0 || buf_add(&s->head, block, (size_t)n) < 0) {
			s->from = s->to;	/* the disk keeps it */
			break;
		}
		s->from += n;
	}
	if (s->to && s->from == s->to) {	/* its space is free again */
		s->from = s->to = 0;
		if (ftruncate(s->fd, 0) < 0) {
			close(s->fd);
			s->fd = -1;
		}
	}
	*data = s->head.data;
	return s->head.len;
}

void
spool_take(struct spool *s, size_t n)
{
	buf_take(&s->head, n);
}

size_t
spool_size(const struct spool *s)
{
	return s->head.len + (size_t)(s->to - s->from);
}

void
spool_clear(struct spool *s)
{
	buf_clear(&s->head);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct spool)SPOOL_INIT;
}
