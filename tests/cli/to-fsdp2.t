#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel to-fsdp2: Accelerate's mapping, with its errors, and comments kept.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
unset HF_HOME
convert() {
	"$top_builddir/accel" to-fsdp2 "$@" 2>&1
}
cat >one.yaml <<'EOT'
# Our cluster.
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
num_machines: 1
num_processes: 8   # two machines' worth
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_cpu_ram_efficient_loading: true
  fsdp_forward_prefetch: false
  fsdp_offload_params: false
  fsdp_sharding_strategy: FULL_SHARD  # all of it
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_use_orig_params: true
  fsdp_of_tomorrow: 3
EOT
cp one.yaml was.yaml

# Errors.
out=$(convert --config_file none.yaml --output_file two.yaml)
is "a missing file is an error" $? 1
has "that names it" "$out" "none.yaml: No such file"
out=$(convert --config_file one.yaml)
is "no word on where to write is wrong usage" $? 2
has "with what to do" "$out" "--overwrite to change one.yaml itself"
convert >log
is "no file is wrong usage" $? 2
: >empty.yaml
out=$(convert --config_file empty.yaml --overwrite)
is "an empty file is an error" $? 1
echo mine >there.yaml
out=$(convert --config_file one.yaml --output_file there.yaml)
is "an output that is there is an error" $? 1
is "and stays" "$(cat there.yaml)" "mine"

# What becomes of it.
out=$(convert --config_file one.yaml --output_file two.yaml)
is "a new file is written" $? 0
for key in backward_prefetch sync_module_states use_orig_params; do
	has "$key is said to go" "$out" "fsdp_$key was removed in version 2"
	is "and goes" "$(grep "fsdp_$key" two.yaml)" ""
done
has "so does forward_prefetch" "$out" "fsdp_forward_prefetch is not yet"
is "the input is untouched" "$(cat one.yaml)" "$(cat was.yaml)"
is "the version is 2" "$(grep fsdp_version two.yaml)" "  fsdp_version: 2"
is "other keys stay, known or not" "$(grep -c \
    'TRANSFORMER_BASED_WRAP\|ram_efficient_loading: true\|offload_params: false\|SHARDED_STATE\|tomorrow: 3' \
    two.yaml)" 5
has "comments stay" "$(cat two.yaml)" "num_processes: 8   # two machines' worth"
has "at the top as well" "$(head -n 1 two.yaml)" "# Our cluster."
for pair in FULL_SHARD:true HYBRID_SHARD:true SHARD_GRAD_OP:false \
    HYBRID_SHARD_ZERO2:false NO_SHARD:false 1:true 2:false 3:false 4:true 5:false; do
	sed "s/FULL_SHARD.*/${pair%:*}/" was.yaml >in.yaml
	rm -f out.yaml
	convert --config_file in.yaml --output_file out.yaml >log
	is "fsdp_sharding_strategy ${pair%:*} becomes ${pair#*:}" \
	    "$(grep 'reshard\|strategy' out.yaml)" \
	    "  fsdp_reshard_after_forward: ${pair#*:}"
	sed "s/sharding_strategy: FULL_SHARD.*/reshard_after_forward: ${pair%:*}/" \
	    was.yaml >in.yaml
	convert --config_file in.yaml --output_file out.yaml --overwrite >log
	is "and as fsdp_reshard_after_forward" \
	    "$(grep 'reshard\|strategy' out.yaml)" \
	    "  fsdp_reshard_after_forward: ${pair#*:}"
done
(cat was.yaml; echo "  fsdp_reshard_after_forward: NO_SHARD") >in.yaml
out=$(convert --config_file in.yaml --output_file out.yaml --overwrite)
is "of two values the later one wins" \
    "$(grep 'reshard' out.yaml)" "  fsdp_reshard_after_forward: false"
has "which is said" "$out" "disagree; the later one is kept: false"

# In place, and again.
convert --config_file one.yaml --overwrite >log
is "in place it is the same" "$(cat one.yaml)" "$(cat two.yaml)"
out=$(convert --config_file one.yaml --overwrite)
is "a file for version 2 is no error" $? 0
has "but said" "$out" "it is for version 2 already"
is "and stays as it is" "$(cat one.yaml)" "$(cat two.yaml)"
convert --config_file one.yaml --output_file three.yaml >log
ok "its copy is the same" cmp one.yaml three.yaml
sed '/fsdp_config/,$d' was.yaml | sed s/FSDP/MULTI_GPU/ >plain.yaml
cp plain.yaml same.yaml
out=$(convert --config_file plain.yaml --overwrite)
is "a file without FSDP is no error either" $? 0
has "and said" "$out" "it has no fsdp_config"
ok "and unchanged" cmp plain.yaml same.yaml
echo '{"distributed_type": "FSDP", "compute_environment": "LOCAL_MACHINE",
  "num_processes": 2, "fsdp_config": {"fsdp_sharding_strategy": 2}}' >in.json
convert --config_file in.json --output_file out.json >log
has "JSON stays JSON" "$(cat out.json)" '"fsdp_reshard_after_forward": false'
sed 's/SHARDED_STATE_DICT/LOCAL_STATE_DICT/' was.yaml >in.yaml
has "what version 2 does not have is said" "$(convert --config_file in.yaml \
    --output_file out.yaml --overwrite)" "but now "
has "a file without its flag: the flag is named" \
	"$("$top_builddir/accel" to-fsdp2 train.yaml 2>&1)" \
	"a configuration comes behind --config_file"
done_testing
