#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Flags and keys are those of the Accelerate that is installed.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import accelerate' 2>/dev/null || {
	skip "no Python with accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
"$ACCEL_PYTHON" "$top_srcdir/tests/python/flags.py" >"$work/flags"
ok "tests/data/accelerate_flags.tsv has them all" \
	diff -u "$top_srcdir/tests/data/accelerate_flags.tsv" "$work/flags"
is "each key of its two kinds of file is in the table, and no other" \
	"$("$top_builddir/accel" schema --json |
	"$ACCEL_PYTHON" "$top_srcdir/tests/python/keys.py" 2>&1)" ""
done_testing
