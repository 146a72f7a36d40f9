#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 64 ranks that write 100,000 lines each; and a reader that reads none of many
# lines for longer than ranks are made to wait for it.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1

flood() { # RANKS LINES STALL
	timeout 280 python3 "$top_srcdir/tests/cli/flood.py" "$accel" "$@" \
		>out 2>memory
}
small() { # MiB
	[ -n "$ACCEL_SANITIZED" ] || [ "$(tail -n 1 memory)" -lt "$1" ] ||
		{ cat memory; return 1; }
}
flood 64 100000 0
is "of 64 ranks with 100,000 lines each, nothing is torn or lost" \
	"$(cat out)" "exit code 0 torn 0 out of order 0 lost 0"
ok "in less than 64 MiB" small 64
flood 8 100000 15
is "nor is it with a reader that pauses" "$(cat out)" \
	"exit code 0 torn 0 out of order 0 lost 0"
ok "in less than 64 MiB as well" small 64
done_testing
