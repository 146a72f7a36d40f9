#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random files and flags give the ranks what the Accelerate that is installed
# gives them, but for the differences that follow from accel-launch(1).
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate' 2>/dev/null || {
	skip "no Python with torch and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
seed=${SEED:-7}
"$top_builddir/accel" schema --json >"$work/schema.json"
ok "300 files and flags are recorded, SEED=$seed" sh -c \
	'"$1" "$2/tests/python/record.py" "$3" 300 "$4/schema.json" \
	"$2/tests/data/accelerate_flags.tsv" >"$4/record.jsonl"' _ \
	"$ACCEL_PYTHON" "$top_srcdir" "$seed" "$work"
"$ACCEL_PYTHON" "$top_srcdir/tests/data/launch_env_ours.py" \
	"$work/record.jsonl" >"$work/ours.tsv"
"$top_builddir/tests/unit/launch_env" "$work/record.jsonl" "$work/ours.tsv" \
	>"$work/out"
is "what they give is Accelerate's, but for what is ours" \
	"$(grep -v '^ok\|^1\.\.' "$work/out")" ""
done_testing
