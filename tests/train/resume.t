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

port=$(free_port)
run() { # WORLD args...: the ranks' output is $work/out.N
	n=$1
	shift
	port=$(free_port)
	i=0
	pids=
	rm -f "$work"/out.*
	while [ $i -lt "$n" ]; do
		RANK=$i WORLD_SIZE=$n LOCAL_RANK=$i MASTER_PORT=$port \
			timeout -k 1 200 "$rank" "$@" >"$work/out.$i" 2>&1 &
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
	sed -n '/^batch/p; /^status/p' "$work"/out.* | sort -u
}
own() {
	cat "$work"/out.* | sed -n 's/^own //p'
}
all() { # what each rank says
	cat "$work"/out.*
}

# 14 batches, saved after 7: with two batches a step that is in the middle of an
# accumulation.
for kind in whole f16 low local; do
	for accum in 1 2; do
		for world in $worlds; do
			what="$kind, $world ranks, $accum batches a step:"
			run $world plain x 14 $accum $kind
			want=$(all)
			has "$what it trains" "$want" "batch 14 hash"
			for how in save $([ $kind = whole ] && echo async); do
				dir=$work/$kind-$how-$world-$accum
				run $world $how "$dir" 7 $accum $kind
				is "$what $how" "$codes" \
					"$(printf ' 0%.0s' $(seq $world))"
				run $world load "$dir" 14 $accum $kind
				is "$what it goes on with the same bits" \
					"$(all)" "$want"
			done
		done
	done
done
[ "$worlds" = 1 ] && done_testing
run 2 plain x 14 1 f16
has "the loss scale has been at work" "$(all)" "scale 0x1p+"
ok "and is no longer the first" sh -c \
	'! grep -q "scale 0x1p+16" "$0"' "$work/out.0"

# A rank that dies while all save: nobody waits for it, and what was saved last
# is whole.
for victim in 0 2; do
	port=$(free_port)
	rm -f "$work"/out.*
	for r in 0 1 2; do
		RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r MASTER_PORT=$port \
			timeout -k 1 200 "$rank" forever "$work/dies" 1 1 \
			>"$work/out.$r" 2>&1 &
		eval "pid$r=$!"
	done
	tries=0
	until [ "$(cat "$work"/out.[0-2] | grep -c ^pid)" -eq 3 ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || break
		sleep 0.1
	done
	kill -KILL "$(sed -n 's/^pid //p' "$work/out.$victim")"
	for r in 0 1 2; do
		eval "wait \$pid$r" 2>/dev/null
		[ $r = $victim ] || has "rank $victim is killed: rank $r names it" \
			"$(cat "$work/out.$r")" "status -5: rank $victim ("
	done
	run 1 load "$work/dies" 2
	has "and the last state loads" "$(all)" "batch 2 hash"
done

# Another number of ranks.
run 1 plain x 14
want=$(shared)
for to in 1 4; do
	run $to load "$work/whole-save-2-1" 14
	is "saved on 2 ranks, loaded on $to: the same parameters" \
		"$(shared)" "$want"
done
run 2 plain x 7
two=$(own)
run 3 load "$work/whole-save-2-1" 7
is "two ranks have the random states that were saved, the third its own" \
	"$(own)" "$two
0000000000000002"
run 3 load "$work/whole-save-2-2" 14 2
is "in the middle of an accumulation every rank fails" "$codes" " 1 1 1"
has "and says why, on rank 0" "$(cat "$work/out.0")" \
	"the checkpoint was saved on 2 ranks in the middle of an accumulation, and here are 3"
has "and on the others" "$(cat "$work/out.2")" \
	"status -7: rank 0: the checkpoint was saved on 2 ranks"
run 3 load "$work/local-save-2-1" 14 1 local
has "and in local SGD" "$(cat "$work/out.1")" \
	"the checkpoint was saved on 2 ranks in local SGD, and here are 3"
run 2 save "$work/whole-save-2-1" 3
run 2 both "$work/whole-save-2-1" 7
run 2 load "$work/whole-save-2-1" 14
is "saved again over itself" "$(shared)" "$want"
printf x | dd of="$work/whole-save-2-1/optimizer.safetensors" bs=1 seek=70000 \
	conv=notrunc 2>/dev/null
run 2 load "$work/whole-save-2-1" 14
has "rank 1 hears which file is damaged" "$(cat "$work/out.1")" \
	"save-2-1/optimizer.safetensors is damaged: its checksum is another"
done_testing
