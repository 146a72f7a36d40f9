#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Families of models against transformers, where the Python has it.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate, transformers' 2>/dev/null || {
	skip "no Python with torch, accelerate and transformers"
	done_testing
}
PYTHONDONTWRITEBYTECODE=1 timeout 400 "$ACCEL_PYTHON" \
	"$top_srcdir/tests/python/families.py" "$top_builddir/accel" "$work" \
	2>"$work/err" || tail -n 5 "$work/err" >&2
