/* SPDX-License-Identifier: Apache-2.0 */
/* track_line: an event as a line of JSON, and how lines are written. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/train/track.h"

#include "runtime/base/banned.h"

/* How long the UTF-8 sequence at p is; 0 where it is none. */
static int
utf8(const unsigned char *p)
{
	int n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 :
	    p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong, surrogates, beyond U+10FFFF. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* Text in quotes, cut so that the line keeps its limit; bytes that are no
 * UTF-8 become U+FFFD. */
static void
add_text(struct buf *out, const char *text, size_t room)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t end = out->len + room;
	int n;

	buf_adds(out, "\"");
	for (; *p != '\0' && out->len + 8 < end; p += n > 0 ? n : 1) {
		n = utf8(p);
		if (n == 0)
			buf_adds(out, "\\ufffd");
		else if (*p == '"' || *p == '\\')
			buf_addf(out, "\\%c", *p);
		else if (*p < 0x20)
			buf_addf(out, "\\u%04x", *p);
		else
			buf_add(out, p, (size_t)n);
	}
	buf_adds(out, "\"");
}

void
track_number(double value, char text[TRACK_NUMBER])
{
	const char *point = localeconv()->decimal_point;
	char *found;

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, TRACK_NUMBER, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* A program may have set a locale that writes 0,5. */
	found = strcmp(point, ".") != 0 ? strstr(text, point) : NULL;
	if (found != NULL) {
		size_t n = strlen(point);

		*found = '.';
		memmove(found + 1, found + n, strlen(found + n) + 1);
	}
}

static void
add_value(struct buf *out, double value)
{
	char text[TRACK_NUMBER];

	if (isnan(value))
		buf_adds(out, "\"nan\"");
	else if (isinf(value))
		buf_adds(out, value > 0 ? "\"inf\"" : "\"-inf\"");
	else {
		track_number(value, text);
		buf_adds(out, text);
	}
}

int
track_line(struct buf *out, const struct track_event *e, struct err *err)
{
	static const char *const names[] = {
		"start", "config", "log", "step", "end",
	};
	/* Whole seconds and thousandths apart, for the locale's sake. */
	int64_t ms = (int64_t)(e->time * 1000);

	buf_addf(out, "{\"v\":1,\"event\":\"%s\",\"time\":%" PRId64 ".%03d,"
	    "\"rank\":%d", names[e->kind], ms / 1000, (int)(ms % 1000),
	    e->rank);
	switch (e->kind) {
	case TRACK_START:
		buf_addf(out, ",\"world\":%d,\"pid\":%ld", e->world,
		    (long)getpid());
		break;
	case TRACK_CONFIG:
		buf_adds(out, ",\"key\":");
		add_text(out, e->key, 1600);
		buf_adds(out, ",\"value\":");
		add_text(out, e->text, TRACK_LINE_MAX - out->len - 8);
		break;
	case TRACK_LOG:
		buf_addf(out, ",\"step\":%" PRId64 ",\"key\":", e->step);
		add_text(out, e->key, 1600);
		buf_adds(out, ",\"value\":");
		add_value(out, e->value);
		break;
	case TRACK_STEP:
	case TRACK_END:
		buf_addf(out, ",\"step\":%" PRId64, e->step);
		if (e->samples >= 0)
			buf_addf(out, ",\"samples\":%" PRId64, e->samples);
		break;
	}
	buf_adds(out, "}\n");
	return buf_failed(out) ? err_nomem(err) : 0;
}

/* Takes the SIGPIPE that our own write raised, where none was waiting. */
static ssize_t
write_quietly(int fd, const void *data, size_t n)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t pipe_only, before, waiting;
	ssize_t k;
	int code;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&waiting);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	k = write(fd, data, n);
	code = errno;
	if (k < 0 && code == EPIPE && !sigismember(&waiting, SIGPIPE))
		while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 &&
		    errno == EINTR)
			continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return k;
}

int
track_write(int fd, const void *data, unsigned n, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t k;

	/* A pipe that can be written has room for PIPE_BUF bytes, and a line
	 * is no longer than that. */
	if (poll(&p, 1, 0) == 0)
		return 1;
	do
		k = write_quietly(fd, data, n);
	while (k < 0 && errno == EINTR);
	if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 1;
	if (k < 0)
		return err_set(err, "%s", strerror(errno));
	if ((unsigned)k < n)
		return err_set(err, "a line was written in part");
	return 0;
}
