#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What --output json tells beside the ranks' lines: the plan, how far hosts are,
# problems, the failure, and with --usage what ranks use.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1
command -v python3 >/dev/null || {
	skip "no python3"
	done_testing
}

follow() { # FLAGS... COMMAND...: fills "events" and $status
	timeout 60 "$accel" "$@" >events 2>said </dev/null
	status=$?
}
launch="launch --cpu --no_python --output json --grace 0.5"
run="run --output json --grace 0.5"
# An expression of Python; "of" gives the events of a kind.
say() {
	python3 - "$1" <<'E'
import json, sys
rows = [json.loads(line) for line in open("events", encoding="utf-8")]
def of(event):
    return [r for r in rows if r["event"] == event]
print(eval("(" + sys.argv[1] + ")"))
E
}

ACCEL_TEST_TRANSPORT=exec
export ACCEL_TEST_TRANSPORT
# Hosts that are this one; the ranks do not meet.
follow $run --hosts node1,node2,node3 sh -c \
	'[ $ACCEL_HOST_RANK != 2 ] || { echo one >&2; echo two >&2; exit 3; }
	sleep 30'
is "the plan is told first" \
	"$(say 'rows[0]["event"], rows[0]["hosts"], rows[0]["ranks"]')" \
	"('plan', ['node1', 'node2', 'node3'], [0, 1, 2])"
ok "with the record" test -f "$(say 'rows[0]["record"]')"
is "each host runs, and is done" \
	"$(say '" ".join(sorted(str(r["number"]) + r["state"] for r in
	of("host") if r["state"] in ("running", "done")))')" \
	"0done 0running 1done 1running 2done 2running"
is "the failure is told with its last lines" \
	"$(say '[(r["rank"], r["why"], r["lines"]) for r in of("failure")]')" \
	"[(2, 'exit code 3', ['one', 'two'])]"
is "then that the others are stopped, before they end" \
	"$(say 'rows.index(of("failure")[0]) < rows.index(of("stopping")[0]) <
	rows.index([r for r in of("exit") if r["rank"] == 0][0])')" True
is "no usage unasked" "$(say 'of("usage")')" "[]"

follow $run --hosts node1,node2 ./no-such-program
is "a problem is told with its host" \
	"$(say 'sorted(r["host"] for r in of("problem"))')" "['node1', 'node2']"
is "and the host is unfit" "$status $(say \
	'[r["state"] for r in of("host")].count("unfit")')" "1 2"

# A rank waits until its launcher has told what it uses; no clock.
cat >busy.sh <<'E'
#!/bin/sh
# Two processes that work: this one, and one in a session of its own.
setsid sh -c 'while [ ! -e enough ]; do :; done' &
i=0
until python3 told.py; do
	i=$((i + 1))
	[ $i -lt 300 ] || exit 9
done
touch enough
wait
E
cat >told.py <<'E'
import json, sys
for line in open("events", encoding="utf-8"):
    if not line.endswith("\n"):
        break
    row = json.loads(line)
    for r in row["ranks"] if row["event"] == "usage" else []:
        if r["processes"] >= 2 and r.get("cpu", 0) > 0.05:
            sys.exit(0)
sys.exit(1)
E
chmod +x busy.sh
follow $launch --num_processes 1 --usage 0.2 ./busy.sh
is "a rank's processes, also those that left its session, are measured" \
	"$status" 0
is "with memory of rank and host" \
	"$(say 'all(r["memory"] > 0 and 0 < r["memory"] < u["memory_total"] and
	0 < u["memory"] < u["memory_total"] and u["cpus"] > 0
	for u in of("usage") for r in u["ranks"])')" True

# Numbers of libaccel; here by hand, with what it would never write.
cat >track.py <<'E'
import os
fd = int(os.environ["ACCEL_TRACK_FD"]) if "ACCEL_TRACK_FD" in os.environ else 0
assert bool(fd) == (os.environ["RANK"] == "0")
for line in (b'{"event":"log","key":"loss","val', b'ue":0.5}\n',
             b'\n[1]\n{"a"\n', b'{"x":"' + b'y' * 5000 + b'"}\n',
             b'{"last":1}\n') if fd else ():
    os.write(fd, line)
E
follow $launch --num_processes 2 --usage 1 python3 track.py
is "rank 0 has a descriptor for its tracker" "$status" 0
is "what it writes there is told, where it is an object" \
	"$(say '[r["track"] for r in of("track")]')" \
	"[{'event': 'log', 'key': 'loss', 'value': 0.5}, {'last': 1}]"
follow $launch --num_processes 1 python3 -c \
	'import os; exit("ACCEL_TRACK_FD" in os.environ)'
is "without --usage it has none" "$status" 0
follow $launch --num_processes 2 --usage 1 "$top_builddir/examples/adder" \
	--steps 3
is "libaccel's own steps come this way" "$status $(say \
	'[r["track"]["event"] for r in of("track")][:1]')" "0 ['start']"

for bad in 0 x 1e9; do
	"$accel" launch --output json --usage $bad --no_python true 2>said
	is "--usage $bad is refused" "$?" 2
	has "in words" "$(cat said)" "--usage $bad: not a number of seconds"
done
"$accel" launch --usage 2 --no_python true 2>said
is "so is --usage without JSON" "$?" 2
has "with what to do" "$(cat said)" "--output json"

# The screen; tests/screens/runpty.c has it on a terminal.
"$accel" launch --cpu --view screen --num_processes 2 --no_python echo hi \
	>out 2>said </dev/null
is "without a terminal, --view screen is plain lines" "$? $(sort out)" \
	"0 localhost:0 hi
localhost:1 hi"
for flag in "--output json" "--usage 1" --stdin; do
	"$accel" launch --view screen $flag --no_python true 2>said
	is "--view screen excludes ${flag%% *}" "$?" 2
	has "and says so" "$(cat said)" "--view screen excludes ${flag%% *}"
done
ACCEL_FOLLOWED=0 "$accel" run --hosts localhost sh -c 'echo x$ACCEL_FOLLOWED' \
	>out 2>&1 </dev/null
has "who is followed tells JSON" "$(cat out)" '"event":"plan"'
has "and its ranks do not know" "$(cat out)" '"text":"x"'
done_testing
