#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What libaccel writes is what the libraries of others read.
. "${top_srcdir:-.}/tests/tap.sh"
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export PYTHONDONTWRITEBYTECODE=1
resume=$top_builddir/tests/train/resume
py=$top_srcdir/tests/python/state.py

"${ACCEL_PYTHON:-false}" -c 'import safetensors.numpy' 2>/dev/null || {
	skip "no Python with safetensors (make check-python ACCEL_PYTHON=...)"
	done_testing
}
"$resume" save "$work/state" 7 2 f16 >"$work/out"
hash=$(sed -n 's/^batch 7 hash //p' "$work/out")
is "safetensors opens every array of a state, and the parameters are they" \
	"$("$ACCEL_PYTHON" "$py" state "$work/state" 2>&1)" "a b c
master.a master.b master.c state.0.a state.0.b state.0.c state.1.a state.1.b state.1.c
accel.loader.0 accel.loop accel.scheduler.0 batch
0/accel.units 0/dice 0:grad.a 0:grad.b 0:grad.c
hash $hash"
"$resume" model "$work/model" 7 >"$work/out"
hash=$(sed -n 's/^batch 7 hash //p' "$work/out")
is "a model in shards is cut as the limit says" \
	"$(cd "$work/model" && echo model-*)" "model-00001-of-00003.safetensors model-00002-of-00003.safetensors model-00003-of-00003.safetensors"
if "$ACCEL_PYTHON" -c 'import transformers' 2>/dev/null; then
	is "transformers loads it" "$(HF_HUB_OFFLINE=1 "$ACCEL_PYTHON" "$py" \
		model "$work/model" 2>"$work/err" || sed 's/^/# /' "$work/err" >&2)" \
		"hash $hash"
else
	skip "no transformers"
fi
done_testing
