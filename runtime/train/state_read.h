/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_read: a folder that state_set_write wrote.
 *
 * Opening checks every file's length and checksum, so that a damaged file is
 * named before anything of it is used.  Any bytes in any of the files are
 * safe.
 */
#ifndef RUNTIME_TRAIN_STATE_READ_H
#define RUNTIME_TRAIN_STATE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/strv.h"

struct err;
struct state_reader;

/* Where an array is; all borrowed from the reader. */
struct state_place {
	const char	*name, *dtype, *file;
	const uint64_t	*shape;
	size_t		 rank;
	uint64_t	 bytes, offset;		/* in the file */
	int		 fd;
};

/* Reads the manifest and all headers, and checks all bytes. */
int  state_reader_open(struct state_reader **out, const char *folder,
    struct err *err);
/* NULL is fine. */
void state_reader_close(struct state_reader *r);

/* A text of the manifest's "info", or NULL; as a number from lo to hi, or an
 * error that names the manifest. */
const char *state_reader_info(const struct state_reader *r, const char *name);
int  state_reader_number(const struct state_reader *r, const char *name,
    long lo, long hi, long *out, struct err *err);

/* The array of that name in the part; false where there is none. */
bool state_reader_find(const struct state_reader *r, const char *stem,
    const char *name, struct state_place *out);
/* The i-th array of the part, in the order of the files; false behind the
 * last. */
bool state_reader_at(const struct state_reader *r, const char *stem, size_t i,
    struct state_place *out);
/* Copies its bytes. */
int  state_reader_read(const struct state_reader *r,
    const struct state_place *p, void *out, struct err *err);

/* The manifest's parts, for its reader and its fuzz target. */
struct state_file {
	char		*name;
	uint64_t	 bytes;
	uint32_t	 crc;
};
struct state_manifest {
	struct strv		 info;		/* NAME=VALUE */
	struct state_file	*file;
	size_t			 count;
};
/* "name" is for messages.  On failure *m is empty. */
int  state_manifest_parse(struct state_manifest *m, const char *text, size_t n,
    const char *name, struct err *err);
void state_manifest_clear(struct state_manifest *m);
#endif
