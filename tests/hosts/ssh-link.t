#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The SSH transport against real sshds on hosts of their own.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2

agent=$top_builddir/tests/hosts/echo-agent
probe() { # [options] agent host [args]; fills $out, $said, $status
	timeout 40 "$top_builddir/tests/hosts/link-probe" -F "$ssh_config" \
		"$@" >"$work/out" 2>"$work/said" </dev/null
	status=$?
	out=$(cat "$work/out")
	said=$(cat "$work/said")
}

# Works, and copies once.
echo hello >"$work/hello"
probe "$agent" "$host1" say "it's \$HOME; \"x\" *"
is "an argument arrives as it is" "$out" "it's \$HOME; \"x\" *"
has "the first run copies the agent" "$said" "copied 1"
is "and ends well" "$status" 0
file=$(echo "$(host_home 1)"/.cache/accel/agent-*)
ok "into the user's cache folder" test -f "$file"
is "for its owner alone" "$(stat -c %a "$file" "${file%/*}" | tr '\n' ' ')" \
	"700 700 "
before=$(stat -c '%i %Y' "$file")
probe "$agent" "$host1" say again
has "the second run does not copy" "$said" "copied 0"
is "the file is the same" "$(stat -c '%i %Y' "$file")" "$before"
is "no temporary file stays" "$(ls "${file%/*}" | wc -l)" 1
: >"$file"
probe "$agent" "$host1" say mended
is "a damaged agent is replaced" "$out" mended
rm "$file"
echo 'echo good morning' >"$(host_home 1)/.bashrc"
probe "$agent" "$host1" say there
is "and an absent one, whatever the shell says first" "$out" \
	"good morning
good morning
there"
has "by a copy" "$said" "copied 1"
rm "$(host_home 1)/.bashrc"
probe "$agent" "root@$host1:22" say port
is "user and port are taken" "$out" port

# Bytes.
head -c 10000000 /dev/urandom >"$work/big"
timeout 60 "$top_builddir/tests/hosts/link-probe" -F "$ssh_config" "$agent" \
	"$host2" <"$work/big" 2>"$work/said" | cksum >"$work/sum"
is "10 MB come back byte for byte" "$(cat "$work/sum")" \
	"$(cksum <"$work/big")"

# The agent's end.
probe "$agent" "$host1" exit 5
has "an exit status is told" "$said" \
	"root@$host1:22: the agent ended with status 5: last word"
probe "$work/hello" "$host1"
has "what cannot run is told" "$said" "the agent"
mkfifo "$work/hold"
run_held() { # host [options]: an echo that stays, until fd 3 closes
	timeout 60 "$top_builddir/tests/hosts/link-probe" -F "$ssh_config" \
		-s 2 "$agent" "$1" <"$work/hold" >"$work/out" 2>"$work/said" &
	held=$!
	exec 3>"$work/hold"
	echo ping >&3
	await 20 grep -q ping "$work/out"
}
agents() { # K: the agents on a host
	ip netns pids "$hosts_tag$1" | while read -r pid; do
		case $(readlink "/proc/$pid/exe" 2>/dev/null) in
		*/agent-*) echo "$pid" ;;
		esac
	done
}
no_agents() { [ -z "$(agents "$1")" ]; }
run_held "$host1"
is "an echo runs" "$(cat "$work/out")" ping
kill -9 $(agents 1)
wait "$held"
has "a killed agent is told" "$(cat "$work/said")" "the agent was killed"
exec 3>&-
run_held "$host2"
ip -n "${hosts_tag}2" link set eth0 down
wait "$held"
has "a cut network is noticed" "$(cat "$work/said")" \
	"root@$host2:22: the connection was lost"
exec 3>&-
ip -n "${hosts_tag}2" link set eth0 up
await 10 ping -c 1 -W 1 "$host2"
run_held "$host1"
kill -9 "$(pgrep -P "$held" -x link-probe || pgrep -P "$held")" "$held"
wait "$held" 2>/dev/null
exec 3>&-
ok "a killed caller leaves no agent" await 20 no_agents 1

# What keeps from logging in.
: >"$work/empty"
ssh-keygen -q -t ed25519 -N '' -C other -f "$work/other"
sed "s,$work/key,$work/other," "$ssh_config" >"$work/wrong_key"
sed "s,$work/known_hosts,$work/empty," "$ssh_config" >"$work/unknown"
sed "s,$work/known_hosts,$work/changed," "$ssh_config" >"$work/changed_conf"
echo "$host1 $(cat "$work/host2/key.pub")" >"$work/changed"
good=$ssh_config
ssh_config=$work/wrong_key
probe "$agent" "$host1"
has "a wrong key: who, what was offered, what was tried" "$said" \
	"root@$host1:22: login refused; offered: publickey; keys tried: $work/other"
ssh_config=$work/unknown
probe "$agent" "$host1"
print=$(ssh-keygen -lf "$work/host1/key.pub" | cut -d' ' -f2)
has "an unknown host: its fingerprint and the file" "$said" \
	"root@$host1:22: the host key is not known: $print is not in $work/empty"
has "and the command" "$said" "run: ssh -F $work/unknown $host1"
is "nothing was added" "$(cat "$work/empty")" ""
ssh_config=$work/changed_conf
probe "$agent" "$host1"
has "a changed host key: the file" "$said" "the host key has changed"
has "by name" "$said" "$work/changed"
ssh_config=$good
ssh-keygen -q -t ed25519 -N secret -C locked -f "$work/locked"
cat "$work/locked.pub" >>"$(host_home 1)/.ssh/authorized_keys"
sed "s,$work/key,$work/locked," "$ssh_config" >"$work/locked_conf"
ssh_config=$work/locked_conf
probe "$agent" "$host1"
has "a locked key: no question, but ssh-add" "$said" "ssh-add"
ssh_config=$good
probe "$agent" "$host1:4"
has "a refused port" "$said" "root@$host1:4: cannot connect: Connection refused"
probe "$agent" no-such-host.invalid
has "an unknown name" "$said" 'the name "no-such-host.invalid" has no address'
probe "$agent" "a b:c"
has "no host at all" "$said" "is not a host"
in_host 1 "$top_builddir/tests/hosts/mute" 23 >"$work/mute" &
mute=$!
await 10 test -s "$work/mute"
start=$(date +%s)
probe -t 2 "$agent" "$host1:23"
took=$(($(date +%s) - start))
has "a silent port" "$said" "no SSH answer within 2 s"
ok "within the limit" test "$took" -le 4
start=$(date +%s)
probe -t 30 -x connecting "$agent" "$host1:23"
kill "$mute"
is "a link closes while it connects" "$said" "closed in connecting"
probe -t 30 -x "starting the agent" "$agent" "$host1"
is "and while the agent starts" "$said" "closed in starting the agent"
took=$(($(date +%s) - start))
ok "at once" test "$took" -le 3
ok "and the agent is gone" await 20 no_agents 1
probe -t 2 "$agent" "$net.99"
has "an address that nobody has" "$said" "$net.99:22: "

# What stands between.
sed "/^Host/a ProxyCommand ssh -F $good -W %h:%p $host1" "$good" \
	>"$work/jump"
ssh_config=$work/jump
probe "$agent" "$host2" say jumped
is "a ProxyCommand is used" "$out" jumped
ssh_config=$good
{ cat "$work/host1/sshd_config" && echo "MaxStartups 1:100:2"; } \
	>"$work/host1/busy"
sed -i "s/^Port .*/Port 24/; s,^PidFile .*,PidFile $work/busy.pid," \
	"$work/host1/busy"
in_host 1 /usr/sbin/sshd -f "$work/host1/busy" -E "$work/busy.log"
await 10 test -s "$work/busy.pid"
echo "[$host1]:24 $(cat "$work/host1/key.pub")" >>"$work/known_hosts"
for k in 1 2 3; do
	"$top_builddir/tests/hosts/link-probe" -F "$ssh_config" "$agent" \
		"$host1:24" say "$k" </dev/null >"$work/busy$k" 2>&1 &
	eval "busy$k=$!"
done
wait "$busy1" "$busy2" "$busy3"
is "an sshd that drops logins is asked again" \
	"$(cat "$work"/busy[123] | grep -c well)" 3
ok "(it did drop some)" grep -q MaxStartups "$work/busy.log"
done_testing
