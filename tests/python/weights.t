#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What PyTorch saved is what merge-weights makes whole, bit for bit.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, safetensors.torch' 2>/dev/null || {
	skip "no Python with torch and safetensors (make check-python ACCEL_PYTHON=...)"
	done_testing
}
weights() {
	PYTHONDONTWRITEBYTECODE=1 timeout 120 "$ACCEL_PYTHON" \
	    "$top_srcdir/tests/python/weights.py" "$@" 2>&1 | tail -n 1
}
merge() {
	rm -rf "$work/out"
	"$top_builddir/accel" merge-weights "$@" "$work/out"
}
cd "$work" || exit 1

weights save two 2 >log
weights save four 4 >>log
weights far four far >>log
for from in two four far; do
	merge $from >>log 2>&1
	is "$from: model.safetensors is what was saved" \
	    "$(weights same out/model.safetensors)" "equal 18"
	merge --unsafe_serialization $from >>log 2>&1
	is "$from: and so is pytorch_model.bin" \
	    "$(weights same out/pytorch_model.bin)" "equal 18"
done
merge --max_shard_size 200 four >>log 2>&1
is "files of at most 200 bytes are it as well" \
    "$(weights same out/model.safetensors.index.json)" "equal 18"
mv out shards
merge shards >>log 2>&1
is "which merge again" "$(weights same out/model.safetensors)" "equal 18"
merge --max_shard_size 200 --unsafe_serialization four >>log 2>&1
is "in either form" "$(weights same out/pytorch_model.bin.index.json)" "equal 18"
weights hf hf 2 >>log
merge hf >>log 2>&1
is "the slices of HuggingFaceStorageWriter" \
    "$(weights same out/model.safetensors some)" "equal 13"

weights fsdp fsdp 2 >>log
merge fsdp/pytorch_model_fsdp_0 >>log 2>&1
if "$ACCEL_PYTHON" -c 'import accelerate' 2>/dev/null; then
	"$ACCEL_PYTHON" -c 'import sys; from accelerate.utils import merge_fsdp_weights
merge_fsdp_weights(*sys.argv[1:])' fsdp/pytorch_model_fsdp_0 theirs >>log 2>&1
	ok "an FSDP2 model gives the very file that Accelerate's gives" \
	    cmp out/model.safetensors theirs/model.safetensors
else
	skip "no accelerate"
fi
out=$(merge fsdp/optimizer_0 2>&1)
is "an optimizer's objects are refused" $? 1
has "by name" "$out" '"optimizer.param_groups.0.lr" is no tensor'
merge --tensors_only fsdp/optimizer_0 >>log 2>&1
is "or left out on demand" "$("$ACCEL_PYTHON" -c 'from safetensors import safe_open
print(len(list(safe_open("out/model.safetensors", "pt").keys())))')" 12
sed 's/^/# /' log
done_testing
