/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats: how files of tokens and of records begin.  Any bytes are safe.
 *
 * Our token file begins with 32 bytes:
 *
 *	"ACCELTOK"  u32 version (1)  u32 bytes of a token (2 or 4)
 *	u64 tokens  u64 0
 *
 * llm.c's (dev/data/data_common.py) with 256 int32, of which three count:
 * 20240520, 1, tokens for uint16; 20240801, 7, tokens for uint32.  nanoGPT's
 * are tokens alone.
 *
 * Records are two files.  NAME is their bytes, one behind the other.  NAME.idx
 * begins with 32 bytes,
 *
 *	"ACCELREC"  u32 version (1)  u32 0  u64 records  u64 hash
 *
 * and has for each record u64 end (in NAME), u64 hash.  The head's hash is of
 * all that follows it, a record's of its bytes: FNV-1a of 64 bits.
 *
 * All numbers are little-endian.
 */
#ifndef RUNTIME_TRAIN_FORMATS_H
#define RUNTIME_TRAIN_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/train/accel.h"

struct err;

enum {
	TOKENS_HEAD = 32, TOKENS_VERSION = 1,
	RECORDS_HEAD = 32, RECORDS_ENTRY = 16, RECORDS_VERSION = 1,
};

extern const char tokens_magic[8], records_magic[8];

/* What a token file of "size" bytes, of which the first "have" are given, says
 * of itself.  1024 are enough. */
struct tokens_head {
	size_t	 begin;		/* of the tokens in the file, bytes */
	int	 width;		/* bytes of one */
	uint64_t count;
};

int tokens_parse(struct tokens_head *head, const void *data, size_t have,
    uint64_t size, accel_tokens_layout layout, const char *name,
    struct err *err);

/* Checks the index of records, whole: every record lies behind the one before,
 * in "data_size" bytes. */
int records_parse(const void *index, size_t size, uint64_t data_size,
    const char *name, uint64_t *count, struct err *err);
/* Where a record ends. */
uint64_t records_end(const unsigned char *index, uint64_t record);
/* The hint for a file that is not whole.  Returns -1. */
int records_damaged(struct err *err);

static inline uint64_t
le_get(const void *from, int bytes)
{
	const unsigned char	*p = from;
	uint64_t		 v = 0;

	for (int i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static inline void
le_put(void *to, uint64_t v, int bytes)
{
	unsigned char *p = to;

	for (int i = 0; i < bytes; i++, v >>= 8)
		p[i] = (unsigned char)v;
}
#endif
