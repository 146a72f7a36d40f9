#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An agent obeys its own link, and nobody who comes by another way.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
if [ ! -x "$top_builddir/accel-agent" ]; then
	skip "no agent is built"
	done_testing
fi
timeout 60 python3 "$top_srcdir/tests/cli/agent.py" \
	"$top_builddir/accel-agent" "$work" >out 2>said
is "the talk with an agent goes to its end" "$? $(cat said)" "0 "
while IFS='|' read -r what got want; do
	is "$what" "$got" "$want"
done <out
done_testing
