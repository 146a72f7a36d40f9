#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What two ranks of PyTorch keep is what estimate-memory says of them.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel

"${ACCEL_PYTHON:-false}" -c 'import torch' 2>/dev/null || {
	skip "no Python with torch (make check-python ACCEL_PYTHON=...)"
	done_testing
}
HF_HOME=$work/hf
export HF_HOME
timeout 200 "$accel" launch --cpu --num_processes 2 \
	"$top_srcdir/tests/python/shares.py" >"$work/out" 2>"$work/err"
is "two ranks train with DDP, and with FSDP" $? 0
sed -n 's/^.*\(ddp\|fsdp\) /\1 /p' "$work/out" >"$work/kept"
while read -r kind rest; do
	is "$kind: bytes a parameter, as measured" "$("$accel" estimate-memory \
	    --params 1B --num_processes 2 --precision bf16 --sharding "$kind" \
	    --json | "$ACCEL_PYTHON" -c 'import json, sys
row, = json.load(sys.stdin)["ranks"]
parts = row["device_parts"]
print(*("%g" % (n / 1e9) for n in (parts["parameters"], parts["gradients"],
    parts["optimizer"], sum(t["bytes"] for t in row["terms"]
    if t["formula"].startswith("buckets")))))')" "$rest"
done <"$work/kept"
is "for both" "$(wc -l <"$work/kept")" 2
done_testing
