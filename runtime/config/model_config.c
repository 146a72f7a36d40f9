/* SPDX-License-Identifier: Apache-2.0 */
/* A model's parameters and shape from its config.json. */
#include "runtime/config/model.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

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

static const struct family {
	const char	*type;
	unsigned	 norms, has;
} families[] = {
#define FAMILY(type, norms, has)	{ type, norms, has },
#include "runtime/config/families.def"
#undef FAMILY
};

/*
 * The largest numbers that are taken from a file.  No sum or product of them
 * below exceeds 2^63 (2^61 parameters with 4 bytes each would): the largest is
 * layers * experts * 3 * hidden * ffn < 2^59.
 */
enum {
	MAX_LAYERS = 1 << 11, MAX_EXPERTS = 1 << 11, MAX_HIDDEN = 1 << 17,
	MAX_FFN = 1 << 19, MAX_HEADS = 1 << 10, MAX_HEAD = 1 << 12,
	MAX_VOCAB = 1 << 24, MAX_POSITIONS = 1 << 24
};
#define REQUIRED	UINT64_MAX

struct shape {			/* what the file says */
	const struct family	*family;
	unsigned		 has, norms;
	uint64_t		 h, L, decoder_layers, a, kv, d, f, V, P;
	uint64_t		 embed;		/* width of the table of words */
	uint64_t		 types;
	uint64_t		 experts, used, expert_f, shared_f, dense_layers;
	bool			 shared_gate;
	uint64_t		 q_rank, kv_rank, rope, nope, v_dim; /* LATENT */
	uint64_t		 patches, patch, channels;
	uint64_t		 mels, source_positions;	/* whisper */
	uint64_t		 buckets;			/* t5 */
	uint64_t		 labels;
};

struct reader {
	const json_t	*root;
	const char	*name;
	struct err	*err;
	int		 failed;
};

static const json_t *
find(const struct reader *r, const char *keys)
{
	while (*keys) {
		size_t		 n = strcspn(keys, "|");
		char		 key[48];
		const json_t	*value;

		snprintf(key, sizeof key, "%.*s", (int)n, keys);
		value = json_object_get(r->root, key);
		if (value && !json_is_null(value))
			return value;
		keys += n + (keys[n] == '|');
	}
	return NULL;
}

/* The first of these keys that is there, lo <= value <= hi. */
static uint64_t
number_from(struct reader *r, const char *keys, uint64_t lo, uint64_t hi,
    uint64_t otherwise)
{
	const json_t	*value = find(r, keys);
	int		 n = (int)strcspn(keys, "|");

	if (r->failed)
		return 1;
	if (!value && otherwise != REQUIRED)
		return otherwise;
	if (value && json_is_integer(value) &&
	    json_integer_value(value) >= (json_int_t)lo &&
	    json_integer_value(value) <= (json_int_t)hi)
		return (uint64_t)json_integer_value(value);
	r->failed = value ? err_set(r->err, "%s: %.*s is not a whole number "
	    "from %llu to %llu", r->name, n, keys, (unsigned long long)lo,
	    (unsigned long long)hi) : err_set(r->err, "%s: %.*s is missing",
	    r->name, n, keys);
	return 1;
}

static uint64_t
number(struct reader *r, const char *keys, uint64_t hi, uint64_t otherwise)
{
	return number_from(r, keys, 1, hi, otherwise);
}

static bool
truth(const struct reader *r, const char *key, bool otherwise)
{
	const json_t	*value = find(r, key);

	return value ? json_is_true(value) : otherwise;
}

static const char *
word(const struct reader *r, const char *key)
{
	const char	*text = json_string_value(find(r, key));

	return text ? text : "";
}

static bool
is_type(const struct shape *s, const char *type)
{
	return !strcmp(s->family->type, type);
}

static void
turn(struct shape *s, unsigned parts, bool on)
{
	s->has = on ? s->has | parts : s->has & ~parts;
}

/* Keys that some families alone have. */
static void
read_habits(struct shape *s, struct reader *r)
{
	if (s->has & BIAS_KEY) {
		turn(s, QKV_BIAS | OUT_BIAS, truth(r, "attention_bias", false));
		turn(s, MLP_BIAS, truth(r, "mlp_bias", false));
	}
	if (is_type(s, "gpt_neox"))
		turn(s, QKV_BIAS | OUT_BIAS, truth(r, "attention_bias", true));
	if (is_type(s, "starcoder2"))
		turn(s, QKV_BIAS | OUT_BIAS | MLP_BIAS,
		    truth(r, "use_bias", true));
	if (is_type(s, "vit"))
		turn(s, QKV_BIAS, truth(r, "qkv_bias", true));
	if (is_type(s, "stablelm")) {
		turn(s, QKV_BIAS, truth(r, "use_qkv_bias", false));
		turn(s, QK_WIDE, truth(r, "qk_layernorm", false));
		s->norms = truth(r, "use_parallel_residual", false) ? 1 : 2;
	}
	if (is_type(s, "phi"))
		turn(s, QK_NORM, truth(r, "qk_layernorm", false));
	if (is_type(s, "cohere"))
		turn(s, QK_WIDE, truth(r, "use_qk_norm", false));
	if (is_type(s, "opt"))
		turn(s, NO_FINAL, !truth(r, "do_layer_norm_before", true) ||
		    truth(r, "_remove_final_layer_norm", false));
	if (is_type(s, "t5") || is_type(s, "mt5"))
		turn(s, GATED, !strncmp(word(r, "feed_forward_proj"), "gated",
		    5) || truth(r, "is_gated_act", false));
	if (is_type(s, "falcon")) {
		turn(s, QKV_BIAS | OUT_BIAS | MLP_BIAS,
		    truth(r, "bias", false));
		if (truth(r, "new_decoder_architecture", false) ||
		    !truth(r, "parallel_attn", true))
			s->norms = 2;
	}
	turn(s, TIED, truth(r, "tie_word_embeddings", s->has & TIED));
}

static void
read_heads(struct shape *s, struct reader *r)
{
	uint64_t	head = s->h / s->a;

	s->kv = number(r, "num_key_value_heads|num_kv_heads", MAX_HEADS, s->a);
	if (is_type(s, "gpt_bigcode") && truth(r, "multi_query", true))
		s->kv = 1;
	if (is_type(s, "falcon") &&
	    !truth(r, "new_decoder_architecture", false))
		s->kv = truth(r, "multi_query", true) ? 1 : s->a;
	if (s->has & QK_NORM && is_type(s, "qwen3"))
		head = 128;
	if (is_type(s, "gemma") || is_type(s, "gemma2") ||
	    is_type(s, "gemma3_text"))
		head = 256;
	s->d = number(r, is_type(s, "t5") || is_type(s, "mt5") ? "d_kv" :
	    "head_dim", MAX_HEAD, head ? head : 1);
	if (!(s->has & LATENT))
		return;
	s->q_rank = number(r, "q_lora_rank", MAX_HIDDEN, 0);
	s->kv_rank = number(r, "kv_lora_rank", MAX_HIDDEN, REQUIRED);
	s->rope = number(r, "qk_rope_head_dim", MAX_HEAD, REQUIRED);
	s->nope = number(r, "qk_nope_head_dim", MAX_HEAD, REQUIRED);
	s->v_dim = number(r, "v_head_dim", MAX_HEAD, REQUIRED);
	s->d = s->nope + s->rope;
}

static void
read_experts(struct shape *s, struct reader *r)
{
	const json_t	*plain;
	uint64_t	 step, dense;

	s->experts = number_from(r, "num_local_experts|n_routed_experts|"
	    "num_experts", 0, MAX_EXPERTS, 0);
	if (!s->experts)
		return;
	s->used = number(r, "num_experts_per_tok|experts_per_token",
	    s->experts, REQUIRED);
	s->expert_f = number(r, "moe_intermediate_size", MAX_FFN, s->f);
	s->shared_f = number_from(r, "shared_expert_intermediate_size", 0,
	    MAX_FFN, 0);
	s->shared_gate = s->shared_f;
	if (s->has & LATENT)
		s->shared_f = s->expert_f * number_from(r, "n_shared_experts",
		    0, 64, 0);
	/* Layers without experts: the first ones, or all but each step-th, and
	 * those that are named. */
	s->dense_layers = number_from(r, "first_k_dense_replace", 0, s->L, 0);
	step = number(r, "decoder_sparse_step", MAX_LAYERS, 1);
	plain = find(r, "mlp_only_layers");
	if (s->dense_layers || (step == 1 && !json_array_size(plain)))
		return;
	for (uint64_t i = dense = 0; i < s->L; i++) {
		bool	named = false;

		for (size_t k = 0; k < json_array_size(plain); k++)
			named |= json_integer_value(json_array_get(plain,
			    k)) == (json_int_t)i;
		dense += named || (i + 1) % step;
	}
	s->dense_layers = dense;
}

static void
read_inputs(struct shape *s, struct reader *r)
{
	bool	vit = is_type(s, "vit");

	s->V = vit ? 0 : number(r, "vocab_size", MAX_VOCAB, REQUIRED);
	s->embed = number(r, "word_embed_proj_dim", MAX_HIDDEN, s->h);
	s->P = number(r, "max_position_embeddings|n_positions|n_ctx|"
	    "max_target_positions", MAX_POSITIONS,
	    s->has & POSITIONS ? REQUIRED : 0);
	s->types = s->has & TYPES ?
	    number(r, "type_vocab_size", MAX_VOCAB, 2) : 0;
	if (vit) {
		uint64_t size = number(r, "image_size", 1 << 14, 224);

		s->patch = number(r, "patch_size", 1 << 14, 16);
		s->channels = number(r, "num_channels", 1 << 10, 3);
		s->patches = size / s->patch * (size / s->patch);
		s->P = s->patches + 1;
	}
	if (is_type(s, "whisper")) {
		s->mels = number(r, "num_mel_bins", 1 << 14, 80);
		s->source_positions = number(r, "max_source_positions",
		    MAX_POSITIONS, 1500);
	}
	if (is_type(s, "t5") || is_type(s, "mt5"))
		s->buckets = number(r, "relative_attention_num_buckets",
		    1 << 20, 32);
	s->labels = json_object_size(find(r, "id2label"));
	if (!s->labels)
		s->labels = number(r, "num_labels", MAX_VOCAB, 2);
}

static int
read_shape(struct shape *s, struct reader *r)
{
	s->has = s->family->has;
	s->norms = s->family->norms;
	s->h = number(r, "hidden_size|n_embd|d_model|dim", MAX_HIDDEN,
	    REQUIRED);
	s->L = number(r, "num_hidden_layers|n_layer|num_layers|n_layers|"
	    "encoder_layers", MAX_LAYERS, REQUIRED);
	s->a = number(r, "num_attention_heads|n_head|num_heads|n_heads|"
	    "encoder_attention_heads", MAX_HEADS, REQUIRED);
	s->f = number(r, "intermediate_size|n_inner|ffn_dim|d_ff|hidden_dim|"
	    "encoder_ffn_dim|ffn_hidden_size", MAX_FFN, 4 * s->h);
	if (is_type(s, "t5") || is_type(s, "mt5"))
		s->decoder_layers = number(r, "num_decoder_layers", MAX_LAYERS,
		    s->L);
	else if (is_type(s, "bart") || is_type(s, "whisper")) {
		s->L = number(r, "encoder_layers", MAX_LAYERS, REQUIRED);
		s->decoder_layers = number(r, "decoder_layers", MAX_LAYERS,
		    REQUIRED);
	}
	read_habits(s, r);
	read_heads(s, r);
	read_experts(s, r);
	read_inputs(s, r);
	return r->failed;
}

/* The sums.  Each is a part's parameters. */

static uint64_t
norm(const struct shape *s, uint64_t n)
{
	return s->has & LAYERNORM ? 2 * n : n;
}

static uint64_t
attention(const struct shape *s)
{
	uint64_t	h = s->h, q = s->a * s->d, kv = s->kv * s->d, n;

	if (s->has & LATENT) {
		q = s->a * (s->nope + s->rope);
		n = s->q_rank ? s->q_rank * (h + 1 + q) : h * q;
		return n + h * (s->kv_rank + s->rope) + s->kv_rank +
		    s->kv_rank * s->a * (s->nope + s->v_dim) +
		    s->a * s->v_dim * h;
	}
	n = h * q + 2 * h * kv + q * h;
	if (s->has & QKV_BIAS)		/* whisper's keys have none */
		n += q + kv + (is_type(s, "whisper") ? 0 : kv);
	if (s->has & OUT_BIAS)
		n += h;
	if (s->has & QK_NORM)
		n += 2 * norm(s, s->d);
	if (s->has & QK_WIDE)
		n += q + kv;
	if (s->has & SINKS)
		n += s->a;
	return n;
}

static uint64_t
feed_forward(const struct shape *s, uint64_t f)
{
	uint64_t	n = (s->has & GATED ? 3 : 2) * s->h * f;

	if (s->has & MLP_BIAS)
		n += (s->has & GATED ? 2 : 1) * f + s->h;
	return n;
}

static uint64_t
experts(const struct shape *s, uint64_t count)
{
	uint64_t	n = count * feed_forward(s, s->expert_f);

	n += s->h * s->experts;
	if (s->has & ROUTER_BIAS)
		n += s->experts;
	if (s->shared_f)
		n += feed_forward(s, s->shared_f);
	if (s->shared_gate)
		n += s->h;
	return n;
}

static uint64_t
layer(const struct shape *s, bool with_experts)
{
	return attention(s) + s->norms * norm(s, s->h) + (with_experts ?
	    experts(s, s->experts) : feed_forward(s, s->f));
}

static uint64_t
decoder_layer(const struct shape *s)
{
	return layer(s, false) + attention(s) + norm(s, s->h);
}

/* Tables, and all that stands before the first layer. */
static uint64_t
embeddings(const struct shape *s)
{
	uint64_t	h = s->h, n = s->V * s->embed;
	uint64_t	stacks = s->decoder_layers ? 2 : 1;

	if (s->embed != h)
		n += 2 * s->embed * h;
	if (is_type(s, "whisper"))
		return n + (s->P + s->source_positions) * h +
		    3 * h * (s->mels + h) + 2 * h;
	if (is_type(s, "opt") || is_type(s, "bart"))
		n += stacks * (s->P + 2) * h;	/* two are for padding */
	else if (s->has & POSITIONS)
		n += s->P * h;
	if (s->patch)
		n += h + s->P * h + s->channels * s->patch * s->patch * h + h;
	n += s->types * h;
	if (s->has & EMBED_NORM)
		n += stacks * norm(s, h);
	return n;
}

/* The model without a head for a task, as AutoModel builds it. */
static uint64_t
plain(const struct shape *s)
{
	uint64_t	n = embeddings(s), stacks = s->decoder_layers ? 2 : 1;

	n += (s->L - s->dense_layers) * layer(s, s->experts) +
	    s->dense_layers * layer(s, false);
	if (s->decoder_layers)
		n += s->decoder_layers * decoder_layer(s);
	if (!(s->has & NO_FINAL))
		n += stacks * norm(s, s->h);
	n += stacks * s->buckets * s->a;
	if (s->has & POOLER)
		n += s->h * s->h + s->h;
	return n;
}

static bool
ends(const char *text, const char *tail)
{
	size_t	n = strlen(text), k = strlen(tail);

	return n >= k && !strcmp(text + n - k, tail);
}

/* The parameters of the model that is trained: with the head that
 * "architectures" names.  *output: it has an output over words. */
static uint64_t
with_head(const struct shape *s, const char *class, bool *output)
{
	uint64_t	h = s->h, n = plain(s), dense = h * h + h;
	uint64_t	pooler = s->has & POOLER ? dense : 0;
	uint64_t	table = s->has & TIED ? 0 : s->V * s->embed;

	*output = false;
	if (ends(class, "ForMaskedLM") && s->has & ENCODER) {
		*output = true;
		return n - pooler + dense + norm(s, h) + s->V + table;
	}
	if (ends(class, "ForImageClassification") && s->patch)
		return n - pooler + h * s->labels + s->labels;
	if (ends(class, "ForSequenceClassification")) {
		if (!(s->has & ENCODER))
			return n + h * s->labels;
		n += h * s->labels + s->labels;
		return s->has & DENSE_HEAD ? n - pooler + dense : n;
	}
	if (ends(class, "ForTokenClassification"))
		return n - pooler + h * s->labels + s->labels;
	if (s->has & ENCODER)
		return n;
	*output = true;
	return n + table + (s->has & HEAD_BIAS ? s->V : 0);
}

/*
 * Bytes of the buffers that transformers 5 registers: position numbers as
 * int64, causal masks of bool, which Accelerate counts as an eighth of a byte,
 * rotary tables.  "layers" gets the share that lies in one layer.
 */
static uint64_t
buffers(const struct shape *s, uint64_t *in_layer)
{
	*in_layer = 0;
	if (s->has & TYPES)
		return 16 * s->P;
	if (is_type(s, "distilbert"))
		return 8 * s->P;
	if (is_type(s, "gpt2") || is_type(s, "gpt_neo")) {
		*in_layer = s->P * s->P / 8 + 4;
		return s->L * *in_layer;
	}
	if (is_type(s, "gpt_bigcode"))
		return s->P * s->P / 8;
	if (s->has & (POSITIONS | ENCODER | EMBED_NORM) || s->buckets)
		return 0;
	return 4 * s->d;
}

static uint64_t
largest(const struct shape *s, uint64_t block, uint64_t in_layer)
{
	uint64_t	n = 4 * block + in_layer, table = 4 * s->V * s->embed;

	/* BERT's and ViT's embeddings are never split. */
	if (s->has & TYPES)
		table = 4 * embeddings(s) + 16 * s->P;
	else if (s->patch)
		table = 4 * embeddings(s);
	return n > table ? n : table;
}

static int
count(struct model *m, const struct shape *s, const char *class,
    struct err *err)
{
	uint64_t	in_layer, buffer = buffers(s, &in_layer);
	bool		output;

	m->family = s->family->type;
	m->from = "config.json";
	m->params = with_head(s, class, &output);
	m->active = m->params - (s->L - s->dense_layers) *
	    (s->experts ? experts(s, s->experts) - experts(s, s->used) : 0);
	m->block = layer(s, s->experts);
	if (s->decoder_layers && decoder_layer(s) > m->block)
		m->block = decoder_layer(s);
	if (s->dense_layers && layer(s, false) > m->block)
		m->block = layer(s, false);
	m->plain_bytes = 4 * plain(s) + buffer;
	m->largest_bytes = largest(s, m->block, in_layer);
	m->embedding = s->V * s->embed;
	m->layers = s->L + s->decoder_layers;
	m->hidden = s->h;
	m->heads = s->a;
	m->kv_heads = s->kv;
	m->head_dim = s->d;
	m->ffn = s->experts ? s->used * s->expert_f + s->shared_f : s->f;
	m->vocab = output ? s->V : 0;
	m->positions = s->P;
	m->experts = s->experts;
	m->norms = s->norms;
	m->rms = !(s->has & LAYERNORM);
	m->fused = s->has & FUSED;
	m->unusual = s->experts || s->decoder_layers || s->has & LATENT;
	m->gated = s->has & GATED;
	m->dropout = s->has & DROPOUT;
	return m->params >> 60 ? err_set(err, "%s: the model would be too "
	    "large", m->name) : 0;
}

static int
unknown(const struct reader *r, const char *type)
{
	if (find(r, "text_config|vision_config")) {
		err_set(r->err, "%s: a model of several parts (model_type "
		    "\"%s\")", r->name, type);
		return err_hint(r->err, "give its weights (a .safetensors "
		    "index or file), or --params and the shape by hand");
	}
	if (!*type)
		err_set(r->err, "%s: no model_type", r->name);
	else
		err_set(r->err, "%s: the family \"%s\" is not known", r->name,
		    type);
	return err_hint(r->err, "give its weights (a .safetensors index or "
	    "file), or --params and the shape by hand");
}

int
model_parse(struct model *m, const char *text, size_t n, const char *name,
    struct err *err)
{
	json_error_t	 where;
	json_t		*root = json_loadb(text, n, 0, &where);
	struct reader	 r = { root, name, err, 0 };
	struct shape	 s = { .family = NULL };
	const json_t	*classes;
	const char	*class, *type;
	int		 ret = -1;

	*m = (struct model){ .name = strdup(name) };
	if (!m->name) {
		err_nomem(err);
		goto out;
	}
	if (!json_is_object(root)) {
		if (root)
			err_set(err, "%s: not a mapping", name);
		else
			err_set(err, "%s:%d:%d: %s", name, where.line,
			    where.column, where.text);
		err_hint(err, "a model's config.json was expected");
		goto out;
	}
	type = word(&r, "model_type");
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcmp(families[i].type, type))
			s.family = &families[i];
	if (!s.family) {
		unknown(&r, type);
		goto out;
	}
	classes = find(&r, "architectures");
	class = json_string_value(json_array_get(classes, 0));
	if (read_shape(&s, &r) == 0)
		ret = count(m, &s, class ? class : "", err);
out:
	json_decref(root);
	if (ret < 0)
		model_clear(m);
	return ret;
}
