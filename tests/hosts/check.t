#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is looked at before a launch: all problems of all hosts in one table, and
# where the ranks meet.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 3
HF_HOME=$work/hf
export HF_HOME

rank=$top_srcdir/tests/hosts/rank.sh
accel() { # COMMAND flags...; fills $out, $said, $status, $took (ms)
	accel_what=$1
	shift
	took=$(date +%s%3N)
	timeout 90 "$top_builddir/accel" "$accel_what" --cpu \
		--ssh_config "$ssh_config" "$@" \
		>"$work/out" 2>"$work/said" </dev/null
	status=$?
	took=$(($(date +%s%3N) - took))
	out=$(cat "$work/out")
	said=$(cat "$work/said")
}
json() { # a Python expression over "d", the report, and "h", its hosts
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
h = {x["host"]: x for x in d["hosts"]}
print(eval(sys.argv[2].replace("\n", " ")))' "$work/out" "$1"
}
fresh() {
	rm -rf "$work/ranks"
	mkdir -p "$work/ranks"
}
value() { # RANK NAME
	tr '\0' '\n' <"$work/ranks/$1.env" | sed -n "s/^$2=//p"
}

# Hosts that are well.
accel check --hosts "$host1:2,$host2:1" --no_python "$rank"
is "good hosts are ready" "$status" 0
has "it says so" "$out" "ready: 2 hosts"
has "with the address" "$out" "rank 0 is met at $host1"
accel check --json --hosts "$host1:2,$host2:1" --no_python "$rank"
is "as JSON too" "$(json 'd["ready"], d["address"], h["'"$host2"'"]["interface"]')" \
	"(True, '$host1', 'eth0')"
ok "the clock is right" sh -c "[ '$(json 'abs(h["'"$host1"'"]["clock_ahead"]) < 2')' = True ]"

# Six, each broken otherwise.
in_host 1 "$top_builddir/tests/hosts/mute" 29511 >"$work/mute1" &
in_host 3 "$top_builddir/tests/hosts/mute" 23 >"$work/mute3" &
await 10 test -s "$work/mute1"
await 10 test -s "$work/mute3"
mkdir -p "$work/job/sub"
in_host 3 mount -t tmpfs tmpfs "$work/job"
mkdir "$work/host1/home/bin" "$work/host3/home/bin"
cp "$rank" "$work/host1/home/bin/prog"
cp "$rank" "$work/host3/home/bin/prog"
ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/otherkey"
echo "changed,$host2 $(cat "$work/otherkey.pub")" >"$work/changed"
good=$ssh_config
cat - "$good" >"$work/six" <<EOT
Host refused
	HostName $host2
	Port 4
Host silent
	HostName $host3
	Port 23
Host changed
	HostName $host2
	UserKnownHostsFile $work/changed
EOT
ssh_config=$work/six
fresh
(
	cd "$work/job/sub" || exit
	accel launch --connect_timeout 3 --main_process_port 29511 \
		--hosts "$host1:1,$host2:1,$host3:1,refused:1,silent:1,changed:1" \
		--no_python "$home/bin/prog" "$work/ranks" end
	echo "$status $took" >"$work/result"
)
read -r status took <"$work/result"
said=$(cat "$work/said")
is "six broken hosts: an error" "$status" 1
has "a table" "$said" "nothing was started: 6 of 6 hosts cannot take part"
has "the port is taken" "$said" "port 29511: Address already in use"
has "no folder" "$said" "$work/job/sub: No such file or directory"
has "no program" "$said" "$home/bin/prog: not found on this host"
has "refused" "$said" "cannot connect: Connection refused"
has "silent" "$said" "no SSH answer within 3 s"
has "another key" "$said" "the host key has changed"
ok "it took no longer than the limit and a second" test "$took" -lt 4500
is "nothing was started" "$(ls "$work/ranks")" ""
kill "$(pgrep -f "tests/hosts/mute 29511")" 2>/dev/null
ssh_config=$good

# What is not the same on all hosts.
for k in 1 2; do
	python=$work/host$k/home/env
	mkdir -p "$python/bin" "$python/lib/python3.11/site-packages"
	echo "include-system-site-packages = false" >"$python/pyvenv.cfg"
	printf '#!/bin/sh\nshift\nexec "$@"\n' >"$python/bin/python3"
	chmod +x "$python/bin/python3"
	mkdir "$python/lib/python3.11/site-packages/torch-2.$k.0+cpu.dist-info" \
		"$python/lib/python3.11/site-packages/accelerate-1.15.0.dist-info"
done
ACCEL_PYTHON=$home/env/bin/python3
export ACCEL_PYTHON
in_host 2 sh -c 'mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia &&
	echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat" \
	>/proc/driver/nvidia/version && mount -t tmpfs -o size=8m tmpfs /dev/shm'
accel launch --hosts "$host1:1,$host2:1" "$rank" "$work/ranks" end
is "torch of two versions: an error" "$status" 1
has "that names both" "$said" \
	"torch is 2.2.0+cpu here, and 2.1.0+cpu on $host1"
has "and the small /dev/shm" "$said" "/dev/shm has 8 MB left"
is "nothing was started" "$(ls "$work/ranks")" ""
accel check --json --hosts "$host1:1,$host2:1"
is "the facts are told" "$(json 'h["'"$host2"'"]["facts"]["driver"],
	h["'"$host2"'"]["facts"]["torch"],
	h["'"$host1"'"]["facts"]["python_version"]')" \
	"('535.104.05', '2.2.0+cpu', '3.11')"
accel launch --no_preflight --hosts "$host1:1,$host2:1" "$rank" "$work/ranks" end
is "--no_preflight lets it be" "$status $(ls "$work/ranks" | grep -c env)" "0 2"
unset ACCEL_PYTHON

# Where ranks meet.
fresh
accel launch --hosts "$host1:1,$host2:1" --no_python "$rank" "$work/ranks" end
is "the address that ssh came to" "$(value 1 MASTER_ADDR)" "$host1"
is "the interface, to the letter" \
	"$(value 1 NCCL_SOCKET_IFNAME) $(value 1 GLOO_SOCKET_IFNAME)" "=eth0 eth0"
fresh
NCCL_SOCKET_IFNAME=other accel launch --env GLOO_SOCKET_IFNAME=mine \
	--hosts "$host1:1,$host2:1" --no_python "$rank" "$work/ranks" end
is "but what the user set stays" \
	"$(value 0 NCCL_SOCKET_IFNAME) $(value 0 GLOO_SOCKET_IFNAME)" "other mine"
# The hosts' network of management lets none see another; each has a docker0 of
# one address, a name that is 127.0.1.1, and a fast interface named otherwise.
second=172.27.$(($$ % 250))
ip link add "${hosts_tag}f" type bridge
ip link set "${hosts_tag}f" up
for k in 1 2 3; do
	case $k in 1) name=ib0 ;; 2) name=net7 ;; 3) name=enp4s0 ;; esac
	bridge link set dev "${hosts_tag}v$k" isolated on
	ip link add "${hosts_tag}w$k" type veth peer name $name \
		netns "$hosts_tag$k"
	ip link set "${hosts_tag}w$k" master "${hosts_tag}f" up
	ip -n "$hosts_tag$k" link add docker0 type bridge
	ip -n "$hosts_tag$k" addr add 172.17.0.1/16 dev docker0
	ip -n "$hosts_tag$k" link set docker0 up
	ip -n "$hosts_tag$k" addr add "$second.$k/24" dev $name
	ip -n "$hosts_tag$k" link set $name up
	echo "127.0.1.1 accel-host$k" >"$work/hosts$k"
	in_host $k mount --bind "$work/hosts$k" /etc/hosts
done
fresh
accel launch --hosts "$host1:1,$host2:1,$host3:1" --no_python "$rank" \
	"$work/ranks" end
is "an address that all have reached" "$status $(value 0 MASTER_ADDR) $(
	value 1 MASTER_ADDR) $(value 2 MASTER_ADDR)" \
	"0 $second.1 $second.1 $second.1"
is "each host's own interface" "$(value 0 NCCL_SOCKET_IFNAME) $(
	value 1 NCCL_SOCKET_IFNAME) $(value 2 NCCL_SOCKET_IFNAME)" \
	"=ib0 =net7 =enp4s0"
ip -n "${hosts_tag}2" link set net7 down
accel launch --hosts "$host1:1,$host2:1,$host3:1" --no_python "$rank" \
	"$work/ranks" end
is "no address for one of them: an error" "$status" 1
has "that says what was tried" "$said" \
	"cannot reach rank 0's host, port"
has "and the twin" "$said" "172.17.0.1 (this host has that address too, on docker0)"
ip -n "${hosts_tag}2" link set net7 up
for k in 1 2; do
	bridge link set dev "${hosts_tag}v$k" isolated off
done
ip -n "${hosts_tag}2" link add name eth9 link eth0 type macvlan mode bridge
ip -n "${hosts_tag}2" link set eth9 up
ip -n "${hosts_tag}2" route add "$host1/32" dev eth9 src "$host2"
accel check --hosts "$host1:1,$host2:1" --no_python "$rank"
has "a route by another interface is seen" "$out" \
	"warning: what goes to $host1 leaves by eth9, with the address of eth0"
ip link del "${hosts_tag}f"

# A slow host is no dead one: it answers at once, and takes longer than the limit.
port=$((20000 + $$ % 20000))
"$top_builddir/tests/hosts/slow" "$port" "$host3" 22 300 >"$work/slow" &
await 10 test -s "$work/slow"
echo "[127.0.0.1]:$port $(cat "$work/host3/key.pub")" >>"$work/known_hosts"
cat - "$good" >"$work/slow_config" <<EOT
Host slow
	HostName 127.0.0.1
	Port $port
EOT
ssh_config=$work/slow_config
rm -rf "$work/host3/home/.cache"
fresh
accel launch --connect_timeout 1 --hosts slow:1 --no_python "$rank" \
	"$work/ranks" end
is "a slow host takes part" "$status $(cat "$work/ranks/.host")" \
	"0 accel-host3"
is "and nothing is said of it" "$said" ""
ok "it was slow" test "$took" -gt 4000
done_testing
