#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each template is a configuration that breaks no rule, and launches.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
unset XDG_CACHE_HOME

echo 'print("hello")' >"$work/train.py"
for file in "$top_srcdir"/templates/*.yaml; do
	name=$(basename "$file" .yaml)
	n=$(sed -n 's/^num_processes: //p' "$file")
	machines=$(sed -n 's/^num_machines: //p' "$file")
	is "$name breaks no rule" "$("$accel" config check --no-probe "$file")" \
		"$file: no problems"
	# PyTorch/XLA starts a TPU's own: one process each machine
	grep -q '^distributed_type: XLA' "$file" && n=$machines
	hosts=$(seq -s , -f node%g:$((n / machines)) "$machines")
	[ "$machines" -gt 1 ] || hosts=localhost
	out=$("$accel" launch --config_file "$file" --hosts "$hosts" --print "$work/train.py" 2>&1)
	is "$name launches" $? 0
	is "$name has $n ranks" "$(printf '%s\n' "$out" | grep -c '^rank [0-9]* on ')" "$n"
	"$accel" config new "$name" "$work/$name.yaml" >/dev/null
	is "$name is built in, but for its licence" \
		"$(diff "$file" "$work/$name.yaml" | grep '^[<>]')" \
		"< # SPDX-License-Identifier: Apache-2.0"
	has "$name is in the list" "$("$accel" config new)" \
		"$(sed -n '2{s/^# //;s/\.$//;p;q;}' "$file")"
done
is "the list has no more" "$("$accel" config new | wc -l | tr -d ' ')" \
	"$(ls "$top_srcdir"/templates/*.yaml | wc -l | tr -d ' ')"

"$accel" config new cpu >/dev/null
is "without a file it is the default one" "$("$accel" config check --no-probe)" \
	"$HF_HOME/accelerate/default_config.yaml: no problems"
echo mine >"$work/mine.yaml"
out=$("$accel" config new cpu "$work/mine.yaml" 2>&1)
is "a file that is there is an error" $? 1
is "and stays" "$(cat "$work/mine.yaml")" mine
has "and how to replace it is said" "$out" "--force"
"$accel" config new --force cpu.yaml "$work/mine.yaml" >/dev/null
has "which does" "$(cat "$work/mine.yaml")" "MULTI_CPU"
has "- is the standard output" "$("$accel" config new cpu -)" "distributed_type: MULTI_CPU"
out=$("$accel" config new fsdq 2>&1)
is "another name is wrong usage" $? 2
has "and the nearest is named" "$out" "did you mean fsdp?"
done_testing
