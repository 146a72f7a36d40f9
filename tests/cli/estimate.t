#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel estimate-memory: where a model comes from, and what is said of it.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
cd "$work" || exit 1
HF_HOME=$work/hf
export HF_HOME
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME
est() {
	"$accel" estimate-memory --gpu-memory 24GB "$@"
}

mkdir bert tiny
cat >bert/config.json <<-'END'
	{"model_type": "bert", "architectures": ["BertForMaskedLM"],
	 "hidden_size": 768, "intermediate_size": 3072,
	 "num_hidden_layers": 12, "num_attention_heads": 12,
	 "max_position_embeddings": 512, "type_vocab_size": 2,
	 "vocab_size": 28996}
END

# Accelerate's own numbers for bert-base-cased.
out=$(est bert)
is "a folder with a config.json is read" $? 0
has "the size to load, as Accelerate has it" "$out" \
	"|float32|   86.47 MB  |413.18 MB |      1.61 GB      |"
has "and with 16 bits" "$out" \
	"|float16|   43.23 MB  |206.59 MB |     826.36 MB     |"
has "which integers are not trained with" "$out" \
	"|  int4 |   10.81 MB  | 51.65 MB |        N/A        |"
has "no terminal, no boxes" "$out" "+-------+-------------+----------+"
has "one rank alone" "$out" "one rank      fp32"
is "no sharding with one rank" "$(echo "$out" | grep -c zero)" 0
is "only the types that were asked for" \
	"$(est bert/config.json --dtypes float16 int8 | grep -c '^| *\(float\|int\)')" 2
is "also before the model" \
	"$(est --dtypes int8 bert | grep -c '^| *\(float\|int\)')" 1
is "a type that is none is wrong usage" \
	"$(est bert --dtypes float64 2>&1; echo $?)" \
	"accel estimate-memory: --dtypes: there is no \"float64\"
                       one of: float32 float16 int8 int4
2"

is "--help fits a terminal" \
	"$("$accel" estimate-memory --help | awk 'length($0) > 80')" ""
has "and has every kind" "$("$accel" estimate-memory --help | tr -s ' \n' ' ')" \
	"hsdp hsdp-grad-op megatron megatron-dist"

# A terminal.
if command -v script >/dev/null; then
	screen() {
		script -qec "'$accel' estimate-memory bert $*" /dev/null </dev/null
	}
	has "a terminal gets boxes" "$(screen)" "├───────┼─────────────┼──────────┼"
	is "but not with --ascii" "$(screen --ascii | grep -c '─')" 0
	is "nor where its locale has none" "$(LC_ALL=C screen | grep -c '─')" 0
else
	for i in 1 2 3; do skip "no script(1)"; done
fi

# Weights: two layers of 3 x 4 and 4, a table of 10 x 4, and a head.
tensor() { # NAME SHAPE BEGIN END
	printf '"%s":{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}' "$@"
}
weights() { # FILE DATA_BYTES HEADER
	printf "\\$(printf %03o ${#3})\\0\\0\\0\\0\\0\\0\\0%s" "$3" >"$1"
	[ ${#3} -le 255 ] || return 1
	head -c "$2" /dev/zero >>"$1"
}
weights tiny/a.safetensors 208 "{$(tensor embed_tokens.weight '[10,4]' 0 160),$(
	tensor model.layers.0.w '[3,4]' 160 208)}"
weights tiny/b.safetensors 240 "{$(tensor model.layers.1.w '[3,4]' 0 48),$(
	tensor model.layers.1.b '[8]' 48 80),$(tensor lm_head.weight '[10,4]' 80 240)}"
cat >tiny/model.safetensors.index.json <<-'END'
	{"metadata": {"total_size": 448}, "weight_map": {
	 "embed_tokens.weight": "a.safetensors",
	 "model.layers.0.w": "a.safetensors", "model.layers.1.w": "b.safetensors",
	 "model.layers.1.b": "b.safetensors", "lm_head.weight": "b.safetensors"}}
END
out=$(est tiny --dtypes float32 --json)
has "an index leads to its files" "$out" '"parameters": 112'
has "layers are found by their numbers" "$out" '"layers": 2'
has "the largest of them" "$out" '"largest_layer_parameters": 20'
has "Accelerate's total leaves the head out" "$out" '"total_size": 288.0'
has "and never splits a table" "$out" '"largest_layer": 160.0'
has "a file of weights alone" "$(est tiny/b.safetensors --json)" '"parameters": 60'
has "a shape by hand adds what weights do not tell" \
	"$(est tiny --heads 2 --precision fp32 --json)" '"kv_heads": 2'
rm tiny/b.safetensors
out=$(est tiny 2>&1)
is "a part that is missing is an error" $? 1
has "which names it" "$out" "tiny/b.safetensors is not here"
cp bert/config.json tiny/
has "unless a config.json tells the parameters" "$(est tiny --json)" \
	'"parameters": 108340804'
head -c 100 tiny/a.safetensors >tiny/b.safetensors
out=$(est tiny 2>&1)
is "weights that were cut short are an error" $? 1
has "which names them" "$out" "tiny/b.safetensors"
weights tiny/b.safetensors 48 "{$(tensor model.layers.1.w '[3,4]' 0 48)}"
has "weights that differ from the config.json are told" "$(est tiny)" \
	"hold 64 parameters"

printf '\035\0\0\0\0\0\0\0{"a\\u001b[2J":{"dtype":"X1"}}' >esc.safetensors
is "a name out of a file does not reach the terminal as it is" \
	"$(est esc.safetensors 2>&1 | grep -c "$(printf '\033')")" 0
has "but is told" "$(est esc.safetensors 2>&1)" 'tensor "a?[2J" has the element type X1'

# The hub's cache.
out=$(est some/model 2>&1)
is "a hub name that is not in the cache is an error" $? 1
has "that says how it gets there" "$out" "hf download some/model config.json"
snap=hf/hub/models--some--model
mkdir -p $snap/refs $snap/snapshots/abc
echo abc >$snap/refs/main
cp bert/config.json $snap/snapshots/abc/
has "one that is there is read" "$(est some/model)" 'loading `some/model`'
printf '../../../..' >$snap/refs/main
mkdir $snap/snapshots/def
out=$(est some/model 2>&1)
is "a reference cannot lead out of the cache" $? 1
out=$(est "../no-such-$$" 2>&1)
is "a path that is not there is no hub name" $? 1
has "and says so" "$out" "there is no such file or folder"

# By hand.
has "parameters by hand" "$(est --params 7B)" "7 billion parameters"
has "a shape makes activations known" \
	"$(est --params 7B --layers 32 --hidden 4096 --vocab 32000)" \
	"32 layers of 4096"
out=$(est --params many 2>&1)
is "a count that is none is an error" $? 1
out=$(est 2>&1)
is "no model at all is an error" $? 1
has "with an example" "$out" "--params 7B"

out=$(est bert --params 7B 2>&1)
is "a model and parameters by hand exclude each other" $? 1

# The ranks.
row() { # SHARDING PRECISION: its total and verdict
	awk -v s="$1" -v p="$2" '$1 == s && $2 == p { print $8, $10 }'
}
out=$(est --params 1.3B --num_processes 8)
is "1.3B with DDP does not fit in 24 GB" "$(echo "$out" | row ddp bf16)" "27.64 no"
is "with ZeRO-2 it does" "$(echo "$out" | row zero2 bf16)" "7.40 yes"
is "all kinds, in two precisions" "$(echo "$out" | grep -c ' bf16 ')" 6
is "and hybrid where there are groups" \
	"$(est --params 1B --num_processes 16 --num_machines 2 |
	grep -c '^hsdp')" 4
is "one kind and precision by name" \
	"$(est --params 1B --num_processes 8 --sharding fsdp --precision fp8 |
	grep -c '^fsdp *fp8')" 1
out=$(est --params 1B --sharding zero9 2>&1)
is "a kind that is none is wrong usage" $? 2
has "with all that there are" "$out" "zero3 fsdp fsdp-grad-op"
out=$(est --params 1B --num_processes 6 --tp 4 2>&1)
is "a mesh that does not divide the world is an error" $? 1
has "in words" "$out" "6 ranks are no multiple of tp 4"
out=$(est --params 1B --seq-length 0 2>&1)
is "a length of 0 is wrong usage" $? 2
out=$(est --params 1B --gpu-memory lots 2>&1)
is "as is a size that is none" $? 2
is "--offload all leaves the device to what is in use" \
	"$(est --params 1B --num_processes 4 --sharding fsdp --precision bf16 \
	--offload all --explain | grep -c 'on the host')" 3
cat >zero3.yaml <<-'END'
	distributed_type: DEEPSPEED
	mixed_precision: bf16
	num_processes: 8
	deepspeed_config:
	  zero_stage: 3
	  offload_optimizer_device: cpu
END
out=$(est --params 7B --config_file zero3.yaml)
is "a configuration says the kind and precision" \
	"$(echo "$out" | grep -c '^zero3 *bf16')" 1
is "and no other is shown" "$(echo "$out" | grep -c ' fp32 ')" 0
is "with its optimizer on the host" \
	"$(echo "$out" | awk '/^zero3/ { print $5, $9 }')" "0.00 11.41"
cat >ds.json <<-'END'
	{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
	 "bf16": {"enabled": true}}
END
cat >ds.yaml <<-'END'
	distributed_type: DEEPSPEED
	num_processes: 8
	deepspeed_config:
	  deepspeed_config_file: ds.json
END
is "DeepSpeed's own file says the same things" \
	"$(est --params 7B --config_file ds.yaml |
	awk '/^zero/ { print $1, $2, $5, $9 }')" "zero2 bf16 0.00 11.41"
out=$(est --params 7B --num_processes 8 --sharding zero3 --precision bf16 --explain)
has "--explain names numbers" "$out" "= 4 x 7000000000 / 8"
has "and sources" "$out" "4 P / N (float32 copy)  [ZeRO]"
if command -v python3 >/dev/null; then
	is "--json's terms add up to its total" "$(est bert --json \
	    --num_processes 4 | python3 -c 'import json, sys
for r in json.load(sys.stdin)["ranks"]:
    part = dict(r["device_parts"])
    step = part.pop("step")
    run = sum(part.pop(p) for p in ("activations", "logits", "temporary"))
    terms = sum(t["bytes"] for t in r["terms"] if t["place"] == "device")
    assert abs(terms - sum(r["device_parts"].values())) < 1, r
    assert abs(sum(part.values()) + max(run, step) - r["device"]) < 1, r
print("yes")')" yes
else
	skip "no python3"
fi
done_testing
