#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several ranks on this host, started by hand as any launcher would.
. "${top_srcdir:-.}/tests/tap.sh"
rank=$top_builddir/tests/train/rank
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export ACCEL_PEER_TIMEOUT=2 ACCEL_START_TIMEOUT=20 MASTER_ADDR=127.0.0.1
export ACCEL_JOB=job$$ ASAN_OPTIONS=detect_leaks=0
if ! [ -e "$top_builddir/.libs/libaccel-mpi.so" ]; then
	skip "built without MPICH"
	done_testing
fi

port=$(free_port)
run() { # WORLD args...: starts the ranks; their output is $work/out.N
	n=$1
	shift
	port=$(free_port)
	i=0
	pids=
	while [ $i -lt "$n" ]; do
		RANK=$i WORLD_SIZE=$n LOCAL_RANK=$i MASTER_PORT=$port \
			timeout -k 1 60 "$rank" "$@" >"$work/out.$i" 2>&1 &
		pids="$pids $!"
		i=$((i + 1))
	done
}
finish() {
	codes=
	for pid in $pids; do
		wait "$pid"
		codes="$codes $?"
	done
}
# Waits until all ranks say they are at work.
at_work() {
	tries=0
	while [ "$(cat "$work"/out.[0-2] | grep -c ^pid)" -lt 3 ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || return 1
		sleep 0.1
	done
}

run 1 train && finish
want=$(cat "$work/out.0")
has "one rank trains" "$want" "parameters "
for world in 2 3; do
	for bucket in 0 4 8000; do
		run $world train $bucket && finish
		is "$world ranks, buckets of $bucket: the same bits on all" \
			"$(cat "$work"/out.* | sort -u)" "$want"
	done
done
rm -f "$work"/out.*
run 2 gather && finish
is "metrics are of exactly the samples, in order" \
	"$(cat "$work/out.1")" "0 1 2 3 4 5 6 "
run 3 mismatch && finish
has "another shape is named" "$(cat "$work/out.0")" \
	"rank 0 and rank 2 differ: rank 0 has w1 (unit w1, F32, shape 1000)"
if [ -x "$top_builddir/examples/adder" ]; then
	rank=$top_builddir/examples/adder
	cat >"$work/near.py" <<'EOF'
import array, sys
def read(path):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values
start, one, other = map(read, sys.argv[1:4])
assert len(start) == len(one) == len(other) > 1000
update = sum((a - b) ** 2 for a, b in zip(one, start)) ** .5
apart = sum((a - b) ** 2 for a, b in zip(one, other)) ** .5
print("# rms(difference) / rms(update) = %.1e" % (apart / update))
sys.exit(not apart / update < 1e-4)
EOF
	run 1 --steps 1 --save-params "$work/params.0" && finish
	run 1 --steps 20 --save-params "$work/params.1" && finish
	want=$(sed 's/ tokens.*//' "$work/out.0")
	for world in 2 3; do
		run $world --steps 20 --save-params "$work/params.$world" && finish
		is "the example learns the same with $world ranks" \
			"$(sed 's/ tokens.*//' "$work/out.0")" "$want"
		ok "and ends with the same parameters, within rounding" python3 \
			"$work/near.py" "$work/params.0" "$work/params.1" \
			"$work/params.$world"
	done
	rank=$top_builddir/tests/train/rank
fi
for victim in 0 1 2; do
	for signal in KILL STOP; do
		rm -f "$work"/out.*
		run 3 loop
		ok "all ranks are at work before rank $victim gets SIG$signal" at_work
		pid=$(sed -n 's/^pid //p' "$work/out.$victim")
		begin=$(date +%s)
		kill -$signal "$pid"
		k=0
		for p in $pids; do
			[ $k = $victim ] || wait "$p"
			k=$((k + 1))
		done
		took=$(($(date +%s) - begin))
		kill -KILL "$pid" 2>/dev/null
		finish
		for k in 0 1 2; do
			[ $k = $victim ] || has \
				"SIG$signal of rank $victim: rank $k names it" \
				"$(cat "$work/out.$k")" \
				"status -5: rank $victim ("
		done
		ok "SIG$signal of rank $victim: within the limit ($took s)" \
			test $took -le 6
	done
done

# In the middle of a message that is copied out of the other's memory, UCX would
# end the survivor.
aborted=0
for k in 1 2 3 4 5 6; do
	rm -f "$work"/out.*
	run 2 big
	tries=0
	until grep -q ^pid "$work/out.1" || [ $tries -gt 300 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -KILL "$(sed -n 's/^pid //p' "$work/out.1")"
	finish
	grep -q "status -5: rank 1 (" "$work/out.0" || aborted=$((aborted + 1))
done
is "SIGKILL amid large messages: the other lives to name it" $aborted 0

rm -f "$work"/out.*
run 3 linger
ok "all ranks but the last would leave" at_work
kill -KILL "$(sed -n 's/^pid //p' "$work/out.2")"
finish
is "who waits for it fails when it dies" "${codes% *}" " 1 1"
has "and names it" "$(cat "$work/out.1")" "status -5: rank 2 ("

ACCEL_PEER_TIMEOUT=0.3
run 2 linger
finish
has "a limit of silence shorter than heartbeats is refused" \
	"$(cat "$work/out.0")" "0.3 s are over before the second heartbeat"
done_testing
