#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# estimate-memory and env against Accelerate's own functions; see estimate.py.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate, safetensors' 2>/dev/null || {
	skip "no Python with torch and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
PATH=$(dirname "$ACCEL_PYTHON"):$PATH
export PATH
PYTHONDONTWRITEBYTECODE=1 timeout 400 "$ACCEL_PYTHON" "$top_srcdir/tests/python/estimate.py" \
	"$top_builddir/accel" "$work" 2>"$work/err" || tail -n 5 "$work/err" >&2
