#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel env: the report, with a fake Python, and what it must not tell.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
cd "$work" || exit 1
HF_HOME=$work/hf
export HF_HOME
unset XDG_CACHE_HOME ACCEL_PYTHON

# What Accelerate prints, in its order.
labels() {
	sed -n '1,/default config:$/s/^- \([^:]*\):.*/\1/p' "$@"
}
"$accel" env --no-python >out
is "a report without Python succeeds" $? 0
is "Accelerate's lines come first, in its order" "$(labels out)" \
	"\`Accelerate\` version
Platform
\`accelerate\` bash location
Python version
Numpy version
PyTorch version
PyTorch accelerator
System RAM
\`Accelerate\` default config"
is "under its own heading" "$(sed -n 2p out)" \
	"Copy-and-paste the text below in your GitHub issue"
has "what was not asked is not made up" "$(cat out)" "Python version: not asked"
has "no file is no file" "$(cat out)" "default config:
	Not found"
ok "the memory is the kernel's" grep -qx -- "- System RAM: $(awk \
	'/^MemTotal/ { printf "%.2f", $2 / 1048576 }' /proc/meminfo) GB" out
ok "the kernel is named" grep -q "^- Platform: Linux-$(uname -r)-$(uname -m)-with-glibc" out
ok "and the version of accel" grep -q '^- `accel` version: [0-9]' out

# A fake Python, as there is one.
cat >python <<-'END'
	#!/bin/sh
	echo "executable=/somewhere/python"
	echo "version=3.99.1"
	echo "accelerate=9.9"
	echo "numpy=8.8"
	echo "torch=7.7"
	echo "torch=7.7+cu999"
	echo "torch_cuda=99.9"
	echo "peft=1.1"
	echo "nonsense"
END
chmod +x python
ACCEL_PYTHON=$work/python "$accel" env >out
ok "the Python of a launch is asked" grep -qx -- "- Python version: 3.99.1" out
ok "for Accelerate" grep -qx -- '- `Accelerate` version: 9.9' out
ok "for numpy" grep -qx -- '- Numpy version: 8.8' out
ok "and PyTorch, by its own file" grep -qx -- '- PyTorch version: 7.7+cu999' out
has "and for more packages" "$(cat out)" "peft 1.1"
HWLOC_XMLFILE=$top_srcdir/tests/machines/two-gpus.xml \
	ACCEL_PYTHON=$work/python "$accel" env >out
ok "a PyTorch for CUDA and a GPU make an accelerator" \
	grep -qx -- "- PyTorch accelerator: CUDA" out
ok "which has a type" grep -q -- "^- GPU type: ." out
is "each GPU has a line" "$(grep -c '^- GPU [0-9]*: ' out)" 2
if command -v script >/dev/null; then
	sed -i '1a sleep 1.2' python
	has "a slow Python is waited for, and that is said on a terminal" \
		"$(ACCEL_PYTHON=$work/python script -qec "'$accel' env" \
		/dev/null </dev/null)" "waiting for $work/python"
else
	skip "no script(1)"
fi
printf '#!/bin/sh\nexit 3\n' >python
ACCEL_PYTHON=$work/python "$accel" env >out 2>err
is "a broken Python does not break the report" $? 0
ok "which says that it found none" grep -qx -- "- Python version: Not found" out
has "and why" "$(cat err)" "gave no answer, or an error"
ACCEL_PYTHON=$work/none "$accel" env >out 2>err
has "a Python that is not there is named" "$(cat err)" "$work/none: there is no such program"

# A real one, where "torch" in this folder must not be run.
if command -v python3 >/dev/null; then
	mkdir torch
	echo 'open("ran", "w")' >torch/version.py
	echo 'open("ran", "w")' >platform.py
	"$accel" env >out
	ok "a real Python tells its version" grep -qx -- "- Python version: $(python3 -c \
	    'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)" out
	rm -f ran
	"$accel" env >out
	ok "this folder's files are not run" test ! -e ran
else
	skip "no python3"
	skip "no python3"
fi

# The configuration, and secrets.
mkdir -p hf/accelerate
cat >hf/accelerate/default_config.yaml <<-'END'
	distributed_type: FSDP
	mixed_precision: bf16
	num_processes: 2
	debug: true
	fsdp_config:
	  fsdp_version: 2
	  fsdp_reshard_after_forward: true
	  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
END
"$accel" env --no-python >out
ok "the default file's values are there" grep -qx "	- mixed_precision: bf16" out
ok "as Python writes them" grep -qx "	- debug: True" out
ok "sections too" grep -q "fsdp_config: {.*'fsdp_reshard_after_forward': True" out
ok "with quotes around a text" grep -q "'fsdp_auto_wrap_policy': 'TRANSFORMER_BASED_WRAP'" out
ok "and the path" grep -qx -- "- Configuration: $work/hf/accelerate/default_config.yaml" out
echo "num_processes: many" >bad.yaml
"$accel" env --no-python --config_file bad.yaml >out 2>err
is "a file that cannot be read is an error" $? 1
has "told on stderr" "$(cat err)" "bad.yaml:1"
ok "and the report is there all the same" grep -q "Cannot be read: bad.yaml:1" out
HF_TOKEN=hf_abc NCCL_DEBUG=INFO ACCEL_PROXY=http://me:pw@proxy:1/x SOMETHING=1 \
	"$accel" env --no-python >out
is "no secret is told" "$(grep -c 'hf_abc\|me:pw\|SOMETHING' out)" 0
ok "but that it is set" grep -q "HF_TOKEN=(hidden)" out
ok "what is no secret is" grep -qx "	- NCCL_DEBUG=INFO" out
is "no control character gets through" "$(NCCL_DEBUG="$(printf 'a\033[2Jb\nc')" \
	"$accel" env --no-python | grep NCCL_DEBUG)" "	- NCCL_DEBUG=a?[2Jb?c"
ok "a URL keeps its host" grep -q "ACCEL_PROXY=http://(hidden)@proxy:1/x" out

# Another machine's description, JSON, time.
HWLOC_SYNTHETIC='pack:2 core:4 pu:2' "$accel" env --no-python >out
ok "hwloc's topology is summed up" grep -q "^- Topology: 2 packages, .* 8 cores, 16 logical CPUs" out
if command -v python3 >/dev/null; then
	is "--json is JSON" "$(HWLOC_SYNTHETIC='pack:2 core:4 pu:2' "$accel" \
	    env --json --no-python | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["host"]["cores"], r["config"]["values"]["fsdp_config"]["fsdp_version"],
      r["python"], sorted(r) == ["accel", "accelerator", "config", "environment",
      "gpus", "host", "interfaces", "python", "software"])')" "8 2 None True"
	# Processor time: the rest of the wall clock is what else runs here.
	if [ -n "$ACCEL_SANITIZED" ]; then
		skip "sanitizers are slow"
	else
		is "it takes less than 20 ms without Python" "$(python3 - "$accel" <<-'END'
			import resource, subprocess, sys
			def used():
			    u = resource.getrusage(resource.RUSAGE_CHILDREN)
			    return u.ru_utime + u.ru_stime
			best = 9
			for _ in range(5):
			    before = used()
			    subprocess.run([sys.argv[1], "env", "--no-python"],
			        stdout=subprocess.DEVNULL)
			    best = min(best, used() - before)
			print("yes" if best < 0.020 else "%.1f ms" % (best * 1000))
		END
		)" yes
	fi
else
	skip "no python3"
	skip "no python3"
fi
out=$("$accel" env more 2>&1)
is "a word too many is wrong usage" $? 2
done_testing
