/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/banned.h"

static int
buf_grow(struct buf *buf, size_t n)
{
	size_t	 max = buf->max ? buf->max : (size_t)64 << 20;
	size_t	 room = buf->room ? buf->room : 64;
	char	*grown;

	if (buf->failed)
		return -1;
	if (n > max || buf->len > max - n) {
		buf->failed = true;
		return -1;
	}
	while (room < buf->len + n + 1)
		room *= 2;
	if (room == buf->room)
		return 0;
	grown = realloc(buf->data, room);
	if (!grown) {
		buf->failed = true;
		return -1;
	}
	buf->data = grown;
	buf->room = room;
	return 0;
}

int
buf_add(struct buf *buf, const void *data, size_t n)
{
	if (buf_grow(buf, n) < 0)
		return -1;
	if (n)
		memcpy(buf->data + buf->len, data, n);
	buf->len += n;
	buf->data[buf->len] = '\0';
	return 0;
}

int
buf_adds(struct buf *buf, const char *text)
{
	return buf_add(buf, text, strlen(text));
}

int
buf_addf(struct buf *buf, const char *fmt, ...)
{
	va_list	ap;
	int	n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || buf_grow(buf, (size_t)n) < 0)
		return -1;
	va_start(ap, fmt);
	vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)n;
	return 0;
}

int
buf_add_word(struct buf *buf, const char *text)
{
	if (*text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")])
		return buf_adds(buf, text);
	buf_adds(buf, "'");
	for (; *text; text++)
		if (*text == '\'')
			buf_adds(buf, "'\\''");
		else
			buf_add(buf, text, 1);
	return buf_adds(buf, "'");
}

void
buf_take(struct buf *buf, size_t n)
{
	if (!n)
		return;
	if (n > buf->len)
		n = buf->len;
	memmove(buf->data, buf->data + n, buf->len - n + 1);
	buf->len -= n;
}

const char *
buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

char *
buf_detach(struct buf *buf)
{
	char *data;

	if (buf_add(buf, "", 0) < 0)
		return NULL;
	data = buf->data;
	*buf = (struct buf){ .max = buf->max };
	return data;
}

void
buf_clear(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ .max = buf->max };
}
