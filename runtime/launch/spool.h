/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool: bytes that wait for a slow reader, in order: in memory, and what is
 * too much for that in a file without a name, which goes away with us.
 */
#ifndef RUNTIME_LAUNCH_SPOOL_H
#define RUNTIME_LAUNCH_SPOOL_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/buf.h"

enum { SPOOL_MEMORY = 8 << 20 };	/* bytes kept in memory */

struct spool {
	struct buf	 head;		/* goes first */
	int		 fd;		/* the file, or -1 */
	off_t		 from, to;	/* what of it is still to come */
};

#define SPOOL_INIT	{ BUF_INIT, -1, 0, 0 }

/* 0, or -1 where neither memory nor disk takes it: nothing of it was added. */
int spool_add(struct spool *s, const void *data, size_t n);
/* What comes next, of which some may be taken; 0 where nothing is left. */
size_t spool_peek(struct spool *s, const char **data);
void spool_take(struct spool *s, size_t n);
/* All that waits. */
size_t spool_size(const struct spool *s);
void spool_clear(struct spool *s);
#endif
