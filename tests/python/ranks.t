#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An unchanged Accelerate script is one world, on as many ranks as were asked for.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate' 2>/dev/null || {
	skip "no Python with torch and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
PATH=$(dirname "$ACCEL_PYTHON"):$PATH
HF_HOME=$work/hf
export PATH HF_HOME
script=$top_srcdir/tests/python/ddp.py

out=$(timeout 120 "$top_builddir/accel" launch --cpu --num_processes 3 "$script" 2>"$work/err")
has "three CPU ranks are one world of three" "$out" "MULTI_CPU 3 6.0"

cat >"$work/cpu.yaml" <<'EOF'
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
mixed_precision: 'no'
num_machines: 1
num_processes: 2
use_cpu: true
EOF
out=$(timeout 120 "$top_builddir/accel" launch --config_file "$work/cpu.yaml" "$script" 2>"$work/err")
has "a MULTI_CPU file starts its two ranks" "$out" "MULTI_CPU 2 3.0"

out=$(timeout 120 "$top_builddir/accel" launch --cpu "$script" 2>"$work/err")
has "one process needs no world" "$out" "NO 1 1.0"

timeout 120 "$top_builddir/accel" launch --cpu --num_processes 2 "$script" 1 \
    >"$work/out" 2>"$work/err"
is "a failing rank's exit code is the launcher's" $? 1
has "the failing rank's last line is shown" "$(cat "$work/err")" "ValueError: rank 1 was told to fail"
done_testing
