/* SPDX-License-Identifier: Apache-2.0 */
/* listing: the files below a folder, as --sync copies them.  Links are not
 * followed; sockets, pipes and devices are left out. */
#ifndef RUNTIME_LAUNCH_LISTING_H
#define RUNTIME_LAUNCH_LISTING_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct strv;

struct listing_entry {
	char		 kind;		/* 'd', 'f', 'l' */
	char		*path;		/* below the top; owned */
	char		*target;	/* of a link, or NULL */
	uint32_t	 mode, mtime_ns;
	uint64_t	 size;
	int64_t		 mtime_s;
};

struct listing {
	struct listing_entry	*entry;		/* a folder before what is in it */
	size_t			 count;
};

/* What .accelignore at the top says is left out, and .git and __pycache__
 * unless it takes them back. */
int  listing_read(struct listing *tree, const char *folder, struct err *err);
void listing_clear(struct listing *tree);
#endif
