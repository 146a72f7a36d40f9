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
out=$("$accel" config show more 2>&1)
is "and a word too many" $? 2
has "with the usage" "$out" "usage: accel config show [FLAGS]"
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
done_testing
