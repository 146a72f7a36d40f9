/* SPDX-License-Identifier: Apache-2.0 */
/* state_write: the files of a state_set. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/base/safetensors.h"
#include "runtime/base/safetensors_write.h"
#include "runtime/train/state_set.h"

#include "runtime/base/banned.h"

/* A piece is summed and then written while it is still in the cache. */
#define PIECE ((uint64_t)256 << 10)
/* The disk begins its work this early, so that the sync at the end is short. */
#define KICK ((uint64_t)64 << 20)

struct out {
	int		 dir, fd;
	const char	*path, *name;	/* for messages */
	uint32_t	 crc;
	uint64_t	 bytes, kicked;
	struct err	*err;
};

static int
out_failed(const struct out *o)
{
	return err_set(o->err, "%s/%s: %s", o->path, o->name,
	    strerror(errno));
}

static int
out_add(struct out *o, const void *data, uint64_t n)
{
	const char *p = data;

	while (n > 0) {
		uint64_t piece = n < PIECE ? n : PIECE;

		o->crc = crc32c(o->crc, p, piece);
		n -= piece;
		while (piece > 0) {
			ssize_t k = write(o->fd, p, piece);

			if (k < 0 && errno == EINTR)
				continue;
			if (k < 0)
				return out_failed(o);
			p += k;
			piece -= (uint64_t)k;
			o->bytes += (uint64_t)k;
		}
		if (o->bytes - o->kicked >= KICK) {
			sync_file_range(o->fd, (off_t)o->kicked,
			    (off_t)(o->bytes - o->kicked),
			    SYNC_FILE_RANGE_WRITE);
			o->kicked = o->bytes;
		}
	}
	return 0;
}

static int
out_open(struct out *o)
{
	o->fd = openat(o->dir, o->name, O_WRONLY | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0666);
	return o->fd < 0 ? out_failed(o) : 0;
}

/* Closes in any case. */
static int
out_close(struct out *o, int ret)
{
	if (ret == 0 && fsync(o->fd) < 0)
		ret = out_failed(o);
	if (close(o->fd) < 0 && ret == 0)
		ret = out_failed(o);
	return ret;
}

/* Arrays [first, first + n) of a part as one file. */
static int
write_shard(struct out *o, const struct state_part *p, size_t first, size_t n)
{
	static const char *const metadata[] = { "format", "pt", NULL };
	struct safetensors_row *row = calloc(n + 1, sizeof(*row));
	struct buf head = { .max = (size_t)SAFETENSORS_HEADER_MAX + 8 };
	uint64_t at = 0;
	int ret = -1;

	if (row == NULL)
		return err_nomem(o->err);
	for (size_t i = 0; i < n; i++) {
		const struct state_item *it = &p->item[first + i];

		row[i] = (struct safetensors_row){ it->name,
		    dtype_of(it->dtype), it->shape, it->rank, at,
		    at + it->bytes };
		at += it->bytes;
	}
	if (safetensors_header(&head, row, n, metadata, o->err) != 0 ||
	    out_open(o) != 0)
		goto out;
	ret = out_add(o, head.data, head.len);
	for (size_t i = 0; ret == 0 && i < n; i++)
		ret = out_add(o, p->item[first + i].data,
		    p->item[first + i].bytes);
	ret = out_close(o, ret);
out:
	buf_clear(&head);
	free(row);
	return ret;
}

static int
note_file(json_t *files, const struct out *o)
{
	char crc[16];

	snprintf(crc, sizeof(crc), "%08x", o->crc);
	return json_object_set_new(files, o->name, json_pack("{s:I, s:s}",
	    "bytes", (json_int_t)o->bytes, "crc32c", crc)) < 0 ?
	    err_nomem(o->err) : 0;
}

/* Takes "root". */
static int
write_json(struct out *o, json_t *root, size_t flags)
{
	char *text = root == NULL ? NULL : json_dumps(root, flags);
	int ret;

	json_decref(root);
	if (text == NULL)
		return err_nomem(o->err);
	ret = out_open(o);
	if (ret == 0)
		ret = out_close(o, out_add(o, text, strlen(text)));
	free(text);
	return ret;
}

/* How many arrays from "first" on go into one file. */
static size_t
shard_length(const struct state_part *p, size_t first, uint64_t max)
{
	uint64_t sum = p->item[first].bytes;
	size_t n = 1;

	while (first + n < p->count && (max == 0 ||
	    (sum <= max && p->item[first + n].bytes <= max - sum)))
		sum += p->item[first + n++].bytes;
	return n;
}

static int
write_part(const struct state_part *p, struct out base, uint64_t max,
    json_t *files)
{
	json_t *map = json_object();
	size_t shards = 0, k = 0, n;
	json_int_t total = 0;
	char name[128];
	int ret = 0;

	for (size_t i = 0; i < p->count; i += shard_length(p, i, max))
		shards++;
	base.name = name;
	for (size_t i = 0; ret == 0 && i < p->count; i += n) {
		struct out o = base;

		n = shard_length(p, i, max);
		if (shards == 1)
			snprintf(name, sizeof(name), "%s.safetensors",
			    p->stem);
		else
			snprintf(name, sizeof(name),
			    "%s-%05zu-of-%05zu.safetensors", p->stem, ++k,
			    shards);
		ret = write_shard(&o, p, i, n);
		for (size_t j = i; ret == 0 && j < i + n; j++) {
			total += (json_int_t)p->item[j].bytes;
			if (json_object_set_new(map, p->item[j].name,
			    json_string(name)) < 0)
				ret = err_nomem(base.err);
		}
		if (ret == 0)
			ret = note_file(files, &o);
	}
	if (ret == 0 && shards > 1) {
		snprintf(name, sizeof(name), "%s.safetensors.index.json",
		    p->stem);
		ret = write_json(&base, json_pack("{s:{s:I}, s:O}", "metadata",
		    "total_size", total, "weight_map", map),
		    JSON_INDENT(2) | JSON_SORT_KEYS);
		if (ret == 0)
			ret = note_file(files, &base);
	}
	json_decref(map);
	return ret;
}

static int
write_manifest(const struct state_set *s, struct out o, json_t *files)
{
	json_t *info = json_object(), *content;
	char *text, crc[16];

	for (size_t i = 0; i < s->info.count; i++) {
		const char *pair = s->info.item[i], *eq = strchr(pair, '=');
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(eq - pair), pair);
		json_object_set_new(info, name, json_string(eq + 1));
	}
	content = json_pack("{s:s, s:i, s:o, s:O}", "format", STATE_FORMAT,
	    "version", STATE_FORMAT_VERSION, "info", info, "files", files);
	text = json_dumps(content, JSON_COMPACT | JSON_SORT_KEYS);
	if (text == NULL) {
		json_decref(content);
		return err_nomem(o.err);
	}
	snprintf(crc, sizeof(crc), "%08x", crc32c(0, text, strlen(text)));
	free(text);
	o.name = STATE_MANIFEST;
	return write_json(&o, json_pack("{s:o, s:s}", "content", content,
	    "crc32c", crc), JSON_INDENT(1) | JSON_SORT_KEYS);
}

int
state_set_write(const struct state_set *s, int dir, const char *path,
    uint64_t shard_max, bool manifest, struct err *err)
{
	struct out base = { .dir = dir, .fd = -1, .path = path, .err = err };
	json_t *files = json_object();
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < s->count; i++)
		if (s->part[i].count > 0)
			ret = write_part(&s->part[i], base, shard_max, files);
	if (ret == 0 && manifest)
		ret = write_manifest(s, base, files);
	json_decref(files);
	return ret;
}
