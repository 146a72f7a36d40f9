/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/banned.h"

enum { HEAD = 5 };

static void
pack(unsigned char to[4], uint32_t number)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(number >> 8 * i);
}

static uint32_t
unpack(const char *from)
{
	const unsigned char *p = (const unsigned char *)from;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24;
}

size_t
wire_begin(struct buf *out, enum wire_type type)
{
	char	head[HEAD] = { (char)type };
	size_t	begun = out->len;

	buf_add(out, head, sizeof head);
	return begun;
}

void
wire_put(struct buf *out, uint32_t number)
{
	unsigned char bytes[4];

	pack(bytes, number);
	buf_add(out, bytes, sizeof bytes);
}

void
wire_put_bytes(struct buf *out, const void *data, size_t n)
{
	wire_put(out, (uint32_t)n);
	buf_add(out, data, n);
}

void
wire_put_text(struct buf *out, const char *text)
{
	wire_put_bytes(out, text, strlen(text));
}

void
wire_end(struct buf *out, size_t begun)
{
	if (!buf_failed(out))
		pack((unsigned char *)out->data + begun + 1,
		    (uint32_t)(out->len - begun - HEAD));
}

int
wire_next(const struct buf *in, struct wire_frame *frame)
{
	uint32_t n;

	if (in->len < HEAD)
		return 0;
	n = unpack(in->data + 1);
	if (n > WIRE_MAX || in->data[0] < WIRE_BEAT || in->data[0] > WIRE_MEASURED)
		return -1;
	if (in->len - HEAD < n)
		return 0;
	*frame = (struct wire_frame){
		.type = (enum wire_type)in->data[0],
		.at = in->data + HEAD, .left = n,
	};
	return 1;
}

/* Nothing that people print has three NULs behind a small number. */
int
wire_skip_noise(struct buf *in)
{
	enum { NOISE_MAX = 1 << 20 };
	size_t from = 0;

	for (; from + HEAD + 4 <= in->len; from++) {
		const char *p = in->data + from;

		if (p[0] == WIRE_HELLO && !p[3] && !p[4] && p[5] && !p[6] &&
		    !p[7] && !p[8]) {
			buf_take(in, from);
			return 1;
		}
	}
	return in->len > NOISE_MAX ? -1 : 0;
}

size_t
wire_size(const struct buf *in)
{
	return HEAD + unpack(in->data + 1);
}

void
wire_skip(struct buf *view)
{
	size_t n = wire_size(view);

	view->data += n;
	view->len -= n;
}

uint32_t
wire_get(struct wire_frame *frame)
{
	uint32_t number;

	if (frame->bad || frame->left < 4) {
		frame->bad = true;
		return 0;
	}
	number = unpack(frame->at);
	frame->at += 4;
	frame->left -= 4;
	return number;
}

const char *
wire_get_bytes(struct wire_frame *frame, size_t *n)
{
	const char *bytes;

	*n = wire_get(frame);
	if (frame->bad || *n > frame->left) {
		frame->bad = true;
		*n = 0;
		return "";
	}
	bytes = frame->at;
	frame->at += *n;
	frame->left -= *n;
	return bytes;
}

char *
wire_get_text(struct wire_frame *frame)
{
	size_t		 n;
	const char	*bytes = wire_get_bytes(frame, &n);

	return frame->bad ? NULL : strndup(bytes, n);
}

int
wire_flush(int fd, struct buf *out)
{
	size_t	sent = 0;
	ssize_t	n;

	while (sent < out->len) {
		n = send(fd, out->data + sent, out->len - sent,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, out->data + sent, out->len - sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0)
			return -1;
		sent += (size_t)n;
	}
	buf_take(out, sent);
	return 0;
}

int
wire_fill(int fd, struct buf *in)
{
	char	block[65536];
	ssize_t	n;

	do
		n = read(fd, block, sizeof block);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 1 : -1;
	if (n == 0)
		return 0;
	return buf_add(in, block, (size_t)n) < 0 ? -1 : 1;
}
