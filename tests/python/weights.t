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
	    "$top_srcdir/tests/python/weights.py" "$@" 2>&1
}
merge() { # args... OUTPUT
	"$top_builddir/accel" merge-weights "$@" >>log 2>&1
}
cd "$work" || exit 1

weights save two 2 >>log
weights save four 4 >>log
weights far four far >>log
weights hf hf 2 >>log
for from in two four far; do
	merge $from $from-st
	merge --unsafe_serialization $from $from-bin
done
merge --max_shard_size 200 four parts
merge parts parts-st
merge --max_shard_size 200 --unsafe_serialization four parts-bin
merge hf hf-st
got=$(weights same two-st/model.safetensors two-bin/pytorch_model.bin \
    four-st/model.safetensors four-bin/pytorch_model.bin \
    far-st/model.safetensors far-bin/pytorch_model.bin \
    parts/model.safetensors.index.json parts-st/model.safetensors \
    parts-bin/pytorch_model.bin.index.json hf-st/model.safetensors)
has "two ranks: model.safetensors is what was saved" "$got" \
    "two-st/model.safetensors 18"
has "and so is pytorch_model.bin" "$got" "two-bin/pytorch_model.bin 18"
has "four ranks, cut both ways" "$got" "four-st/model.safetensors 18"
has "in the other form" "$got" "four-bin/pytorch_model.bin 18"
has "data beyond 4 GiB" "$got" "far-st/model.safetensors 18"
has "in the other form" "$got" "far-bin/pytorch_model.bin 18"
has "files of at most 200 bytes" "$got" "parts/model.safetensors.index.json 18"
has "which merge again" "$got" "parts-st/model.safetensors 18"
has "in the other form" "$got" "parts-bin/pytorch_model.bin.index.json 18"
has "the slices of HuggingFaceStorageWriter" "$got" "hf-st/model.safetensors 13"

weights fsdp fsdp 2 >>log
merge fsdp/pytorch_model_fsdp_0 out
if "$ACCEL_PYTHON" -c 'import accelerate' 2>/dev/null; then
	"$ACCEL_PYTHON" -c 'import sys; from accelerate.utils import merge_fsdp_weights
merge_fsdp_weights(*sys.argv[1:])' fsdp/pytorch_model_fsdp_0 theirs >>log 2>&1
	ok "an FSDP2 model gives the very file that Accelerate's gives" \
	    cmp out/model.safetensors theirs/model.safetensors
else
	skip "no accelerate"
fi
out=$("$top_builddir/accel" merge-weights fsdp/optimizer_0 out 2>&1)
is "an optimizer's objects are refused" $? 1
has "by name" "$out" '"optimizer.param_groups.0.lr" is no tensor'
merge --tensors_only fsdp/optimizer_0 out
is "or left out on demand" "$("$ACCEL_PYTHON" -c 'from safetensors import safe_open
print(len(list(safe_open("out/model.safetensors", "pt").keys())))')" 12
sed 's/^/# /' log
done_testing
