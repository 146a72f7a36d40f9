/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens: files of token numbers, mapped.  Ours begins with 32 bytes:
 *
 *	"ACCELTOK"  u32 version (1)  u32 bytes of a token (2 or 4)
 *	u64 tokens  u64 0
 *
 * llm.c's (dev/data/data_common.py) with 256 int32, of which three count:
 * 20240520, 1, tokens for uint16; 20240801, 7, tokens for uint32.  nanoGPT's
 * are tokens alone.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/train/source.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

enum {
	HEAD_BYTES = 32, KNOWN_VERSION = 1,
	LLMC_BYTES = 1024, LLMC_16 = 20240520, LLMC_16_VERSION = 1,
	LLMC_32 = 20240801, LLMC_32_VERSION = 7,
};

static const char magic[8] = "ACCELTOK";

static int
version(const char *name, uint64_t is, int want, struct err *err)
{
	if (is == (uint64_t)want)
		return 0;
	err_set(err, "%s: a token file of version %" PRIu64 ", and %d is "
	    "known", name, is, want);
	return err_hint(err, "write it anew, or with this version of accel");
}

static int
parse_header(struct tokens_head *h, const char *data, size_t have,
    const char *name, struct err *err)
{
	uint64_t first = have >= 4 ? le_get(data, 4) : 0;

	if (have >= HEAD_BYTES && memcmp(data, magic, sizeof(magic)) == 0) {
		uint64_t width = le_get(data + 12, 4);

		if (version(name, le_get(data + 8, 4), KNOWN_VERSION, err) != 0)
			return -1;
		if (width != 2 && width != 4)
			return err_set(err, "%s: the header says tokens of "
			    "%" PRIu64 " bytes, not 2 or 4", name, width);
		if (le_get(data + 24, 8) != 0)
			return err_set(err, "%s: the header's last 8 bytes "
			    "are not 0", name);
		*h = (struct tokens_head){ HEAD_BYTES, (int)width,
		    le_get(data + 16, 8) };
		return 0;
	}
	if (have >= LLMC_BYTES && (first == LLMC_16 || first == LLMC_32)) {
		if (version(name, le_get(data + 4, 4), first == LLMC_16 ?
		    LLMC_16_VERSION : LLMC_32_VERSION, err) != 0)
			return -1;
		*h = (struct tokens_head){ LLMC_BYTES,
		    first == LLMC_16 ? 2 : 4, le_get(data + 8, 4) };
		return 0;
	}
	err_set(err, "%s: no header of a token file is at its begin", name);
	return err_hint(err, "for tokens alone, as nanoGPT writes them, set "
	    "the layout to ACCEL_TOKENS_RAW16 or ACCEL_TOKENS_RAW32");
}

int
tokens_parse(struct tokens_head *head, const void *data, size_t have,
    uint64_t size, accel_tokens_layout layout, const char *name,
    struct err *err)
{
	struct tokens_head h = { 0, (int)layout, 0 };
	uint64_t there;

	if (layout == ACCEL_TOKENS_HEADER) {
		if (parse_header(&h, data, have, name, err) != 0)
			return -1;
	} else if (size % (uint64_t)h.width != 0) {
		return err_set(err, "%s: %" PRIu64 " bytes are no whole number "
		    "of %d-byte tokens", name, size, h.width);
	} else {
		h.count = size / (uint64_t)h.width;
	}
	/* A header says how much there is; more or less is damage. */
	there = (size - h.begin) / (uint64_t)h.width;
	if (h.count != there || (size - h.begin) % (uint64_t)h.width != 0) {
		err_set(err, "%s: the header says %" PRIu64 " tokens of %d "
		    "bytes, and behind it are %" PRIu64 " bytes", name,
		    h.count, h.width, size - h.begin);
		return err_hint(err, "the file is cut off or damaged: copy or "
		    "write it again");
	}
	*head = h;
	return 0;
}

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
		uint64_t token = le_get(p, width);

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

accel_status
accel_tokens_write(const char *path, const int32_t *tokens, int64_t n,
    int width)
{
	size_t	 bytes = HEAD_BYTES + (size_t)n * (size_t)width;
	char	*file;
	int	 rc;

	if (n < 1 || (width != 2 && width != 4))
		return accel__fail(ACCEL_EINVAL, "accel_tokens_write: %lld "
		    "tokens of %d bytes are not to be written", (long long)n,
		    width);
	file = calloc(1, bytes);
	if (file == NULL)
		return accel__fail(ACCEL_ENOMEM, "%s: no memory for %zu bytes",
		    path, bytes);
	memcpy(file, magic, sizeof(magic));
	le_put(file + 8, KNOWN_VERSION, 4);
	le_put(file + 12, (uint64_t)width, 4);
	le_put(file + 16, (uint64_t)n, 8);
	for (int64_t i = 0; i < n; i++) {
		if (tokens[i] < 0 || (width == 2 && tokens[i] > UINT16_MAX)) {
			free(file);
			return accel__fail(ACCEL_EINVAL, "%s: token %lld is "
			    "%d, which %d bytes do not hold", path,
			    (long long)i, (int)tokens[i], width);
		}
		le_put(file + HEAD_BYTES + i * width, (uint64_t)tokens[i],
		    width);
	}
	rc = file_replace(path, file, bytes, 0644, accel__err());
	free(file);
	return rc == 0 ? ACCEL_OK : ACCEL_EIO;
}
