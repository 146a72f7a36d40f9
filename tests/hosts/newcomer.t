#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The newcomer's path: from what ./quickstart leaves to a run on two hosts, in
# fewer than ten keys; nothing but an ssh configuration is given.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2

{
	cat "$ssh_config"
	printf 'Host node1\n  HostName %s\nHost node2\n  HostName %s\n' \
		"$host1" "$host2"
} >"$work/cluster"
file=$work/quickstart.yaml
ok "quickstart's configuration" \
	"$top_builddir/accel-setup" --defaults --config_file "$file"
echo "ssh_config: $work/cluster" >"$work/quickstart.accel.yaml"

# Machines, import, the second row, enough; launch, save it.
keys='2 i down enter escape L enter'
python3 "$top_srcdir/tests/hosts/press.py" "$keys" 'ended well' -- \
	"$top_builddir/accel-setup" --config_file "$file" --launch \
	--no_python /bin/sh -c 'echo "rank $RANK of $WORLD_SIZE on $(hostname)"' \
	>"$work/out" 2>&1
out=$(cat "$work/out")
is "a run ends well, after as many keys as were pressed" \
	"$(tail -n 1 "$work/out")" "keys 7, status 0"
here=$(hostname)
has "rank 0 was here" "$out" "rank 0 of 2 on $here"
has "rank 1 was on the other host" "$out" "rank 1 of 2 on accel-host1"
has "the configuration has two machines" "$(cat "$file")" "num_machines: 2"
has "and what is beside it their names" \
	"$(cat "$work/quickstart.accel.yaml")" "localhost"
has "both of them" "$(cat "$work/quickstart.accel.yaml")" "node1"

# The same again, without a key.
out=$(timeout 60 "$top_builddir/accel" launch --config_file "$file" \
	--no_python /bin/sh -c 'echo "rank $RANK on $(hostname)"' 2>&1)
has "the next time it is one command" "$out" "rank 1 on accel-host1"
done_testing
