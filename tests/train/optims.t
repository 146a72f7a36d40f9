#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Groups are compared on all ranks, and 8-bit scales agreed on.
. "${top_srcdir:-.}/tests/tap.sh"
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export ACCEL_PEER_TIMEOUT=10 ACCEL_START_TIMEOUT=20 MASTER_ADDR=127.0.0.1
export ACCEL_JOB=job$$ ASAN_OPTIONS=detect_leaks=0
if ! [ -e "$top_builddir/.libs/libaccel-mpi.so" ]; then
	skip "built without MPICH"
	done_testing
fi
port=$(free_port)
run() { # what: two ranks; their output is $work/out.0 and .1
	port=$(free_port)
	for i in 0 1; do
		RANK=$i WORLD_SIZE=2 LOCAL_RANK=$i MASTER_PORT=$port \
			timeout -k 1 60 "$top_builddir/tests/train/optim" "$1" \
			>"$work/out.$i" 2>&1 &
	done
	wait
}
run groups
for i in 0 1; do
	has "rank $i: another decay on another rank is named" \
		"$(cat "$work/out.$i")" \
		"group 0 (*.bias, lr_scale 1, weight_decay 0.25)"
done
run fp8
for i in 0 1; do
	is "rank $i: scales are for the largest of both ranks" \
		"$(cat "$work/out.$i")" "scales 448 149.333"
done
done_testing
