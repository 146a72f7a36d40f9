/* SPDX-License-Identifier: Apache-2.0 */
/* tokens: files of token numbers, mapped. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/train/formats.h"
#include "runtime/train/source.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

struct shard {
	struct mapping		map;
	struct tokens_head	head;
	int64_t			first;	/* its first sample */
};

struct tokens {
	struct accel_source	 base;
	struct shard		*shard;
	int			 count;
	int			 seq, stride;
	uint64_t		 vocab;
};

static void
tokens_free(struct accel_source *s)
{
	struct tokens *t = (struct tokens *)s;

	for (int i = 0; i < t->count; i++)
		mapping_close(&t->shard[i].map);
	free(t->shard);
	free(t);
}

/* The file of a sample: the last that begins at or before it. */
static const struct shard *
shard_of(const struct tokens *t, int64_t index)
{
	int lo = 0, hi = t->count;

	while (hi - lo > 1) {
		int mid = lo + (hi - lo) / 2;

		if (t->shard[mid].first <= index)
			lo = mid;
		else
			hi = mid;
	}
	return &t->shard[lo];
}

static int
tokens_read(const struct accel_source *s, int64_t index, void *row,
    size_t bytes, struct err *err)
{
	const struct tokens	*t = (const struct tokens *)s;
	const struct shard	*shard = shard_of(t, index);
	size_t			 at = (size_t)(index - shard->first) *
	    (size_t)t->stride;
	int			 width = shard->head.width;
	const unsigned char	*p = shard->map.data + shard->head.begin +
	    at * (size_t)width;
	int32_t			*out = row;

	(void)bytes;
	if (mapping_check(&shard->map, err) != 0)
		return -1;
	for (int i = 0; i <= t->seq; i++, p += width) {
		/* Of a constant width, so that it is one load. */
		uint64_t token = width == 2 ? le_get(p, 2) : le_get(p, 4);

		if (token >= t->vocab) {
			err_set(err, "%s: token %zu is %" PRIu64 ", and a "
			    "vocabulary has numbers below %" PRIu64,
			    shard->map.path, at + (size_t)i, token, t->vocab);
			return err_hint(err, "the file is damaged, of another "
			    "tokenizer, or of another width");
		}
		out[i] = (int32_t)token;
	}
	return 0;
}

static const struct source_ops tokens_ops = { NULL, tokens_read, tokens_free };

static int
shard_open(struct tokens *t, const char *path, accel_tokens_layout layout,
    struct err *err)
{
	struct shard	*shard = &t->shard[t->count];
	uint64_t	 need = (uint64_t)t->seq + 1;

	if (mapping_open(&shard->map, path, err) != 0)
		return -1;
	t->count++;
	if (tokens_parse(&shard->head, shard->map.data, shard->map.size,
	    shard->map.size, layout, path, err) != 0)
		return -1;
	if (shard->head.count < need) {
		err_set(err, "%s: %" PRIu64 " tokens make no sample of %"
		    PRIu64, path, shard->head.count, need);
		return err_hint(err, "a sample is seq + 1 tokens: the last is "
		    "only predicted");
	}
	shard->first = t->base.n;
	t->base.n += (int64_t)((shard->head.count - need) /
	    (uint64_t)t->stride) + 1;
	return 0;
}

accel_status
accel_source_tokens(const char *const *paths, int npath,
    const accel_tokens *config, accel_source **out)
{
	struct tokens *t;

	*out = NULL;
	if (config == NULL || config->size != sizeof(*config) ||
	    config->seq < 1 || config->seq > INT_MAX / 8 ||
	    config->stride < 0 || config->vocab < 0 ||
	    config->vocab > INT32_MAX || (config->layout !=
	    ACCEL_TOKENS_HEADER && config->layout != ACCEL_TOKENS_RAW16 &&
	    config->layout != ACCEL_TOKENS_RAW32))
		return accel__fail(ACCEL_EINVAL, "accel_source_tokens: begin "
		    "with ACCEL_TOKENS_INIT, set seq; nothing is negative");
	if (npath < 1)
		return accel__fail(ACCEL_EINVAL, "accel_source_tokens: no "
		    "files");
	t = calloc(1, sizeof(*t));
	if (t != NULL)
		t->shard = calloc((size_t)npath, sizeof(*t->shard));
	if (t == NULL || t->shard == NULL) {
		free(t);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	t->base.ops = &tokens_ops;
	t->seq = config->seq;
	t->stride = config->stride > 0 ? config->stride : config->seq;
	t->vocab = config->vocab > 0 ? (uint64_t)config->vocab :
	    (uint64_t)INT32_MAX + 1;
	t->base.row_bytes = ((size_t)t->seq + 1) * sizeof(int32_t);
	for (int i = 0; i < npath; i++)
		if (shard_open(t, paths[i], config->layout,
		    accel__err()) != 0) {
			tokens_free(&t->base);
			return ACCEL_EIO;
		}
	*out = &t->base;
	return ACCEL_OK;
}

struct writing {
	const int32_t	*token;
	int64_t		 n, done;
	int		 width;
	bool		 begun;
};

/* A piece of the file: its head, then tokens. */
static size_t
next_piece(void *user, char *to, size_t room)
{
	struct writing	*w = user;
	size_t		 at = 0, width = (size_t)w->width;

	if (!w->begun) {
		memset(to, 0, TOKENS_HEAD);
		memcpy(to, tokens_magic, sizeof(tokens_magic));
		le_put(to + 8, TOKENS_VERSION, 4);
		le_put(to + 12, (uint64_t)w->width, 4);
		le_put(to + 16, (uint64_t)w->n, 8);
		at = TOKENS_HEAD;
		w->begun = true;
	}
	for (; w->done < w->n && at + width <= room; at += width)
		le_put(to + at, (uint64_t)w->token[w->done++], w->width);
	return at;
}

accel_status
accel_tokens_write(const char *path, const int32_t *tokens, int64_t n,
    int width)
{
	struct writing w = { .token = tokens, .n = n, .width = width };

	if (n < 1 || (width != 2 && width != 4))
		return accel__fail(ACCEL_EINVAL, "accel_tokens_write: %lld "
		    "tokens of %d bytes are not to be written", (long long)n,
		    width);
	for (int64_t i = 0; i < n; i++)
		if (tokens[i] < 0 || (width == 2 && tokens[i] > UINT16_MAX))
			return accel__fail(ACCEL_EINVAL, "%s: token %lld is "
			    "%d, which %d bytes do not hold", path,
			    (long long)i, (int)tokens[i], width);
	return file_replace_by(path, next_piece, &w, 0644,
	    accel__err()) == 0 ? ACCEL_OK : ACCEL_EIO;
}
