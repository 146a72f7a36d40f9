#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Accelerate's own test scripts, unchanged, under "accel launch".
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/python/torch.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate' 2>/dev/null || {
	skip "no Python with torch and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
scripts=$("$ACCEL_PYTHON" -c 'import accelerate.test_utils as t, os
print(os.path.join(os.path.dirname(t.__file__), "scripts"))')
PATH=$(dirname "$ACCEL_PYTHON"):$PATH
HF_HOME=$work/hf
export PATH HF_HOME

for script in test_script test_sync test_ops; do
	torch_run "$work/out" timeout 400 "$top_builddir/accel" launch --cpu \
		--num_processes 2 "$scripts/$script.py"
	status=$?
	is "$script.py passes with two CPU ranks" "$status" 0
	[ "$status" = 0 ] || tail -n 40 "$work/out" | sed 's/^/# /'
done
done_testing
