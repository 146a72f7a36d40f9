/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet: what a file will look like, before any of it is written: where its
 * tensors go, and the bytes around them.
 */
#ifndef RUNTIME_WEIGHTS_SHEET_H
#define RUNTIME_WEIGHTS_SHEET_H

#include "runtime/base/buf.h"
#include "runtime/weights/weights.h"

struct patch {
	uint64_t	at;		/* byte of the file */
	size_t		from, n;	/* bytes of the sheet's text */
};

struct sheet {
	char		*name;		/* of the file */
	size_t		*tensor;	/* numbers, in the order of the file */
	uint64_t	*at;		/* byte of the file, for each */
	size_t		 tensors;
	uint64_t	 size;
	struct buf	 text;
	struct patch	*patch;
	size_t		 patches, room;
};

/* Adds n bytes at "at", and moves the file's end behind them. */
int  sheet_put(struct sheet *s, uint64_t at, const void *data, size_t n,
    struct err *err);
void sheet_clear(struct sheet *s);

/* Lay out a file of s->tensor[0 .. s->tensors - 1]. */
int  sheet_safetensors(struct sheet *s, const struct weights *w,
    struct err *err);
int  sheet_torch(struct sheet *s, const struct weights *w, struct err *err);
/* Fills the check sums in, once the tensors are in the mapped file. */
void sheet_torch_seal(const struct sheet *s, unsigned char *file);
#endif
