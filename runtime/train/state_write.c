/* SPDX-License-Identifier: Apache-2.0 */
/* state_write: the files of a state_set. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/base/safetensors.h"
#include "runtime/base/safetensors_write.h"
#include "runtime/base/thread.h"
#include "runtime/train/state_set.h"

#include "runtime/base/banned.h"

#define PIECE ((uint64_t)1 << 20)
/* The disk begins its work this early, so that the sync at the end is short. */
#define KICK ((uint64_t)256 << 20)

/* Files are synced together at the end: the first one makes the file system
 * write its journal for all, and the others find that done. */
enum { WAITING = 64 };
struct waiting {
	int	 fd[WAITING];
	char	 name[WAITING][128];
	int	 n;
};

struct out {
	int		 dir, fd;
	struct waiting	*waiting;
	const char	*path, *name;	/* for messages */
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
		ssize_t k = write(o->fd, p, n < PIECE ? n : PIECE);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return out_failed(o);
		p += k;
		n -= (uint64_t)k;
		o->bytes += (uint64_t)k;
		if (o->bytes - o->kicked >= KICK) {
			sync_file_range(o->fd, (off_t)o->kicked,
			    (off_t)(o->bytes - o->kicked),
			    SYNC_FILE_RANGE_WRITE);
			o->kicked = o->bytes;
		}
	}
	return 0;
}

/*
 * The checksum of a file, by a thread beside the one that writes it: one after
 * the other took a third longer where the disk is fast.
 */
struct piece {
	const void	*data;
	uint64_t	 bytes;
};
struct sum {
	const struct piece	*piece;
	size_t			 count;
	uint32_t		 crc;
	pthread_t		 thread;
	bool			 beside;
};

static void *
sum_up(void *user)
{
	struct sum *s = user;

	for (size_t i = 0; i < s->count; i++)
		s->crc = crc32c(s->crc, s->piece[i].data, s->piece[i].bytes);
	return NULL;
}

static void
sum_begin(struct sum *s, const struct piece *piece, size_t count)
{
	uint64_t bytes = 0;

	*s = (struct sum){ .piece = piece, .count = count };
	for (size_t i = 0; i < count; i++)
		bytes += piece[i].bytes;
	if (bytes < 4 * PIECE)
		return;
	s->beside = thread_start(&s->thread, sum_up, s) == 0;
}

static uint32_t
sum_end(struct sum *s)
{
	if (s->beside)
		pthread_join(s->thread, NULL);
	else
		sum_up(s);
	return s->crc;
}

static int
out_open(struct out *o)
{
	o->fd = openat(o->dir, o->name, O_WRONLY | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0666);
	return o->fd < 0 ? out_failed(o) : 0;
}

/* Syncs and closes all that waits; closes in any case. */
static int
sync_waiting(struct out *o, int ret)
{
	struct waiting *w = o->waiting;

	for (int i = 0; ret == 0 && i < w->n; i++)
		sync_file_range(w->fd[i], 0, 0, SYNC_FILE_RANGE_WRITE);
	for (int i = 0; i < w->n; i++) {
		o->name = w->name[i];
		if (ret == 0 && fsync(w->fd[i]) < 0)
			ret = out_failed(o);
		if (close(w->fd[i]) < 0 && ret == 0)
			ret = out_failed(o);
	}
	w->n = 0;
	return ret;
}

/* All is written: the file waits for its sync. */
static int
out_close(struct out *o, int ret)
{
	struct waiting *w = o->waiting;

	w->fd[w->n] = o->fd;
	snprintf(w->name[w->n++], sizeof(w->name[0]), "%s", o->name);
	return w->n == WAITING ? sync_waiting(o, ret) : ret;
}

static int
write_pieces(struct out *o, const struct piece *piece, size_t n,
    uint32_t *crc)
{
	struct sum sum;
	int ret = 0;

	if (out_open(o) != 0)
		return -1;
	sum_begin(&sum, piece, n);
	for (size_t i = 0; ret == 0 && i < n; i++)
		ret = out_add(o, piece[i].data, piece[i].bytes);
	*crc = sum_end(&sum);
	return out_close(o, ret);
}

/* Arrays [first, first + n) of a part as one file. */
static int
write_shard(struct out *o, const struct state_part *p, size_t first, size_t n,
    uint32_t *crc)
{
	static const char *const metadata[] = { "format", "pt", NULL };
	struct safetensors_row *row = calloc(n + 1, sizeof(*row));
	struct piece *piece = calloc(n + 1, sizeof(*piece));
	struct buf head = { .max = (size_t)SAFETENSORS_HEADER_MAX + 8 };
	uint64_t at = 0;
	int ret = -1;

	if (row == NULL || piece == NULL) {
		err_nomem(o->err);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		const struct state_item *it = &p->item[first + i];

		row[i] = (struct safetensors_row){ it->name,
		    dtype_of(it->dtype), it->shape, it->rank, at,
		    at + it->bytes };
		at += it->bytes;
		piece[i + 1] = (struct piece){ it->data, it->bytes };
	}
	if (safetensors_header(&head, row, n, metadata, o->err) != 0)
		goto out;
	piece[0] = (struct piece){ head.data, head.len };
	ret = write_pieces(o, piece, n + 1, crc);
out:
	buf_clear(&head);
	free(piece);
	free(row);
	return ret;
}

static int
note_file(json_t *files, const struct out *o, uint32_t crc)
{
	char text[16];

	snprintf(text, sizeof(text), "%08x", crc);
	return json_object_set_new(files, o->name, json_pack("{s:I, s:s}",
	    "bytes", (json_int_t)o->bytes, "crc32c", text)) < 0 ?
	    err_nomem(o->err) : 0;
}

/* Takes "root". */
static int
write_json(struct out *o, json_t *root, size_t flags, uint32_t *crc)
{
	char *text = root == NULL ? NULL : json_dumps(root, flags);
	int ret;

	json_decref(root);
	if (text == NULL)
		return err_nomem(o->err);
	ret = write_pieces(o, &(struct piece){ text, strlen(text) }, 1, crc);
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
	uint32_t crc;
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
		ret = write_shard(&o, p, i, n, &crc);
		for (size_t j = i; ret == 0 && j < i + n; j++) {
			total += (json_int_t)p->item[j].bytes;
			if (json_object_set_new(map, p->item[j].name,
			    json_string(name)) < 0)
				ret = err_nomem(base.err);
		}
		if (ret == 0)
			ret = note_file(files, &o, crc);
	}
	if (ret == 0 && shards > 1) {
		snprintf(name, sizeof(name), "%s.safetensors.index.json",
		    p->stem);
		ret = write_json(&base, json_pack("{s:{s:I}, s:O}", "metadata",
		    "total_size", total, "weight_map", map),
		    JSON_INDENT(2) | JSON_SORT_KEYS, &crc);
		if (ret == 0)
			ret = note_file(files, &base, crc);
	}
	json_decref(map);
	return ret;
}

static int
write_manifest(const struct state_set *s, struct out o, json_t *files)
{
	json_t *info = json_object(), *content;
	char *text, crc[16];
	uint32_t own;

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
	    "crc32c", crc), JSON_INDENT(1) | JSON_SORT_KEYS, &own);
}

int
state_set_write(const struct state_set *s, int dir, const char *path,
    uint64_t shard_max, bool manifest, struct err *err)
{
	struct waiting waiting = { .n = 0 };
	struct out base = { .dir = dir, .fd = -1, .waiting = &waiting,
	    .path = path, .err = err };
	json_t *files = json_object();
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < s->count; i++)
		if (s->part[i].count > 0)
			ret = write_part(&s->part[i], base, shard_max, files);
	if (ret == 0 && manifest)
		ret = write_manifest(s, base, files);
	json_decref(files);
	return sync_waiting(&base, ret);
}
