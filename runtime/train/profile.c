/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/file.h"

#include "runtime/base/banned.h"

enum { DEEP = 16, KEPT = 1 << 15, NAME = 40 };

struct span {
	char	 name[NAME], unit[NAME];
	int64_t	 begin, end;		/* ns, monotonic */
	int	 line;
	size_t	 bytes;
};

struct profile {
	int		 fd;
	char		*path;
	int64_t		 epoch;		/* 1970 by the monotonic clock, ns */
	struct span	 open[DEEP];
	int		 depth;		/* may be beyond DEEP: not kept */
	struct span	*exchange;	/* a bucket; begin 0: none under way */
	int		 nexchange;
	struct span	*kept;
	size_t		 count, written;
	struct err	 err;		/* of writing; "" so far */
};

static int64_t
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Names of units and the program's spans are texts of anybody. */
static void
add_text(struct buf *out, const char *text)
{
	buf_adds(out, "\"");
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			buf_addf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_adds(out, "?");
		else
			buf_add(out, text, 1);
	}
	buf_adds(out, "\"");
}

static void
add_time(struct buf *out, const char *name, int64_t ns)
{
	buf_addf(out, ",\"%s\":%" PRId64 ".%03d", name, ns / 1000,
	    (int)(ns % 1000));
}

static void
add_event(struct buf *out, const struct profile *p, const struct span *s,
    int rank)
{
	buf_adds(out, "{\"name\":");
	add_text(out, s->name);
	buf_addf(out, ",\"ph\":\"X\",\"pid\":%d,\"tid\":%d", rank, s->line);
	add_time(out, "ts", s->begin + p->epoch);
	add_time(out, "dur", s->end - s->begin);
	if (s->unit[0] != '\0') {
		buf_adds(out, ",\"args\":{\"unit\":");
		add_text(out, s->unit);
		buf_adds(out, "}");
	} else if (s->line > 0) {
		buf_addf(out, ",\"args\":{\"bytes\":%zu}", s->bytes);
	}
	buf_adds(out, "}");
}

static void
put(struct profile *p, struct buf *text)
{
	const char *at = buf_text(text);
	size_t left = text->len;

	if (buf_failed(text) && p->err.text[0] == '\0')
		err_nomem(&p->err);
	while (left > 0 && p->err.text[0] == '\0') {
		ssize_t k = write(p->fd, at, left);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			err_set(&p->err, "%s: %s", p->path, strerror(errno));
			break;
		}
		at += k;
		left -= (size_t)k;
	}
	buf_clear(text);
}

static void
write_kept(struct accel *a)
{
	struct profile *p = a->profile;
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < p->count; i++) {
		buf_adds(&text, p->written++ > 0 ? ",\n" : "\n");
		add_event(&text, p, &p->kept[i], a->rank);
		if (text.len > (size_t)1 << 20)
			put(p, &text);
	}
	put(p, &text);
	p->count = 0;
}

static void
keep(struct accel *a, const struct span *s)
{
	a->profile->kept[a->profile->count++] = *s;
	if (a->profile->count == KEPT)
		write_kept(a);
}

static void
copy(char to[NAME], const char *from)
{
	snprintf(to, NAME, "%s", from != NULL ? from : "");
}

void
profile__begin(struct accel *a, const char *name, const char *unit)
{
	struct profile *p = a->profile;

	if (p->depth < DEEP) {
		struct span *s = &p->open[p->depth];

		copy(s->name, name);
		copy(s->unit, unit);
		s->line = 0;
		s->begin = now(CLOCK_MONOTONIC);
	}
	p->depth++;
}

void
profile__end(struct accel *a)
{
	struct profile *p = a->profile;

	/* Begun before the profile was. */
	if (p->depth == 0)
		return;
	if (--p->depth >= DEEP)
		return;
	p->open[p->depth].end = now(CLOCK_MONOTONIC);
	keep(a, &p->open[p->depth]);
}

void
profile__exchange(struct accel *a, int bucket, size_t bytes)
{
	struct profile *p = a->profile;

	if (bucket >= p->nexchange) {
		struct span *more = realloc(p->exchange,
		    (size_t)(bucket + 1) * sizeof(*more));

		if (more == NULL)
			return;
		memset(more + p->nexchange, 0, (size_t)(bucket + 1 -
		    p->nexchange) * sizeof(*more));
		p->exchange = more;
		p->nexchange = bucket + 1;
	}
	copy(p->exchange[bucket].name, "communication");
	p->exchange[bucket].line = 1 + bucket;
	p->exchange[bucket].bytes = bytes;
	p->exchange[bucket].begin = now(CLOCK_MONOTONIC);
}

void
profile__exchanged(struct accel *a, int bucket)
{
	struct profile *p = a->profile;

	if (bucket >= p->nexchange || p->exchange[bucket].begin == 0)
		return;
	p->exchange[bucket].end = now(CLOCK_MONOTONIC);
	keep(a, &p->exchange[bucket]);
	p->exchange[bucket].begin = 0;
}

/* ---- begin and end ------------------------------------------------------- */

static void
profile_free(struct profile *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	free(p->exchange);
	free(p->kept);
	free(p);
}

/* The names of the lines. */
static void
write_head(struct accel *a)
{
	struct profile *p = a->profile;
	struct buf text = BUF_INIT;

	buf_addf(&text, "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
	    "\"args\":{\"name\":\"rank %d\"}},\n{\"name\":\"thread_name\","
	    "\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":"
	    "\"training\"}}", a->rank, a->rank, a->rank);
	for (int i = 0; a->world > 1 && i < a->nbucket; i++)
		buf_addf(&text, ",\n{\"name\":\"thread_name\",\"ph\":\"M\","
		    "\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"bucket %d\"}}",
		    a->rank, i + 1, i);
	p->written = 1;
	put(p, &text);
}

accel_status
accel_profile_start(accel *a, const char *prefix)
{
	struct profile *p;
	const char *slash;
	char *folder;
	int ret = 0;

	if (prefix == NULL || *prefix == '\0' || a->profile != NULL)
		return accel__fail(prefix == NULL || *prefix == '\0' ?
		    ACCEL_EINVAL : ACCEL_ESTATE, "accel_profile_start: %s",
		    a->profile != NULL ? "it runs already" : "no name");
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	p->fd = -1;
	p->kept = malloc(KEPT * sizeof(*p->kept));
	if (p->kept == NULL ||
	    asprintf(&p->path, "%s_%d.json", prefix, a->rank) < 0) {
		p->path = NULL;
		profile_free(p);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	slash = strrchr(p->path, '/');
	if (slash != NULL && slash != p->path) {
		folder = strndup(p->path, (size_t)(slash - p->path));
		ret = folder == NULL ? err_nomem(accel__err()) :
		    file_mkdirs(folder, 0777, accel__err());
		free(folder);
	}
	if (ret == 0)
		p->fd = open(p->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0666);
	if (p->fd < 0) {
		if (ret == 0)
			accel__fail(ACCEL_EIO, "%s: %s", p->path,
			    strerror(errno));
		profile_free(p);
		return ACCEL_EIO;
	}
	p->epoch = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	a->profile = p;
	write_head(a);
	return ACCEL_OK;
}

accel_status
accel_profile_stop(accel *a)
{
	struct profile *p = a->profile;
	struct buf tail = BUF_INIT;
	accel_status st = ACCEL_OK;

	if (p == NULL)
		return ACCEL_OK;
	while (p->depth > 0)
		profile__end(a);
	write_kept(a);
	buf_adds(&tail, "\n]\n");
	put(p, &tail);
	if (p->err.text[0] == '\0' && close(p->fd) < 0)
		err_set(&p->err, "%s: %s", p->path, strerror(errno));
	p->fd = -1;
	if (p->err.text[0] != '\0') {
		*accel__err() = p->err;
		st = ACCEL_EIO;
	}
	profile_free(p);
	a->profile = NULL;
	return st;
}

void
accel_profile_begin(accel *a, const char *name)
{
	profile_begin(a, name, NULL);
}

void
accel_profile_end(accel *a)
{
	profile_end(a);
}

void
profile_init(struct accel *a)
{
	const char *prefix = getenv("ACCEL_PROFILE");

	if (prefix == NULL || *prefix == '\0')
		return;
	if (accel_profile_start(a, prefix) != ACCEL_OK)
		fprintf(stderr, "accel: ACCEL_PROFILE: %s; training goes on "
		    "without it\n", accel_errmsg());
}

accel_status
profile_fini(struct accel *a)
{
	return accel_profile_stop(a);
}
