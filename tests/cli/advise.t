#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel advise: where machines and models come from, what is said, and that the
# written file is what accel launch takes.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
cd "$work" || exit 1

cat >7b.json <<'END'
{"model_type": "llama", "architectures": ["LlamaForCausalLM"],
 "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
 "num_attention_heads": 32, "max_position_embeddings": 4096,
 "vocab_size": 32000}
END

out=$("$accel" advise --model 7b.json --gpus 8xH100)
is "a model and machines in a word are enough" $? 0
has "the way in the first line" "$(echo "$out" | head -n 1)" "FSDP, full shard, bf16"
for part in parameters gradients optimizer activations other "in all"; do
	has "the memory of $part" "$out" "  $part "
done
has "what is a guess says so" "$out" "(guess)"
has "two alternatives" "$out" "  2 "
has "with why they are second" "$out" "of each device"
is "no line is too long" "$(echo "$out" | awk 'length > 80')" ""

is "JSON has the same" "$("$accel" advise --model 7b.json --gpus 8xH100 --json |
    python3 -c 'import json, sys
a = json.load(sys.stdin)
p = a["plan"]
print(a["fits"], p["distributed_type"], p["processes"],
    p["data_parallel"] * p["tensor_parallel"] * p["context_parallel"] *
    p["pipeline_stages"], len(a["alternatives"]), len(a["reasons"]),
    abs(p["memory"]["device"] - sum(p["memory"][k] for k in ("parameters",
    "gradients", "optimizer", "activations", "other"))) < 1,
    p["seconds"]["step"] > p["seconds"]["computing"] > 0)')" \
	"True FSDP 8 8 2 11 True True"

# Nothing fits.
out=$("$accel" advise --model 7b.json --gpus 1x24GB:ram=32GB --write no.yaml 2>err)
is "a proposal that does not fit is not written" $? 1
has "which is said" "$(cat err)" "no.yaml is not written"
is "indeed" "$(ls no.yaml 2>&1 | grep -c 'No such')" 1
has "what would fit stands there" "$out" "LoRA of rank 16"
ok "and without --write that is no error" \
	"$accel" advise --model 7b.json --gpus 1x24GB:ram=32GB

# A configuration.
printf '# mine\ndebug: true\ndistributed_type: MULTI_GPU\n' >train.yaml
"$accel" advise --model 7b.json --gpus 8xA10:ram=256GB --seq 2048 \
	--write train.yaml >/dev/null
is "the proposal is written" $? 0
has "into the file that is there" "$(cat train.yaml)" "# mine"
has "which keeps the rest" "$(cat train.yaml)" "debug: true"
is "it has no problem" "$("$accel" config check train.yaml >/dev/null 2>&1; echo $?)" 0
echo 'print("hello")' >train.py
has "accel launch takes it" "$("$accel" launch --print --config_file train.yaml \
	train.py 2>&1)" "train.py"
"$accel" advise --model 7b.json --gpus 8xA10:ram=256GB --seq 2048 \
	--write train.yaml >/dev/null 2>again
cp train.yaml once.yaml
"$accel" advise --model 7b.json --gpus 8xA10:ram=256GB --seq 2048 \
	--write train.yaml >/dev/null
ok "twice is the same" cmp once.yaml train.yaml

# Two ranks on two NUMA nodes, as proposed.
HWLOC_SYNTHETIC='pack:2 numa:1 core:4 pu:1' "$accel" advise --params 12M --seq 512 \
	--write two.yaml >/dev/null 2>&1
echo 'import os; print(os.environ["RANK"], os.environ["WORLD_SIZE"])' >ranks.py
is "a proposal runs" "$("$accel" launch --config_file two.yaml ranks.py \
	2>/dev/null | sed 's/.*: *//; s/^[^ ]* //' | sort | xargs)" "0 2 1 2"

# Two machines of a file: a launch finds them.
cat >fleet.yaml <<'END'
accel_probe: 1
machines:
- hostname: node1
  gpus:
  - {vendor: NVIDIA, model: A10, memory: 24000000000, usable: true}
  - {vendor: NVIDIA, model: A10, memory: 24000000000, usable: true}
  interfaces: [{name: ib0, up: true, speed: 200000, rdma: mlx5_0}]
- hostname: node2
  gpus:
  - {vendor: NVIDIA, model: A10, memory: 24000000000, usable: true}
  interfaces: [{name: ib0, up: true, speed: 200000, rdma: mlx5_0}]
END
"$accel" advise --params 350M --machine fleet.yaml --write fleet-run.yaml >said 2>&1
is "the hosts are written beside the file" "$(cat fleet-run.accel.yaml 2>&1 |
	grep -v '^#')" "hosts: node1:2,node2:1"
is "accel launch takes them from there" "$("$accel" launch --print \
	--config_file fleet-run.yaml ranks.py 2>&1 |
    sed -n '/^ *[0-9][0-9]*  *[0-9]/p' | awk '{ print $3 }' | xargs)" \
	"node1 node1 node2"

# Where machines come from.
"$accel" probe --yaml --no_python >here.yaml 2>/dev/null
ok "what accel probe writes is read" "$accel" advise --params 12M \
	--machine here.yaml
ok "without a word it is this machine" "$accel" advise --params 12M
is "both files count" "$("$accel" advise --params 12M --cpu --machine here.yaml \
	--machine here.yaml --json | grep -m 1 -c '"hosts": 2')" 1

is "a host is asked by its agent" "$("$accel" advise --params 12M \
	--hosts localhost --json | grep -c '"fits": true')" 1

# The machines of tests/machines, and what an expert would do there.
on() { # MACHINE MODEL
	case $2 in
	*.json) set -- "$1" --model "$2" ;;
	*) set -- "$1" --params "$2" ;;
	esac
	"$accel" advise "$2" "$3" --seq 2048 \
		--machine "$top_srcdir/tests/machines/$1.yaml"
}
while read -r machine model want; do
	is "$model on $machine" "$(on "$machine" "$model" | sed -n '1p')" "$want"
done <<END
dgx-h100 124M MULTI_GPU, no sharding, bf16, 8 processes
dgx-h100 7b.json FSDP, full shard, bf16, 8 processes
mi300x 7b.json FSDP, shard grad op, bf16, 8 processes
intel-max 124M MULTI_XPU, no sharding, bf16, 4 processes
intel-max 7b.json FSDP, shard grad op, bf16, 4 processes
workstation 124M NO, no sharding, bf16, 1 process
workstation 7b.json Does not fit.  The nearest way:
container 124M NO, no sharding, bf16, 1 process
wsl 124M NO, no sharding, bf16, 1 process
wsl 7b.json Does not fit.  The nearest way:
arm-server 124M MULTI_CPU, no sharding, fp32, 4 processes
END
has "a GPU that only holds up is left out" "$(on workstation 124M |
    tr -s ' \n' ' ')" "1 of 2 GPUs: with the others each step would take longer"
out=$("$accel" advise --model 7b.json --gpus 8xA100:100gbit \
	--gpus 4xL40S:100gbit | tr -s ' \n' ' ')
has "of unequal GPUs the smallest counts" "$out" "sized by the smallest"
out=$("$accel" advise --params 12M --gpus 4xA40:100gbit --batch 4096 \
	--gpus 4xA10:100gbit | tr -s ' \n' ' ')
has "and the slowest is named" "$out" "A10 of host2 is the slowest"

# Wrong usage and errors.
fails() { # sentence EXIT PART args...
	what=$1 want=$2 part=$3
	shift 3
	"$accel" advise "$@" >out 2>err
	is "$what: exit $want" $? "$want"
	has "$what: said" "$(cat err)" "$part"
}
fails "no model" 1 "no model was given" --gpus 8xH100
fails "two models" 1 "both a model" --model 7b.json --params 7B --gpus 8xH100
fails "GPUs that nobody knows" 2 "neither a GPU that is known" \
	--params 7B --gpus 8xVoodoo2
fails "a detail that is none" 2 "no detail of a machine" \
	--params 7B --gpus 8xH100:fast
fails "a batch of 0" 2 "--batch 0" --params 7B --gpus 8xH100 --batch 0
fails "a file that is not there" 1 "none.yaml" --params 7B --machine none.yaml
fails "a network without hosts" 2 "--hosts" --params 7B --network
fails "a wrong host" 2 "" --params 7B --hosts ,
fails "an optimizer that is none" 2 "adamw" --params 7B --gpus 8xH100 \
	--optimizer adamw
fails "a word too many" 2 "" --params 7B --gpus 8xH100 more
is "--help fits a terminal" \
	"$("$accel" advise --help | awk 'length($0) > 80')" ""
done_testing
