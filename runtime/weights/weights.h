/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights: tensors whose pieces lie in several files, made whole.
 *
 *	struct weights w = WEIGHTS_INIT;
 *	weights_read(&w, folder, &err);		a checkpoint's parts
 *	weights_write(&w, &out, &err);		model.safetensors
 *	weights_clear(&w);
 *
 * Files are mapped, not loaded: the memory that is needed is that of names and
 * shapes.  A piece is a box of a tensor; each says where its elements lie in a
 * file, whose bounds were checked.  A file that gets shorter while it is mapped
 * raises SIGBUS.
 */
#ifndef RUNTIME_WEIGHTS_WEIGHTS_H
#define RUNTIME_WEIGHTS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/safetensors.h"
#include "runtime/base/strv.h"

struct err;

enum { WEIGHTS_RANK = 8 };		/* most dimensions of a tensor */

struct box {
	int64_t	at[WEIGHTS_RANK], shape[WEIGHTS_RANK];
};

struct piece {
	size_t		tensor, file;	/* numbers */
	struct box	box;
	int64_t		stride[WEIGHTS_RANK];	/* in elements */
	uint64_t	first;		/* byte of the file */
	bool		again;		/* the same box as the piece before */
};

struct whole {
	char			*key;	/* in the checkpoint */
	char			*name;	/* in the output, or NULL: as the key */
	const struct dtype	*dtype;
	int			 rank;
	int64_t			 shape[WEIGHTS_RANK];
	uint64_t		 bytes;
	size_t			 piece, pieces;	/* after weights_check */
};

struct weights_file {
	char			*path;
	const unsigned char	*data;
	size_t			 n;
};

struct weights {
	struct whole		*tensor;	/* in the checkpoint's order */
	struct piece		*piece;
	struct weights_file	*file;
	size_t			 tensors, pieces, files;
	struct strv		 objects;	/* keys of what is no tensor */
	size_t			 tensor_room, piece_room, file_room;
	size_t			*table, table_room;	/* keys to tensors */
};
#define WEIGHTS_INIT { NULL, NULL, NULL, 0, 0, 0, STRV_INIT, 0, 0, 0, NULL, 0 }

/* Reads a checkpoint folder of either kind, and checks that each tensor is
 * there as a whole.  The error names the tensor, the class or the file. */
int  weights_read(struct weights *w, const char *folder, struct err *err);
void weights_clear(struct weights *w);

/* The parts of weights_read: a folder with .metadata, as
 * torch.distributed.checkpoint writes it; and a folder of safetensors files. */
int  weights_read_dcp(struct weights *w, const char *folder, struct err *err);
int  weights_read_shards(struct weights *w, const char *folder,
    struct err *err);
int  weights_check(struct weights *w, struct err *err);

/* For readers.  Numbers of a file (mapped once), of a new tensor (-1: the key
 * is there already), of the tensor of a key (-1: none). */
int64_t weights_map(struct weights *w, const char *path, struct err *err);
int64_t weights_add(struct weights *w, const char *key,
    const struct dtype *dtype, int rank, const int64_t *shape,
    struct err *err);
int64_t weights_find(const struct weights *w, const char *key);
/* Another shape of as many dimensions. */
int  weights_reshape(struct weights *w, size_t tensor, const int64_t *shape,
    struct err *err);
/* A piece whose elements lie in bytes [begin, end) of its file, the first one
 * at p->first. */
int  weights_add_piece(struct weights *w, const struct piece *p,
    uint64_t begin, uint64_t end, struct err *err);
static inline const char *
weights_name(const struct whole *t)
{
	return t->name ? t->name : t->key;
}

struct weights_out {
	const char	*folder;	/* made if need be */
	uint64_t	 shard_max;	/* bytes of a file; 0: one file */
	bool		 torch;		/* pytorch_model.bin, as torch.save */
	void		(*progress)(void *user, uint64_t done, uint64_t total);
	void		*user;
};

/* Writes into a folder beside the files and renames them when all are there,
 * the index last.  Files of the same names are replaced, others stay; where a
 * loader would prefer one of those to the new ones, nothing is begun.  On
 * failure nothing is left and nothing was changed. */
int  weights_write(const struct weights *w, const struct weights_out *out,
    struct err *err);
/* Removes what a write that is going on has made so far; a signal handler may
 * call it.  So there is one write at a time in a process. */
void weights_abandon(void);

/* Copies a tensor's pieces to "to", which has its bytes.  "moved" is called
 * with bytes that were copied. */
int  weights_copy(const struct weights *w, size_t tensor, unsigned char *to,
    void (*moved)(void *user, uint64_t n), void *user, struct err *err);
#endif
