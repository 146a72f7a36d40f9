#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a host may not do to who launches on it: write elsewhere, speak for other
# hosts' ranks, command the terminal, or bring the launcher down.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
WIRE_H=$top_srcdir/runtime/launch/wire.h
export HF_HOME WIRE_H
mkdir "$work/here"
cd "$work/here" || exit 1
cp "$top_srcdir/tests/cli/hostile.py" agent.py
chmod +x agent.py

launch() { # HOW FLAGS...
	how=$1
	shift
	HOSTILE=$how ACCEL_AGENT=$work/here/agent.py timeout 60 "$accel" launch \
		--no_preflight --grace 0.2 --cpu --num_processes 2 \
		--log_dir "$work/here/logs" "$@" --no_python true \
		>"$work/here/out" 2>"$work/here/said" </dev/null
	status=$?
	out=$(tr -d '\000' <"$work/here/out")
	said=$(cat "$work/here/said")
}
# All that is in the folder of the test now, but for what it made itself.
made() {
	(cd "$work" && find . -newer here/agent.py ! -name .tap ! -name 'out' \
		! -name said ! -path './state/*' ! -path ./state -type f |
		sed 's,/[0-9]*-[0-9]*-[0-9a-f]*/,/RUN/,' | sort -u | tr '\n' ' ')
}

launch done
is "the end that it says counts" "$status" 3
has "once, for a rank of its own" "$said" \
	"accel: rank 1 failed on localhost (local rank 1, pid 1)"
ok "the closing block commands no terminal" sh -c \
	'! sed -n "/^accel:/,\$p" said | grep -q "$(printf "[\033\007]")"'
is "log files are those of its ranks, in the log folder" "$(made)" \
	"./here/logs/RUN/attempt_0/0/stderr.log \
./here/logs/RUN/attempt_0/0/stdout.log ./here/logs/RUN/attempt_0/1/stderr.log \
./here/logs/RUN/attempt_0/1/stdout.log "
is "with each byte that it sent for them" \
	"$(wc -c <"$(echo logs/*/attempt_0/1/stdout.log)")" 39
ok "no other host's rank has said anything" sh -c \
	'! grep -qv -e "^localhost:[01] " out'
launch garbage
is "garbage ends the run" "$status" 1
has "and names its host" "$said" "host localhost was lost"
launch huge
is "so does a frame that is too large" "$status" 1
launch problem
is "a problem that it tells" "$status" 1
ok "commands no terminal either" sh -c \
	'! grep -q "$(printf "[\033\007]")" said'
launch done --output json
ok "in JSON all of it is text" sh -c \
	'python3 -c "import json; [json.loads(x) for x in open(\"out\", \
	encoding=\"utf-8\")]"'
if command -v script >/dev/null; then
	HOSTILE='done' ACCEL_AGENT=$work/here/agent.py TERM=xterm script -qec \
		"$accel launch --no_preflight --cpu --num_processes 2 \
		--no_python true" /dev/null </dev/null >terminal
	ok "a terminal gets its words and none of its commands" sh -c \
		'grep -q etc/passwd terminal && ! grep -q -e "$(printf "\007")" \
		-e "$(printf "\033\\[2J")" -e "$(printf "\033]")" terminal'
else
	skip "no script(1)"
fi
is "nothing else was written" "$(ls "$work")" "here
state"
done_testing
