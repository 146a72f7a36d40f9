#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace is JSON whose spans nest, and has all of each step.
. "${top_srcdir:-.}/tests/tap.sh"
rank=$top_builddir/tests/train/resume
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export ACCEL_JOB=job$$ MASTER_ADDR=127.0.0.1 ASAN_OPTIONS=detect_leaks=0
export PYTHONDONTWRITEBYTECODE=1
show() { # RANK
	python3 "$top_srcdir/tests/train/profile.py" "$work/new/p_$1.json" $1 2>&1
}

ACCEL_PROFILE=$work/new/p "$rank" save "$work/state" 6 2 >/dev/null
is "six batches, three steps, and a save, on one rank" "$(show 0)" \
"backward 6
backward/ready:a 6
backward/ready:b 6
backward/ready:c 6
save 1
step 6
step/unscale 3
step/update 3
step/wait 3
set()"
out=$(ACCEL_PROFILE=/dev/null/x "$rank" plain x 1 2>&1)
is "a file that cannot be is said once, and training goes on" \
	"$(echo "$out" | sed -n '1p; s/ hash.*//; 2p')" \
"accel: ACCEL_PROFILE: /dev/null/x_0.json: Not a directory; training goes on without it
batch 1"
[ -e "$top_builddir/.libs/libaccel-mpi.so" ] || {
	skip "built without MPICH"
	done_testing
}
port=$(free_port)
for r in 0 1; do
	RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_PORT=$port \
		ACCEL_PROFILE=$work/new/p timeout 200 "$rank" plain x 6 1 f16 \
		>"$work/out.$r" 2>&1 &
	eval pid$r=$!
done
wait $pid0 && wait $pid1
is "two ranks are well" $? 0
for r in 0 1; do
	is "rank $r has six exchanges beside its steps" "$(show $r)" \
"backward 6
backward/ready:a 6
backward/ready:b 6
backward/ready:c 6
communication 6
step 6
step/unscale 6
step/update 3
step/wait 6
{48000}"
done
done_testing
