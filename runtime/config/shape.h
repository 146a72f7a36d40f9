/* SPDX-License-Identifier: Apache-2.0 */
/* shape: what a config.json says of a model; for the files that count it. */
#ifndef RUNTIME_CONFIG_SHAPE_H
#define RUNTIME_CONFIG_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct err;

enum {
	QKV_BIAS = 1 << 0, OUT_BIAS = 1 << 1, MLP_BIAS = 1 << 2,
	BIAS_KEY = 1 << 3, GATED = 1 << 4, LAYERNORM = 1 << 5,
	NO_FINAL = 1 << 6, QK_NORM = 1 << 7, QK_WIDE = 1 << 8,
	POSITIONS = 1 << 9, TYPES = 1 << 10, EMBED_NORM = 1 << 11,
	POOLER = 1 << 12, TIED = 1 << 13, HEAD_BIAS = 1 << 14,
	ENCODER = 1 << 15, DROPOUT = 1 << 16, DENSE_HEAD = 1 << 17,
	LATENT = 1 << 18,	/* DeepSeek's compressed keys and values */
	ROUTER_BIAS = 1 << 19, SINKS = 1 << 20, FUSED = 1 << 21,
	ENCODER_PARTS = QKV_BIAS | OUT_BIAS | MLP_BIAS | LAYERNORM | POSITIONS |
	    EMBED_NORM | NO_FINAL | TIED | ENCODER | DROPOUT
};

struct family {			/* a row of families.def */
	const char	*type;
	unsigned	 norms, has;
};

struct shape {			/* what the file says */
	const struct family	*family;
	unsigned		 has, norms;
	uint64_t		 h, L, decoder_layers, a, kv, d, f, V, P;
	uint64_t		 embed;		/* width of the words */
	uint64_t		 types;
	uint64_t		 experts, used, expert_f, shared_f;
	uint64_t		 dense_layers;		/* without experts */
	bool			 shared_gate;
	uint64_t		 q_rank, kv_rank, rope, nope, v_dim; /* MLA */
	uint64_t		 rotary;		/* of a head: turned */
	uint64_t		 patches, patch, channels;
	uint64_t		 mels, source_positions;	/* whisper */
	uint64_t		 buckets;			/* t5 */
	uint64_t		 labels;
};

/* Reads the shape of a model whose family is known; "name" is for messages. */
int shape_read(struct shape *s, const json_t *root, const char *name,
    struct err *err);

/* The family in a config.json, or NULL with the reason. */
const struct family *family_of(const json_t *root, const char *name,
    struct err *err);

static inline bool
is_type(const struct shape *s, const char *type)
{
	return !strcmp(s->family->type, type);
}

static inline bool
is_gemma(const struct shape *s)
{
	return !strncmp(s->family->type, "gemma", 5);
}

static inline bool
is_t5(const struct shape *s)
{
	return is_type(s, "t5") || is_type(s, "mt5");
}
#endif
