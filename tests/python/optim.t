#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the C tests hold optimizers, schedules and 8-bit floats against is what
# torch, transformers and Accelerate give.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, transformers, accelerate' \
    2>/dev/null || {
	skip "no Python with torch, transformers and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
PATH=$(dirname "$ACCEL_PYTHON"):$PATH
HF_HOME=$work/hf
export PATH HF_HOME

# Words are the same; numbers may differ in their last bits, which depend on
# the processor.
cat >"$work/same.py" <<'END'
import sys
new, old = (open(name).read().splitlines() for name in sys.argv[1:3])
for n, o in zip(new, old, strict=True):
    for a, b in zip(n.split(), o.split(), strict=True):
        if a != b and abs(float(a) - float(b)) > float(sys.argv[3]):
            sys.exit(f"{a} is not {b} in\n{n}")
END
"$ACCEL_PYTHON" "$top_srcdir/tests/python/optim.py" >"$work/optim"
ok "torch's optimizers give tests/data/optim.txt" \
    "$ACCEL_PYTHON" "$work/same.py" "$work/optim" \
    "$top_srcdir/tests/data/optim.txt" 5e-7

"$ACCEL_PYTHON" "$top_srcdir/tests/python/fp8.py" >"$work/fp8"
ok "torch's 8-bit floats give tests/data/fp8.txt" \
    cmp "$work/fp8" "$top_srcdir/tests/data/fp8.txt"

{
	"$ACCEL_PYTHON" "$top_srcdir/tests/python/schedule.py"
	timeout 120 "$top_builddir/accel" launch --cpu --num_processes 2 \
	    "$top_srcdir/tests/python/schedule.py" 2>"$work/err" |
	    sed -n 's/^.*\(accelerate 2\)/\1/p'
} >"$work/schedule"
ok "the peers' schedules give tests/data/schedule.txt" \
    "$ACCEL_PYTHON" "$work/same.py" "$work/schedule" \
    "$top_srcdir/tests/data/schedule.txt" 1e-15
done_testing
