#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each template is a configuration that launches.
. "${top_srcdir:-.}/tests/tap.sh"

echo 'print("hello")' >"$work/train.py"
for file in "$top_srcdir"/templates/*.yaml; do
	name=$(basename "$file")
	n=$(sed -n 's/^num_processes: //p' "$file")
	out=$("$top_builddir/accel" launch --config_file "$file" --print "$work/train.py" 2>&1)
	is "$name launches" $? 0
	is "$name has $n ranks" "$(printf '%s\n' "$out" | grep -c '^rank [0-9]* on ')" "$n"
done
done_testing
