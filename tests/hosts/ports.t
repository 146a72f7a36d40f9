#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several runs on the same hosts at once, and ports that others have.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2

meet() { # flags...
	timeout -k 1 90 "$top_builddir/accel" launch --cpu \
		--ssh_config "$ssh_config" --hosts "$host1:2,$host2:2" "$@" \
		--no_python "$top_builddir/tests/hosts/meet" </dev/null
}
runs=
for run in 1 2 3 4 5 6 7 8 9 10; do
	meet >"$work/out.$run" 2>"$work/said.$run" &
	runs="$runs $!"
done
codes=
for run in $runs; do
	wait "$run"
	codes="$codes$? "
done
is "ten runs at once on the same hosts all meet" "$codes" \
	"0 0 0 0 0 0 0 0 0 0 "
is "each at one port" "$(for run in 1 2 3 4 5 6 7 8 9 10; do
	sed 's/.*met at //' "$work/out.$run" | sort -u
done | wc -l)" 10
cat "$work"/said.* | sed 's/^/# /' | head -20

meet --main_process_port 29500 >"$work/out" 2>&1
is "a port that is asked for is taken" \
	"$? $(sed 's/.*met at //' "$work/out" | sort -u)" "0 29500"
meet --main_process_port 29500 >"$work/out" 2>&1
is "and again at once" "$?" 0

in_host 1 env MASTER_PORT=29500 RANK=0 WORLD_SIZE=2 ACCEL_JOB=x \
	"$top_builddir/tests/hosts/meet" >/dev/null 2>&1 &
other=$!
taken() { in_host 1 ss -Hltn "sport = :29500" | grep -q 29500; }
ok "another program has 29500 on rank 0's host alone" await 10 taken
meet --main_process_port 29500 >"$work/out" 2>&1
is "that port is refused" "$?" 1
has "by name" "$(cat "$work/out")" "29500"
has "with its host" "$(cat "$work/out")" "$host1"
meet >"$work/out" 2>&1
is "no port in particular: any other one will do" "$?" 0
timeout 60 "$top_builddir/accel" launch --cpu --ssh_config "$ssh_config" \
	--hosts "$host2:1,$host1:1" --main_process_port 29500 --no_python \
	"$top_builddir/tests/hosts/meet" >"$work/out" 2>&1 </dev/null
is "nor does it matter on a host that has not rank 0" "$?" 0
kill "$other"
done_testing
