#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is seen and kept of a run over real sshds: the closing block, folding, log
# files, standard input, accel run and accel runs.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 3
HF_HOME=$work/hf
export HF_HOME
accel=$top_builddir/accel
cd "$work" || exit 1

accel() { # WORDS...; fills $out, $said, $status
	timeout 120 "$accel" "$@" >out 2>said </dev/null
	status=$?
	out=$(cat out)
	said=$(cat said)
}
world() { # FLAGS... COMMAND...: 8 ranks on 3 hosts
	accel launch --ssh_config "$ssh_config" --cpu \
		--hosts "$host1:3,$host2:3,$host3:2" --num_processes 8 \
		--no_python "$@"
}

# Eight ranks: rank 5 fails first, the others as they miss it.
cat >eight.sh <<'E'
#!/bin/sh
trap '' TERM
echo "ready"
: >"$1/up.$RANK"
until [ "$(ls "$1" | wc -l)" -eq 8 ]; do sleep 0.05; done
if [ "$RANK" = 5 ]; then
	echo "the disk of $(hostname) is full" >&2
	exit 28
fi
sleep 0.2
echo "Connection reset by peer: port 40$RANK" >&2
exit 1
E
chmod +x eight.sh
mkdir up
world --grace 3 --fold always --log_dir logs ./eight.sh "$work/up"
is "the first failing rank's exit code" "$status" 28
has "its rank and host" "$said" "accel: rank 5 failed on $host2 (local rank 2, "
has "its last words" "$said" "    the disk of accel-host2 is full"
has "its log, which is here" "$said" "  its log: $(echo \
	logs/*/attempt_0/5/stderr.log)"
has "the other seven in one line" "$said" "  then 7 ranks alike (0-4,6,7), "
is "lines of ranks on several hosts are one" "$(grep ready out)" \
	"*:0-7 ready"
is "what each rank wrote, on the launcher" \
	"$(cat logs/*/attempt_0/*/stderr.log | sort | tr '\n' '|')" \
	"Connection reset by peer: port 400|Connection reset by peer: port 401|\
Connection reset by peer: port 402|Connection reset by peer: port 403|\
Connection reset by peer: port 404|Connection reset by peer: port 406|\
Connection reset by peer: port 407|the disk of accel-host2 is full|"
is "and not on the hosts" "$(find "$work"/host?/home -name 'std*.log')" ""
has "the record has the hosts" "$("$accel" runs last)" \
	"hosts     $host1:3,$host2:3,$host3:2"

# Many lines of all, each whole and in its order.
cat >flood.sh <<'E'
#!/bin/sh
seq -f "rank $RANK line %.0f of many, and of a length that fills pipes" 20000
E
chmod +x flood.sh
world ./flood.sh
is "a flood over SSH loses nothing" "$status $(grep -c . out)" "0 160000"
seq 20000 >numbers
wrong=
for rank in 0 1 2 3 4 5 6 7; do
	grep "^[0-9.]*:$rank rank $rank line" out | sed 's/.* line \([0-9]*\) of many, and of a length that fills pipes$/\1/' |
		cmp -s - numbers || wrong="$wrong $rank"
done
is "no line is torn or out of its order" "$wrong" ""

# Any command.
accel run --ssh_config "$ssh_config" --hosts "$host1,$host2,$host3" hostname
is "accel run, on each host" "$status $(sort out | tr '\n' ' ')" \
	"0 $host1:0 accel-host1 $host2:1 accel-host2 $host3:2 accel-host3 "
accel run --ssh_config "$ssh_config" --hosts "$host1:4,$host2:2" \
	printf '%s\n' '$HOME `id`' "two  blanks'"
is "no shell has touched its words" "$(sort -u out | cut -d' ' -f2- | sort -u)" \
	'$HOME `id`
two  blanks'"'"
accel run --ssh_config "$ssh_config" --hosts "$host1,$host2,$host3" --shell \
	'[ $ACCEL_HOST_RANK = 1 ] && exit 4; exec sleep 1'"$$"
is "a failure ends it everywhere" "$status" 4
no_sleep() { ! pgrep -f "^sleep 1$$\$"; }
ok "with nothing left" await 10 no_sleep
accel run --ssh_config "$ssh_config" --hosts "$host1,$host2,$host3" \
	--keep_going --shell '[ $ACCEL_HOST_RANK = 1 ] && exit 4; sleep 1; echo on'
is "but not with --keep_going" "$status $(sort out | tr '\n' ' ')" \
	"4 $host1:0 on $host3:2 on "
seq 300000 >numbers
timeout 60 "$accel" run --ssh_config "$ssh_config" --hosts "$host1,$host2" \
	--stdin sh -c 'cat >"$1.$ACCEL_HOST_RANK"' _ "$work/got" <numbers
ok "standard input arrives at the first host" cmp numbers got.0
is "and at no other" "$(wc -c <got.1)" 0
done_testing
