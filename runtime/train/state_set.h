/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_set: named arrays in memory, and how they become files of a folder.
 *
 * The arrays are in parts ("model", "optimizer", ...).  A part is one file
 * STEM.safetensors, or several of at most so many bytes with an index, named
 * as Accelerate names them:
 *
 *	STEM-00001-of-00003.safetensors ...
 *	STEM.safetensors.index.json	{"metadata": {"total_size": bytes},
 *					 "weight_map": {tensor: file}}
 *
 * Beside them the manifest, accel_state.json:
 *
 *	{"content": {"format": "accel-state", "version": 1,
 *		"info": {name: text},
 *		"files": {name: {"bytes": n, "crc32c": "e3069283"}}},
 *	 "crc32c": "..."}	of "content", compact, its keys ascending
 *
 * Nothing here knows what the arrays mean, and nothing makes the folder appear
 * as a whole: see state.c and state_folder.h.
 */
#ifndef RUNTIME_TRAIN_STATE_SET_H
#define RUNTIME_TRAIN_STATE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/strv.h"

struct err;

#define STATE_MANIFEST "accel_state.json"
#define STATE_FORMAT "accel-state"
enum { STATE_FORMAT_VERSION = 1, STATE_PARTS = 4 };

struct state_item {
	char		*name;
	const char	*dtype;		/* "F32"; static */
	int		 rank;		/* of the shape */
	int64_t		 shape[8];
	const void	*data;
	uint64_t	 bytes;
	void		*own;		/* data, where the set owns them */
};

struct state_part {
	const char		*stem;	/* static */
	struct state_item	*item;
	size_t			 count;
};

struct state_set {
	struct state_part	 part[STATE_PARTS];
	size_t			 count;
	struct strv		 info;	/* NAME=VALUE for the manifest */
};

#define STATE_SET_INIT { .count = 0 }

/* Adds an array, borrowing its data until they are written.  "name" is copied;
 * "stem" and "dtype" are static texts. */
int state_set_add(struct state_set *s, const char *stem, const char *name,
    const char *dtype, const int64_t *shape, int rank, const void *data,
    uint64_t bytes, struct err *err);

/* The same for bytes (U8, one axis), which it copies. */
int state_set_bytes(struct state_set *s, const char *stem, const char *name,
    const void *data, uint64_t bytes, struct err *err);

/* The same for any array that it copies. */
int state_set_copy(struct state_set *s, const char *stem, const char *name,
    const char *dtype, const int64_t *shape, int rank, const void *data,
    uint64_t bytes, struct err *err);

/* Memory for copies, kept from one save to the next: to touch fresh pages takes
 * several times as long as to fill them. */
struct state_room {
	char	*data;
	size_t	 size;
};

/* Copies all that is borrowed into the room, which grows if it must, and
 * borrows from there.  "fetch" reads what is no memory of the host's; NULL: all
 * is. */
struct state_fetch {
	int	(*read)(void *user, void *to, const void *from, uint64_t bytes,
	    struct err *err);
	void	*user;
};
int state_set_move(struct state_set *s, struct state_room *room,
    const struct state_fetch *fetch, struct err *err);

/* Writes all parts, and the manifest where "manifest" says so, into the folder
 * open as "dir" ("path" is for messages), each file synced to the disk.  Files
 * have at most shard_max bytes of data (0: no limit; a larger array has a file
 * of its own).  Files that were there are not touched: theirs is an error. */
int state_set_write(const struct state_set *s, int dir, const char *path,
    uint64_t shard_max, bool manifest, struct err *err);

void state_set_clear(struct state_set *s);
#endif
