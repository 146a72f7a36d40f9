/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip: where the members of an archive lie that torch.save wrote.
 *
 * They are stored as they are, so a member is a range of the archive and is
 * never copied.  Compressed and encrypted ones are refused.  Check sums are
 * not looked at: torch.serialization.set_crc32_options(False) writes wrong ones
 * on purpose, and PyTorch does not check them either.
 */
#ifndef RUNTIME_WEIGHTS_ZIP_H
#define RUNTIME_WEIGHTS_ZIP_H

#include <stddef.h>
#include <stdint.h>

struct err;

struct zip {
	const unsigned char	*data;		/* borrowed */
	size_t			 n, dir, dir_n;	/* the central directory */
};

int zip_open(struct zip *z, const void *data, size_t n, struct err *err);

/* The member behind the archive's first folder ("data.pkl" finds
 * archive/data.pkl): 1 and the range, 0 where there is none, -1. */
int zip_find(const struct zip *z, const char *name, size_t *at, size_t *n,
    struct err *err);
#endif
