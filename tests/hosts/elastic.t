#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --nnodes MIN:MAX: a job goes on with the hosts that are left, and takes a lost
# one back when it returns.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 3
cat >"$work/rank.sh" <<'E2'
#!/bin/sh
# Says how it was started; ends well once the whole world is back.
trap 'exit 0' TERM
echo "world $WORLD_SIZE restart $TORCHELASTIC_RESTART_COUNT rank $RANK"
[ "$WORLD_SIZE" = 5 ] && [ -e "$1" ] && exit 0
while :; do sleep 0.2; done
E2
chmod +x "$work/rank.sh"
said_in() { grep -q "$1" "$work/out"; }

"$top_builddir/accel" launch --cpu --ssh_config "$ssh_config" --grace 1 \
	--hosts "$host1:2,$host2:2,$host3:1" --nnodes 2:3 --max_restarts 3 \
	--connect_timeout 3 --no_python "$work/rank.sh" "$work/whole" \
	>"$work/out" 2>"$work/said" </dev/null &
launcher=$!
ok "three hosts are five ranks" await 30 said_in "world 5 restart 0 rank 4"
ip link set "${hosts_tag}v3" down
ok "without one the others go on" await 40 said_in "world 4 restart 1 rank 3"
has "that is said" "$(cat "$work/said")" \
	"restart 1 of 3, without $host3"
has "with the reason" "$(cat "$work/said")" "host $host3 was lost"
touch "$work/whole"
ip link set "${hosts_tag}v3" up
await 90 sh -c "! kill -0 $launcher || grep -q '^State:.Z' \
	/proc/$launcher/status" || kill -9 "$launcher"
wait "$launcher"
is "with the host back, all ranks end well" $? 0
has "it was a return, not a restart" "$(cat "$work/out")" \
	"world 5 restart 1 rank 4"
has "which is said" "$(cat "$work/said")" "a host is back: all begin again"
done_testing
