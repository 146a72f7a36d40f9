#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PowerSGD gives what torch's powerSGD_hook gives, from one Q, for ten steps.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/python/torch.sh"
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE

"${ACCEL_PYTHON:-false}" -c 'import torch, safetensors.numpy' 2>/dev/null || {
	skip "no Python with torch and safetensors (make check-python ACCEL_PYTHON=...)"
	done_testing
}
PATH=$(dirname "$ACCEL_PYTHON"):$PATH
ACCEL_PLUGIN_DIR=$top_builddir/.libs
export PATH ACCEL_PLUGIN_DIR
[ -e "$ACCEL_PLUGIN_DIR/libaccel-mpi.so" ] || {
	skip "built without MPICH"
	done_testing
}

for case in "1 2 f32" "2 2 f32" "4 3 f32" "2 2 tiny" "4 2 bf16" "1 2 own"; do
	dir=$work/$(echo "$case" | tr ' ' -)
	mkdir "$dir"
	set -- $case
	timeout 60 "$top_builddir/accel" launch --num_processes 2 --no_python \
	    "$top_builddir/tests/train/powersgd" "$dir" "$@" >"$dir/err" 2>&1 ||
	    sed 's/^/# /' "$dir/err"
	torch_run "$dir/out" timeout 120 "$top_builddir/accel" launch --cpu \
	    --num_processes 2 "$top_srcdir/tests/python/powersgd.py" "$dir" "$@"
	is "rank $1 from step $2 on, $3: torch's gradients ($(grep -o \
	    'off by .*' "$dir/out"))" "$torch_status" 0
	[ "$torch_status" = 0 ] || sed 's/^/# /' "$dir/out"
done
done_testing
