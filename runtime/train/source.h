/* SPDX-License-Identifier: Apache-2.0 */
/* source: what memory, token files, records and callbacks have in common. */
#ifndef RUNTIME_TRAIN_SOURCE_H
#define RUNTIME_TRAIN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/train/accel.h"

struct err;

struct source_ops {
	/* The bytes of a row; asked only where row_bytes is 0. */
	size_t (*bytes)(const struct accel_source *s, int64_t index);
	/* Copies the row, which is of so many bytes.  0, or -1 and *err. */
	int    (*read)(const struct accel_source *s, int64_t index, void *row,
	    size_t bytes, struct err *err);
	void   (*free)(struct accel_source *s);
};

/* The first member of each kind. */
struct accel_source {
	const struct source_ops	*ops;	/* NULL: a callback */
	int64_t			 n;	/* -1: a stream */
	size_t			 row_bytes; /* 0: they differ */
	accel_read_fn		 fn;
	void			*user;
};

/* Rows side by side, of any lengths. */
struct rows {
	char	*data;
	size_t	 len, room;
	size_t	*offset;	/* count + 1 of them, once anything is in */
	int	 count, slots;
};

/* Adds one row.  ACCEL_END where a stream is through, a negative status with
 * *err; *rows is then as it was. */
accel_status source_read(const struct accel_source *s, int64_t epoch,
    int64_t index, struct rows *rows, struct err *err);

/* Adds row i of another. */
accel_status rows_copy(struct rows *rows, const struct rows *from, int i,
    struct err *err);

/* Leaves it empty, with the memory that it has. */
void rows_reset(struct rows *rows);
void rows_clear(struct rows *rows);

/* Makes room for so many bytes more and one row more; NULL: no memory. */
char *rows_room(struct rows *rows, size_t bytes);

/* A whole file, mapped to be read.  An empty one is refused, for no format here
 * has one. */
struct mapping {
	const unsigned char	*data;
	size_t			 size;
	int			 fd;
	char			*path;
};

#define MAPPING_INIT { NULL, 0, -1, NULL }

int  mapping_open(struct mapping *m, const char *path, struct err *err);
void mapping_close(struct mapping *m);
/* A file that became shorter would end this process by SIGBUS: asks. */
int  mapping_check(const struct mapping *m, struct err *err);
#endif
