/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/formats.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/hash.h"

#include "runtime/base/banned.h"

enum {
	LLMC_BYTES = 1024, LLMC_16 = 20240520, LLMC_16_VERSION = 1,
	LLMC_32 = 20240801, LLMC_32_VERSION = 7,
};

const char tokens_magic[8] = "ACCELTOK", records_magic[8] = "ACCELREC";

/* ---- tokens -------------------------------------------------------------- */

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

	if (have >= TOKENS_HEAD && memcmp(data, tokens_magic, sizeof(tokens_magic)) == 0) {
		uint64_t width = le_get(data + 12, 4);

		if (version(name, le_get(data + 8, 4), TOKENS_VERSION, err) != 0)
			return -1;
		if (width != 2 && width != 4)
			return err_set(err, "%s: the header says tokens of "
			    "%" PRIu64 " bytes, not 2 or 4", name, width);
		if (le_get(data + 24, 8) != 0)
			return err_set(err, "%s: the header's last 8 bytes "
			    "are not 0", name);
		*h = (struct tokens_head){ TOKENS_HEAD, (int)width,
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

/* ---- records ------------------------------------------------------------- */

uint64_t
records_end(const unsigned char *index, uint64_t record)
{
	return le_get(index + RECORDS_HEAD + record * RECORDS_ENTRY, 8);
}

int
records_damaged(struct err *err)
{
	return err_hint(err, "the file is cut off or damaged: copy or write "
	    "both again");
}

int
records_parse(const void *data, size_t size, uint64_t data_size,
    const char *name, uint64_t *out, struct err *err)
{
	const unsigned char	*index = data;
	uint64_t		 count, before = 0;

	if (size < RECORDS_HEAD || memcmp(index, records_magic, sizeof(records_magic)) != 0) {
		err_set(err, "%s: no index of records is at its begin", name);
		return err_hint(err, "accel_records_new writes NAME and "
		    "NAME.idx");
	}
	if (le_get(index + 8, 4) != RECORDS_VERSION || le_get(index + 12, 4) != 0)
		return err_set(err, "%s: an index of version %" PRIu64 ", and "
		    "%d is known", name, le_get(index + 8, 4), RECORDS_VERSION);
	count = le_get(index + 16, 8);
	if ((size - RECORDS_HEAD) % RECORDS_ENTRY != 0 ||
	    count != (size - RECORDS_HEAD) / RECORDS_ENTRY) {
		err_set(err, "%s: the header says %" PRIu64 " records, and "
		    "behind it are %zu bytes, %d each", name, count,
		    size - RECORDS_HEAD, RECORDS_ENTRY);
		return records_damaged(err);
	}
	if (count == 0)
		return err_set(err, "%s: there are no records", name);
	if (hash_bytes(index + RECORDS_HEAD, size - RECORDS_HEAD) !=
	    le_get(index + 24, 8)) {
		err_set(err, "%s: the index is not what its hash says", name);
		return records_damaged(err);
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t end = records_end(index, i);

		if (end < before)
			return err_set(err, "%s: record %" PRIu64 " ends ahead "
			    "of the one before", name, i);
		before = end;
	}
	if (before != data_size) {
		err_set(err, "%s: the records are %" PRIu64 " bytes, and the "
		    "file beside has %" PRIu64, name, before, data_size);
		return records_damaged(err);
	}
	*out = count;
	return 0;
}
