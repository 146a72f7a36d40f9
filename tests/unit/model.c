/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters from config.json.
 *
 * "want" is the count that is published with the weights: the number in the
 * model's card or paper, or the sum over its safetensors files that the hub
 * shows.  The JSON has those keys of the published file that matter.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/config/model.h"
#include "tests/tap.h"

#define LLAMA	"\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],"
#define GPT2	"\"model_type\":\"gpt2\",\"architectures\":[\"GPT2LMHeadModel\"]," \
		"\"vocab_size\":50257,\"n_positions\":1024,\"n_ctx\":1024,\"n_inner\":null,"
#define NEOX	"\"model_type\":\"gpt_neox\",\"tie_word_embeddings\":false,"
#define BERT	"\"model_type\":\"bert\",\"hidden_size\":768,\"intermediate_size\":3072," \
		"\"num_hidden_layers\":12,\"num_attention_heads\":12," \
		"\"max_position_embeddings\":512,\"type_vocab_size\":2,"
#define ROBERTA	"\"model_type\":\"roberta\",\"hidden_size\":768,\"intermediate_size\":3072," \
		"\"num_hidden_layers\":12,\"num_attention_heads\":12,\"vocab_size\":50265," \
		"\"max_position_embeddings\":514,\"type_vocab_size\":1,"

static const struct { const char *name; uint64_t want; const char *json; }
published[] = {
	{ "Llama 2 7B", 6738415616, "{" LLAMA "\"hidden_size\":4096,"
	  "\"intermediate_size\":11008,\"num_hidden_layers\":32,"
	  "\"num_attention_heads\":32,\"num_key_value_heads\":32,"
	  "\"vocab_size\":32000,\"tie_word_embeddings\":false}" },
	{ "Llama 2 13B", 13015864320, "{" LLAMA "\"hidden_size\":5120,"
	  "\"intermediate_size\":13824,\"num_hidden_layers\":40,"
	  "\"num_attention_heads\":40,\"vocab_size\":32000}" },
	{ "Llama 2 70B", 68976648192, "{" LLAMA "\"hidden_size\":8192,"
	  "\"intermediate_size\":28672,\"num_hidden_layers\":80,"
	  "\"num_attention_heads\":64,\"num_key_value_heads\":8,"
	  "\"vocab_size\":32000}" },
	{ "Llama 3 8B", 8030261248, "{" LLAMA "\"hidden_size\":4096,"
	  "\"intermediate_size\":14336,\"num_hidden_layers\":32,"
	  "\"num_attention_heads\":32,\"num_key_value_heads\":8,"
	  "\"vocab_size\":128256}" },
	{ "Llama 3 70B", 70553706496, "{" LLAMA "\"hidden_size\":8192,"
	  "\"intermediate_size\":28672,\"num_hidden_layers\":80,"
	  "\"num_attention_heads\":64,\"num_key_value_heads\":8,"
	  "\"vocab_size\":128256}" },
	{ "Llama 3.2 1B", 1235814400, "{" LLAMA "\"hidden_size\":2048,"
	  "\"intermediate_size\":8192,\"num_hidden_layers\":16,\"head_dim\":64,"
	  "\"num_attention_heads\":32,\"num_key_value_heads\":8,"
	  "\"vocab_size\":128256,\"tie_word_embeddings\":true}" },
	{ "Llama 3.1 405B", 405853388800, "{" LLAMA "\"hidden_size\":16384,"
	  "\"intermediate_size\":53248,\"num_hidden_layers\":126,"
	  "\"num_attention_heads\":128,\"num_key_value_heads\":8,"
	  "\"vocab_size\":128256}" },
	{ "TinyLlama 1.1B", 1100048384, "{" LLAMA "\"hidden_size\":2048,"
	  "\"intermediate_size\":5632,\"num_hidden_layers\":22,"
	  "\"num_attention_heads\":32,\"num_key_value_heads\":4,"
	  "\"vocab_size\":32000}" },
	{ "SmolLM2 135M", 134515008, "{" LLAMA "\"hidden_size\":576,"
	  "\"intermediate_size\":1536,\"num_hidden_layers\":30,"
	  "\"num_attention_heads\":9,\"num_key_value_heads\":3,"
	  "\"vocab_size\":49152,\"tie_word_embeddings\":true}" },
	{ "Mistral 7B", 7241732096, "{\"model_type\":\"mistral\","
	  "\"hidden_size\":4096,\"intermediate_size\":14336,"
	  "\"num_hidden_layers\":32,\"num_attention_heads\":32,"
	  "\"num_key_value_heads\":8,\"vocab_size\":32000}" },
	{ "Mistral Nemo 12B", 12247782400, "{\"model_type\":\"mistral\","
	  "\"hidden_size\":5120,\"intermediate_size\":14336,\"head_dim\":128,"
	  "\"num_hidden_layers\":40,\"num_attention_heads\":32,"
	  "\"num_key_value_heads\":8,\"vocab_size\":131072}" },
	{ "Mixtral 8x7B", 46702792704, "{\"model_type\":\"mixtral\","
	  "\"hidden_size\":4096,\"intermediate_size\":14336,"
	  "\"num_hidden_layers\":32,\"num_attention_heads\":32,"
	  "\"num_key_value_heads\":8,\"vocab_size\":32000,"
	  "\"num_local_experts\":8,\"num_experts_per_tok\":2}" },
	{ "Mixtral 8x22B", 140630071296, "{\"model_type\":\"mixtral\","
	  "\"hidden_size\":6144,\"intermediate_size\":16384,"
	  "\"num_hidden_layers\":56,\"num_attention_heads\":48,"
	  "\"num_key_value_heads\":8,\"vocab_size\":32768,"
	  "\"num_local_experts\":8,\"num_experts_per_tok\":2}" },
	{ "Qwen 2.5 0.5B", 494032768, "{\"model_type\":\"qwen2\","
	  "\"hidden_size\":896,\"intermediate_size\":4864,"
	  "\"num_hidden_layers\":24,\"num_attention_heads\":14,"
	  "\"num_key_value_heads\":2,\"vocab_size\":151936,"
	  "\"tie_word_embeddings\":true}" },
	{ "Qwen 2.5 7B", 7615616512, "{\"model_type\":\"qwen2\","
	  "\"hidden_size\":3584,\"intermediate_size\":18944,"
	  "\"num_hidden_layers\":28,\"num_attention_heads\":28,"
	  "\"num_key_value_heads\":4,\"vocab_size\":152064}" },
	{ "Qwen 1.5 MoE A2.7B", 14315784192, "{\"model_type\":\"qwen2_moe\","
	  "\"hidden_size\":2048,\"intermediate_size\":5632,"
	  "\"num_hidden_layers\":24,\"num_attention_heads\":16,"
	  "\"num_key_value_heads\":16,\"vocab_size\":151936,"
	  "\"num_experts\":60,\"num_experts_per_tok\":4,"
	  "\"moe_intermediate_size\":1408,\"decoder_sparse_step\":1,"
	  "\"shared_expert_intermediate_size\":5632}" },
	{ "Qwen 3 0.6B", 596049920, "{\"model_type\":\"qwen3\","
	  "\"hidden_size\":1024,\"intermediate_size\":3072,\"head_dim\":128,"
	  "\"num_hidden_layers\":28,\"num_attention_heads\":16,"
	  "\"num_key_value_heads\":8,\"vocab_size\":151936,"
	  "\"tie_word_embeddings\":true}" },
	{ "Qwen 3 8B", 8190735360, "{\"model_type\":\"qwen3\","
	  "\"hidden_size\":4096,\"intermediate_size\":12288,"
	  "\"num_hidden_layers\":36,\"num_attention_heads\":32,"
	  "\"num_key_value_heads\":8,\"vocab_size\":151936}" },
	{ "Qwen 3 30B A3B", 30532122624, "{\"model_type\":\"qwen3_moe\","
	  "\"hidden_size\":2048,\"intermediate_size\":6144,\"head_dim\":128,"
	  "\"num_hidden_layers\":48,\"num_attention_heads\":32,"
	  "\"num_key_value_heads\":4,\"vocab_size\":151936,"
	  "\"num_experts\":128,\"num_experts_per_tok\":8,"
	  "\"moe_intermediate_size\":768,\"mlp_only_layers\":[]}" },
	{ "Gemma 2B", 2506172416, "{\"model_type\":\"gemma\","
	  "\"hidden_size\":2048,\"intermediate_size\":16384,\"head_dim\":256,"
	  "\"num_hidden_layers\":18,\"num_attention_heads\":8,"
	  "\"num_key_value_heads\":1,\"vocab_size\":256000}" },
	{ "Gemma 7B", 8537680896, "{\"model_type\":\"gemma\","
	  "\"hidden_size\":3072,\"intermediate_size\":24576,\"head_dim\":256,"
	  "\"num_hidden_layers\":28,\"num_attention_heads\":16,"
	  "\"num_key_value_heads\":16,\"vocab_size\":256000}" },
	{ "Gemma 2 2B", 2614341888, "{\"model_type\":\"gemma2\","
	  "\"hidden_size\":2304,\"intermediate_size\":9216,\"head_dim\":256,"
	  "\"num_hidden_layers\":26,\"num_attention_heads\":8,"
	  "\"num_key_value_heads\":4,\"vocab_size\":256000}" },
	{ "Gemma 3 1B", 999885952, "{\"model_type\":\"gemma3_text\","
	  "\"hidden_size\":1152,\"intermediate_size\":6912,\"head_dim\":256,"
	  "\"num_hidden_layers\":26,\"num_attention_heads\":4,"
	  "\"num_key_value_heads\":1,\"vocab_size\":262144}" },
	{ "Phi 2", 2779683840, "{\"model_type\":\"phi\","
	  "\"hidden_size\":2560,\"intermediate_size\":10240,"
	  "\"num_hidden_layers\":32,\"num_attention_heads\":32,"
	  "\"vocab_size\":51200,\"tie_word_embeddings\":false}" },
	{ "Phi 3 mini", 3821079552, "{\"model_type\":\"phi3\","
	  "\"hidden_size\":3072,\"intermediate_size\":8192,"
	  "\"num_hidden_layers\":32,\"num_attention_heads\":32,"
	  "\"num_key_value_heads\":32,\"vocab_size\":32064}" },
	{ "OLMo 1B", 1176764416, "{\"model_type\":\"olmo\","
	  "\"hidden_size\":2048,\"intermediate_size\":8192,"
	  "\"num_hidden_layers\":16,\"num_attention_heads\":16,"
	  "\"vocab_size\":50304,\"tie_word_embeddings\":true}" },
	{ "OLMo 2 7B", 7298617344, "{\"model_type\":\"olmo2\","
	  "\"hidden_size\":4096,\"intermediate_size\":11008,"
	  "\"num_hidden_layers\":32,\"num_attention_heads\":32,"
	  "\"vocab_size\":100352}" },
	{ "Command R", 34980831232, "{\"model_type\":\"cohere\","
	  "\"hidden_size\":8192,\"intermediate_size\":22528,"
	  "\"num_hidden_layers\":40,\"num_attention_heads\":64,"
	  "\"vocab_size\":256000}" },
	{ "StableLM 3B", 2795443200, "{\"model_type\":\"stablelm\","
	  "\"hidden_size\":2560,\"intermediate_size\":6912,"
	  "\"num_hidden_layers\":32,\"num_attention_heads\":32,"
	  "\"vocab_size\":50304,\"use_parallel_residual\":false}" },
	{ "StarCoder 2 3B", 3030371328, "{\"model_type\":\"starcoder2\","
	  "\"hidden_size\":3072,\"intermediate_size\":12288,"
	  "\"num_hidden_layers\":30,\"num_attention_heads\":24,"
	  "\"num_key_value_heads\":2,\"vocab_size\":49152,\"use_bias\":true}" },
	{ "DeepSeek V2 Lite", 15706484224, "{\"model_type\":\"deepseek_v2\","
	  "\"hidden_size\":2048,\"intermediate_size\":10944,"
	  "\"num_hidden_layers\":27,\"num_attention_heads\":16,"
	  "\"vocab_size\":102400,\"q_lora_rank\":null,\"kv_lora_rank\":512,"
	  "\"qk_rope_head_dim\":64,\"qk_nope_head_dim\":128,"
	  "\"v_head_dim\":128,\"n_routed_experts\":64,\"n_shared_experts\":2,"
	  "\"num_experts_per_tok\":6,\"moe_intermediate_size\":1408,"
	  "\"first_k_dense_replace\":1}" },
	{ "gpt-oss 20B", 20914757184, "{\"model_type\":\"gpt_oss\","
	  "\"hidden_size\":2880,\"intermediate_size\":2880,\"head_dim\":64,"
	  "\"num_hidden_layers\":24,\"num_attention_heads\":64,"
	  "\"num_key_value_heads\":8,\"vocab_size\":201088,"
	  "\"num_local_experts\":32,\"num_experts_per_tok\":4}" },
	{ "GPT-2", 124439808, "{" GPT2
	  "\"n_embd\":768,\"n_layer\":12,\"n_head\":12}" },
	{ "GPT-2 medium", 354823168, "{" GPT2
	  "\"n_embd\":1024,\"n_layer\":24,\"n_head\":16}" },
	{ "GPT-2 large", 774030080, "{" GPT2
	  "\"n_embd\":1280,\"n_layer\":36,\"n_head\":20}" },
	{ "GPT-2 XL", 1557611200, "{" GPT2
	  "\"n_embd\":1600,\"n_layer\":48,\"n_head\":25}" },
	{ "GPT-Neo 125M", 125198592, "{\"model_type\":\"gpt_neo\","
	  "\"hidden_size\":768,\"intermediate_size\":null,\"num_layers\":12,"
	  "\"num_heads\":12,\"vocab_size\":50257,"
	  "\"max_position_embeddings\":2048}" },
	{ "GPT-J 6B", 6050882784, "{\"model_type\":\"gptj\","
	  "\"n_embd\":4096,\"n_inner\":null,\"n_layer\":28,\"n_head\":16,"
	  "\"vocab_size\":50400,\"tie_word_embeddings\":false}" },
	{ "Pythia 70M", 70426624, "{" NEOX "\"hidden_size\":512,"
	  "\"intermediate_size\":2048,\"num_hidden_layers\":6,"
	  "\"num_attention_heads\":8,\"vocab_size\":50304}" },
	{ "Pythia 1B", 1011781632, "{" NEOX "\"hidden_size\":2048,"
	  "\"intermediate_size\":8192,\"num_hidden_layers\":16,"
	  "\"num_attention_heads\":8,\"vocab_size\":50304}" },
	{ "Pythia 6.9B", 6857302016, "{" NEOX "\"hidden_size\":4096,"
	  "\"intermediate_size\":16384,\"num_hidden_layers\":32,"
	  "\"num_attention_heads\":32,\"vocab_size\":50432}" },
	{ "GPT-NeoX 20B", 20554567680, "{" NEOX "\"hidden_size\":6144,"
	  "\"intermediate_size\":24576,\"num_hidden_layers\":44,"
	  "\"num_attention_heads\":64,\"vocab_size\":50432}" },
	{ "OPT 125M", 125239296, "{\"model_type\":\"opt\","
	  "\"hidden_size\":768,\"ffn_dim\":3072,\"num_hidden_layers\":12,"
	  "\"num_attention_heads\":12,\"vocab_size\":50272,"
	  "\"max_position_embeddings\":2048,\"word_embed_proj_dim\":768,"
	  "\"do_layer_norm_before\":true}" },
	{ "OPT 350M", 331196416, "{\"model_type\":\"opt\","
	  "\"hidden_size\":1024,\"ffn_dim\":4096,\"num_hidden_layers\":24,"
	  "\"num_attention_heads\":16,\"vocab_size\":50272,"
	  "\"max_position_embeddings\":2048,\"word_embed_proj_dim\":512,"
	  "\"do_layer_norm_before\":false}" },
	{ "BLOOM 560M", 559214592, "{\"model_type\":\"bloom\","
	  "\"n_embed\":null,\"hidden_size\":1024,\"n_layer\":24,"
	  "\"num_attention_heads\":16,\"vocab_size\":250880}" },
	{ "BLOOM 176B", 176247271424, "{\"model_type\":\"bloom\","
	  "\"hidden_size\":14336,\"n_layer\":70,"
	  "\"num_attention_heads\":112,\"vocab_size\":250880}" },
	{ "Falcon 7B", 6921720704, "{\"model_type\":\"falcon\","
	  "\"hidden_size\":4544,\"num_hidden_layers\":32,"
	  "\"num_attention_heads\":71,\"vocab_size\":65024,\"bias\":false,"
	  "\"multi_query\":true,\"parallel_attn\":true,"
	  "\"new_decoder_architecture\":false}" },
	{ "Falcon 40B", 41303293952, "{\"model_type\":\"falcon\","
	  "\"hidden_size\":8192,\"num_hidden_layers\":60,"
	  "\"num_attention_heads\":128,\"num_kv_heads\":8,"
	  "\"vocab_size\":65024,\"bias\":false,\"parallel_attn\":true,"
	  "\"new_decoder_architecture\":true}" },
	{ "BERT base, uncased", 109482240, "{" BERT "\"vocab_size\":30522}" },
	{ "BERT base, cased", 108310272, "{" BERT "\"vocab_size\":28996}" },
	{ "BERT base with its training head", 109514298, "{" BERT
	  "\"architectures\":[\"BertForMaskedLM\"],\"vocab_size\":30522}" },
	{ "BERT base with two classes", 109483778, "{" BERT
	  "\"architectures\":[\"BertForSequenceClassification\"],"
	  "\"vocab_size\":30522}" },
	{ "BERT large", 335141888, "{\"model_type\":\"bert\","
	  "\"hidden_size\":1024,\"intermediate_size\":4096,"
	  "\"num_hidden_layers\":24,\"num_attention_heads\":16,"
	  "\"max_position_embeddings\":512,\"type_vocab_size\":2,"
	  "\"vocab_size\":30522}" },
	{ "RoBERTa base", 124645632, "{" ROBERTA "\"x\":0}" },
	{ "RoBERTa base with its training head", 124697433, "{" ROBERTA
	  "\"architectures\":[\"RobertaForMaskedLM\"]}" },
	{ "DistilBERT base", 66362880, "{\"model_type\":\"distilbert\","
	  "\"dim\":768,\"hidden_dim\":3072,\"n_layers\":6,\"n_heads\":12,"
	  "\"vocab_size\":30522,\"max_position_embeddings\":512}" },
	{ "ViT base", 86389248, "{\"model_type\":\"vit\","
	  "\"hidden_size\":768,\"intermediate_size\":3072,"
	  "\"num_hidden_layers\":12,\"num_attention_heads\":12,"
	  "\"image_size\":224,\"patch_size\":16,\"num_channels\":3}" },
	{ "ViT base with two classes", 85800194, "{\"model_type\":\"vit\","
	  "\"architectures\":[\"ViTForImageClassification\"],"
	  "\"hidden_size\":768,\"intermediate_size\":3072,"
	  "\"num_hidden_layers\":12,\"num_attention_heads\":12,"
	  "\"image_size\":224,\"patch_size\":16,\"num_channels\":3}" },
	{ "T5 small", 60506624, "{\"model_type\":\"t5\",\"d_model\":512,"
	  "\"d_kv\":64,\"d_ff\":2048,\"num_layers\":6,\"num_heads\":8,"
	  "\"vocab_size\":32128}" },
	{ "T5 large", 737668096, "{\"model_type\":\"t5\",\"d_model\":1024,"
	  "\"d_kv\":64,\"d_ff\":4096,\"num_layers\":24,\"num_heads\":16,"
	  "\"vocab_size\":32128}" },
	{ "Flan-T5 base", 247577856, "{\"model_type\":\"t5\",\"d_model\":768,"
	  "\"d_kv\":64,\"d_ff\":2048,\"num_layers\":12,"
	  "\"num_decoder_layers\":12,\"num_heads\":12,\"vocab_size\":32128,"
	  "\"feed_forward_proj\":\"gated-gelu\",\"tie_word_embeddings\":false}" },
	{ "mT5 small", 300176768, "{\"model_type\":\"mt5\",\"d_model\":512,"
	  "\"d_kv\":64,\"d_ff\":1024,\"num_layers\":8,\"num_heads\":6,"
	  "\"vocab_size\":250112,\"feed_forward_proj\":\"gated-gelu\","
	  "\"tie_word_embeddings\":false}" },
	{ "BART base", 139420416, "{\"model_type\":\"bart\",\"d_model\":768,"
	  "\"encoder_layers\":6,\"decoder_layers\":6,\"encoder_ffn_dim\":3072,"
	  "\"encoder_attention_heads\":12,\"vocab_size\":50265,"
	  "\"max_position_embeddings\":1024}" },
	{ "Whisper tiny", 37760640, "{\"model_type\":\"whisper\","
	  "\"d_model\":384,\"encoder_layers\":4,\"decoder_layers\":4,"
	  "\"encoder_ffn_dim\":1536,\"encoder_attention_heads\":6,"
	  "\"vocab_size\":51865,\"num_mel_bins\":80,"
	  "\"max_source_positions\":1500,\"max_target_positions\":448}" },
};

static int
parse(struct model *m, const char *json, struct err *err)
{
	return model_parse(m, json, strlen(json), "c.json", err);
}

static void
test_published(void)
{
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		struct model	m;
		struct err	err = ERR_INIT;
		int		got = parse(&m, published[i].json, &err);

		ok(got == 0 && m.params == published[i].want,
		    "%s has %" PRIu64 " parameters", published[i].name,
		    published[i].want);
		if (got < 0)
			printf("# %s\n", err.text);
		else if (m.params != published[i].want)
			printf("# %" PRIu64 "\n", m.params);
		if (got == 0)
			model_clear(&m);
	}
}

/* The two numbers of Accelerate's own test for bert-base-cased, and the active
 * parameters that Mixtral's and Qwen's cards name. */
static void
test_shape(void)
{
	struct model	m;

	ok(parse(&m, "{" BERT "\"vocab_size\":28996,"
	    "\"architectures\":[\"BertForMaskedLM\"]}", NULL) == 0 &&
	    m.plain_bytes == 433249280 && m.largest_bytes == 90669056,
	    "bert-base-cased as Accelerate counts it, without a head");
	ok(m.vocab == 28996, "which is trained with one");
	model_clear(&m);
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		if (strcmp(published[i].name, "Mixtral 8x7B") &&
		    strcmp(published[i].name, "Qwen 3 30B A3B"))
			continue;
		parse(&m, published[i].json, NULL);
		ok(m.active / 100000000 == (m.heads == 32 && m.experts == 8 ?
		    128 : 33), "%s uses its share of the experts",
		    published[i].name);
		model_clear(&m);
	}
	parse(&m, published[0].json, NULL);
	is(m.family, "llama", "a family");
	ok(m.layers == 32 && m.hidden == 4096 && m.ffn == 11008 &&
	    m.heads == 32 && m.kv_heads == 32 && m.head_dim == 128 &&
	    m.vocab == 32000 && m.gated && !m.dropout, "and a shape");
	ok(m.block == 202383360 && m.embedding == 131072000,
	    "with its largest parts");
	model_clear(&m);
}

/* Layers without experts: a dense one has 3 * 8 * 16 parameters, one with
 * experts 2 * 3 * 8 * 4 and a router of 8 * 2. */
static void
test_sparse(void)
{
	static const struct { const char *more; int dense; } cases[] = {
		{ "\"decoder_sparse_step\":1", 0 },
		{ "\"decoder_sparse_step\":2", 2 },
		{ "\"decoder_sparse_step\":1,\"mlp_only_layers\":[3]", 1 },
		{ "\"decoder_sparse_step\":2,\"mlp_only_layers\":[1]", 3 },
		{ "\"decoder_sparse_step\":4,\"mlp_only_layers\":[0,0]", 3 },
	};
	uint64_t	all = 0;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct model	m;
		char		json[512];

		snprintf(json, sizeof json, "{\"model_type\":\"qwen3_moe\","
		    "\"hidden_size\":8,\"num_hidden_layers\":4,"
		    "\"num_attention_heads\":2,\"vocab_size\":9,"
		    "\"intermediate_size\":16,\"num_experts\":2,"
		    "\"num_experts_per_tok\":1,"
		    "\"moe_intermediate_size\":4,%s}", cases[i].more);
		ok(parse(&m, json, NULL) == 0, "{%s} is read", cases[i].more);
		all = all ? all : m.params;
		ok(m.params == all + (uint64_t)cases[i].dense * (384 - 208),
		    "and has %d layers without experts", cases[i].dense);
		model_clear(&m);
	}
}

static void
test_bad(void)
{
	static const struct { const char *json, *says; } cases[] = {
		{ "", "c.json:1:0: '[' or '{' expected" },
		{ "[]", "not a mapping" },
		{ "{}", "no model_type" },
		{ "{\"model_type\":3}", "no model_type" },
		{ "{\"model_type\":\"mamba\"}", "\"mamba\" is not known" },
		{ "{\"model_type\":\"llava\",\"text_config\":{}}",
		  "several parts" },
		{ "{\"model_type\":\"gpt2\"}", "hidden_size is missing" },
		{ "{" GPT2 "\"n_embd\":-1,\"n_layer\":1,\"n_head\":1}",
		  "hidden_size is not a whole number from 1 to" },
		{ "{" GPT2 "\"n_embd\":1e3,\"n_layer\":1,\"n_head\":1}",
		  "hidden_size is not a whole number" },
		{ "{" GPT2 "\"n_embd\":9223372036854775807,\"n_layer\":1}",
		  "not a whole number" },
		{ "{" GPT2 "\"n_embd\":64,\"n_layer\":0,\"n_head\":1}",
		  "num_hidden_layers is not" },
		{ "{" GPT2 "\"n_embd\":64,\"n_layer\":1,\"n_head\":0}",
		  "num_attention_heads is not" },
		{ "{\"model_type\":\"mixtral\",\"hidden_size\":8,"
		  "\"num_hidden_layers\":1,\"num_attention_heads\":1,"
		  "\"vocab_size\":9,\"num_local_experts\":2,"
		  "\"num_experts_per_tok\":3}", "from 1 to 2" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct model	m;
		struct err	err = ERR_INIT;

		ok(parse(&m, cases[i].json, &err) < 0 && !m.name &&
		    strstr(err.text, cases[i].says), "refused: %s",
		    cases[i].says);
		if (!strstr(err.text, cases[i].says))
			printf("# %s\n", err.text);
	}
}

static void
test_hand(void)
{
	static const struct { const char *text; uint64_t want; } counts[] = {
		{ "7B", 7000000000 }, { "1.3b", 1300000000 },
		{ "124M", 124000000 }, { "6738415616", 6738415616 },
		{ "7e9", 7000000000 }, { "350K", 350000 }, { "1T", 1000000000000 },
		{ "", 0 }, { "B", 0 }, { "7X", 0 }, { "-7B", 0 }, { "0", 0 },
		{ "7 B", 0 }, { "999999T", 0 }, { "nan", 0 },
	};
	struct model	m = { .layers = 32, .hidden = 4096, .heads = 32,
	    .ffn = 11008, .vocab = 32000, .gated = true }, none = { .heads = 1 };
	struct err	err = ERR_INIT;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint64_t got = 0;

		ok(model_count(counts[i].text, &got) == (counts[i].want ? 0 :
		    -1) && got == counts[i].want, "\"%s\" parameters",
		    counts[i].text);
	}
	/* Llama 2 7B without its last norm and its output. */
	ok(model_settle(&m, &err) == 0 && m.guess &&
	    m.params == 6738415616 - 4096 - 131072000,
	    "parameters follow from a shape");
	ok(model_settle(&none, &err) < 0 && strstr(err.hint, "--params"),
	    "but not from nothing");
}

int
main(void)
{
	test_published();
	test_shape();
	test_sparse();
	test_bad();
	test_hand();
	return tap_done();
}
