/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker_board: TensorBoard's event files, one a run, in a folder.
 *
 * A file is a row of records (TFRecord): the length as 8 bytes, a checksum of
 * these, the data, a checksum of the data; all little-endian, checksums
 * CRC32C, turned and shifted by a constant.  The data are messages "Event"
 * of tensorflow/core/util/event.proto:
 *
 *	1 double wall_time, 2 int64 step, 3 string file_version, 5 Summary
 *	Summary: 1 Value; Value: 1 string tag, 2 float simple_value,
 *		8 TensorProto, 9 SummaryMetadata
 *	TensorProto: 1 dtype (7: string), 2 shape, 8 bytes string_val
 *	SummaryMetadata: 1 PluginData; PluginData: 1 string plugin_name
 *
 * A setting is a text under the tag config/KEY.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/train/track.h"

#include "runtime/base/banned.h"

/* Kinds of a field on the wire. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct board {
	int		 fd;
	struct buf	 record;
};

static void
add_varint(struct buf *out, uint64_t v)
{
	unsigned char c;

	do {
		c = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		buf_add(out, &c, 1);
	} while ((v >>= 7) != 0);
}

static void
add_little(struct buf *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)(v >> (8 * i));

		buf_add(out, &c, 1);
	}
}

static void
add_key(struct buf *out, int field, int kind)
{
	add_varint(out, (uint64_t)(field << 3 | kind));
}

static void
add_bytes(struct buf *out, int field, const void *data, size_t n)
{
	add_key(out, field, BYTES);
	add_varint(out, n);
	buf_add(out, data, n);
}

static void
add_text(struct buf *out, int field, const char *text)
{
	add_bytes(out, field, text, strlen(text));
}

static void
add_message(struct buf *out, int field, struct buf *message)
{
	if (buf_failed(message))
		out->failed = true;
	add_bytes(out, field, buf_text(message), message->len);
	buf_clear(message);
}

static void
add_double(struct buf *out, int field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	add_key(out, field, FIXED64);
	add_little(out, bits, 8);
}

static void
add_float(struct buf *out, int field, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	add_key(out, field, FIXED32);
	add_little(out, bits, 4);
}

static uint32_t
masked(const void *data, size_t n)
{
	uint32_t crc = crc32c(0, data, n);

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* One write a record, so that a reader never meets half of one. */
static int
put(struct board *b, struct buf *event, struct err *err)
{
	struct buf *r = &b->record;
	int ret;

	r->len = 0;
	add_little(r, event->len, 8);
	add_little(r, masked(buf_text(r), 8), 4);
	buf_add(r, buf_text(event), event->len);
	add_little(r, masked(buf_text(event), event->len), 4);
	ret = buf_failed(event) || buf_failed(r) ? err_nomem(err) :
	    track_write(b->fd, r->data, (unsigned)r->len, err);
	buf_clear(event);
	return ret < 0 ? -1 : 0;
}

static int
board_close(void *state, struct err *err)
{
	struct board *b = state;
	int ret = close(b->fd);

	buf_clear(&b->record);
	free(b);
	return ret != 0 ? err_set(err, "%s", strerror(errno)) : 0;
}

/* The name that TensorBoard looks for; two runs in one second differ. */
static int
open_file(const char *folder, struct err *err)
{
	char host[64] = "host", path[4400];
	int fd;

	gethostname(host, sizeof(host) - 1);
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path),
		    "%s/events.out.tfevents.%010lld.%s.%ld.%d", folder,
		    (long long)time(NULL), host, (long)getpid(), i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	return err_set(err, "%s: %s", path, strerror(errno));
}

static int
board_open(void **state, const char *where, int rank, struct err *err)
{
	struct board *b;
	struct buf event = BUF_INIT;
	struct err ignored;

	(void)rank;
	if (*where == '\0')
		return err_set(err, "no folder is named");
	if (file_mkdirs(where, 0777, err) != 0)
		return -1;
	b = calloc(1, sizeof(*b));
	if (b == NULL)
		return err_nomem(err);
	b->fd = open_file(where, err);
	if (b->fd < 0) {
		free(b);
		return -1;
	}
	add_double(&event, 1, (double)time(NULL));
	add_text(&event, 3, "brain.Event:2");
	if (put(b, &event, err) != 0) {
		board_close(b, &ignored);
		return -1;
	}
	*state = b;
	return 0;
}

static void
add_setting(struct buf *value, const struct track_event *e)
{
	struct buf tag = BUF_INIT, part = BUF_INIT, inner = BUF_INIT;

	buf_addf(&tag, "config/%s", e->key);
	add_message(value, 1, &tag);
	add_key(&inner, 1, VARINT);
	add_varint(&inner, 1);			/* the shape is [1] */
	add_message(&part, 2, &inner);
	add_key(&inner, 1, VARINT);
	add_varint(&inner, 7);
	add_message(&inner, 2, &part);
	add_text(&inner, 8, e->text);
	add_message(value, 8, &inner);
	add_text(&inner, 1, "text");
	add_message(&part, 1, &inner);
	add_message(value, 9, &part);
}

static int
board_event(void *state, const struct track_event *e, struct err *err)
{
	struct buf event = BUF_INIT, summary = BUF_INIT, value = BUF_INIT;

	if (e->kind != TRACK_LOG && e->kind != TRACK_CONFIG)
		return 0;
	if (e->kind == TRACK_LOG) {
		add_text(&value, 1, e->key);
		add_float(&value, 2, (float)e->value);
	} else {
		add_setting(&value, e);
	}
	add_message(&summary, 1, &value);
	add_double(&event, 1, e->time);
	add_key(&event, 2, VARINT);
	add_varint(&event, (uint64_t)e->step);
	add_message(&event, 5, &summary);
	return put(state, &event, err);
}

const struct tracker_ops tracker_board = {
	"tensorboard", board_open, board_event, board_close,
};
