#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which ranks write what.
. "${top_srcdir:-.}/tests/tap.sh"
tracker=$top_builddir/tests/train/tracker
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE ACCEL_TRACK
export ACCEL_JOB=job$$ MASTER_ADDR=127.0.0.1 ASAN_OPTIONS=detect_leaks=0

out=$("$tracker" csv "$work/one.csv" 2>&1)
is "one process writes" "$? $out" "0 "
is "a setting has no step, and numbers are as short as can be" \
	"$(tr -d '\r' <"$work/one.csv" | cut -d, -f2- | sed -n '1,5p; $p')" \
"rank,step,key,value
0,,lr,3e-4
0,,name,grüße
0,0,train/loss,1
0,1,train/loss,0.5
0,1,odd,nan"
"$tracker" csv "$work/one.csv"
is "another run adds to the file, without another head" \
	"$(grep -c . "$work/one.csv") $(grep -c ^time "$work/one.csv")" "29 1"
[ -e "$top_builddir/.libs/libaccel-mpi.so" ] || {
	skip "built without MPICH"
	done_testing
}
port=$(free_port)
two() { # args...: two ranks, with a file for whoever watches
	port=$(free_port)
	for r in 0 1; do
		RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_PORT=$port \
			ACCEL_TRACK=$work/watch timeout 200 "$tracker" "$@" \
			>"$work/out.$r" 2>&1 &
		eval pid$r=$!
	done
	wait $pid0 && wait $pid1
}
two csv "$work/main.csv"
is "two ranks are well" $? 0
is "rank 0 alone writes" "$(cd "$work" && echo main.csv*)" main.csv
is "and tells who watches" \
	"$(sed -n '1s/.*\("event":"[a-z]*"\).*\("world":[0-9]*\).*/\1 \2/p' \
	"$work/watch") $(grep -c '"event":"log"' "$work/watch")" \
	'"event":"start" "world":2 12'
two csv "$work/each.csv" all
is "or each rank a file of its own" "$(cd "$work" && echo each.csv*)" \
	"each.csv each.csv.rank-1"
is "with its rank in it" \
	"$(cut -d, -f2 "$work/each.csv.rank-1" | sort -u | xargs)" "1 rank"
done_testing
