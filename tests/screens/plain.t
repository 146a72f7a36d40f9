#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel-setup without a screen: conversations and options.
. "${top_srcdir:-.}/tests/tap.sh"
setup=$top_builddir/accel-setup
f=$work/c.yaml
HWLOC_SYNTHETIC="package:2 numa:1 core:4 pu:1"
export HWLOC_SYNTHETIC
HOME=$work
export HOME
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

out=$(printf '%s\n' '' '?' 1 b MULTI_CPU nonsense q |
	"$setup" --config_file "$f" 2>&1)
is "q leaves" $? 1
has "? explains" "$out" "Key     distributed_type"
has "b goes back" "$out" "The answer is NO, by you"
has "a mistake is told, and asked again" "$out" "nonsense"
ok "and nothing is written" test ! -e "$f"
is "but a draft, for its user alone" "$(stat -c %a "$f.draft")" 600
out=$(printf 'y\n\n=\nq\n' | "$setup" --config_file "$f" 2>&1)
has "the next start offers it" "$out" "earlier start were not saved"
has "and takes it up" "$out" "The answer is MULTI_CPU, by you"
out=$(yes '' | "$setup" --config_file "$f" 2>&1)
has "a file that is written" "$(cat "$f")" "distributed_type: MULTI_CPU"
ok "leaves no draft" test ! -e "$f.draft"
rm "$f"
printf 'torn' >"$f.draft"
out=$(printf 'y\nq\n' | "$setup" --config_file "$f" 2>&1)
has "a damaged draft is told" "$out" "They cannot be read: $f.draft:"
is "and stays" "$(cat "$f.draft")" torn
rm "$f.draft"

# Answers as flags.
rm -f "$f"
out=$("$setup" --config_file "$f" --diff --set debug=true)
is "--diff: something would change" $? 1
has "as a difference" "$out" "+debug: true"
"$setup" --config_file "$f" --defaults >/dev/null
out=$("$setup" --config_file "$f" --diff)
is "after writing, nothing would" "$? $out" "0 "
out=$("$setup" --config_file "$f" --list-new)
has "--list-new names what the file leaves out" "$out" \
	"dynamo_config.dynamo_backend=NO"
lacks() { # NAME TEXT PART
	case $2 in *"$3"*) ok "$1" false ;; *) ok "$1" true ;; esac
}
lacks "and not what it says" "$out" "num_processes="
"$setup" --config_file "$f" --set distributed_type=FSDP --set fsdp_version=2 \
	--set fsdp_config.fsdp_offload_params=true --minimal >"$work/min.yaml"
is "--minimal leaves the defaults out" "$(cat "$work/min.yaml")" \
"distributed_type: FSDP
fsdp_config:
  fsdp_offload_params: true
  fsdp_version: 2
num_processes: 2
use_cpu: true"
"$setup" --config_file "$f" --set distributed_type=FSDP --set fsdp_version=2 \
	--set fsdp_config.fsdp_offload_params=true --print >"$work/all.yaml"
ok "and means the same" "$top_builddir/accel" config diff "$work/min.yaml" \
	"$work/all.yaml"
out=$("$setup" --config_file "$f" --set num_machines=3 --check)
is "--check: something is wrong" $? 1
has "and says what" "$out" "num_processes 2 is fewer than the 3"
out=$("$setup" --config_file "$f" --check)
is "nothing is" $? 0
has "and says so" "$out" "nothing is wrong"
out=$("$setup" --config_file "$f" --model 7x --check 2>&1)
is "a model that is none is an error" $? 1
out=$("$setup" --config_file "$f" --sequence_length 0 --check 2>&1)
has "so is no length" "$out" "from 1 to"
rm "$f"

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
# A model by flag, and a machine by file: the whole proposal, unasked.
machines=$top_srcdir/tests/machines
out=$("$setup" --machine "$machines/dgx-h100.yaml" --model 7B --defaults --print \
	--config_file "$work/n.yaml")
is "--defaults with --model proposes for the model" \
	"$(echo "$out" | grep -c 'fsdp_version\|zero_stage')" 1
has "on all GPUs of the machine" "$out" "num_processes: 8"
out=$("$setup" --machine "$machines/wsl.yaml" --model 70B --defaults --print \
	--config_file "$work/n.yaml" 2>&1)
is "where nothing fits it is an error" $? 1
has "which is said" "$out" "no way to train this model fits"
done_testing
