/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: how many parameters a model has, and in what shape.
 *
 * From a config.json of a known family (families.def) the count is exact: the
 * one that the published weights have.  From weights on disk it is exact as
 * well, from their headers; then the shape is known where a config.json lies
 * beside them.  Nothing is downloaded; a name of the Hugging Face hub is looked
 * up in the local cache.
 */
#ifndef RUNTIME_CONFIG_MODEL_H
#define RUNTIME_CONFIG_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct model {
	char		*name;		/* owned: as the user called it */
	const char	*family;	/* "llama"; NULL: not known */
	const char	*from;		/* "config.json", "weights"... */
	uint64_t	 params;	/* of the model that is trained */
	uint64_t	 active;	/* of those, used for one token */
	uint64_t	 stored;	/* in weights beside the file, or 0 */

	/* What Accelerate's estimate counts, in bytes of float32: the model
	 * without a head for a task, with its buffers; and the largest part
	 * that is never split (0: not known). */
	uint64_t	 plain_bytes, largest_bytes;

	/* The shape; 0 where it is not known. */
	uint64_t	 block;		/* parameters of the largest layer */
	uint64_t	 embedding;	/* of the table of words */
	uint64_t	 layers, hidden, heads, kv_heads, head_dim;
	uint64_t	 ffn;		/* width for a token, all its experts */
	uint64_t	 vocab;		/* of an output over words, or 0 */
	uint64_t	 positions, experts;
	unsigned	 norms;		/* of a layer */
	bool		 rms;		/* they are RMSNorms, not LayerNorms */
	bool		 fused;		/* q, k, v are one product; gate, up */
	bool		 gated;		/* the feed-forward part has a gate */
	bool		 dropout;	/* masks of dropout are kept */
	bool		 unusual;	/* layers with experts, or two stacks */
	bool		 guess;		/* params follow from a shape alone */
};

/* Reads a config.json that is in memory; "name" is for messages.  On failure
 * *m is empty.  *m need not be initialised; model_clear() frees it. */
int  model_parse(struct model *m, const char *json, size_t n,
    const char *name, struct err *err);

/* Finds and reads a model: a config.json, a .safetensors file or index, a
 * folder with these, or a hub name in the local cache. */
int  model_read(struct model *m, const char *name, struct err *err);

/* Settles a model whose parameters or shape were set by hand: what is missing
 * follows from the rest, or -1 where too little is there. */
int  model_settle(struct model *m, struct err *err);

void model_clear(struct model *m);

/* "7B", "124M", "6738415616": a count of parameters. */
int  model_count(const char *text, uint64_t *out);

/* The folder of a hub name in the local cache, which the caller frees; or NULL,
 * with what to do about it. */
char *hub_find(const char *name, struct err *err);
#endif
