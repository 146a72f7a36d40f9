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
cat >fail.sh <<'EOF'
#!/bin/sh
trap '' TERM HUP
if [ "$RANK" = 1 ]; then
	echo "the disk is full" >&2
	[ "$1" = kill ] && kill -9 $$
	exit "$1"
fi
while :; do tail -f /dev/null; done
EOF
chmod +x ranks.sh fail.sh

out=$(timeout 30 $accel launch --cpu --num_processes 2 --no_python ./ranks.sh | sort)
is "two CPU ranks asked for are two ranks started" "$out" \
    "localhost:0 0/2 local 0/2 cpu=true
localhost:1 1/2 local 1/2 cpu=true"
out=$(timeout 30 $accel launch --cpu --no_python ./ranks.sh)
is "one process has no prefix and no world" "$out" "/ local / cpu=true"

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
    ./fail.sh 3 >out 2>err
is "the first failing rank's exit code is the launcher's" $? 3
has "rank, host and exit code are named" "$(cat err)" \
    "accel: rank 1 failed on localhost (local rank 1, pid "
has "with its last lines" "$(cat err)" "    the disk is full"
timeout 30 $accel launch --grace 0.2 --cpu --num_processes 3 --no_python \
    ./fail.sh kill >out 2>err
is "a rank killed by signal 9 makes 137" $? 137
has "the signal is named" "$(cat err)" "ended by SIGKILL"
ok "ranks that ignore SIGTERM are gone" gone "^/bin/sh ./fail.sh"

cat >wait.sh <<'EOF'
#!/bin/sh
setsid tail -f "$0" >/dev/null &
echo ready
trap 'echo got-usr1' USR1
while :; do wait; done
EOF
chmod +x wait.sh
mkfifo told
start() { # starts wait.sh on two ranks; $launcher is its pid; both are ready
	$accel launch --grace 0.2 --cpu --num_processes 2 --no_python ./wait.sh \
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
ok "a killed launcher leaves no rank" gone "^/bin/sh ./wait.sh"
ok "nor what a rank started in a session of its own" gone "tail -f ./wait.sh"
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
ok "and all that belongs to it" gone "^/bin/sh ./wait.sh"

out=$($accel launch --cpu --num_processes 2 --print --no_python ./fail.sh 3)
is "--print succeeds" $? 0
has "--print shows each rank's environment" "$out" "  RANK=1"
has "--print shows its command" "$out" "  ./fail.sh 3"

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
refused "did you mean --num_processes" 2 --num_proceses 2 ran.py
refused "69420" 2 --main_process_port 69420 ran.py
refused "missing.yaml: No such file" 1 --config_file missing.yaml ran.py
refused "typo.yaml:1: " 1 --config_file typo.yaml ran.py
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
