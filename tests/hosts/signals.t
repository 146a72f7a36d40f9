#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signals to the launcher, in every phase of a run over real sshds.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2

ranks=$work/ranks
begin() { # flags...: a run of signals.sh; what it does is in $what, which
	# signals the launcher finds ignored in $ignored
	rm -rf "$ranks"
	mkdir "$ranks"
	timeout -k 1 60 sh -c 'trap "" $0 && exec "$@"' "${ignored:-PIPE}" \
		"$top_builddir/accel" launch --cpu \
		--ssh_config "$ssh_config" \
		--hosts "$host1:1,$host2:1" "$@" --no_python \
		"$top_srcdir/tests/hosts/signals.sh" "$ranks" $what \
		>"$work/out" 2>"$work/said" </dev/null &
	timer=$!
	await 10 pgrep -P "$timer" || return 1
	launcher=$(pgrep -P "$timer")
}
running() { [ -e "$ranks/0" ] && [ -e "$ranks/1" ]; }
ran() { await 30 running; }
begin_and_run() { begin "$@" && ran; }
got() { # what each rank has got
	tr '\n' ' ' <"$ranks/0"
	echo / | tr '\n' ' '
	tr '\n' ' ' <"$ranks/1"
}
tell() { kill "-$1" "$launcher"; }
ends() { # SECONDS CODE WHAT: with that code, in that time
	ends_begun=$(date +%s)
	wait "$timer"
	ends_status=$?
	ends_took=$(($(date +%s) - ends_begun))
	is "$3: its exit code" "$ends_status" "$2"
	ok "$3: within $1 s ($ends_took s)" test "$ends_took" -le "$1"
}
left() { # what runs on the hosts of ours
	for left_k in 1 2; do
		ip netns pids "$hosts_tag$left_k" | while read -r pid; do
			tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null
		done
	done | grep -o 'signals.sh\|accel-agent\|sleep 7777' | head -1
}
nothing_left() { [ -z "$(left)" ]; }

what=
for pair in INT:130 TERM:143 HUP:129 QUIT:131; do
	sig=${pair%:*}
	ok "ranks run" begin_and_run
	tell "$sig"
	ends 5 "${pair#*:}" "$sig"
	is "each rank gets SIG$sig once" "$(got)" "$sig / $sig "
done
# As nohup starts it: a terminal that goes is no reason to end.
ignored=HUP
ok "ranks run" begin_and_run
tell HUP
tell USR1
both_got() { [ -s "$ranks/0" ] && [ -s "$ranks/1" ]; }
ok "a signal behind an ignored SIGHUP arrives" await 5 both_got
is "and the SIGHUP did not" "$(got)" "USR1 / USR1 "
tell TERM
ends 5 143 "TERM"
ignored=
for sig in USR1 USR2; do
	ok "ranks run" begin_and_run
	tell "$sig"
	ok "SIG$sig arrives" await 5 both_got
	tell TERM
	ends 5 143 "$sig, then TERM"
	is "each rank gets both once" "$(got)" "$sig TERM / $sig TERM "
done

what=save
ok "ranks run that need 2 s to save" begin_and_run --grace 5
tell TERM
ends 6 143 "a grace of 5 s"
is "they save" "$(got)" "TERM saved / TERM saved "

what=deaf
ok "ranks run that no signal ends" begin_and_run --grace 50
tell INT
ok "the first INT arrives" await 5 grep -q INT "$ranks/1"
tell INT
ends 4 130 "a second INT does not wait for the grace"
ok "nothing is left" await 5 nothing_left

what=fail
ok "a rank fails, and the other is deaf" begin_and_run --grace 50
ok "it is told to end" await 10 grep -q TERM "$ranks/0"
tell INT
ends 4 3 "INT while ranks end"
has "the failure is not forgotten" "$(cat "$work/said")" "rank 1"
ok "nothing is left" await 5 nothing_left

what=
state() { # PID...: of processes
	for state_pid; do
		sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' \
			"/proc/$state_pid/status"
	done | sort -u | tr -d '\n'
}
rank_pids() {
	for rank_k in 1 2; do
		ip netns pids "$hosts_tag$rank_k" | while read -r pid; do
			tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
				grep -q 'sh .*signals.sh' && echo "$pid"
		done
	done
}
# shellcheck disable=SC2046
stopped() { [ "$(state "$launcher" $(rank_pids))" = T ]; }
# shellcheck disable=SC2046
awake() { case $(state "$launcher" $(rank_pids)) in *T*) false ;; esac; }
ok "ranks run" begin_and_run
tell TSTP
ok "TSTP stops the launcher and all ranks, over SSH" await 10 stopped
sleep 11
ok "which are not taken for lost" stopped
tell CONT
ok "CONT resumes them" await 10 awake
sleep 1
is "they get nothing else" "$(got)" "/ "
tell TERM
ends 5 143 "and they end as ever"
is "by one TERM each" "$(got)" "TERM / TERM "

# A host that hangs, in every phase before.
port=$((20000 + $$ % 20000))
"$top_builddir/tests/hosts/mute" "$port" >"$work/mute" &
mute=$!
await 5 grep -q ready "$work/mute"
good=$ssh_config
{
	printf 'Host mute\n\tHostName 127.0.0.1\n\tPort %s\n' "$port"
	cat "$good"
} >"$work/ssh_mute"
ssh_config=$work/ssh_mute
begin --hosts mute:1 --connect_timeout 50
sleep 1
tell TSTP
ok "TSTP stops a launcher that connects" await 3 \
	grep -q '^State:.T' "/proc/$launcher/status"
tell CONT
tell INT
ends 3 130 "INT while connecting"
ok "nothing is left" await 15 nothing_left
kill "$mute"
ssh_config=$good

printf 'exec sleep 7777\n' >"$work/activate"
begin --activate "$work/activate"
sleeping() {
	ip netns pids "${hosts_tag}2" | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline"
	done | grep -q 'sleep 7777'
}
ok "a host hangs while it is looked at" await 10 sleeping
tell TERM
ends 3 143 "TERM while checking"
ok "nothing is left" await 15 nothing_left

for k in 1 2; do
	sed -i 's/^Subsystem.*/Subsystem sftp \/bin\/sleep 7778/' \
		"$work/host$k/sshd_config"
	kill -HUP "$(cat "$work/host$k/sshd.pid")"
	rm -rf "$(host_home $k)/.cache"
done
sleep 1
begin
uploading() {
	ip netns pids "${hosts_tag}2" | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline"
	done | grep -q 'sleep 7778'
}
ok "a host hangs while it gets the agent" await 10 uploading
tell HUP
ends 3 129 "HUP while uploading"
ok "nothing is left" await 15 nothing_left
done_testing
