#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The list of Accelerate's flags is that of the Accelerate that is installed.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import accelerate' 2>/dev/null || {
	skip "no Python with accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
"$ACCEL_PYTHON" "$top_srcdir/tests/python/flags.py" >"$work/flags"
ok "tests/data/accelerate_flags.tsv has them all" \
	diff -u "$top_srcdir/tests/data/accelerate_flags.tsv" "$work/flags"
done_testing
