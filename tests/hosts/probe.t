#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel probe of hosts over sshd: rows as they come, failures by name, and the
# network between them, one host of which is slowed down.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
home=$(getent passwd root | cut -d: -f6)
case "$top_builddir/ $top_srcdir/" in
"$home"/* | *" $home"/*)
	skip "hosts have another home: build outside root's"
	done_testing
	;;
esac
hosts_up 3
accel=$top_builddir/accel
probe() { # flags...; fills $out, $said, $status
	timeout 120 "$accel" probe --ssh_config "$ssh_config" "$@" \
		>"$work/out" 2>"$work/said" </dev/null
	status=$?
	out=$(cat "$work/out")
	said=$(cat "$work/said")
}
value() { # a Python expression over "r", the rows of JSON by host
	python3 -c 'import json, sys
rows = [json.loads(x) for x in open(sys.argv[1])]
r = {x["host"]: x for x in rows if "host" in x}
n = {(x["network"]["from"], x["network"]["to"]): x["network"]
    for x in rows if "network" in x}
print(eval(sys.argv[2]))' "$work/out" "$1"
}

probe --hosts "$host1,$host2"
is "hosts are probed" "$status" 0
ok "a row each" grep -q "^$host1  *[0-9]* core.*GiB, no GPU" "$work/out"
ok "of all" grep -q "^$host2  *[0-9]* core" "$work/out"
printf '%s\n%s slots=2\n' "$host1" "$host3" >"$work/hostfile"
probe --hostfile "$work/hostfile" --json
is "a host file's too" "$(value 'sorted(r)')" "['$host1', '$host3']"
is "each by its own name" "$(value "r['$host3']['hostname']")" accel-host3
is "and address" "$(value "[i['address'] for i in r['$host3']['interfaces']
    if i['name'] == 'eth0']")" "['$host3']"
is "its Python was found" "$(value "'python' in r['$host1']")" True
probe --hosts "$host1" --no_python --json
is "or not asked" "$(value "'python' in r['$host1']")" False

# What cannot be reached.
cat - "$ssh_config" >"$work/broken" <<EOT
Host refused
	HostName $host2
	Port 4
Host changed
	HostName $host2
	UserKnownHostsFile /dev/null
EOT
good=$ssh_config
ssh_config=$work/broken
probe --hosts "$host1,refused,changed,$net.77" --connect_timeout 2 --json
is "a host that is not there makes the command fail" "$status" 1
is "the others are told all the same" "$(value "r['$host1']['cores'] > 0")" True
has "a port without sshd is named" "$(value "r['refused']['problem']")" refused
has "a host key that nobody knows" "$(value "r['changed']['problem']")" "host key"
ok "with what to do" test -n "$(value "r['changed']['hint']")"
ok "and a host that does not exist" test -n \
	"$(value "r['$net.77']['problem']")"
probe --hosts "$host1,refused"
ok "in words as well" grep -q '^refused .*refused' "$work/out"
probe --hosts "$host1,refused" --yaml
has "as a file" "$out" "problem:"
has "and on the terminal" "$said" refused
ssh_config=$good

# A file from there, read here.
probe --hosts "$host1,$host2" --yaml
cp "$work/out" "$work/fleet.yaml"
"$accel" probe --machine "$work/fleet.yaml" --yaml >"$work/again.yaml"
ok "what was written is read as it was" cmp "$work/fleet.yaml" \
	"$work/again.yaml"

# The network.
probe --network --hosts "$host1"
is "one host has no network" "$status" 2
if ! in_host 2 tc qdisc add dev eth0 root tbf rate 20mbit burst 16kb \
	latency 50ms 2>"$work/tc"; then
	skip "the network: no tc tbf here: $(head -n 1 "$work/tc")"
	done_testing
fi
probe --network --json --hosts "$host1,$host2,$host3"
is "it is measured" "$status" 0
is "each direction of each pair" "$(value 'sorted(n)')" \
	"[(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]"
is "without a problem" "$(value '[x for x in n.values() if "problem" in x]')" \
	"[]"
is "20 Mbit/s are measured as such, from the slow host" \
	"$(value '[0 < n[1, k]["gbit_s"] < 0.04 for k in (0, 2)]')" \
	"[True, True]"
is "others are far from that" \
	"$(value '[n[k]["gbit_s"] > 4 * n[1, 0]["gbit_s"] for k in ((0, 2), (2, 0))]')" \
	"[True, True]"
is "and a small message takes less than 50 ms" \
	"$(value '[0 < x["latency_us"] < 50000 for x in n.values()]')" \
	"[True, True, True, True, True, True]"
in_host 2 tc qdisc del dev eth0 root
if in_host 2 tc qdisc add dev eth0 root netem delay 20ms 2>/dev/null; then
	probe --network --json --hosts "$host1,$host2,$host3"
	is "20 ms on one way are 10 each" "$(value \
	    '[9000 < n[k]["latency_us"] < 25000 for k in ((0, 1), (1, 0))]')" \
		"[True, True]"
	is "for that host alone" "$(value 'n[0, 2]["latency_us"] < 5000')" True
else
	skip "no tc netem here"
	skip "no tc netem here"
fi
probe --network --hosts "$host1,$host2"
has "as tables" "$out" "Gbit/s, one TCP stream"

# A way that is blocked is said, and the rest measured.
in_host 1 ip route add blackhole "$host2/32"
probe --network --json --hosts "$host1,$host2,$host3"
ok "a host that cannot be reached from another is named" test -n \
	"$(value 'n[0, 1]["problem"]')"
is "the others are measured" "$(value 'n[1, 2]["gbit_s"] > 0')" True

# Nothing of it stays.
agents() {
	for pid in $(ip netns pids "${hosts_tag}1"); do
		cat "/proc/$pid/comm" 2>/dev/null
	done | grep accel-agent
}
none() { [ -z "$(agents)" ]; }
ok "no agent is left" await 15 none
done_testing
