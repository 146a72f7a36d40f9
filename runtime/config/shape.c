/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the keys of a config.json, which differ by family. */
#include "runtime/config/shape.h"

#include <stdio.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

static const struct family families[] = {
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
	if (is_t5(s))
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

/* How much of a head is rotated. */
static uint64_t
rotary(const struct shape *s, struct reader *r)
{
	static const struct { const char *type; double part; } usual[] = {
		{ "phi", 0.5 }, { "stablelm", 0.25 }, { "gpt_neox", 0.25 },
	};
	const json_t	*part = find(r, "partial_rotary_factor|rotary_pct");
	double		 value = 1;

	if (is_type(s, "gptj"))
		return number(r, "rotary_dim", MAX_HEAD, 64);
	if (!part)
		part = json_object_get(find(r, "rope_parameters|rope_scaling"),
		    "partial_rotary_factor");
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (is_type(s, usual[i].type))
			value = usual[i].part;
	if (json_is_number(part))
		value = json_number_value(part);
	return value > 0 && value <= 1 ? (uint64_t)(value * (double)s->d) :
	    s->d;
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
	if (is_gemma(s))
		head = 256;
	s->d = number(r, is_t5(s) ? "d_kv" : "head_dim", MAX_HEAD,
	    head ? head : 1);
	s->rotary = rotary(s, r);
	if (!(s->has & LATENT))
		return;
	s->q_rank = number(r, "q_lora_rank", MAX_HIDDEN, 0);
	s->kv_rank = number(r, "kv_lora_rank", MAX_HIDDEN, REQUIRED);
	s->rope = number(r, "qk_rope_head_dim", MAX_HEAD, REQUIRED);
	s->nope = number(r, "qk_nope_head_dim", MAX_HEAD, REQUIRED);
	s->v_dim = number(r, "v_head_dim", MAX_HEAD, REQUIRED);
	s->d = s->nope + s->rope;
	s->rotary = s->rope;
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
	if (is_t5(s))
		s->buckets = number(r, "relative_attention_num_buckets",
		    1 << 20, 32);
	s->labels = json_object_size(find(r, "id2label"));
	if (!s->labels)
		s->labels = number(r, "num_labels", MAX_VOCAB, 2);
}

static int
read_keys(struct shape *s, struct reader *r)
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
	if (is_t5(s))
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

int
shape_read(struct shape *s, const json_t *root, const char *name,
    struct err *err)
{
	struct reader	r = { root, name, err, 0 };

	return read_keys(s, &r);
}

static void
unknown(const struct reader *r, const char *type)
{
	if (find(r, "text_config|vision_config")) {
		err_set(r->err, "%s: a model of several parts (model_type "
		    "\"%s\")", r->name, type);
		err_hint(r->err, "give its weights (a .safetensors index or "
		    "file), or --params and the shape by hand");
		return;
	}
	if (!*type)
		err_set(r->err, "%s: no model_type", r->name);
	else
		err_set(r->err, "%s: the family \"%s\" is not known", r->name,
		    type);
	err_hint(r->err, "give its weights (a .safetensors index or file), or "
	    "--params and the shape by hand");
}

const struct family *
family_of(const json_t *root, const char *name, struct err *err)
{
	struct reader	 r = { root, name, err, 0 };
	const char	*type = word(&r, "model_type");

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcmp(families[i].type, type))
			return &families[i];
	unknown(&r, type);
	return NULL;
}
