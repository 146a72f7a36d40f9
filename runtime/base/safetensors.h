/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors: what a file of weights holds, from its header alone.
 *
 * Eight bytes, little-endian, say how long the header is; the header is a JSON
 * object with a name, an element type, a shape and a place for each tensor;
 * the data follows.  A header is accepted where the format's own library
 * accepts it: at most 100 MB, no name twice, the tensors side by side without
 * a hole from the data's first byte to its last, each as long as its type and
 * shape say.  Any bytes are safe to give.
 *
 * Nothing here reads the data: a tensor's bytes are [data + begin, data + end)
 * of the file.
 */
#ifndef RUNTIME_BASE_SAFETENSORS_H
#define RUNTIME_BASE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/strv.h"

struct err;

struct dtype {
	const char	*name;		/* "BF16" */
	unsigned	 bits;		/* of one element */
};

struct tensor {
	char			*name;	/* owned by the struct safetensors */
	const struct dtype	*dtype;
	uint64_t		*shape;	/* rank numbers; a scalar has none */
	size_t			 rank;
	uint64_t		 elements;
	uint64_t		 begin, end;	/* from the data's start */
};

struct safetensors {
	struct tensor	*tensor;	/* in the data's order */
	size_t		 count;
	size_t		*by_name;	/* numbers, names ascending */
	struct strv	 metadata;	/* "__metadata__", as NAME=VALUE */
	uint64_t	 data;		/* where it begins in the file */
	uint64_t	 size;		/* of the data, in bytes */
};

#define SAFETENSORS_INIT { NULL, 0, NULL, STRV_INIT, 0, 0 }

enum { SAFETENSORS_HEADER_MAX = 100000000 };

/* Reads the header of a file.  On failure *st is empty. */
int safetensors_open(struct safetensors *st, const char *path,
    struct err *err);

/* The same from a header in memory, of a file with "size" bytes of data;
 * "name" is for messages.  "data" is set as if it stood in a file. */
int safetensors_parse(struct safetensors *st, const char *header, size_t n,
    uint64_t size, const char *name, struct err *err);

/* Frees all and leaves *st empty and ready. */
void safetensors_clear(struct safetensors *st);

/* The tensor of that name, borrowed, or NULL. */
const struct tensor *safetensors_find(const struct safetensors *st,
    const char *name);

/* The element type of that name in a header, or NULL. */
const struct dtype *dtype_of(const char *name);
#endif
