/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf: bytes that grow, up to a ceiling.  Always NUL-terminated behind "len".
 *
 * A failed growth (no memory, ceiling) is remembered: the later calls do
 * nothing, so a writer may check once, at its end, with buf_failed().
 */
#ifndef RUNTIME_BASE_BUF_H
#define RUNTIME_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char	*data;		/* NULL while empty */
	size_t	 len, room;
	size_t	 max;		/* ceiling of len; 0 = 64 MiB */
	bool	 failed;
};

#define BUF_INIT { NULL, 0, 0, 0, false }

int  buf_add(struct buf *buf, const void *data, size_t n);
int  buf_adds(struct buf *buf, const char *text);
int  buf_addf(struct buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Text as one word of a POSIX shell, in quotes where it needs them. */
int  buf_add_word(struct buf *buf, const char *text);

/* Removes n bytes from the front. */
void buf_take(struct buf *buf, size_t n);

/* True after any call that could not grow. */
static inline bool
buf_failed(const struct buf *buf)
{
	return buf->failed;
}

/* The text, never NULL; borrowed until the next call. */
const char *buf_text(const struct buf *buf);

/* Gives the bytes to the caller, who frees them; *buf is empty again.  NULL
 * after a failure. */
char *buf_detach(struct buf *buf);

/* Frees the bytes and leaves *buf ready, its ceiling kept. */
void buf_clear(struct buf *buf);
#endif
