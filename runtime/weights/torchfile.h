/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchfile: the tensor in what torch.save wrote.
 *
 * An archive (zip.h) holds a pickle that says type, shape and strides, and the
 * storage as raw bytes.  The pickle is read, never run.
 */
#ifndef RUNTIME_WEIGHTS_TORCHFILE_H
#define RUNTIME_WEIGHTS_TORCHFILE_H

#include "runtime/weights/weights.h"

struct pickle_value;

struct torchfile {
	const struct dtype	*dtype;
	int			 rank;
	int64_t			 shape[WEIGHTS_RANK], stride[WEIGHTS_RANK];
	size_t			 begin, end;	/* of the storage */
	uint64_t		 first;		/* byte of the first element */
};

/* One tensor, and nothing else, in n bytes. */
int torchfile_read(struct torchfile *t, const void *data, size_t n,
    struct err *err);

/* A tuple of whole numbers from 0 up, or a torch.Size: 0 and *rank of them. */
int torch_numbers(const struct pickle_value *v, int *rank,
    int64_t out[WEIGHTS_RANK]);
#endif
