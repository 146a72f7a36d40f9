#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is seen of a run: lines, folding, log files, JSON, the closing block.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1

launch() { # N FLAGS... COMMAND...; fills $out, $said, $status
	n=$1
	shift
	timeout 60 "$accel" launch --grace 0.5 --cpu --num_processes "$n" \
		--no_python "$@" >out 2>said </dev/null
	status=$?
	out=$(cat out)
	said=$(cat said)
}
# Runs accel launch on a terminal of its own and leaves what that got.
on_terminal() { # TERM N FLAGS... COMMAND...
	term=$1 n=$2
	shift 2
	TERM=$term timeout 60 script -qec "$(printf '%s ' "$accel" launch --cpu \
		--num_processes "$n" --no_python "$@")" /dev/null \
		</dev/null >terminal
}

# Whole lines.
cat >torn.sh <<'E'
#!/bin/sh
for i in 1 2 3 4 5; do
	printf "begin %s of %s " $i $RANK
	printf "end %s of %s\n" $i $RANK
done
printf "no end"
E
chmod +x torn.sh
launch 4 ./torn.sh
is "lines are whole" \
	"$(grep -cE '^localhost:([0-3]) begin ([1-5]) of \1 end \2 of \1$' out)" 20
is "the last one too" "$(grep -c '^localhost:[0-3] no end$' out)" 4
launch 1 printf 'a\r\0b\377\033[2J'
printf 'a\r\0b\377\033[2J' >want
ok "a single rank's bytes pass as they are" cmp out want
launch 2 printf 'x\033[2Jy\r\n'
is "a pipe gets a line's bytes" "$(head -1 out | cut -c13- | od -An -c)" \
	"$(printf 'x\033[2Jy\n' | od -An -c)"
cat >bar.sh <<'E'
#!/bin/sh
for i in $(seq 1000); do printf "\r%d%%|###" $i; done
printf "\rdone\n"
E
chmod +x bar.sh
launch 2 ./bar.sh
is "of a bar, few states and the last one" \
	"$(grep -c . out) $(grep -c 'localhost:[01] done$' out)" "4 2"

# Modes.
launch 3 --output rank0 sh -c 'echo out $RANK; echo err $RANK >&2'
is "rank0 shows rank 0 alone" "$out $said" "localhost:0 out 0 localhost:0 err 0"
launch 3 --output rank0 sh -c '[ $RANK != 2 ] || { echo bad luck >&2; exit 4; }
	sleep 30'
has "but the last words of one that failed" "$said" "    bad luck"
launch 8 --fold always sh -c 'echo ready; echo me $RANK'
is "equal lines of all are one" "$(grep ready out)" "localhost:0-7 ready"
is "others stay" "$(grep -c '^localhost:[0-7] me [0-7]$' out)" 8
launch 3 --output json sh -c 'printf "t\"\377\n"; echo e >&2; [ $RANK != 1 ] ||
	{ sleep 0.5; exit 5; }'
is "JSON is on stdout, the closing block on stderr" "$status ${said%% on *}" \
	"5 accel: rank 1 failed"
python3 - >parsed <<'E'
import collections, json
rows = [json.loads(line) for line in open("out", encoding="utf-8")]
seen = collections.Counter((r["event"], r.get("stream"), r.get("text"))
                           for r in rows if r["event"] != "host")
for key, n in sorted(seen.items(), key=str):
    print(*key, n)
print(rows[-1]["event"], rows[-1]["exit_code"], rows[-1]["why"])
end = [r for r in rows if r["event"] == "exit" and r["rank"] == 1][0]
print(end["exit_code"], end["host"], end["why"])
assert all(r["time"].endswith("Z") for r in rows)
E
is "and each line of it is an object" "$(cat parsed)" "end None None 1
exit None None 3
failure None None 1
line stderr e 3
line stdout t\"$(printf '\357\277\275') 3
plan None None 1
start None None 3
stopping None None 1
end 5 rank 1 on localhost: exit code 5
5 localhost exit code 5"

# Terminals.
if command -v script >/dev/null; then
	on_terminal xterm 2 printf "'\\033[31mred\\033[2J\\033]0;x\\007\\377\\n'"
	has "on a terminal the prefix and programs may have colour" \
		"$(cat -v terminal)" "^[[32mlocalhost:0,1^[[m ^[[31mred"
	ok "but no other escape" sh -c \
		'! grep -q -e "$(printf "\033\\[2J")" -e "$(printf "\033]")" terminal'
	export NO_COLOR=1
	on_terminal xterm 2 printf "'\\033[31mred\\n'"
	unset NO_COLOR
	is "none with NO_COLOR" "$(tr -d '\r' <terminal | sort | cat -v)" \
		"localhost:0,1 red"
	on_terminal dumb 2 printf "'\\033[31mred\\n'"
	is "nor on a dumb one" "$(tr -d '\r' <terminal | cat -v)" \
		"localhost:0,1 red"
	on_terminal xterm 1 printf "'50%%\\r100%%\\033]0;x\\007\\n'"
	is "a single rank's bar moves" "$(cat -v terminal)" "50%^M100%^M"
else
	skip "no script(1)"
fi

# Log files.
launch 2 --log_dir logs sh -c 'printf "o$RANK\0\n"; echo e$RANK >&2'
run=$(echo logs/*)
is "--log_dir copies both streams of all ranks" \
	"$(cd "$run" && find . -type f | sort | tr '\n' ' ')" \
	"./attempt_0/0/stderr.log ./attempt_0/0/stdout.log \
./attempt_0/1/stderr.log ./attempt_0/1/stdout.log "
printf 'o1\0\n' >want
ok "byte for byte" cmp "$run/attempt_0/1/stdout.log" want
is "for the user alone" "$(find logs ! -perm 700 -type d)$(find logs -type f \
	! -perm 600)" ""
is "and they are seen as well" "$(grep -c . out) $(grep -c . said)" "2 2"
launch 2 --log_dir tee --tee 0:1,1:2 sh -c 'echo o; echo e >&2'
is "--tee has torchrun's syntax" "$(cd tee/* && find . -type f | sort |
	tr '\n' ' ')" "./attempt_0/0/stdout.log ./attempt_0/1/stderr.log "
is "--tee hides nothing" "$(grep -c . out) $(grep -c . said)" "2 2"
launch 2 --log_dir redirects -r 1 sh -c 'echo o; echo e >&2'
is "--redirects hides" "$(grep -c . out) $(grep -c . said)" "0 2"
is "what is in its file" "$(cat redirects/*/*/0/stdout.log)" "o"
launch 2 --log_dir files --output files sh -c 'echo o; [ $RANK = 0 ] ||
	{ echo e >&2; sleep 0.2; exit 6; }'
is "files shows nothing" "$out" ""
has "says where" "$said" "the output goes to files/"
has "and names the log of the rank that failed" "$said" \
	"  its log: $(echo files/*/attempt_0/1/stderr.log)"
cat >again.sh <<'E'
#!/bin/sh
echo "try $TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
touch "up$RANK"
[ "$RANK" = 0 ] && exec sleep 30
until [ -e up0 ]; do sleep 0.05; done	# so that both have spoken
exit 1
E
chmod +x again.sh
launch 2 --log_dir again --max_restarts 1 ./again.sh
is "a restart is another attempt of the same run" \
	"$status $(cat again/*/attempt_[01]/1/stdout.log | tr '\n' ' ')" \
	"0 try 0 try 1 "
has "as its record says" "$("$accel" runs --json last)" '"restarts": 1'
launch 2 --tee 4 true
is "a wrong --tee" "$status" 2
has "is explained" "$said" '--tee: "4" is none of 0, 1, 2, 3'
launch 2 --redirects 0:1,x:2 true
has "as is a wrong rank" "$said" '--redirects: "x" is no local rank'
ln -s /nowhere/else there
launch 2 --log_dir there/logs true
is "a folder that cannot be made" "$status" 1
has "is named" "$said" "there: "
is "nobody ran" "$out" ""
launch 2 --role trainer sh -c 'echo "$ROLE_NAME"; exit 7'
has "--role goes to the ranks" "$out" "trainer"
has "and to the closing block" "$said" ", role trainer)"

# The closing block.
cat >eight.py <<'E'
import os, signal, sys, time
rank = int(os.environ["RANK"])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("up%d" % rank, "w").close()
while len([n for n in os.listdir(".") if n.startswith("up")]) < 8:
    time.sleep(0.01)
if rank == 5:
    raise ValueError("loss is nan \x1b]0;owned\x07")
time.sleep(0.2)
raise ConnectionResetError("Connection reset by peer, port %d" % (4000 + rank))
E
timeout 60 "$accel" launch --cpu --num_processes 8 --output rank0 eight.py \
	>out 2>said
is "eight ranks fail" $? 1
has "the first is named" "$(cat said)" "accel: rank 5 failed on localhost"
has "with the last line of its traceback" "$(cat said)" \
	"
  exit code 1: ValueError: loss is nan "
has "and the time of day" "$(cat said)" "s after the start, at $(date +%H):"
has "the others are one line" "$(cat said)" "  then 7 ranks alike (0-4,6,7), "
has "with their own words" "$(cat said)" \
	"exit code 1: ConnectionResetError: Connection reset by peer, port 400"
is "there is one block" "$(grep -c '^accel:' said)" 1
ok "and no escape in it" sh -c '! grep -q "$(printf "\033")" said'
launch 2 --quiet sh -c '[ $RANK = 0 ] || { echo loud >&2; exit 8; }; sleep 20'
is "--quiet says it in one line, behind the rank's own words" \
	"$status $(wc -l <said) ${said%% on localhost*}" \
	"8 2 localhost:1 loud
accel: rank 1 failed"
cat >victim.sh <<'E'
#!/bin/sh
trap '' TERM
: >victim.$RANK
if [ $RANK = 0 ]; then
	until [ -e victim.1 ]; do sleep 0.05; done
	echo "accel: rank 1 (h) is gone: its connection closed" >&2
	exit 1
fi
sleep 0.3
echo "the cause" >&2
exit 9
E
chmod +x victim.sh
launch 2 --grace 10 ./victim.sh
is "a victim that is heard of first is not blamed" "$status ${said%% on loc*}" \
	"9 localhost:0 accel: rank 1 (h) is gone: its connection closed
localhost:1 the cause
accel: rank 1 failed"
# Out of memory, in a cgroup with a limit; version 1 or 2, where we may make one.
cgroup=
for folder in "/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' \
    /proc/self/cgroup)" "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"; do
	[ -z "$cgroup" ] && mkdir "$folder/accel-test-$$" 2>/dev/null || continue
	cgroup=$folder/accel-test-$$
	for limit in memory.limit_in_bytes memory.max; do
		[ -w "$cgroup/$limit" ] && echo 67108864 >"$cgroup/$limit" &&
			limited=1
	done 2>/dev/null
done
if [ -n "$cgroup" ] && [ -n "$limited" ]; then
	cat >greedy.py <<'E'
import os, time
if os.environ["RANK"] == "1":
    time.sleep(0.5)
    x = bytearray(1 << 28)
time.sleep(30)
E
	sh -c 'echo $$ >"$1/cgroup.procs" && exec timeout 60 "$2" launch --cpu \
		--num_processes 2 greedy.py' _ "$cgroup" "$accel" >out 2>said
	is "a rank that takes too much memory" $? 137
	has "is told from one that was killed" "$(cat said)" "ended by SIGKILL \
(Killed): out of memory: its cgroup may have 64 MiB"
else
	skip "may not make a cgroup with a limit"
fi
for _ in $(seq 50); do
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null && break
	timeout 0.1 tail -f /dev/null
done
launch 2 sh -c '[ $RANK = 0 ] || kill -9 $$; sleep 30'
has "a killed one ran out of nothing" "$said" "
  ended by SIGKILL (Killed)
"
cat >library.c <<'E'
int f(void); int main(void) { return f(); }
E
echo 'int f(void) { return 0; }' >f.c
if ${CC:-cc} -shared -fPIC -o libgonefromhere.so f.c 2>/dev/null &&
    ${CC:-cc} -o library library.c -L. -lgonefromhere 2>/dev/null; then
	rm libgonefromhere.so
	launch 2 ./library
	has "a missing library is named" "$said" \
		"exit code 127: the shared library libgonefromhere.so is missing"
else
	skip "no compiler"
fi

# Standard input.
seq 200000 >numbers
timeout 60 "$accel" launch --stdin --cpu --num_processes 1 --no_python cat \
	<numbers >out 2>said
is "--stdin goes to a rank" "$?$(cat said)" 0
ok "with its end" cmp numbers out
timeout 60 "$accel" launch --stdin --cpu --num_processes 3 --no_python \
	sh -c 'echo $(wc -c)' <numbers 2>said | sort >out
is "to rank 0 alone" "$(tr '\n' ' ' <out)" "localhost:0 $(wc -c <numbers) \
localhost:1 0 localhost:2 0 "
timeout 60 "$accel" launch --cpu --num_processes 1 --no_python cat <numbers >out
is "and to none where nobody asks" "$(wc -c <out)" 0
yes | timeout 60 "$accel" run --stdin head -c 6 >out
is "a rank that reads no more ends the run" "$? $(tr '\n' - <out)" "0 y-y-y-"
timeout 60 "$accel" run --stdin sh -c 'exec <&-; exec timeout 2 tail -f /dev/null' \
	</dev/zero 2>said
is "one that closed it goes on" "$?" 124
(yes | head -c 50000000; echo end) | timeout 60 "$accel" run --stdin \
	sh -c 'timeout 2 tail -f /dev/null; wc -c' >out
is "one that is slow gets all" "$(cat out)" 50000004
(echo one; timeout 1 tail -f /dev/null; echo two) | timeout 60 "$accel" run \
	--stdin sh -c 'read a; echo got $a >first; read a; echo got $a' >out
is "it comes as it is typed" "$(cat first out | tr '\n' ' ')" \
	"got one got two "

# A slow reader, or none: nothing torn, nothing lost, no rank held for ever.
cat >flood.py <<'E'
import os
rank = int(os.environ["RANK"])
for first in range(0, 80000, 1000):
    os.write(1, b"".join(b"%d %d %s\n" % (rank, i, b"x" * 60)
             for i in range(first, first + 1000)))
open("finished.%d" % rank, "w").close()
E
(timeout 90 "$accel" launch --cpu --num_processes 4 flood.py 2>said
 echo $? >code) | {
	waited=0
	until [ "$(ls finished.* 2>/dev/null | wc -l)" -eq 4 ]; do
		timeout 0.5 tail -f /dev/null
		waited=$((waited + 1))
		[ $waited -lt 60 ] || break
	done
	echo $waited >waited
	cat
} >out
ok "ranks end though nobody reads what they write" \
	test "$(cat waited)" -lt 60
is "and all is there once somebody does" "$(cat code) $(grep -cE \
	'^localhost:([0-3]) \1 [0-9]+ x{60}$' out)" "0 320000"
is "in each rank's order" "$(for r in 0 1 2 3; do
	sed -n "s/^localhost:$r $r \([0-9]*\) .*/\1/p" out | sort -nc && echo $r
done | tr '\n' ' ')" "0 1 2 3 "

# More hosts than this process may have files: once, poll() refused them all and
# the launcher went round for ever.
said=$(ulimit -n 100 && ACCEL_TEST_TRANSPORT=exec timeout -s KILL 30 "$accel" \
	run --hosts "$(seq -s, -f fake%g 120)" true 2>&1)
is "too many hosts for the limit of files are an error" "$?" 1
has "which says so" "$said" \
	"120 hosts need more open files than the 100 that are allowed here"

# The launcher raises its soft limit before it opens the first log, and the ranks
# do not get to see that.
rm -rf many
out=$(ulimit -Sn 48 && "$accel" launch --cpu --num_processes 40 --log_dir many \
	--no_python sh -c 'ulimit -Sn; ulimit -Sn >&2' 2>&1)
is "more logs than the soft limit of open files" "$?" 0
is "each rank has the limit that accel was started with" \
	"$(cat many/*/attempt_0/*/stdout.log many/*/attempt_0/*/stderr.log |
	sort | uniq -c | tr -s ' ')" " 80 48"
done_testing
