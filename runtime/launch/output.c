/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/launch/fold.h"
#include "runtime/launch/logs.h"
#include "runtime/launch/streams.h"

#include "runtime/base/banned.h"

enum {
	LINE_MAX_ = 1 << 20,	/* a longer line is cut into pieces */
	AT_ONCE = 4096,		/* PIPE_BUF: what a ready pipe takes */
	FOLD_MS = 100,		/* how long a line waits for its like */
	BAR_MS = 1000,		/* between the states of a bar on a terminal, */
	BAR_FILE_MS = 10000,	/* and elsewhere */
	FULL = 4 << 20,		/* bytes at which ranks have to wait */
	STALL_MS = 10000,	/* unless none of them went for so long */
	LIMIT = 1 << 30		/* bytes that wait for a reader at all */
};

static void emit(void *user, const struct ranks *ranks, int stream,
    const char *line, size_t n);

int
output_init(struct output *o, size_t ranks,
    const struct output_options *options)
{
	*o = (struct output){ .options = *options, .count = ranks,
	    .pending = { SPOOL_INIT, SPOOL_INIT } };
	for (int s = 0; s < 2; s++) {
		o->live[s].colour = options->colour[s];
		o->live[s].live = true;
	}
	o->rank = calloc(ranks, sizeof *o->rank);
	if (options->fold && ranks > 1 && options->mode == OUTPUT_LINES &&
	    !(o->fold = fold_new(ranks, FOLD_MS, emit, o)))
		return -1;
	return o->rank ? 0 : -1;
}

int
output_rank(struct output *o, size_t rank, const char *host, unsigned shown)
{
	if (o->options.mode == OUTPUT_FILES ||
	    (o->options.mode == OUTPUT_RANK0 && rank))
		shown = 0;
	o->rank[rank].shown = shown;
	o->rank[rank].host = strdup(host);
	return o->rank[rank].host ? 0 : -1;
}

/* One whole line, or live bytes, on their way. */
static void
queue(struct output *o, int stream, const struct buf *text)
{
	struct spool *to = &o->pending[stream - 1];

	if (!spool_size(to))
		o->moved[stream - 1] = clock_ms();
	if (spool_size(to) > LIMIT || spool_add(to, buf_text(text),
	    text->len) < 0)
		o->dropped++;
}

static void
add_prefix(const struct output *o, const struct ranks *ranks, int stream,
    struct buf *to)
{
	static const char	 colours[] = { 2, 3, 4, 5, 6, 1 };
	size_t			 first = ranks_next(ranks, 0), next = first;
	const char		*host = o->rank[first].host;
	bool			 colour = o->options.colour[stream - 1];

	if (o->count == 1)
		return;
	while ((next = ranks_next(ranks, next + 1)) < ranks->world)
		if (strcmp(o->rank[next].host, host)) {
			host = "*";
			break;
		}
	if (colour)
		buf_addf(to, "\033[3%dm", colours[first % 6]);
	buf_addf(to, "%s:", host);
	ranks_text(ranks, 6, to);
	buf_adds(to, colour ? "\033[m " : " ");
}

static void
emit(void *user, const struct ranks *ranks, int stream, const char *line,
    size_t n)
{
	struct output	*o = user;
	struct buf	 text = BUF_INIT;

	add_prefix(o, ranks, stream, &text);
	if (o->options.terminal[stream - 1])
		clean_line(&text, line, n, o->options.colour[stream - 1]);
	else
		buf_add(&text, line, n);
	buf_adds(&text, "\n");
	queue(o, stream, &text);
	buf_clear(&text);
}

/* {"event":"line","time":"...","host":"node1","rank":3 */
static void
begin_object(const struct output *o, const char *event, size_t rank,
    struct buf *to)
{
	char time[CLOCK_TEXT];

	clock_text(clock_wall_ms(), time);
	buf_addf(to, "{\"event\":\"%s\",\"time\":\"%s\"", event, time);
	if (rank >= o->count)
		return;
	buf_adds(to, ",\"host\":");
	clean_json(to, o->rank[rank].host, strlen(o->rank[rank].host));
	buf_addf(to, ",\"rank\":%zu", rank);
}

void
output_event(struct output *o, const char *event, size_t rank,
    const char *members)
{
	struct buf text = BUF_INIT;

	if (o->options.mode != OUTPUT_JSON)
		return;
	begin_object(o, event, rank, &text);
	buf_addf(&text, "%s%s}\n", *members ? "," : "", members);
	queue(o, 1, &text);
	buf_clear(&text);
}

static void
put_line(struct output *o, size_t rank, int stream, const char *line, size_t n)
{
	struct ranks	one = RANKS_INIT(o->count);
	struct buf	text = BUF_INIT;

	if (o->options.mode == OUTPUT_JSON) {
		begin_object(o, "line", rank, &text);
		buf_addf(&text, ",\"stream\":\"%s\",\"text\":",
		    stream == 1 ? "stdout" : "stderr");
		clean_json(&text, line, n);
		buf_adds(&text, "}\n");
		queue(o, 1, &text);
		buf_clear(&text);
	} else if (o->fold)
		fold_line(o->fold, clock_ms(), rank, stream, line, n);
	else if (ranks_add(&one, rank) == 0)
		emit(o, &one, stream, line, n);
	ranks_clear(&one);
}

/* A single rank's bytes, as they come. */
static bool
is_live(const struct output *o)
{
	return o->count == 1 && o->options.mode != OUTPUT_JSON;
}

static void
put_live(struct output *o, int stream, const char *data, size_t n)
{
	struct buf text = BUF_INIT;

	if (o->options.terminal[stream - 1])
		clean_bytes(&o->live[stream - 1], &text, data, n);
	else
		buf_add(&text, data, n);
	queue(o, stream, &text);
	buf_clear(&text);
}

/* What was put together is a line. */
static void
end_line(struct output *o, size_t rank, int stream)
{
	struct output_rank	*r = &o->rank[rank];
	struct buf		*part = &r->part[stream - 1];

	if (stream == 2)
		tail_line(&r->tail, buf_text(part), part->len);
	if (r->shown >> (stream - 1) & 1 && !is_live(o))
		put_line(o, rank, stream, buf_text(part), part->len);
	part->len = 0;
	r->anew[stream - 1] = false;
}

/* The line begins anew: what stood there may be worth showing. */
static void
begin_anew(struct output *o, size_t rank, int stream)
{
	struct output_rank	*r = &o->rank[rank];
	struct buf		*part = &r->part[stream - 1];
	int64_t			 now = clock_ms(), *last = &r->bar[stream - 1];

	if (part->len && r->shown >> (stream - 1) & 1 && !is_live(o) &&
	    now - *last >= (o->options.terminal[stream - 1] ||
	    o->options.watched ? BAR_MS : BAR_FILE_MS)) {
		put_line(o, rank, stream, buf_text(part), part->len);
		*last = now;
	}
	part->len = 0;
	r->anew[stream - 1] = false;
}

void
output_bytes(struct output *o, size_t rank, int stream, const char *data,
    size_t n)
{
	struct output_rank	*r = &o->rank[rank];
	struct buf		*part = &r->part[stream - 1];

	if (o->options.logs)
		logs_write(o->options.logs, rank, stream, data, n);
	if (r->shown >> (stream - 1) & 1 && is_live(o)) {
		put_live(o, stream, data, n);
		if (stream == 1)
			return;
	} else if (!(r->shown >> (stream - 1) & 1) && stream == 1)
		return;
	for (size_t i = 0; i < n;) {
		size_t from = i;

		while (i < n && data[i] != '\n' && data[i] != '\r')
			i++;
		if (i > from && r->anew[stream - 1])
			begin_anew(o, rank, stream);
		if (part->len + (i - from) > LINE_MAX_ && part->len)
			end_line(o, rank, stream);
		buf_add(part, data + from, i - from);
		if (i == n)
			break;
		if (data[i++] == '\n')
			end_line(o, rank, stream);
		else
			r->anew[stream - 1] = true;
	}
}

void
output_end(struct output *o, size_t rank)
{
	for (int stream = 1; stream <= 2; stream++) {
		struct buf *part = &o->rank[rank].part[stream - 1];

		if (part->len)
			end_line(o, rank, stream);
		buf_clear(part);
	}
}

void
output_finish(struct output *o)
{
	for (size_t i = 0; i < o->count; i++)
		output_end(o, i);
	if (o->fold)
		fold_flush(o->fold);
	for (int stream = 1; is_live(o) && stream <= 2; stream++) {
		struct buf text = BUF_INIT;

		clean_end(&o->live[stream - 1], &text);
		queue(o, stream, &text);
		buf_clear(&text);
	}
}

void
output_tick(struct output *o, int64_t *wait_ms)
{
	int64_t now = clock_ms(), due;

	if (!o->fold)
		return;
	fold_tick(o->fold, now);
	due = fold_due(o->fold);
	if (due >= 0 && due - now < *wait_ms)
		*wait_ms = due - now;
}

bool
output_full(const struct output *o)
{
	int64_t now = clock_ms();

	for (int s = 0; s < 2; s++)
		if (spool_size(&o->pending[s]) > FULL &&
		    now - o->moved[s] < STALL_MS)
			return true;
	return false;
}

/* What was dropped is said, once there is room again. */
static void
say_dropped(struct output *o)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "accel: %zu lines are missing here, as nobody read the "
	    "output%s\n", o->dropped, o->options.logs ?
	    "; the log files have them" : "");
	o->dropped = 0;
	queue(o, 2, &text);
	buf_clear(&text);
}

static void
flush_one(struct output *o, int s, bool wait)
{
	struct spool	*from = &o->pending[s];
	const char	*data;
	size_t		 n;

	while ((n = spool_peek(from, &data))) {
		size_t sent = 0;

		while (sent < n) {
			struct pollfd	p = { s + 1, POLLOUT, 0 };
			int		ready = poll(&p, 1, wait ? -1 : 0);
			ssize_t		k;

			if (ready < 0 && errno == EINTR && wait)
				continue;
			if (ready <= 0)
				break;
			k = write(s + 1, data + sent, n - sent < AT_ONCE ?
			    n - sent : AT_ONCE);
			if (k < 0 && (errno == EINTR || errno == EAGAIN))
				continue;
			if (k < 0) {		/* nobody reads: let it go */
				o->broken |= s == 0 && errno == EPIPE;
				spool_clear(from);
				return;
			}
			sent += (size_t)k;
			o->moved[s] = clock_ms();
		}
		spool_take(from, sent);
		if (sent < n)
			return;
	}
}

bool
output_flush(struct output *o, bool wait)
{
	for (int s = 0; s < 2; s++)
		flush_one(o, s, wait);
	if (o->dropped && !spool_size(&o->pending[0]) &&
	    !spool_size(&o->pending[1])) {
		say_dropped(o);
		flush_one(o, 1, wait);
	}
	return spool_size(&o->pending[0]) || spool_size(&o->pending[1]);
}

void
output_clear(struct output *o)
{
	for (size_t i = 0; o->rank && i < o->count; i++) {
		struct output_rank *r = &o->rank[i];

		free(r->host);
		for (int s = 0; s < 2; s++)
			buf_clear(&r->part[s]);
		tail_clear(&r->tail);
	}
	free(o->rank);
	fold_free(o->fold);
	for (int s = 0; s < 2; s++)
		spool_clear(&o->pending[s]);
	*o = (struct output){ .pending = { SPOOL_INIT, SPOOL_INIT } };
}
