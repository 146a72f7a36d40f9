/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime/base/banned.h"

static int
send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

int
wire_send(int fd, enum wire_kind kind, const void *a, size_t na,
    const void *b, size_t nb)
{
	uint32_t len = htonl((uint32_t)(1 + na + nb));
	char byte = (char)kind;
	struct buf out = BUF_INIT;
	int rc = -1;

	if (na + nb >= WIRE_MAX || fd < 0)
		return -1;
	buf_add(&out, &len, sizeof(len));
	buf_add(&out, &byte, 1);
	if (na > 0)
		buf_add(&out, a, na);
	if (nb > 0)
		buf_add(&out, b, nb);
	if (!buf_failed(&out))
		rc = send_all(fd, out.data, out.len);
	buf_clear(&out);
	return rc;
}

int
wire_fill(struct wire *w)
{
	char chunk[4096];

	for (;;) {
		ssize_t k = recv(w->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

		if (k > 0) {
			if (buf_add(&w->in, chunk, (size_t)k) != 0)
				return -1;
			if ((size_t)k < sizeof(chunk))
				return 0;
			continue;
		}
		if (k == 0)
			return -1;
		if (errno == EINTR)
			continue;
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
	}
}

int
wire_peek(const struct wire *w, int *kind, const char **data, size_t *n)
{
	uint32_t len;

	if (w->in.len < sizeof(len))
		return 0;
	memcpy(&len, w->in.data, sizeof(len));
	len = ntohl(len);
	if (len < 1 || len > WIRE_MAX)
		return -1;
	if (w->in.len - sizeof(len) < len)
		return 0;
	*kind = w->in.data[sizeof(len)];
	*data = w->in.data + sizeof(len) + 1;
	*n = len - 1;
	return 1;
}

void
wire_drop(struct wire *w)
{
	uint32_t len;

	memcpy(&len, w->in.data, sizeof(len));
	buf_take(&w->in, sizeof(len) + ntohl(len));
}

void
wire_close(struct wire *w)
{
	if (w->fd >= 0) {
		shutdown(w->fd, SHUT_WR);
		close(w->fd);
	}
	w->fd = -1;
	buf_clear(&w->in);
}

void
wire_tune(int fd)
{
	struct timeval limit = { 2, 0 };
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}
