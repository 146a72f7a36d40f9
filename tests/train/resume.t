#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A training that stops and goes on is the training that never stopped.
. "${top_srcdir:-.}/tests/tap.sh"
rank=$top_builddir/tests/train/resume
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export ACCEL_PEER_TIMEOUT=5 ACCEL_START_TIMEOUT=20 MASTER_ADDR=127.0.0.1
export ACCEL_JOB=job$$ ASAN_OPTIONS=detect_leaks=0
worlds="1 2 3"
[ -e "$top_builddir/.libs/libaccel-mpi.so" ] || worlds=1

port=$((20000 + $$ % 20000))
run() { # WORLD args...: the ranks' output is $work/out.N
	n=$1
	shift
	port=$((port + 1))
	i=0
	pids=
	rm -f "$work"/out.*
	while [ $i -lt "$n" ]; do
		RANK=$i WORLD_SIZE=$n LOCAL_RANK=$i MASTER_PORT=$port \
			timeout -k 1 60 "$rank" "$@" >"$work/out.$i" 2>&1 &
		pids="$pids $!"
		i=$((i + 1))
	done
	codes=
	for pid in $pids; do
		wait "$pid"
		codes="$codes $?"
	done
}
shared() { # the parameters' hash of all ranks
	sed '/^own/d' "$work"/out.* | sort -u
}
own() {
	cat "$work"/out.* | sed -n 's/^own //p'
}

# Batches 0 to 13, saved after 7: with two batches a step that is in the middle
# of an accumulation.
for accum in 1 2; do
	for world in $worlds; do
		run $world plain "$work/none" 0 14 $accum
		want=$(shared) mine=$(own)
		has "$world ranks, $accum batches a step" "$want" "batch 14 hash"
		for how in save async; do
			run $world $how "$work/$how-$world-$accum" 0 7 $accum
			is "they $how" "$codes" "$(printf ' 0%.0s' $(seq $world))"
			run $world load "$work/$how-$world-$accum" 0 14 $accum
			is "and go on with the same bits" "$(shared)" "$want"
			is "and the same random states" "$(own)" "$mine"
		done
	done
done
[ "$worlds" = 1 ] && done_testing

# Another number of ranks.
want=$(run 1 plain x 0 14; shared)
for to in 1 4; do
	run $to load "$work/save-2-1" 0 14
	is "saved on 2 ranks, loaded on $to: the same parameters" \
		"$(shared)" "$want"
done
run 2 plain x 0 7
two=$(own)
run 3 load "$work/save-2-1" 0 7
is "two ranks have the random states that were saved, the third its own" \
	"$(own)" "$two
0000000000000002"
run 3 load "$work/save-2-2" 0 14 2
is "in the middle of an accumulation every rank fails" "$codes" " 1 1 1"
has "and says why, on rank 0" "$(cat "$work/out.0")" \
	"the checkpoint was saved on 2 ranks in the middle of an accumulation, and here are 3"
has "and on the others" "$(cat "$work/out.2")" \
	"status -7: rank 0: the checkpoint was saved on 2 ranks"
run 2 save "$work/save-2-1" 0 3
run 2 both "$work/save-2-1" 0 7
run 2 load "$work/save-2-1" 0 14
is "saved again over itself" "$(shared)" "$want"
printf x | dd of="$work/save-2-1/optimizer.safetensors" bs=1 seek=70000 \
	conv=notrunc 2>/dev/null
run 2 load "$work/save-2-1" 0 14
has "rank 1 hears which file is damaged" "$(cat "$work/out.1")" \
	"save-2-1/optimizer.safetensors is damaged: its checksum is another"
done_testing
