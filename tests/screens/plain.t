#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel-setup without a screen: conversations and options.
. "${top_srcdir:-.}/tests/tap.sh"
setup=$top_builddir/accel-setup
f=$work/c.yaml
HWLOC_SYNTHETIC="package:2 numa:1 core:4 pu:1"
export HWLOC_SYNTHETIC
unset ACCESSIBLE NO_COLOR

out=$("$setup" --config_file "$f" --print </dev/null)
has "--print shows the proposal" "$out" "distributed_type: MULTI_CPU"
ok "and writes nothing" test ! -e "$f"

out=$("$setup" --config_file "$f" </dev/null 2>&1)
is "without input it fails" $? 1
has "and says so" "$out" "nothing was written"
ok "which is true" test ! -e "$f"

out=$(yes '' | "$setup" --config_file "$f" 2>&1)
is "Enter to every question gives a file" $? 0
has "that is shown and written" "$out" "Written: $f"
has "with a reason for the proposal" "$out" "NUMA nodes"
is "it is what --print said" "$(cat "$f")" \
	"$(rm "$f"; "$setup" --config_file "$f" --print)"

# Launching at the end.
cat >"$work/hello" <<'E'
#!/bin/sh
echo "rank $RANK of $WORLD_SIZE says $*"
exit "${code:-0}"
E
chmod +x "$work/hello"
rm "$f"
out=$(yes '' | "$setup" --config_file "$f" --set num_processes=2 \
	--launch --no_python "$work/hello" 'a b' 2>&1)
is "launching at the end gives the run's exit code" $? 0
has "after a question" "$out" "Launch --no_python $work/hello 'a b' now?"
has "and the script runs on every rank" "$out" "rank 1 of 2 says a b"
out=$(export code=7; yes '' | "$setup" --config_file "$f" \
	--launch --no_python "$work/hello" 2>&1)
is "that of a failure too" $? 7
questions=$(yes '' | "$setup" --config_file "$f" 2>&1 | grep -c '^> ')
out=$(yes '' | head -n "$questions" | "$setup" --config_file "$f" \
	--launch --no_python "$work/hello" 2>&1)
is "an input that ends before the last answer launches nothing" \
	"$? $(echo "$out" | grep -c says)" "0 0"
has "and says how to" "$out" "Run it: accel launch --config_file $f"
out=$({ yes '' | head -n "$questions"; echo no; } |
	"$setup" --config_file "$f" --launch --no_python "$work/hello" 2>&1)
is "no is an answer" "$? $(echo "$out" | grep -c says)" "0 0"
rm "$f"

out=$(printf '%s\n' '?' 1 b MULTI_CPU nonsense q |
	"$setup" --config_file "$f" 2>&1)
is "q leaves" $? 1
has "? explains" "$out" "Key     distributed_type"
has "b goes back" "$out" "How is training distributed? [NO]"
has "a mistake is told, and asked again" "$out" "nonsense"
ok "and nothing is written" test ! -e "$f"

ok "--defaults writes unasked" "$setup" --config_file "$f" --defaults
out=$("$setup" --config_file "$f" --defaults 2>&1)
is "but replaces no file" $? 1
has "without --force" "$out" "--force"
ok "with it, it does" "$setup" --config_file "$f" --defaults --force

ok "--set changes a file" \
	"$setup" --config_file="$f" --set num-processes=7 --write
has "as told" "$(cat "$f")" "num_processes: 7"
before=$(cat "$f")
out=$("$setup" --config_file "$f" --set num_proceses=7 --write 2>&1)
is "an unknown key is refused" $? 1
has "with the near one" "$out" "num_processes"
out=$("$setup" --config_file "$f" --set num_processes=-7 --write 2>&1)
is "so is a wrong value" $? 1
out=$("$setup" --bogus 2>&1)
is "and an unknown option" $? 2
is "the file stays" "$(cat "$f")" "$before"

set -- --config_file "$work/wrong.yaml" --set num_machines=2 \
	--set num_processes=3 --set machine_rank=5
out=$("$setup" "$@" --write 2>&1)
is "what breaks a rule is not written unasked" \
	"$? $(test -e "$work/wrong.yaml"; echo $?)" "1 1"
has "the problem is named" "$out" "num_processes 3 does not divide"
has "and the next one as well" "$out" "machine_rank 5 is not below"
out=$(yes '' | "$setup" "$@" 2>&1)
has "a conversation names them before it writes" "$out" \
	"Problem: machine_rank 5 is not below num_machines 2"
ok "and writes what its user wants" test -e "$work/wrong.yaml"

echo 'distributed_typ: NO' >"$work/bad.yaml"
out=$("$setup" --config_file "$work/bad.yaml" --set num_processes=2 \
	--write 2>&1)
is "a file with an unknown key is refused" $? 1
is "and nothing of it lost" "$(cat "$work/bad.yaml")" 'distributed_typ: NO'

has "--help" "$("$setup" --help)" "--config_file"
has "--version" "$("$setup" --version)" "accel-setup "
has "--facts" "$("$setup" --facts)" "8 cores"
done_testing
