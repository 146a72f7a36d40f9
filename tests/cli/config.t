#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands around a configuration.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
unset XDG_CACHE_HOME
f=$work/c.yaml
cat >"$f" <<-'END'
	# mine
	compute_environment: LOCAL_MACHINE
	distributed_type: FSDP
	num_processes: 4
	fsdp_config:
	  fsdp_version: 2
END

# Finding a command, reading its words.
out=$("$accel" config sow 2>&1)
is "an unknown command is wrong usage" $? 2
has "and the nearest is named" "$out" 'did you mean "show"?'
out=$("$accel" config show --jsn 2>&1)
is "so is an unknown flag" $? 2
has "with the nearest" "$out" "did you mean --json?"
out=$("$accel" config show --json=1 2>&1)
is "a value for a switch is refused" $? 2
out=$("$accel" config show --config_file 2>&1)
is "a missing value as well" $? 2
has "which says what it is" "$out" "write --config_file FILE"
out=$("$accel" config show "$f" more 2>&1)
is "and a word too many" $? 2
has "with the usage" "$out" "usage: accel config show [FLAGS] [FILE]"
is "help says what --help says" "$("$accel" help config show)" \
	"$("$accel" config show --help)"
has "which names the manual page" "$("$accel" config --help)" \
	"Manual: accel-config(1)"

# show
out=$("$accel" config show --config-file "$f" --debug --origin)
has "a flag is named as the origin" "$out" "flag --debug"
has "the file's values are there" "$out" "fsdp_config.fsdp_version: 2"
is "a value that has no effect is not shown" \
	"$("$accel" config show --config_file="$f" | grep tpu_name)" ""
is "except by --all" \
	"$("$accel" config show --config_file="$f" --all | grep tpu_name)" \
	"tpu_name: null"
out=$("$accel" config show --config_file "$work/none.yaml" 2>&1)
is "a missing file is an error" $? 1
has "that names it" "$out" "$work/none.yaml: there is no such file"
ok "without a default file, defaults are shown" "$accel" config show
if command -v python3 >/dev/null; then
	is "--json has types" "$("$accel" config show --json --config_file "$f" |
	    python3 -c 'import json, sys
v = {r["key"]: r["value"] for r in json.load(sys.stdin)}
print(v["num_processes"] + 1, v["debug"], v["main_process_ip"]
      if "main_process_ip" in v else "-", v["distributed_type"])')" \
	    "5 False - FSDP"
else
	skip "no python3"
fi
"$accel" config show >/dev/full 2>"$work/err"
is "a full disk is no success" $? 1
out=$("$accel" config show "$f" --origin)
has "a value's line is named" "$out" "$f:4"
has "and a default" "$out" "default"

has "so is the environment that a launch looks at" \
	"$(OMP_NUM_THREADS=3 "$accel" config show --origin "$f")" \
	"environment OMP_NUM_THREADS num_cpu_threads_per_process: 3"
has "under a flag" "$(OMP_NUM_THREADS=3 "$accel" config show "$f" \
	--num_cpu_threads_per_process 5)" "num_cpu_threads_per_process: 5"

mkdir -p "$work/two/dev"
touch "$work/two/dev/nvidia0" "$work/two/dev/nvidia1"
out=$(ACCEL_DEVICES=$work/two "$accel" config show --origin 2>&1)
has "and what a launch finds here" "$out" "this machine         num_processes: 2"
has "without a file, that is said" "$out" "no file was read"
echo 'distributed_type: MULTI_GPU' >"$work/gpus"
mkdir -p "$work/none/dev"
out=$(ACCEL_DEVICES=$work/none "$accel" config show "$work/gpus" 2>&1)
is "what a launch would refuse is shown" $? 0
has "with the reason" "$out" "a launch here would fail: num_processes is not set"
"$accel" config show "$f" --config_file "$f" 2>"$work/err"
is "two files are wrong usage" $? 2
mkdir -p "$work/hf/accelerate"
cp "$f" "$work/hf/accelerate/default_config.yaml"
has "the default file counts" "$("$accel" config show)" "num_processes: 4"
is "but not with --cpu, as for a launch" \
	"$("$accel" config show --cpu 2>"$work/err" | grep num_processes)" \
	"num_processes: null"
rm -r "$work/hf"

# set
cp "$f" "$work/before"
out=$("$accel" config set --config_file "$f" --dry-run num-processes=8)
is "a dry run succeeds" $? 0
is "and prints the difference, and nothing but that" "$out" \
	"num_processes: 4 -> 8
--- $f
+++ $f
@@ -1,6 +1,6 @@
 # mine
 compute_environment: LOCAL_MACHINE
 distributed_type: FSDP
-num_processes: 4
+num_processes: 8
 fsdp_config:
   fsdp_version: 2"
ok "and writes nothing" cmp "$f" "$work/before"
out=$("$accel" config set --config_file "$f" num-processes=8 fsdp.version=3 2>&1)
is "a wrong value is refused" $? 2
has "with its range" "$out" "from 1 to 2"
ok "and the other change is not made" cmp "$f" "$work/before"
out=$("$accel" config set --config_file "$f" num_processes=8 \
	fsdp_config.fsdp_verson=1 2>&1)
is "so is an unknown key" $? 2
has "and the nearest one of the section is named" "$out" \
	"did you mean fsdp_config.fsdp_version?"
"$accel" config set --config_file "$f" cpu=1 use_cpu=0 2>"$work/err"
is "a key given twice is refused, also under another name" $? 2
"$accel" config set --config_file "$f" tee=3 2>"$work/err"
is "so is what only a launch has" $? 2
"$accel" config set --config_file "$f" 2>"$work/err"
is "and nothing to set" $? 2
"$accel" config set --config_file "$f" --unset distributed_type 2>"$work/err"
is "and to unset what a file must have" $? 2
ok "all of which changed nothing" cmp "$f" "$work/before"
out=$("$accel" config set --config_file "$f" --num-processes=8 2>&1)
is "a flag is no setting" $? 2
has "which says how to write it" "$out" "write num-processes=VALUE"
out=$("$accel" config set --config_file "$f" num-processes=8 debug=yes)
has "set says what changed" "$out" "num_processes: 4 -> 8
debug: false -> true
written: $f"
has "and it did" "$(cat "$f")" "num_processes: 8"
has "with the comment where it was" "$(head -n 1 "$f")" "# mine"
is "the same again changes nothing" "$("$accel" config set --config_file "$f" \
	num_processes=8)" "$f: nothing to change"
out=$("$accel" config set --config_file "$f" --unset num_processes)
has "unset says so" "$out" "num_processes: 8 -> null"
is "and the key is gone" "$(grep num_processes "$f")" ""
"$accel" config set --config_file "$f" num_processes=8 >/dev/null
"$accel" config set --config_file "$f" num_processes=null >/dev/null
is "null is the same" "$(grep num_processes "$f")" ""
out=$("$accel" config set --config_file "$f" machine_rank=1 2>&1)
has "a broken rule is told" "$out" "but now: machine_rank 1 is not below"
out=$("$accel" config set --config_file "$f" debug=no 2>&1)
is "but not one that was broken before" "$(echo "$out" | grep 'but now')" ""
"$accel" config set --config_file "$f" machine_rank=0 >/dev/null
out=$("$accel" config set --config_file "$work/none" debug=1 2>&1)
is "there must be a file" $? 1
echo "distributed_type: [" >"$work/bad"
out=$("$accel" config set --config_file "$work/bad" debug=1 2>&1)
is "that can be read" $? 1
is "else it stays as it is" "$(cat "$work/bad")" "distributed_type: ["
nobody=
[ "$(id -u)" -ne 0 ] || nobody="setpriv --reuid=65534 --clear-groups"
chmod a+x "$work"
if $nobody "$accel" --version >/dev/null 2>&1; then
	mkdir "$work/ro"
	cp "$work/before" "$work/ro/c.yaml"
	chmod a-w "$work/ro"
	out=$($nobody "$accel" config set --config_file "$work/ro/c.yaml" \
		debug=1 2>&1)
	is "a folder that cannot be written is an error" $? 1
	has "that says why" "$out" "the folder must be writable"
	chmod u+w "$work/ro"
else
	skip "root writes everywhere, and nobody may not look here"
fi

out=$("$accel" config set --config_file "$f" "rdzv_backend=a
b$(printf '\033')[1m" --dry-run | head -n 1)
is "a terminal is told nothing" "$out" \
	'rdzv_backend: static -> a\nb\x1b[1m  (no effect)'
"$accel" config show --config_file "" 2>"$work/err"
is "a name that is empty is wrong usage" $? 2
"$accel" help nonsense 2>"$work/err"
is "so is help for nonsense" $? 2

printf '\357\273\277distributed_type: FSDP\r\n' >"$work/marked"
"$accel" config set --config_file "$work/marked" debug=1 >/dev/null
printf '\357\273\277debug: true\r\ndistributed_type: FSDP\r\n' >"$work/want"
ok "a first key is set behind a byte-order mark, with the file's line ends" \
	cmp "$work/marked" "$work/want"

# diff
cat >"$work/a" <<-'END'
	distributed_type: FSDP
	num_processes: 010
	fsdp_config: {fsdp_version: 2}
END
cat >"$work/b" <<-'END'
	# the same, otherwise said
	fsdp_config:
	  fsdp_version: 2
	  fsdp_offload_params: false
	num_processes: 8
	distributed_type: "FSDP"
END
out=$("$accel" config diff "$work/a" "$work/b")
is "what means the same is equal" "$? $out" "0 "
echo "debug: true" >>"$work/b"
out=$("$accel" config diff "$work/a" "$work/b")
is "a difference is exit code 1" $? 1
has "and named" "$out" "debug: false -> true"
"$accel" config diff "$work/a" "$work/none" 2>"$work/err"
is "trouble is exit code 2" $? 2
is "quiet is quiet" "$("$accel" config diff -q "$work/a" "$work/b")" ""

cat >"$work/newer" <<-'END'
	distributed_type: 'NO'
	num_proceses: 3
	of_tomorrow: 1
END
cp "$work/newer" "$work/newer2"
out=$("$accel" config set --config_file "$work/newer" debug=1 2>&1)
is "keys of tomorrow stay when a file is changed" \
	"$(grep -c 'num_proceses: 3\|of_tomorrow: 1' "$work/newer")" 2
has "with a warning that has the line" "$out" "$work/newer:2:1: "
has "and the nearest key" "$out" "num_processes"
ok "update keeps them" "$accel" config update "$work/newer"
out=$("$accel" config diff "$work/newer" "$work/newer2" 2>"$work/err")
is "diff takes them for equal" "$(echo "$out" | grep -c -- '->')" 1
sed 's/of_tomorrow: 1/of_tomorrow: 2/' "$work/newer" >"$work/newer2"
has "or not" "$("$accel" config diff "$work/newer" "$work/newer2" \
	2>"$work/err")" "of_tomorrow: 1 -> 2"
"$accel" config show "$work/newer" >"$work/out" 2>"$work/err"
is "show refuses them as a launch does" $? 1
ok "and lets them be as a launch does" \
	"$accel" config show --keep_unknown "$work/newer"

# explain
out=$("$accel" config explain --config_file "$work/b" --fsdp-version)
has "explain takes a flag" "$out" "Key        fsdp_config.fsdp_version"
has "knows the value and its line" "$out" "Now        2  ($work/b:3)"
has "the condition in words" "$out" "Needs      distributed_type is FSDP"
has "an older name" "$("$accel" config explain cpu)" "Key        use_cpu"
out=$("$accel" config explain mixed_precison 2>&1)
is "an unknown key is wrong usage" $? 2
has "with the nearest" "$out" "did you mean mixed_precision?"

out=$("$accel" config explain gpu_ids)
has "a condition that is not compared" "$out" "use_cpu is false"
has "the rules that look at it" "$out" "
  error    gpu_ids names devices that are there
      else devices count from 0"
is "and no other" "$(echo "$out" | grep -c '^  error')" \
	"$(grep -c 'FIELD_main_gpu_ids' "$top_srcdir/runtime/config/rules.def")"

# schema
out=$("$accel" schema)
is "schema lists every field" "$(echo "$out" | grep -c '^  ')" \
	"$(grep -cE '^	(BOOL|INT|REAL|TEXT|LIST|CHOOSE)\(' \
	"$top_srcdir"/runtime/config/*.def | awk -F: '{n += $2} END {print n}')"
has "with type, default and question" "$("$accel" schema fsdp_version)" \
	"int 1..2          1               Which FSDP version?"
is "a part picks some" "$("$accel" schema dynamo_ | grep -c "^  dynamo_")" \
	"$("$accel" schema | grep -c '^  dynamo_')"
if command -v python3 >/dev/null; then
	is "--json has the same" "$("$accel" schema --json | python3 -c \
	    'import json, sys; print(len(json.load(sys.stdin)))')" \
	    "$("$accel" schema | grep -c '^  ')"
	is "and can be picked from" "$("$accel" schema --json fsdp_version |
	    python3 -c 'import json, sys
print([r["key"] for r in json.load(sys.stdin)])')" "['fsdp_version']"
else
	skip "no python3"
fi
out=$("$accel" schema fsdp_verson 2>&1)
is "a part that is nowhere is wrong usage" $? 2
has "with the nearest key" "$out" "fsdp_version"

# default
mkdir -p "$work/dev/dev"
ACCEL_DEVICES=$work/dev
export ACCEL_DEVICES
d=$work/hf/accelerate/default_config.yaml
out=$("$accel" config default)
is "default says what it wrote" "$out" "written: $d"
has "9: in YAML, and without devices for the CPU" "$(cat "$d")" "use_cpu: true"
cp "$d" "$work/before"
touch "$work/dev/dev/nvidia0" "$work/dev/dev/nvidia1" \
	"$work/dev/dev/nvidiactl" "$work/dev/dev/nvidia2-old"
out=$("$accel" config default 2>&1)
is "it replaces no file" $? 1
has "and says what would" "$out" "--force"
ok "which is true" cmp "$d" "$work/before"
ok "with --force it does" "$accel" config default --force \
	--mixed_precision bf16
has "two devices are two processes" "$(cat "$d")" "num_processes: 2"
has "of their kind" "$(cat "$d")" "distributed_type: MULTI_GPU"
has "in the precision asked for" "$(cat "$d")" "mixed_precision: bf16"
rm "$work"/dev/dev/*
touch "$work/dev/dev/davinci0" "$work/dev/dev/davinci1" \
	"$work/dev/dev/davinci_manager"
has "other makers' devices are known" "$("$accel" config default --print)" \
	"distributed_type: MULTI_NPU"
"$accel" config default --mixed_precision fp32 2>"$work/err"
is "a wrong precision is wrong usage" $? 2

"$accel" config default --config_file "$work/new.json" >/dev/null
has "a name with .json is JSON" "$(cat "$work/new.json")" '"num_processes": 2'

# update
ok "update leaves a file of today alone" sh -c \
	"'$accel' config update | grep -q 'nothing to change'"
printf '# old\ndistributed_type: "NO"\nfp16: true  # half\n' >"$work/old"
has "update shows what it would do" \
	"$("$accel" config update -n "$work/old")" "
-fp16: true  # half
+# half
+mixed_precision: fp16"
has "and does not" "$(cat "$work/old")" "fp16: true"
ok "21: an old file is updated" "$accel" config update --config_file "$work/old"
has "gets today's words" "$(cat "$work/old")" "mixed_precision: fp16"
is "and loses the old ones" "$(grep ^fp16 "$work/old")" ""
is "and keeps its comments" "$(grep -c '#' "$work/old")" 2

# the wizard
rm "$d"
out=$("$accel" config </dev/null 2>&1)
is "without input the wizard fails" $? 1
has "as a conversation" "$out" "Which machines take part?"
ok "and writes nothing" test ! -e "$d"
yes '' | "$accel" config --config_file "$work/new" >/dev/null
ok "it writes the file that it was told" test -s "$work/new"
if command -v script >/dev/null; then
	out=$(echo q | TERM=xterm script -qec "'$accel' config" /dev/null)
	has "at a terminal it offers screens" "$out" "Screens, or questions"
	has "and can go on by lines" "$out" "Which machines take part?"
	# q is typed when the screen is there, and again as nothing was written.
	: >"$work/screen"
	{
		echo
		until grep -q accel-setup "$work/screen"; do sleep 0.1; done
		printf qq
	} | TERM=xterm timeout 60 script -qefc \
		"'$accel' config --config_file '$work/none.yaml'" \
		"$work/screen" >"$work/out"
	is "Enter takes the screens, and q leaves them" $? 0
	has "with the file that was named" "$(cat "$work/screen")" "none.yaml"
else
	skip "no script(1)"
fi
done_testing
