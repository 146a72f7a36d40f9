/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_write: the header of a safetensors file; the data are the
 * caller's to write behind it.  See safetensors.h for reading. */
#ifndef RUNTIME_BASE_SAFETENSORS_WRITE_H
#define RUNTIME_BASE_SAFETENSORS_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct dtype;
struct err;

struct safetensors_row {
	const char		*name;
	const struct dtype	*dtype;
	const int64_t		*shape;
	int			 rank;
	uint64_t		 begin, end;	/* from the data's start */
};

/* Adds what stands in front of the data: the length, and the JSON, padded with
 * blanks so that the data begin at a multiple of 8.  "metadata" is a name, a
 * value, ..., NULL.  Rows lie side by side from 0 on. */
int safetensors_header(struct buf *out, const struct safetensors_row *row,
    size_t n, const char *const metadata[], struct err *err);
#endif
