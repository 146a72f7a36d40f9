#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ssh_config(5) where libssh alone leaves it out, and what is asked for.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 3

agent=$top_builddir/tests/hosts/echo-agent
good=$ssh_config
probe() { # [options] host [args], with $config; fills $out, $said, $status
	timeout 40 "$top_builddir/tests/hosts/link-probe" -F "$config" \
		"$agent" "$@" >"$work/out" 2>"$work/said" </dev/null
	status=$?
	out=$(cat "$work/out")
	said=$(cat "$work/said")
}
config=$work/config
for key in other second locked ca; do
	ssh-keygen -q -t ed25519 -N '' -C $key -f "$work/$key"
done

# Jump hosts: host 3 lets only host 2 in, and host 2 only host 1.
only() { # K FROM: what a host's sshd takes connections from
	ip netns exec "$hosts_tag$1" ip route add blackhole "$net.254/32"
}
only 3
only 2
cat - "$good" >"$config" <<EOT
Host far
	HostName $host3
	ProxyJump $host1,root@$host2:22
Host near
	HostName $host2
	ProxyJump $host1
Host lost
	HostName $net.77
	ProxyJump $host1
EOT
ssh_config=$config
probe near say one
is "ProxyJump, with the keys of the same file" "$out" one
probe far say two
is "a chain of jumps" "$out" two
echo "$host1 $(cat "$work/other.pub")" >"$work/wrong"
sed "s,$work/known_hosts,$work/wrong," "$config" >"$work/wrong_jump"
config=$work/wrong_jump probe near say no
has "a jump whose key is wrong: ssh's own words" "$said" "the way there failed"
ip -n "${hosts_tag}3" route del blackhole "$net.254/32"
ip -n "${hosts_tag}2" route del blackhole "$net.254/32"

# Which keys.  The sshd of host 1 gives up after two.
echo "MaxAuthTries 2" >>"$work/host1/sshd_config"
kill -HUP "$(cat "$work/host1/sshd.pid")"
await 5 sh -c "ssh-keyscan -T 1 '$host1' 2>/dev/null | grep -q ed25519"
eval "$(ssh-agent -s)" >/dev/null
agent_pid=$SSH_AGENT_PID
ssh-add -q "$work/other" "$work/second" "$work/ca" 2>/dev/null
sed "1a IdentitiesOnly yes" "$good" >"$config"
probe "$host1" say only
is "IdentitiesOnly offers the named key alone" "$out" only
# Keys that the agent alone has: the file has their public part.
ssh-keygen -q -t ed25519 -N '' -f "$work/kept"
cat "$work/kept.pub" >>"$(host_home 1)/.ssh/authorized_keys"
ssh-add -q "$work/kept" 2>/dev/null
mv "$work/kept" "$work/away"
sed "1a IdentitiesOnly yes" "$good" |
	sed "s,IdentityFile .*,IdentityFile $work/kept," >"$config"
probe "$host1" say kept
is "IdentitiesOnly offers the agent's key of a named file" "$out" kept
sed "s,IdentityFile .*,IdentityFile $work/kept," "$good" >"$config"
probe "$host1" say first
is "without it, such keys come first" "$out" first
sed "s,IdentityFile .*,IdentityFile $work/none," "$good" >"$config"
probe "$host1" say no
has "else the server hears too many keys" "$said" "$host1"
is "and the login fails" "$status" 1
socket=$SSH_AUTH_SOCK
unset SSH_AUTH_SOCK
sed "s,IdentityFile .*,IdentityFile $work/kept.pub\n	IdentityAgent $socket," \
	"$good" >"$config"
probe "$host1" say agent
is "IdentityAgent, and a file that is the public key" "$out" agent
kill "$agent_pid"
unset SSH_AUTH_SOCK SSH_AGENT_PID
ssh-keygen -q -s "$work/ca" -I test -n root "$work/second.pub"
echo "cert-authority $(cat "$work/ca.pub")" \
	>>"$(host_home 2)/.ssh/authorized_keys"
sed "s,IdentityFile .*,IdentityFile $work/second," "$good" >"$config"
mv "$work/second-cert.pub" "$work/cert.pub"
probe "$host2" say no
is "a key that nobody knows" "$status" 1
echo "	CertificateFile $work/cert.pub" >>"$config"
probe "$host2" say signed
is "is known by its CertificateFile" "$out" signed

# Names.
ip netns exec "${hosts_tag}2" ip addr add "$net.22/24" dev eth0
in_host 2 sh -c "sed 's/^ListenAddress.*/ListenAddress $net.22/;
	s,^PidFile.*,PidFile $work/second.pid,' '$work/host2/sshd_config' \
	>'$work/host2/sshd22'; exec /usr/sbin/sshd -f '$work/host2/sshd22'"
await 10 test -s "$work/second.pid"
cat - "$good" >"$config" <<EOT
Include $work/included
EOT
cat >"$work/included" <<EOT
Match originalhost twin
	HostName $net.22
	HostKeyAlias $host2
EOT
probe twin say alias
is "HostKeyAlias, by Match in an Include" "$out" alias
sed -i /HostKeyAlias/d "$work/included"
probe twin say no
has "(without it the key is not known)" "$said" "the host key is not known"
sed "s,IdentityFile .*,IdentityFile $work/%r-of-%n," "$good" >"$config"
cp "$work/key" "$work/root-of-$host1"
probe "$host1" say tokens
is "%-tokens" "$out" tokens
cat - "$good" >"$config" <<EOT
Host $host1
	BindAddress 127.0.0.1
EOT
"$top_builddir/accel" check --cpu --ssh_config "$config" --hosts "$host1:1" \
	--no_python /bin/sh >"$work/out" 2>&1 </dev/null
has "what is not obeyed is told by accel check" "$(cat "$work/out")" \
	"warning: $config:2: bindaddress 127.0.0.1 is not obeyed"

# Questions, on a terminal of their own.
ssh-keygen -q -p -P '' -N 'open sesame' -f "$work/locked" >/dev/null
for k in 1 2 3; do
	cat "$work/locked.pub" >>"$(host_home $k)/.ssh/authorized_keys"
done
sed "s,IdentityFile .*,IdentityFile $work/locked," "$good" >"$config"
terminal() { # answers... -- : a launch on three hosts
	python3 "$top_srcdir/tests/hosts/terminal.py" "passphrase of" "$@" \
		"$top_builddir/accel" launch --cpu --connect_timeout 20 --ssh_config "$config" \
		--hosts "$host1:1,$host2:1,$host3:1" --no_python /bin/true \
		>"$work/out" 2>&1
	out=$(cat "$work/out")
}
terminal "open sesame" --
has "a passphrase is asked for once for all hosts" "$out" \
	"questions 1, echo on, status 0"
is "and not shown" "$(grep -c sesame "$work/out")" 0
terminal wrong "open sesame" --
has "and again where it is wrong" "$out" "status 0"
terminal "^C" --
has "^C ends the question, and the echo is back" "$out" \
	"questions 1, echo on, status 130"
config=$config probe "$host1" say no
has "without a terminal it says what to do" "$said" "ssh-add"
done_testing
