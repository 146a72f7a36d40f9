# SPDX-License-Identifier: Apache-2.0
"""Counts of each family against the models that transformers builds.

families.py ACCEL FOLDER; prints TAP.  Models are built on the meta device from
small configurations: nothing is downloaded.
"""

import json
import os
import subprocess
import sys

import torch
import transformers
from accelerate.utils.modeling import calculate_maximum_sizes
from transformers import AutoConfig, AutoModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as causal

accel, folder = sys.argv[1:]
base = dict(vocab_size=1000, hidden_size=256, num_hidden_layers=3, num_attention_heads=8, intermediate_size=512,
            pad_token_id=0)
gpt = dict(vocab_size=1000, n_embd=256, n_layer=3, n_head=8, n_positions=128)
neo = dict(vocab_size=1000, hidden_size=256, num_layers=2, num_heads=8, max_position_embeddings=128,
           attention_types=[[["global", "local"], 1]])
t5 = dict(vocab_size=1000, d_model=256, d_ff=512, num_layers=2, num_heads=8)
pair = dict(vocab_size=1000, d_model=256, encoder_layers=2, decoder_layers=3, encoder_ffn_dim=512,
            decoder_ffn_dim=512, encoder_attention_heads=8, decoder_attention_heads=8)
opt = dict(vocab_size=1000, hidden_size=256, num_hidden_layers=3, num_attention_heads=8, ffn_dim=512,
           max_position_embeddings=128)
plain = dict(vocab_size=1000, hidden_size=256, num_hidden_layers=3, num_attention_heads=8)
kv = dict(base, num_key_value_heads=4)
moe = dict(kv, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=64)
latent = dict(base, kv_lora_rank=64, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
              qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=24, n_group=1, topk_group=1)
bert = dict(base, max_position_embeddings=64)
masked = ["ForMaskedLM", "ForSequenceClassification", "ForTokenClassification"]

# model_type: prefix of the classes, heads ("": the usual one), configurations.
families = [
    ("llama", "Llama", ["", "ForSequenceClassification"], [
        kv, dict(base, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)]),
    ("mistral", "", [""], [dict(kv, head_dim=16)]),
    ("mixtral", "", [""], [dict(kv, num_local_experts=4, num_experts_per_tok=2)]),
    ("qwen2", "", [""], [kv, dict(kv, tie_word_embeddings=True)]),
    ("qwen2_moe", "", [""], [dict(moe, shared_expert_intermediate_size=128, decoder_sparse_step=2),
                             dict(moe, shared_expert_intermediate_size=128, mlp_only_layers=[1])]),
    ("qwen3", "", [""], [kv, dict(kv, attention_bias=True, head_dim=32)]),
    ("qwen3_moe", "", [""], [moe, dict(moe, head_dim=64)]),
    ("gemma", "", [""], [dict(base, num_key_value_heads=1), dict(base, head_dim=32)]),
    ("gemma2", "", [""], [kv, dict(base, head_dim=32)]),
    ("gemma3_text", "", [""], [kv, dict(base, head_dim=32)]),
    ("granite", "", [""], [kv, dict(base, attention_bias=True, mlp_bias=True)]),
    ("phi", "", [""], [base, dict(kv, qk_layernorm=True)]),
    ("phi3", "", [""], [kv]),
    ("olmo", "", [""], [kv, dict(base, attention_bias=True)]),
    ("olmo2", "", [""], [kv]),
    ("cohere", "", [""], [kv, dict(base, use_qk_norm=True, attention_bias=True)]),
    ("stablelm", "", [""], [kv, dict(base, use_qkv_bias=True, qk_layernorm=True, use_parallel_residual=True)]),
    ("starcoder2", "", [""], [kv, dict(base, use_bias=False)]),
    ("deepseek_v2", "", [""], [dict(latent, q_lora_rank=None, n_shared_experts=2, first_k_dense_replace=1),
                               dict(latent, q_lora_rank=40, n_shared_experts=1, first_k_dense_replace=0)]),
    ("deepseek_v3", "", [""], [dict(latent, q_lora_rank=40, n_shared_experts=1, first_k_dense_replace=1)]),
    ("gpt_oss", "", [""], [dict(kv, num_local_experts=4, num_experts_per_tok=2, head_dim=16)]),
    ("gpt2", "", [""], [gpt]),
    ("gpt_bigcode", "", [""], [gpt, dict(gpt, multi_query=False)]),
    ("gpt_neo", "", [""], [neo]),
    ("gptj", "", [""], [dict(gpt, rotary_dim=16)]),
    ("gpt_neox", "", [""], [base, dict(base, attention_bias=False), dict(base, tie_word_embeddings=True)]),
    ("opt", "", [""], [opt, dict(opt, word_embed_proj_dim=64, do_layer_norm_before=False)]),
    ("bloom", "", [""], [dict(vocab_size=1000, hidden_size=256, n_layer=3, n_head=8)]),
    ("falcon", "", [""], [plain, dict(plain, new_decoder_architecture=True, num_kv_heads=4),
                          dict(plain, multi_query=False, bias=True, parallel_attn=False)]),
    ("bert", "Bert", masked, [bert]),
    ("roberta", "Roberta", masked, [dict(bert, type_vocab_size=1)]),
    ("xlm-roberta", "XLMRoberta", masked, [dict(bert, type_vocab_size=1)]),
    ("camembert", "Camembert", masked, [dict(bert, type_vocab_size=1)]),
    ("distilbert", "DistilBert", masked, [dict(vocab_size=1000, dim=256, hidden_dim=512, n_layers=3, n_heads=8,
                                               max_position_embeddings=64)]),
    ("vit", "ViT", ["ForImageClassification"], [dict(base, image_size=64), dict(base, image_size=64, qkv_bias=False)]),
    ("t5", "T5", ["ForConditionalGeneration"], [
        dict(t5, d_kv=24, num_decoder_layers=3),
        dict(t5, d_kv=32, feed_forward_proj="gated-gelu", tie_word_embeddings=False)]),
    ("mt5", "MT5", ["ForConditionalGeneration"], [dict(t5, d_kv=24, tie_word_embeddings=False)]),
    ("bart", "Bart", ["ForConditionalGeneration"], [dict(pair, max_position_embeddings=64)]),
    ("whisper", "Whisper", ["ForConditionalGeneration"], [
        dict(pair, max_target_positions=64, max_source_positions=100, num_mel_bins=40, pad_token_id=0)]),
]
count = 0
failed = 0


def ok(good, what, *details):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, what))
    if not good:
        print("#", *details)


def ours(config, name):
    config.architectures = [name] if name else None
    config.save_pretrained(folder)
    return json.loads(subprocess.run([accel, "estimate-memory", folder, "--json"], capture_output=True,
                                     text=True, check=True).stdout)


for kind, prefix, heads, configs in families:
    for number, values in enumerate(configs):
        config = AutoConfig.for_model(kind, **values)
        with torch.device("meta"):
            model = AutoModel.from_config(config)
        # transformers 5 has a set, and Accelerate adds to a list
        model._no_split_modules = list(model._no_split_modules or [])
        total, (largest, _) = calculate_maximum_sizes(model)
        got = ours(config, None)["loading"][0]
        ok((got["total_size"], got["largest_layer"]) == (total, largest),
           "%s %d, as Accelerate counts it" % (kind, number), got, total, largest)
        for head in heads:
            name = prefix + head if head else causal[kind]
            with torch.device("meta"):
                model = getattr(transformers, name)(config)
            want = sum(p.numel() for p in model.parameters())
            got = ours(config, name)["model"]["parameters"]
            ok(got == want, "%s %d" % (name, number), got, want)

with open(os.path.join(os.path.dirname(__file__), "../../runtime/config/families.def")) as f:
    rows = [line.split('"')[1] for line in f if line.startswith("FAMILY(")]
ok(sorted(rows) == sorted(f[0] for f in families), "each row of families.def is here", rows)
print("1..%d" % count)
sys.exit(failed > 0)
