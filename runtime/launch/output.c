/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/banned.h"

enum {
	LINE_MAX_ = 1 << 20,	/* a longer line is cut into pieces */
	AT_ONCE = 4096		/* what a pipe that is writable takes (PIPE_BUF) */
};

int
output_init(struct output *o, size_t ranks, bool colour)
{
	*o = (struct output){ .count = ranks, .prefix = ranks > 1,
	    .colour = colour };
	o->rank = calloc(ranks, sizeof *o->rank);
	for (int s = 0; s < 2; s++)
		o->pending[s].max = (size_t)1 << 30;
	return o->rank ? 0 : -1;
}

int
output_label(struct output *o, size_t rank, const char *host)
{
	return asprintf(&o->rank[rank].label, "%s:%zu", host, rank) < 0 ? -1 : 0;
}

static void
remember(struct output_rank *r, const char *line, size_t n)
{
	char **slot = &r->last[r->lines++ % OUTPUT_LAST];

	free(*slot);
	*slot = strndup(line, n < 400 ? n : 400);
}

static void
put_line(struct output *o, size_t rank, int stream, const char *line, size_t n)
{
	static const char	 colours[] = { 2, 3, 4, 5, 6, 1 };
	struct output_rank	*r = &o->rank[rank];
	struct buf		*to = &o->pending[stream - 1];

	if (stream == 2)
		remember(r, line, n);
	if (o->prefix && o->colour)
		buf_addf(to, "\033[3%dm%s\033[m ", colours[rank % 6], r->label);
	else if (o->prefix)
		buf_addf(to, "%s ", r->label);
	buf_add(to, line, n);
	buf_add(to, "\n", 1);
}

void
output_bytes(struct output *o, size_t rank, int stream, const char *data,
    size_t n)
{
	struct buf	*part = &o->rank[rank].part[stream - 1];
	const char	*end;

	while (n && (end = memchr(data, '\n', n))) {
		size_t length = (size_t)(end - data);

		if (part->len) {
			buf_add(part, data, length);
			put_line(o, rank, stream, buf_text(part), part->len);
			part->len = 0;
		} else
			put_line(o, rank, stream, data, length);
		data += length + 1;
		n -= length + 1;
	}
	buf_add(part, data, n);
	if (part->len > LINE_MAX_) {
		put_line(o, rank, stream, buf_text(part), part->len);
		part->len = 0;
	}
}

void
output_end(struct output *o, size_t rank)
{
	for (int stream = 1; stream <= 2; stream++) {
		struct buf *part = &o->rank[rank].part[stream - 1];

		if (part->len)
			put_line(o, rank, stream, buf_text(part), part->len);
		buf_clear(part);
	}
}

bool
output_flush(struct output *o, bool wait)
{
	for (int s = 0; s < 2; s++) {
		struct buf	*from = &o->pending[s];
		size_t		 sent = 0;

		while (sent < from->len) {
			struct pollfd	p = { s + 1, POLLOUT, 0 };
			size_t		n = from->len - sent;
			ssize_t		k;

			int ready = poll(&p, 1, wait ? -1 : 0);

			if (ready < 0 && errno == EINTR && wait)
				continue;
			if (ready <= 0)
				break;
			k = write(s + 1, from->data + sent, n < AT_ONCE ? n : AT_ONCE);
			if (k < 0 && (errno == EINTR || errno == EAGAIN))
				continue;
			if (k < 0) {		/* nobody reads: let it go */
				o->broken |= s == 0 && errno == EPIPE;
				sent = from->len;
				break;
			}
			sent += (size_t)k;
		}
		buf_take(from, sent);
		if (buf_failed(from))
			buf_clear(from);
	}
	return o->pending[0].len || o->pending[1].len;
}

void
output_last(const struct output *o, size_t rank,
    void (*line)(void *user, const char *text), void *user)
{
	const struct output_rank	*r = &o->rank[rank];
	size_t				 first = 0;

	if (r->lines > OUTPUT_LAST)
		first = r->lines - OUTPUT_LAST;
	for (size_t i = first; i < r->lines; i++)
		if (r->last[i % OUTPUT_LAST])
			line(user, r->last[i % OUTPUT_LAST]);
}

void
output_clear(struct output *o)
{
	for (size_t i = 0; o->rank && i < o->count; i++) {
		struct output_rank *r = &o->rank[i];

		free(r->label);
		for (int s = 0; s < 2; s++)
			buf_clear(&r->part[s]);
		for (int k = 0; k < OUTPUT_LAST; k++)
			free(r->last[k]);
	}
	free(o->rank);
	for (int s = 0; s < 2; s++)
		buf_clear(&o->pending[s]);
	*o = (struct output){ 0 };
}
