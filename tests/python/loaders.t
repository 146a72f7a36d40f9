#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libaccel deals samples to ranks as the Accelerate that is installed does.
. "${top_srcdir:-.}/tests/tap.sh"
deal=$top_builddir/tests/train/deal
script=$top_srcdir/tests/python/loaders.py

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate' 2>/dev/null || {
	skip "no Python with torch (make check-python ACCEL_PYTHON=...)"
	done_testing
}
HF_HOME=$work/hf
export HF_HOME
seed=${ACCEL_SEED:-$$}
echo "# ACCEL_SEED=$seed"
ok "its samplers give the same, whatever is asked of them" \
	timeout 300 "$ACCEL_PYTHON" "$script" shards "$deal" "$seed"
for world in 2 3; do
	timeout 200 "$top_builddir/accel" launch --cpu --num_processes $world \
		"$script" ranks "$work/ranks.$world" "$seed" \
		>"$work/out" 2>&1 || sed 's/^/# /' "$work/out"
	ok "its prepared loaders give the same on $world ranks" \
		"$ACCEL_PYTHON" "$script" compare "$deal" "$work/ranks.$world"
done
done_testing
