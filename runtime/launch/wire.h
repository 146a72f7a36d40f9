/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: what the launcher and a host's agent say to each other.
 *
 * A frame is a type (1 byte), a length (4 bytes, little endian) and that many
 * bytes.  Inside, numbers are 4 bytes and a text is its length and its bytes, so
 * that arguments, environment and folder arrive as they were, through no shell.
 */
#ifndef RUNTIME_LAUNCH_WIRE_H
#define RUNTIME_LAUNCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"

enum {
	WIRE_VERSION = 4,
	WIRE_MAX = 16 << 20,		/* bytes in a frame */
	WIRE_BEAT_MS = 1000,		/* each side says something that often */
	WIRE_SILENCE_MS = 10000		/* and is lost after this long */
};

enum {				/* what WIRE_CHECK asks for */
	WIRE_CHECK_FACTS = 1 << 0,	/* more than what a start needs */
	WIRE_CHECK_PYTHON = 1 << 1,	/* the program is an interpreter */
	WIRE_CHECK_TOPOLOGY = 1 << 2,	/* topology.h */
	WIRE_CHECK_NET = 1 << 3		/* its interfaces and their addresses */
};

enum {				/* what WIRE_INPUT is about */
	WIRE_INPUT_OPEN, WIRE_INPUT_BYTES, WIRE_INPUT_END
};
#define WIRE_INPUT_CLOSED	UINT32_MAX	/* nobody reads it any more */
#define WIRE_UNKNOWN		UINT32_MAX	/* in WIRE_USAGE */

enum wire_type {
	/* from the launcher */
	WIRE_BEAT = 1,	/* both ways: nothing but "I am here" */
	WIRE_CHECK,	/* WIRE_CHECK_..., folder, program, script or "", PATH or
			   "", what to activate first or "" */
	WIRE_HOLD,	/* address or "" for all, port (0: any), token: bind it
			   until rank 0 starts, and give who comes the token */
	WIRE_PROBE,	/* port, token, n, address...: which lead to who knows
			   the token? */
	WIRE_START,	/* one rank: grace ms, how many such frames come in all,
			   rank, n, CPU to bind it to..., folder, argc, argv...,
			   envc, env... (over the agent's own) */
	WIRE_SIGNAL,	/* signal for all ranks; from SIGSTOP to SIGCONT the
			   launcher is stopped too, and silent: the agent
			   sends SIGSTOP back when it knows */
	WIRE_STOP,	/* grace ms: end all ranks */
	WIRE_INPUT,	/* rank, WIRE_INPUT_..., bytes: of its stdin, which it
			   has where "open" comes before its start; the agent
			   says how many bytes went, or WIRE_INPUT_CLOSED */
	/* from the agent */
	WIRE_HELLO,	/* version, host name, address on which ssh came or "" */
	WIRE_CHECKED,	/* n, (fatal, problem, what to do)..., m, fact... as
			   "name=value" */
	WIRE_HELD,	/* port or 0, problem */
	WIRE_PROBED,	/* n, (problem or "", interface of our own address on the
			   way, interface that the route leaves by)... */
	WIRE_STARTED,	/* rank, pid */
	WIRE_OUT,	/* rank, stream 1 or 2, or 3: the tracker's, bytes */
	WIRE_EXIT,	/* rank, status as of waitpid, reason or "" */
	WIRE_PMI,	/* both ways: rank, a line of PMI-1 */
	WIRE_DONE,	/* no process of the job is left */
	/* a copy of the working folder, before WIRE_CHECK */
	WIRE_TREE,	/* folder, what tells it from others, name of the copy,
			   last?, n, (kind, path, target, mode, size, seconds,
			   nanoseconds)...: what is to be there; 8 bytes for size
			   and seconds */
	WIRE_WANT,	/* from the agent: n, index...: send these files */
	WIRE_FILE,	/* index, last?, bytes */
	WIRE_SYNCED,	/* from the agent: problem or "", what to do, folder */
	/* while ranks run */
	WIRE_USAGE,	/* from the launcher, empty: what is in use?  From the
			   agent: milliseconds of its clock, CPUs, milliseconds
			   that they were busy, MiB of memory in use and in all,
			   n, (GPU's number, percent busy, MiB in use and in
			   all)..., m, (rank, milliseconds of CPU time, KiB of
			   memory, MiB on GPUs, processes)...; what is unknown is
			   WIRE_UNKNOWN, and times wrap around */
	/* for accel probe, where no rank is to run */
	WIRE_MACHINE,	/* folder, python or "": all that you are; WIRE_CHECKED
			   answers, with facts as facts.h has them */
	WIRE_LISTEN,	/* token: serve who measures; WIRE_HELD answers */
	WIRE_MEASURE,	/* port, token, ms of bytes, n, address...: how fast is
			   the way to who listens there? */
	WIRE_MEASURED	/* from the agent: problem or "", ns one way, kbit/s */
};

/* Appends a frame: begin, put what it holds, end. */
size_t wire_begin(struct buf *out, enum wire_type type);
void wire_put(struct buf *out, uint32_t number);
void wire_put_bytes(struct buf *out, const void *data, size_t n);
void wire_put_text(struct buf *out, const char *text);
void wire_end(struct buf *out, size_t begun);

/* One frame, borrowed from the buffer that it was read from. */
struct wire_frame {
	enum wire_type	 type;
	const char	*at;
	size_t		 left;
	bool		 bad;	/* something was read that was not there */
};

/* 1 and the frame at the front of *in (its bytes stay there: then take
 * wire_size()), 0 where it is not whole yet, -1 where it cannot be one. */
int wire_next(const struct buf *in, struct wire_frame *frame);
/* Removes what a login shell wrote before an agent's WIRE_HELLO.  1 when that
 * is at the front, 0 where it may still come, -1 where it will not. */
int wire_skip_noise(struct buf *in);
size_t wire_size(const struct buf *in);
/* Steps over it in a copy of *in, whose bytes stay where they are: many small
 * frames are taken at once. */
void wire_skip(struct buf *view);

uint32_t wire_get(struct wire_frame *frame);
/* Borrowed, not ended by NUL. */
const char *wire_get_bytes(struct wire_frame *frame, size_t *n);
/* Gives a text (NULL where the frame is bad, or without memory). */
char *wire_get_text(struct wire_frame *frame);

/* Writes what the descriptor takes now and removes it from *out.  0, or -1
 * where the other side is gone. */
int wire_flush(int fd, struct buf *out);
/* Reads what is there.  1, 0 at the end, -1 on an error; 1 with nothing new
 * where it would block. */
int wire_fill(int fd, struct buf *in);
#endif
