/* SPDX-License-Identifier: Apache-2.0 */
/* model: a model as the words of a command tell it: a file or a hub name, or
 * its parameters and shape by hand. */
#ifndef RUNTIME_CLI_MODEL_H
#define RUNTIME_CLI_MODEL_H

#include "runtime/cli/command.h"

struct err;
struct model;

struct model_words {		/* as they were typed, or NULL */
	const char	*params, *layers, *hidden, *heads, *kv_heads,
	    *head_dim, *ffn, *vocab;
	bool		 gated;
};

/* Rows for a command's options; "s" is its struct, "m" its struct
 * model_words. */
#define MODEL_WORDS(s, m)						\
	VALUE(s, m.params, "params", 0, "N", TAKES_TEXT,		\
	    "parameters: 7B, 124M; no MODEL then"),			\
	VALUE(s, m.layers, "layers", 0, "N", TAKES_TEXT,		\
	    "the shape, by hand"),					\
	VALUE(s, m.hidden, "hidden", 0, "N", TAKES_TEXT, "width"),	\
	VALUE(s, m.heads, "heads", 0, "N", TAKES_TEXT,			\
	    "of attention"),						\
	VALUE(s, m.kv_heads, "kv_heads", 0, "N", TAKES_TEXT,		\
	    "of keys and values"),					\
	VALUE(s, m.head_dim, "head_dim", 0, "N", TAKES_TEXT,		\
	    "width of a head"),						\
	VALUE(s, m.ffn, "ffn", 0, "N", TAKES_TEXT,			\
	    "width of the feed-forward part"),				\
	VALUE(s, m.vocab, "vocab", 0, "N", TAKES_TEXT, "words"),	\
	SWITCH(s, m.gated, "gated", 0,					\
	    "the feed-forward part has a gate")

/* Reads and settles the model; "name" is a file, folder or hub name, or NULL.
 * "example" is how a user would name one, for the hint where nothing was
 * given.  *m is the caller's to clear, on failure as well. */
int  cli_model(struct model *m, const char *name, const struct model_words *w,
    const char *example, struct err *err);

/* A whole number from 1 to hi, where "text" is not NULL; else *out stays. */
int  cli_count(const char *text, const char *flag, long hi, long *out,
    struct err *err);
#endif
