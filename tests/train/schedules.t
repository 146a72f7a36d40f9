#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With two ranks a scheduler steps as Accelerate's.
. "${top_srcdir:-.}/tests/tap.sh"
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export ACCEL_PEER_TIMEOUT=10 ACCEL_START_TIMEOUT=20 MASTER_ADDR=127.0.0.1
export ACCEL_JOB=job$$ ASAN_OPTIONS=detect_leaks=0
if ! [ -e "$top_builddir/.libs/libaccel-mpi.so" ]; then
	skip "built without MPICH"
	done_testing
fi
port=$(free_port)
for i in 0 1; do
	RANK=$i WORLD_SIZE=2 LOCAL_RANK=$i MASTER_PORT=$port \
		timeout -k 1 60 "$top_builddir/tests/train/schedule" rank \
		>"$work/out.$i" 2>&1 &
done
wait
for i in 0 1; do
	is "rank $i: per rank, with split_batches, not linked" \
		"$(cat "$work/out.$i")" "3 as Accelerate"
done
done_testing
