#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing of a job stays on any host, however it ends; nothing of another goes.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 3

cat >"$work/stay.sh" <<'E2'
#!/bin/sh
# Ignores SIGTERM, and has a child in a session of its own that holds stdout.
trap '' TERM
setsid sleep 1000 &
echo "rank $RANK is up"
while :; do sleep 1000; done
E2
chmod +x "$work/stay.sh"
pids() { # K MARK: of host K, those with the mark in their environment
	ip netns pids "$hosts_tag$1" | while read -r pid; do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
			grep -qx "MARK=$2" && echo "$pid"
	done
}
agent() { # K: the agent of our job there, the parent of its rank
	for pid in $(pids "$1" ours); do
		[ "$(cat "/proc/$pid/comm")" = stay.sh ] || continue
		cut -d' ' -f4 "/proc/$pid/stat"
		return
	done
}
none_on() { # K...
	for none_k; do
		[ -z "$(pids "$none_k" ours)" ] || return 1
	done
}
begin() { # MARK: a job on all hosts, told to be up
	"$top_builddir/accel" launch --cpu --ssh_config "$ssh_config" \
		--grace 0.5 --hosts "$host1:1,$host2:1,$host3:1" \
		--env "MARK=$1" --no_python "$work/stay.sh" \
		>"$work/out.$1" 2>"$work/said.$1" </dev/null &
	launcher=$!
	await 30 up "$1"
}
up() { [ "$(grep -c 'is up' "$work/out.$1")" -eq 3 ]; }
ends_within() { # SECONDS WHAT: the launcher, not well, with host 2 or 3 named
	ends_begun=$(date +%s)
	await 60 sh -c "! kill -0 $launcher || grep -q '^State:.Z' \
		/proc/$launcher/status" || kill -9 "$launcher"
	wait "$launcher"
	ends_status=$?
	ends_took=$(($(date +%s) - ends_begun))
	ok "$2: the run fails within $1 s ($ends_took s)" \
		test "$ends_status" -gt 0 -a "$ends_took" -le "$1"
}

ok "another job runs" begin other
other=$launcher

ok "ours runs" begin ours
kill -KILL "$(agent 2)"
ends_within 10 "a killed agent"
has "its host is named" "$(cat "$work/said.ours")" "$host2"
ok "nothing of ours is left" await 10 none_on 1 2 3

ok "ours runs" begin ours
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
ok "a killed launcher: nothing of ours is left" await 10 none_on 1 2 3

ok "ours runs" begin ours
frozen=$(agent 2)
kill -STOP "$frozen"
ends_within 15 "a stopped agent"
has "its host is named" "$(cat "$work/said.ours")" "$host2"
ok "nothing of ours is left on the others" await 10 none_on 1 3
ok "nor on its own" await 20 none_on 2

kill -TERM "$other"
wait "$other"
is "the other job went on through all that, to its end" \
	"$? $(grep -c failed "$work/said.other")" "143 0"

ok "ours runs" begin ours
ip link set "${hosts_tag}v3" down
ends_within 15 "a host without a network"
has "it is named" "$(cat "$work/said.ours")" "$host3"
ok "nothing is left on the others" await 10 none_on 1 2
ok "nor on the lost one" await 25 none_on 3
done_testing
