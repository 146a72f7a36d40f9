#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Open MPI programs under accel launch: on this machine, and on two hosts.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
accel=$top_builddir/accel
# What Open MPI leaves behind where it is killed.
export OMPI_MCA_orte_tmpdir_base="$work"
sum=$top_builddir/tests/hosts/openmpi-sum
if [ ! -x "$top_builddir/accel-pmix" ]; then
	skip "built without libpmix-dev"
	done_testing
fi
if [ ! -x "$sum" ]; then
	skip "no mpicc.openmpi here: Debian's libopenmpi-dev"
	done_testing
fi
launch() { # the flags of launch...; fills $out (sorted), $said, $status
	timeout 90 "$accel" launch --cpu "$@" >"$work/out" 2>"$work/said" \
		</dev/null
	status=$?
	out=$(sort "$work/out")
	said=$(cat "$work/said")
}
folders() { ls -d /tmp/accel-pmix-* 2>/dev/null; }
before=$(folders)

launch --num_processes 3 --no_python "$sum"
is "three ranks of an Open MPI program are a world" "$status $out" \
	"0 localhost:0 sum 6 of 3
localhost:1 sum 6 of 3
localhost:2 sum 6 of 3"
launch --num_processes 2 --mpi pmix --no_python sh -c "$sum"
is "--mpi pmix starts what does not look like one" "$status $out" \
	"0 localhost:0 sum 3 of 2
localhost:1 sum 3 of 2"
launch --num_processes 2 --mpi pmi --no_python sh -c 'echo $PMI_SIZE'
is "--mpi pmi has PMI-1" "$out" "localhost:0 2
localhost:1 2"
launch --num_processes 2 --mpi mpich --no_python true
is "no other" "$status" 1
has "is known" "$said" "--mpi mpich: no such way"
launch --num_processes 1 --no_python "$sum"
is "one process needs no server" "$status $out" "0 sum 1 of 1"
launch --num_processes 2 --mpi pmix --no_python sh -c \
	'[ $RANK = 1 ] && exit 4; sleep 100'
is "a rank's exit code is the launcher's" "$status" 4
launch --num_processes 2 --mpi pmix --no_python "$work/nothing"
is "a program that is not there" "$status" 1
has "is named" "$said" "nothing"
servers() { pgrep -f "^$top_builddir/accel-pmix "; }
is "no server stays" "$(servers)" ""
is "and no folder" "$(folders)" "$before"
"$top_builddir/accel-pmix" >"$work/out" 2>&1
is "accel-pmix by hand is refused" "$?" 2

hosts_up 3
launch --ssh_config "$ssh_config" --hosts "$host1:2,$host2:1,$host3:1" \
	--no_python "$sum"
is "a world over three hosts" "$status $out" "0 $host1:0 sum 10 of 4
$host1:1 sum 10 of 4
$host2:2 sum 10 of 4
$host3:3 sum 10 of 4"
left() {
	for k in 1 2 3; do
		ip netns pids "$hosts_tag$k" | while read -r pid; do
			tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
				grep -v sshd
		done
	done
}
none_left() { [ -z "$(left)" ]; }
ok "nothing stays on them" await 20 none_left
"$accel" launch --cpu --ssh_config "$ssh_config" --mpi pmix --no_python \
	--hosts "$host1:2,$host2:1" sh -c "$sum; exec sleep 300" \
	>"$work/out" 2>"$work/said" </dev/null &
three() { [ "$(grep -c sum "$work/out")" -eq 3 ]; }
ok "ranks are up" await 40 three
kill -9 $!
wait $! 2>/dev/null
ok "a killed launcher leaves no rank and no server" await 30 none_left
done_testing
