#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first rank that fails ends all on all hosts, within 2 s and the grace
# period, whatever the program is.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 4
four=$host1:1,$host2:1,$host3:1,$host4:1

cat >"$work/fails.sh" <<'E2'
#!/bin/sh
# Rank 2 fails as it is told; the others do not listen to SIGTERM.
trap '' TERM
date +%s.%N >"$1/up$RANK"
until [ "$(ls "$1" | grep -c up)" -eq 4 ]; do sleep 0.05; done
if [ "$RANK" = 2 ]; then
	date +%s.%N >"$1/failed"
	[ "$2" = kill ] && kill -9 $$
	exit "$2"
fi
while :; do sleep 60; done
E2
cat >"$work/fails.py" <<'E2'
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder, rank = sys.argv[1], int(os.environ["RANK"])
open(folder + "/up%d" % rank, "w").close()
while sum("up" in name for name in os.listdir(folder)) < 4:
    time.sleep(0.05)
if rank == 2:
    with open(folder + "/failed", "w") as out:
        out.write(str(time.time()))
    raise ValueError("loss is not a number")
time.sleep(60)
E2
chmod +x "$work/fails.sh"
left() { # ranks of this test on any host
	for left_k in 1 2 3 4; do
		ip netns pids "$hosts_tag$left_k" | while read -r pid; do
			tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
				grep -q '^ACCEL_JOB=' && echo "$pid"
		done
	done
}
launch() { # WANTED-CODE SECONDS WHAT flags...
	want=$1 limit=$2 what=$3
	shift 3
	rm -rf "$work/ups"
	mkdir "$work/ups"
	timeout 60 "$top_builddir/accel" launch --cpu --ssh_config \
		"$ssh_config" --grace 0.5 --hosts "$four" "$@" \
		>"$work/out" 2>"$work/said" </dev/null
	status=$?
	ended=$(date +%s.%N)
	is "$what: the exit code is rank 2's" "$status" "$want"
	has "$what: it is named" "$(cat "$work/said")" \
		"rank 2 failed on $host3"
	is "$what: no process is left" "$(left)" ""
	[ -s "$work/ups/failed" ] || return 0
	took=$(echo "$ended $(cat "$work/ups/failed")" | awk '{print $1 - $2}')
	ok "$what: within 2 s and the grace period ($took s)" \
		awk "BEGIN{exit !($took < $limit)}"
}
launch 3 2.5 "a program" --no_python "$work/fails.sh" "$work/ups" 3
launch 137 2.5 "a killed program" --no_python "$work/fails.sh" "$work/ups" kill
launch 1 2.5 "a Python script" "$work/fails.py" "$work/ups"
has "with the last line of its traceback" "$(cat "$work/said")" \
	"ValueError: loss is not a number"
if [ -x "$top_builddir/tests/hosts/mpi-sum" ]; then
	launch 5 2.5 "an MPI program" --no_python \
		"$top_builddir/tests/hosts/mpi-sum" 2 5
else
	skip "built without MPICH"
fi
done_testing
