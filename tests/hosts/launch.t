#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel launch over real sshds on hosts of their own.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
if ! "$top_builddir/accel" launch --help 2>/dev/null | grep -q -e --hosts; then
	skip "accel launch has no --hosts here"
	done_testing
fi
hosts_up 3

three=$host1:2,$host2:1,$host3:1
rank=$top_srcdir/tests/hosts/rank.sh
launch() { # the flags of launch...; fills $out, $said, $status
	timeout 60 "$top_builddir/accel" launch --ssh_config "$ssh_config" \
		"$@" >"$work/out" 2>"$work/said" </dev/null
	status=$?
	out=$(cat "$work/out")
	said=$(cat "$work/said")
}
fresh() { # an empty folder for the ranks
	rm -rf "$work/ranks"
	mkdir -p "$work/ranks"
}
value() { # RANK NAME
	tr '\0' '\n' <"$work/ranks/$1.env" | sed -n "s/^$2=//p"
}
of_all() { # NAME: of ranks 0 to 3
	echo "$(value 0 "$1") $(value 1 "$1") $(value 2 "$1") $(value 3 "$1")"
}
ranks() { # K: what a host runs besides its sshd
	ip netns pids "$hosts_tag$1" | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
			grep -v sshd
	done
}
no_ranks() { [ -z "$(ranks 1)$(ranks 2)$(ranks 3)" ]; }

# Ranks, and what they get.
fresh
mkdir "$work/a folder"
odd='{"a": "$HOME `x` '\''q'\'' \\ *"}'
line='two
lines'
(
	cd "$work/a folder" &&
	SECRET=no timeout 60 "$top_builddir/accel" launch --cpu \
		--ssh_config "$ssh_config" --hosts "$three" \
		--num_processes 4 --env ODD="$odd" --no_python \
		"$rank" "$work/ranks" end "$odd" "$line" '' -x \
		>"$work/out" 2>"$work/said" </dev/null
)
is "three hosts end well" "$? $(cat "$work/said")" "0 "
is "RANK" "$(of_all RANK)" "0 1 2 3"
is "LOCAL_RANK" "$(of_all LOCAL_RANK)" "0 1 0 0"
is "WORLD_SIZE" "$(of_all WORLD_SIZE)" "4 4 4 4"
is "LOCAL_WORLD_SIZE" "$(of_all LOCAL_WORLD_SIZE)" "2 2 1 1"
is "MASTER_ADDR is host 1" "$(of_all MASTER_ADDR)" \
	"$host1 $host1 $host1 $host1"
is "MASTER_PORT is one" "$(of_all MASTER_PORT | tr ' ' '\n' | sort -u |
	wc -l)" 1
is "each on its host" "$(cat "$work"/ranks/[0-3].host | tr '\n' ' ')" \
	"accel-host1 accel-host1 accel-host2 accel-host3 "
is "--env arrives as it is" "$(value 3 ODD)" "$odd"
is "the folder is the caller's" "$(cat "$work/ranks/3.cwd")" "$work/a folder"
printf '%s\0' "$work/ranks" end "$odd" "$line" '' -x >"$work/want"
ok "arguments arrive byte for byte" cmp "$work/want" "$work/ranks/3.argv"
has "output says host and rank" "$(cat "$work/out")" "$host3:3"
has "and what was said" "$(cat "$work/out")" "rank 3 of 4"

# Ends.
fresh
launch --cpu --hosts "$three" --num_processes 4 --no_python "$rank" \
	"$work/ranks" exit 2 3
is "a rank's exit code is the launcher's" "$status" 3
has "the end names the host" "$said" "$host2"
has "and the rank" "$said" "rank 2"
has "and its last words" "$said$out" "rank 2 gives up"
ok "nothing stays" await 20 no_ranks
fresh
launch --cpu --hosts "$three" --num_processes 4 --no_python "$rank" \
	"$work/ranks" die 3
is "a killed rank is 137" "$status" 137
has "by name" "$said" "rank 3"
ok "nothing stays" await 20 no_ranks
fresh
"$top_builddir/accel" launch --cpu --ssh_config "$ssh_config" \
	--hosts "$three" --num_processes 4 --no_python "$rank" \
	"$work/ranks" stay >"$work/out" 2>"$work/said" </dev/null &
held=$!
ok "ranks run" await 30 test -s "$work/ranks/3.argv"
has "and are seen to" "$(ranks 3)" "sleep 300"
kill -9 "$held"
wait "$held" 2>/dev/null
ok "a killed launcher leaves nothing on any host" await 30 no_ranks

# Cores of the other hosts: the same two here, by turns.
"$top_builddir/accel" launch --cpu --ssh_config "$ssh_config" --bind_to core \
	--hosts "$host1:2,$host2:2" --no_python sh -c \
	'echo "$RANK" $(sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status)' \
	>"$work/out" 2>"$work/said" </dev/null
if [ "$(nproc)" -lt 2 ]; then
	skip "one core"
else
	is "ranks of a host are bound apart, and alike on each host" \
		"$(sort -k2n "$work/out" | awk '{ at[NR] = $3 }
			END { print NR, at[1] != at[2], at[1] == at[3],
			at[2] == at[4] }')" "4 1 1 1"
fi

# What cannot start.
fresh
cp "$rank" "$work/host1/home/only.sh"
cp "$rank" "$work/host3/home/only.sh"
launch --cpu --hosts "$three" --num_processes 4 --no_python \
	"$home/only.sh" "$work/ranks" end
is "a program missing on one host" "$status" 1
has "is told of that host" "$said" "$host2"
is "and nothing started" "$(ls "$work/ranks")" ""
: >"$work/empty"
sed "s,$work/known_hosts,$work/empty," "$ssh_config" >"$work/unknown"
good=$ssh_config
ssh_config=$work/unknown
launch --cpu --hosts "$three" --num_processes 4 --no_python "$rank" \
	"$work/ranks" end
ssh_config=$good
is "unknown hosts" "$status" 1
has "are told all at once" "$said" "$host1"
has "with the last" "$said" "$host3"
is "and nothing started" "$(ls "$work/ranks")" ""

# MPI.  MPICH's MPI_Finalize would hang in some runs: pmi.h.
if [ -x "$top_builddir/tests/hosts/mpi-sum" ]; then
	timeout 60 "$top_builddir/accel" launch --ssh_config "$ssh_config" \
		--cpu --hosts "$host1:1,$host2:1" --num_processes 2 \
		--no_python "$top_builddir/tests/hosts/mpi-sum" \
		>"$work/out" 2>"$work/said" </dev/null
	status=$?
	is "an MPICH program ends well" "$status" 0
	is "its sum is over both hosts" "$(sort "$work/out")" \
		"$host1:0 sum 3 of 2
$host2:1 sum 3 of 2"
else
	skip "built without MPICH"
fi

# libaccel: three hosts learn what one process does.
if [ -e "$top_builddir/.libs/libaccel-mpi.so" ]; then
	one=$(RANK=0 WORLD_SIZE=1 "$top_builddir/tests/train/rank" train)
	launch --cpu --hosts "$host1:1,$host2:1,$host3:1" --num_processes 3 \
		--no_python "$top_builddir/tests/train/rank" train
	is "a libaccel program ends well" "$status" 0
	is "with one process's parameters on every host" "$(sort "$work/out")" \
		"$host1:0 $one
$host2:1 $one
$host3:2 $one"
else
	skip "built without MPICH"
fi
done_testing
