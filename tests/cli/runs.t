#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel run, and the record of each run that accel runs lists.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1
runs=$XDG_STATE_HOME/accel/runs

is "nothing was started at first" "$("$accel" runs)" "nothing was started yet"
is "that is an empty list in JSON" "$("$accel" runs --json)" "[]"

# accel run: one process, no shell, no world.
out=$("$accel" run printf '%s|' '$HOME' 'a b' '*' 2>&1)
is "words go through no shell" "$out" '$HOME|a b|*|'
out=$("$accel" run --shell 'echo $((20 + 3)) $ACCEL_HOST $ACCEL_HOST_RANK \
	$ACCEL_HOST_COUNT "${RANK-none}" "${WORLD_SIZE-none}"' 2>&1)
is "but where one is asked for; there is no world" "$out" \
	"23 localhost 0 1 none none"
"$accel" run --shell two words 2>said
is "a line for the shell is one word" "$? $(head -1 said)" \
	"2 accel run: --shell takes one word, and here are 2"
"$accel" run --folder / pwd >out
is "--folder" "$(cat out)" /
out=$("$accel" run --env A=1 --env B='x y' sh -c 'echo $A $B')
is "--env" "$out" "1 x y"
"$accel" run sh -c 'exit 9' 2>said
is "its exit code" $? 9
has "the closing block" "$(cat said)" "failed on localhost"
"$accel" run no-such-command 2>said
is "a command that is not there" $? 1
has "is told" "$(cat said)" "no-such-command: not found on this host"
"$accel" run 2>said
is "no command" "$? $(head -1 said)" "2 accel run: needs COMMAND [ARGUMENTS]"

# Records.
"$accel" launch --cpu --num_processes 2 --env SECRET=planted --no_python \
	--output files sh -c '[ $RANK = 0 ] || { echo "no luck" >&2; exit 6; }' \
	x --hf_token planted --api-key=planted --max_tokens 5 >out 2>said
is "a run that fails" $? 6
"$accel" runs >listed
is "the list has the newest first" "$(sed -n 2p listed |
	sed 's/^[0-9]*-[0-9]*-[0-9a-f]* *[0-9-]* [0-9:]* *[0-9.]*s *//' |
	cut -c-21)" "exit 6        2  sh -"
is "and all of them" "$(wc -l <listed)" 8
"$accel" runs last >last
has "one says why it ended" "$(cat last)" \
	"why       rank 1 on localhost: exit code 6"
logs=$(sed -n 's/^logs *//p' last)
is "and where its logs are" "$(cat "$logs/attempt_0/1/stderr.log")" "no luck"
has "the word for it is known to the launcher's last lines" "$(cat said)" \
	"its log: $logs/attempt_0/1/stderr.log"
is "no secret is in any file" "$(grep -rl planted "$XDG_STATE_HOME")" ""
has "what only sounds like one is" "$(cat last)" "--max_tokens 5"
is "records are the user's alone" "$(find "$XDG_STATE_HOME/accel/runs" -type f \
	! -perm 600) $(find "$runs" -type d ! -perm 700)" " "
"$accel" runs --json last >one.json
"$accel" runs --json >all.json
python3 - >got <<'E'
import json
one, every = json.load(open("one.json")), json.load(open("all.json"))
print(one == every[0], one["exit_code"], one["ranks"], one["command"],
      one["state"], one["hosts"], one["ended"] >= one["started"])
E
is "as JSON" "$(cat got)" \
	"True 6 2 launch ended [{'name': 'localhost', 'ranks': 2}] True"
id=$(sed -n 's/^run *\([^ ]*\) .*/\1/p' last)
is "a part of its name is enough" "$("$accel" runs "${id#*-}" | head -1)" \
	"run       $id (accel launch)"
"$accel" runs 20 2>said
is "a part that many have" "$? $(head -1 said)" \
	'1 accel runs: 7 runs have "20" in their names'
"$accel" runs nothing 2>said
is "a name that none has" "$? $(head -1 said)" \
	'1 accel runs: there is no run "nothing"'
"$accel" run "$(printf 'printf')" 'a\033]0;x\007\377' >/dev/null
"$accel" run printf "$(printf '\033]0;owned\007\377')" >/dev/null
ok "any bytes in a program's words are harmless" sh -c \
	'"$1" runs >out && ! grep -q "$(printf "\033")" out && "$1" runs --json |
	python3 -m json.tool >/dev/null' _ "$accel"

# A launcher that is there, and one that went.
"$accel" run sh -c 'echo up; exec tail -f /dev/null' >up &
launcher=$!
for _ in $(seq 100); do
	[ -s up ] && break
	timeout 0.1 tail -f /dev/null
done
has "a run that goes on" "$("$accel" runs last)" "end       running"
kill -9 $launcher
wait $launcher 2>/dev/null
has "one whose launcher was killed" "$("$accel" runs last)" "end       lost"

# Old ones go, with their logs and nothing else.
victim=$work/precious
mkdir "$victim"
echo kept >"$victim/file"
python3 - "$runs" "$victim" <<'E'
import json, os, sys
for i in range(260):
    name = "19990101-%06d-aaaa" % i
    with open(os.path.join(sys.argv[1], name + ".json"), "w") as out:
        json.dump({"id": name, "state": "ended", "program": [],
                   "logs": sys.argv[2]}, out)
os.makedirs(os.path.join(sys.argv[1], "19990101-000000-aaaa/attempt_0/0"))
os.symlink(sys.argv[2], os.path.join(sys.argv[1], "19990101-000001-aaaa"))
with open(os.path.join(sys.argv[1], "19990101-000002-bbbb.json"), "w") as out:
    json.dump({"id": "../../../precious", "state": "ended"}, out)
open(os.path.join(sys.argv[1], "18000101-nonsense.json"), "w").write("{")
E
"$accel" run true
is "the newest 200 stay, and what is no record" \
	"$(($(ls "$runs" | grep -c 'json$')))" 202
"$accel" run true
is "one more goes with the next lot" \
	"$(($(ls "$runs" | grep -c 'json$')))" 203
ok "an old one's logs go with it" test ! -e "$runs/19990101-000000-aaaa"
ok "no other folder does" test -e "$victim/file"
ok "a file that is no record stays" test -e "$runs/18000101-nonsense.json"

# A home that cannot be written.
mkdir closed
: >closed/file
XDG_STATE_HOME=$work/closed/file "$accel" run echo hi >out 2>said
is "without a place for the record the run goes on" "$? $(cat out)" "0 hi"
has "and that is said" "$(cat said)" "no record of this run: "
done_testing
