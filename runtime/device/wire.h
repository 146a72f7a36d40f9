/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: frames on a stream socket: u32 length (network order) of what follows,
 * u8 kind, payload.  Reading never blocks, so one slow peer stops nobody.
 */
#ifndef RUNTIME_DEVICE_WIRE_H
#define RUNTIME_DEVICE_WIRE_H

#include <stddef.h>

#include "runtime/base/buf.h"

enum wire_kind {
	WIRE_HELLO = 1,		/* client: magic, rank, world, host, token */
	WIRE_WELCOME,		/* server: everybody is here */
	WIRE_REFUSED,		/* server: text */
	WIRE_BEAT,		/* both; a client's: u64 operation, its name */
	WIRE_DEAD,		/* server: rank, text */
	WIRE_ABORT,		/* client: text */
	WIRE_LEAVE,		/* client: a clean end */
	WIRE_PUT,		/* client: key NUL value */
	WIRE_GET,		/* client: key */
	WIRE_VALUE,		/* server: value */
	WIRE_BARRIER,		/* client, and back when all came */
	WIRE_PMI,		/* client: a PMI-1 line; server: its answer */
	WIRE_MISSING,		/* client: u64 operation; answered by a VALUE */
};

#define WIRE_MAX	(1u << 20)

struct wire {
	int		fd;	/* -1: closed */
	struct buf	in;
};

#define WIRE_INIT { -1, BUF_INIT }

/* Sends one frame of two parts.  Waits at most the socket's SO_SNDTIMEO. */
int wire_send(int fd, enum wire_kind kind, const void *a, size_t na,
    const void *b, size_t nb);

/* Takes what has arrived.  -1: the other end is gone. */
int wire_fill(struct wire *w);

/* 1 and the first whole frame (borrowed until wire_drop), 0 none yet, -1 the
 * bytes are no frame. */
int wire_peek(const struct wire *w, int *kind, const char **data, size_t *n);
void wire_drop(struct wire *w);

/* Closes the socket, frees the bytes. */
void wire_close(struct wire *w);

/* Sets what every socket here has: no delay, no inheritance, a send limit. */
void wire_tune(int fd);
#endif
