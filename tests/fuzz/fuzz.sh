#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs fuzz programs, each for its share of some seconds:
#	fuzz.sh FOLDER SECONDS MKDICT NAME...
# What it finds is written to FOLDER/NAME-found; the corpus in the source tree is
# read and never written.
folder=$1 seconds=$2 mkdict=$3
shift 3
each=$((seconds / $#))
[ "$each" -gt 0 ] || each=1
"$mkdict" >"$folder/yaml.dict" && "$mkdict" flags >"$folder/flags.dict" ||
	exit 1
status=0
for name; do
	dict=$folder/yaml.dict
	[ "$name" != flags ] || dict=$folder/flags.dict
	mkdir -p "$folder/$name-corpus" "$folder/$name-found"
	if "$folder/$name" -dict="$dict" -max_total_time="$each" \
		-timeout=10 -rss_limit_mb=2048 -max_len=8192 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$folder/$name-found/" \
		"$folder/$name-corpus" \
		"$top_srcdir/tests/fuzz/corpus/$name" >"$folder/$name.log" 2>&1
	then
		echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' \
			"$folder/$name.log") inputs in $each s"
	else
		ended=$? status=1
		tail -n 40 "$folder/$name.log"
		echo "$name FAILED with status $ended; keep what it found:" \
			"$(ls "$folder/$name-found"/* 2>/dev/null || echo nothing)"
	fi
done
exit $status
