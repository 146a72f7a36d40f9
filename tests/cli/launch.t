#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel launch on this machine: ranks, arguments, failure, signals, bad input.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1

# Waits until no process has the mark in its command line; 10 s at most.
gone() { # MARK
	for _ in $(seq 100); do
		pgrep -f "$1" >/dev/null || return 0
		timeout 0.1 tail -f /dev/null
	done
	pgrep -fa "$1"
	return 1
}

cat >ranks.sh <<'EOF'
#!/bin/sh
echo "$RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE cpu=$ACCELERATE_USE_CPU"
EOF
cat >args.py <<'EOF'
import os, sys
with open("args.%s" % os.environ["RANK"], "wb") as out:
    for arg in sys.argv[1:]:
        out.write(os.fsencode(arg) + b"\0")
    out.write(os.environb[b"ODD"] + b"\0" + os.getcwdb())
EOF
# Names that no other run of this test has: processes are found by them.
fail=./fail$$.sh wait=./wait$$.sh hidden=$work/hidden other_file=$work/other
: >"$hidden"
: >"$other_file"
cat >$fail <<'EOF'
#!/bin/sh
trap '' TERM HUP
if [ "$RANK" = 1 ]; then
	echo "the disk is full" >&2
	[ "$1" = kill ] && kill -9 $$
	exit "$1"
fi
while :; do tail -f /dev/null; done
EOF
chmod +x ranks.sh $fail

out=$(timeout 30 $accel launch --cpu --num_processes 2 --no_python ./ranks.sh | sort)
is "2: two CPU ranks asked for are two ranks started" "$out" \
    "localhost:0 0/2 local 0/2 cpu=True
localhost:1 1/2 local 1/2 cpu=True"
out=$(timeout 30 $accel launch --cpu --no_python ./ranks.sh)
is "one process has no prefix and no world" "$out" "/ local / cpu=True"

python3 - "$accel" <<'EOF'
import os, random, subprocess, sys
random.seed(7)
words = [bytes(random.choice(range(1, 256)) for _ in range(random.randrange(40)))
         for _ in range(200)]
odd = bytes(range(1, 256))
os.environb[b"ODD"] = odd
subprocess.run([sys.argv[1], "launch", "--cpu", "--num_processes", "2",
                "args.py"] + words, check=True, timeout=60)
want = b"".join(w + b"\0" for w in words) + odd + b"\0" + os.getcwdb()
sys.exit(any(open("args.%d" % r, "rb").read() != want for r in range(2)))
EOF
is "200 random arguments, the environment and the folder arrive byte by byte" $? 0

timeout 30 $accel launch --grace 0.2 --cpu --num_processes 3 --no_python \
    $fail 3 >out 2>err
is "13: the first failing rank's exit code is the launcher's" $? 3
has "rank, host and exit code are named" "$(cat err)" \
    "accel: rank 1 failed on localhost (local rank 1, pid "
has "with its last lines" "$(cat err)" "    the disk is full"
timeout 30 $accel launch --grace 0.2 --cpu --num_processes 3 --no_python \
    $fail kill >out 2>err
is "a rank killed by signal 9 makes 137" $? 137
has "the signal is named" "$(cat err)" "ended by SIGKILL"
ok "ranks that ignore SIGTERM are gone" gone "^/bin/sh $fail"

cat >$wait <<'EOF'
#!/bin/sh
setsid tail -f "$0" >/dev/null &
[ "$hide" ] && env -i setsid tail -f "$hide" >/dev/null &
cat /proc/self/cgroup >cgroup
trap 'echo got-usr1' USR1
echo ready
while :; do wait; done
EOF
chmod +x $wait
mkfifo told
start() { # starts it on two ranks; $launcher is its pid; both are ready
	$accel launch --grace 0.2 --cpu --num_processes 2 --no_python $wait \
	    >told 2>err &
	launcher=$!
	exec 3<told
	read -r _ <&3
	read -r _ <&3
}
start
kill -KILL $launcher
wait $launcher 2>/dev/null
exec 3<&-
ok "a killed launcher leaves no rank" gone "^/bin/sh $wait"
ok "nor what a rank started in a session of its own" gone "tail -f $wait"

# A killed or stopped agent: its warden ends what it held, and nothing else.
$accel launch --cpu --num_processes 2 --no_python tail -f "$other_file" \
    >/dev/null 2>&1 &
other=$!
export hide="$hidden"
start
unset hide
agent=$(pgrep -P $launcher -x accel-agent)
kill -KILL "$agent"
wait $launcher
ok "a killed agent fails the run" test $? -gt 0
exec 3<&-
ok "and leaves no rank" gone "^/bin/sh $wait"
ok "nor what a rank started in a session of its own" gone "tail -f $wait"
if grep -q accel- cgroup; then
	ok "nor one that hides its origin" gone "tail -f $hidden"
else
	skip "no cgroups to be had"
	pkill -f "tail -f $hidden"
fi
start
kill -STOP "$(pgrep -P $launcher -x accel-agent)"
begun=$(date +%s)
wait $launcher
status=$?
took=$(($(date +%s) - begun))
ok "a stopped agent fails the run within 15 s ($took s)" \
    test $status -gt 0 -a $took -le 15
has "and is named" "$(cat err)" "nothing was heard from it for 10 s"
exec 3<&-
ok "it leaves no rank either" gone "^/bin/sh $wait"
ok "nor a session" gone "tail -f $wait"
start
rank=$(pgrep -f "^/bin/sh $wait" | head -1)
kill -STOP "$rank"
begun=$(date +%s)
wait $launcher
is "a rank that stays stopped fails the run" $? 147
ok "within 15 s" test $(($(date +%s) - begun)) -le 15
has "and is named" "$(cat err)" "a signal stopped it"
exec 3<&-
ok "it is gone with the others" gone "^/bin/sh $wait"
is "another job goes on" "$(pgrep -fc "^tail -f $other_file")" 2
kill -TERM $other
wait $other

start
kill -USR1 $launcher
read -r a <&3
read -r b <&3
is "SIGUSR1 reaches every rank" "$(printf '%s\n' "$a" "$b" | sort)" \
    "localhost:0 got-usr1
localhost:1 got-usr1"
kill -TERM $launcher
wait $launcher
is "SIGTERM ends the run with 143" $? 143
exec 3<&-
ok "and all that belongs to it" gone "^/bin/sh $wait"

# The states of all that is in the ranks' groups, as ps has them, each once.
states() {
	pgrep -f "^/bin/sh $wait" | xargs ps -o stat= -p | cut -c1 | sort -u
}
state_is() { # WANTED, within 10 s
	for _ in $(seq 100); do
		[ "$(states)" = "$1" ] && return 0
		timeout 0.1 tail -f /dev/null
	done
	states
	return 1
}
start
kill -TSTP $launcher
ok "^Z stops every rank" state_is T
timeout 11 tail -f /dev/null	# longer than a silent launcher is borne
ok "and the launcher" sh -c "ps -o stat= -p $launcher | grep -q ^T"
kill -CONT $launcher
ok "they go on with it" state_is S
kill -USR1 $launcher
read -r a <&3
has "and are heard again, after more than the heartbeats' limit" "$a" got-usr1
kill -TERM $launcher
wait $launcher
is "and end as ever" $? 143
exec 3<&-

printf '#!/bin/sh\nseq 1 60000\n' >many.sh
chmod +x many.sh
out=$($accel launch --cpu --num_processes 2 --no_python ./many.sh |
	{ timeout 11 tail -f /dev/null; wc -l; })
is "a reader that pauses loses no line" "$out" 120000
out=$( (timeout 30 $accel launch --grace 0.2 --cpu --num_processes 2 \
	--no_python yes 2>/dev/null; echo $? >code) | head -1)
is "with its reader gone the run ends" \
	"$(echo "$out" | sed 's/:[01-]* /:? /') $(cat code)" "localhost:? y 141"
out=$(TORCHELASTIC_USE_AGENT_STORE=True $accel launch --cpu --num_processes 2 \
	--no_python /usr/bin/env | grep -c AGENT_STORE)
is "10: a torchrun around us leaves no store to wait for" "$out" 0
printf "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_processes: 1\n" >no.yaml
out=$($accel launch --config_file no.yaml --cpu --num_processes 2 --no_python \
	./ranks.sh | sort | head -1)
is "a file without a world and --num_processes 2 are one world" "$out" \
    "localhost:0 0/2 local 0/2 cpu=True"
# shellcheck disable=SC2046
timeout 60 $accel launch --cpu --num_processes 24 --no_python /bin/true \
	$(python3 -c "print(*['x' * 100000] * 10)") 2>err
is "24 ranks with a megabyte of arguments each" $? 0
timeout 30 $accel launch --cpu --num_processes 2 --main_process_ip localhost \
	--no_python /usr/bin/env >out 2>err
ok "--main_process_ip takes a name and gives its number" \
	grep -qE 'MASTER_ADDR=(127.0.0.1|::1)$' out
python3 - "$accel" <<'EOF'
import socket, subprocess, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
sys.exit(subprocess.run([sys.argv[1], "launch", "--cpu", "--main_process_port",
    str(s.getsockname()[1]), "--no_python", "true"]).returncode)
EOF
is "a single rank needs no port" $? 0
here=$(ls -l /proc/self/fd </dev/null | grep -c 'null$')
out=$($accel launch --cpu --num_processes 2 --no_python ls -l /proc/self/fd |
	grep -c 'null$')
is "no descriptor of ours is left in a rank, but stdin" "$out" $((2 * here))
# A shell ignores SIGINT and SIGQUIT for what it has in the background, and we
# forward them.
is "signals that a shell ignores are the ranks' to take" "$(sh -c \
	'trap "" INT QUIT && exec "$@"' _ $accel launch --cpu --num_processes 1 \
	--no_python sed -n 's/^SigIgn:.*\(.\)$/\1/p' /proc/self/status)" 0
cat >slow.sh <<'EOF'
#!/bin/sh
trap 'timeout 4 tail -f /dev/null; echo saved >saved.$RANK; exit' TERM
echo ready
while :; do tail -f /dev/null & wait; done
EOF
chmod +x slow.sh
$accel launch --grace 20 --cpu --num_processes 2 --no_python ./slow.sh >told 2>err &
launcher=$!
exec 3<told
read -r _ <&3
read -r _ <&3
kill -KILL $launcher
wait $launcher 2>/dev/null
exec 3<&-
ok "a dead launcher's ranks end" gone "^/bin/sh ./slow.sh"
is "after their own grace, longer than 3 s here" "$(cat saved.0 saved.1 2>&1)" "saved
saved"

out=$($accel launch --cpu --num_processes 2 --print --no_python $fail 3)
is "--print succeeds" $? 0
has "--print shows each rank's environment" "$out" "  RANK=1"
has "--print shows its command" "$out" "  $fail 3"


# What differs from Accelerate; the numbers are accel-launch(1)'s.
ACCEL_DEVICES=$work/no-devices
export ACCEL_DEVICES
$accel launch --multi_gpu --num_processes 2 --no_python true >out 2>err
is "11: ranks that want accelerators start where there are none" $? 0
has "11: and are warned of" "$(cat err)" "no accelerator is found here"
$accel launch --num_processes 2 --no_python ./ranks.sh >out 2>err
has "11: several ranks of no type are CPU ranks there" "$(cat out)" "cpu=True"
is "11: of which nothing is to be said" "$(cat err)" ""
mkdir -p devices/dev
for n in 0 1 2; do : >devices/dev/nvidia$n; done
out=$(ACCEL_DEVICES=$work/devices $accel launch --print --no_python true)
has "without a word, there is a rank for each GPU" "$out" "WORLD_SIZE=3"
out=$(CUDA_VISIBLE_DEVICES=1,2 ACCEL_DEVICES=$work/devices \
	$accel launch --print --no_python true)
has "that may be seen" "$out" "WORLD_SIZE=2"
mkdir ds
(cd ds && PYTHONPATH=/before http_proxy=http://p:1 \
	"$accel" launch --use_deepspeed --num_processes 2 --no_python env >out 2>err)
is "25: DeepSpeed's ranks are started here" \
	"$(grep -c 'ACCELERATE_USE_DEEPSPEED=true' ds/out)" 2
is "25: without a .deepspeed_env" "$(ls -A ds)" "err
out"
has "its ranks find the working folder" "$(cat ds/out)" \
	"PYTHONPATH=/before:$work/ds"
has "20: a variable in small letters is passed on" "$(cat ds/out)" \
	"http_proxy=http://p:1"
is "20: and not once more in capitals" "$(grep -c HTTP_PROXY ds/out)" 0
out=$($accel launch --cpu --print --aws_access_key_id AKIA1 \
	--aws_secret_access_key=wJalr --no_python true)
is "a secret is not printed" "$(echo "$out" | grep -c 'AKIA1\|wJalr')" 0
out=$($accel launch --config-file=no.yaml --env A_B=1 --env=C=2 --cpu \
	--no_python env 2>&1)
has "the launcher's own flags have both spellings" "$out" "A_B=1"
has "and both forms" "$out" "C=2"
printf 'a slots=8\nb slots=8\n' >two.hosts
printf 'distributed_type: MULTI_CPU\nuse_cpu: true\nnum_processes: 4\nnum_machines: 2\nmpirun_config:\n  mpirun_hostfile: two.hosts\n' >two.yaml
has "27: the file's own host file names the machines" \
	"$($accel launch --config_file two.yaml --print --no_python true)" \
	"   2      0  b"

refused() { # SENTENCE EXIT-CODE FLAGS...
	want=$1 code=$2
	shift 2
	$accel launch "$@" >out 2>err
	is "launch $*: exit code $code" $? "$code"
	has "launch $*: says why" "$(cat err)" "$want"
	is "launch $*: nothing was started" "$(cat out)" ""
}
echo 'print("ran")' >ran.py
printf 'num_process: 2\ndistributed_type: MULTI_CPU\n' >typo.yaml
printf 'num_processes: many\ndistributed_type: MULTI_CPU\n' >type.yaml
refused "missing.py: No such file" 1 missing.py
refused "no script was given" 2
refused "distributed_type: MULTI_XPU" 2 --use-xpu ran.py
refused "neither true nor false" 2 --fsdp_offload_params perhaps ran.py
refused "did you mean --num_processes" 2 --num_proceses 2 ran.py
refused "69420" 2 --main_process_port 69420 ran.py
refused "missing.yaml: there is no such file" 1 --config_file missing.yaml ran.py
refused "typo.yaml:1" 1 --config_file typo.yaml ran.py
refused "num_processes" 1 --config_file typo.yaml ran.py
refused "type.yaml:1" 1 --config_file type.yaml ran.py
refused "not a number of slots" 2 --hosts a:x ran.py
refused "missing.hosts" 2 --hostfile missing.hosts ran.py
refused "not set here" 2 --env NOT_SET_ANYWHERE ran.py
refused "no-such-program: not found on this host" 1 --no_python no-such-program
refused "run it with --no_python" 1 /bin/true
refused "no-such-host" 1 --ssh_config /dev/null --hosts no-such-host.invalid ran.py
$accel lunch 2>err
is "an unknown command is exit code 2" $? 2
has "with the nearest one" "$(cat err)" 'did you mean "launch"'

if command -v mpicc.mpich >/dev/null && mpicc.mpich -o sum \
    "$top_srcdir/tests/cli/mpi-sum.c" 2>err; then
	for n in 1 2 3; do
		out=$(timeout 60 $accel launch --cpu --num_processes $n \
		    --no_python ./sum 2>&1)
		has "an MPICH program starts with $n ranks, without mpirun" \
		    "$out" "$n ranks, sum $((n * (n + 1) / 2))"
	done
else
	skip "no MPICH"
fi
done_testing
