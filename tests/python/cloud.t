#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SageMaker jobs and TPU commands, against Accelerate's own functions.
. "${top_srcdir:-.}/tests/tap.sh"
"${ACCEL_PYTHON:-false}" -c 'import accelerate.commands.tpu' 2>/dev/null || {
	skip "no Python with accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
HF_HOME=$work/hf
export HF_HOME
"$ACCEL_PYTHON" "$top_srcdir/tests/python/cloud.py" "$top_builddir/accel" "$work"
