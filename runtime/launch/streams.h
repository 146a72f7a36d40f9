/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: which outputs a rank has somewhere, as torchrun's --tee and
 * --redirects say it: 0, 1 (stdout), 2 (stderr) or 3 (both) for every rank, or
 * "rank:n,..." for some; the ranks are local ones, as they are there.
 */
#ifndef RUNTIME_LAUNCH_STREAMS_H
#define RUNTIME_LAUNCH_STREAMS_H

#include <stddef.h>

struct err;

struct streams {
	unsigned	 every;		/* STREAM_ bits of the other ranks */
	struct stream_of {
		long		 rank;
		unsigned	 which;
	}		*of;
	size_t		 count;
};

enum { STREAM_OUT = 1, STREAM_ERR = 2, STREAM_BOTH = 3 };

#define STREAMS_INIT	{ 0, NULL, 0 }

/* "flag" is for messages.  On failure *s is as it was. */
int  streams_parse(struct streams *s, const char *flag, const char *text,
    struct err *err);
unsigned streams_of(const struct streams *s, long local_rank);
/* True where some rank may have one. */
int  streams_any(const struct streams *s);
void streams_clear(struct streams *s);
#endif
