#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel probe: of this machine, of one that is planted, of files; and what an
# agent says of a host with nvidia-smi, played by a script.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
machines=$top_srcdir/tests/machines
unset SLURM_JOB_ID ACCEL_DEVICES
cd "$work" || exit 1

# This machine.
out=$("$accel" probe --no_python)
is "this machine is probed" $? 0
ok "with the memory that the kernel says" sh -c 'echo "$1" |
    grep -q "^memory   $(awk "/^MemTotal/ { printf \"%.1f\", \$2 / 1048576 }" \
    /proc/meminfo) GiB"' _ "$out"
"$accel" probe --no_python --yaml >here.yaml
"$accel" probe --machine here.yaml --yaml >again.yaml
ok "a file of it is read as it was written" cmp here.yaml again.yaml
"$accel" probe --no_python --json >here.json
ok "JSON is JSON" python3 -c 'import json; m = json.load(open("here.json"))
assert m["accel_probe"] == 1 and m["machines"][0]["cores"] > 0'
"$accel" probe --machine here.json --yaml | grep -v memory_free >a
grep -v memory_free here.yaml | sed '/_free/d' >b
sed -i '/_free/d' a
ok "and a file for --machine as well" diff a b

# Files.
cat >later.yaml <<'END'
accel_probe: 9
machines:
- hostname: tomorrow
  cores: 8
  entanglement: strong
END
out=$("$accel" probe --machine later.yaml 2>said)
is "what a later accel wrote is read" $? 0
has "as far as it is known" "$out" "8 cores"
has "and what is not, is said" "$(cat said)" \
	'later.yaml:5:3: the key "entanglement" is not known here'
echo 'machines: 5' >bad.yaml
"$accel" probe --machine bad.yaml 2>said
is "a wrong file is an error" $? 1
has "that names it" "$(cat said)" bad.yaml
has "and what to do" "$(cat said)" "accel probe --yaml"
out=$("$accel" probe --machine "$machines/two-gpus.xml")
has "hwloc's topology is one as well" "$out" "H100 SXM5 80GB"
"$accel" probe --machine none.yaml 2>said
is "so is a file that is not there" $? 1
has "by name" "$(cat said)" none.yaml

# Wrong words.
for flags in "--yaml --json" "--machine later.yaml --hosts a" \
	"--network --hosts a" "--network" "--connect_timeout x --hosts a"; do
	# shellcheck disable=SC2086
	"$accel" probe $flags >out 2>said
	is "$flags is wrong usage" "$? $(wc -c <out)" "2 0"
done
"$accel" probe --slurm 2>said
is "no Slurm allocation is an error" $? 1
has "with what to do" "$(cat said)" salloc

# A machine that is planted.
"$top_builddir/tests/machines/planted" "$machines/intel-max.machine" "$work/intel" >/dev/null
out=$(ACCEL_DEVICES=$work/intel "$accel" probe --no_python)
has "another machine's GPUs" "$out" "Data Center GPU Max 1550], 128 GiB"
has "and cores" "$out" "208 logical CPUs, 104 cores"

# Another host, whose agent runs here: nvidia-smi is a script.
"$top_builddir/tests/machines/planted" "$machines/workstation.machine" "$work/ws" >facts
: >"$work/ws/dev/nvidiactl"
mkdir bin
cat >bin/nvidia-smi <<END
#!/bin/sh
case "\$*" in
*--query-gpu*) sed -n 's/^smi=//p' "$work/facts" ;;
nvlink*) sed -n 's/^nvlink=//p' "$work/facts" ;;
*-p2p*) sed -n 's/^p2p=//p' "$work/facts" ;;
topo*) sed -n 's/^topo=//p' "$work/facts" ;;
esac
END
chmod +x bin/nvidia-smi
ask() {
	PATH=$work/bin:$PATH ACCEL_TEST_TRANSPORT=exec \
		ACCEL_DEVICES=$work/ws "$accel" probe --hosts far --yaml
}
ask >far.yaml
is "a host's agent is asked" $? 0
out=$("$accel" probe --machine far.yaml)
has "nvidia-smi tells of its GPUs" "$out" \
	"NVIDIA GeForce RTX 4090, 24 GiB, capability 8.9"
has "and that they cannot copy to each other" "$out" \
	"no copies from GPU to GPU: 0-1"
cat >bin/nvidia-smi <<'END'
#!/bin/sh
echo "NVIDIA-SMI has failed because it couldn't communicate with the driver."
exit 9
END
ask >far.yaml
out=$("$accel" probe --machine far.yaml)
has "a driver that does not answer has no GPU to use" "$out" \
	"RTX 4090, at 0000:01:00.0, PCIe 31.5 GB/s, driver does not answer"
rm bin/nvidia-smi
ask >far.yaml
is "without nvidia-smi the kernel's word counts" \
	"$(grep -c 'usable: true' far.yaml)" 2

# Slurm: the names come from the job; its srun is played by a script.
# The copy that srun would make on a node removes itself: it gets one.
cat >bin/srun <<END
#!/bin/sh
while [ \$# -gt 0 ]; do
	case \$1 in
	-*) shift ;;
	*) break ;;
	esac
done
agent=\$(mktemp "$work/agent-XXXXXX")
cp "$top_builddir/accel-agent" "\$agent"
chmod +x "\$agent"
exec "\$agent"
END
chmod +x bin/srun
out=$(PATH=$work/bin:$PATH SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' \
	SLURM_TASKS_PER_NODE='1(x2)' "$accel" probe --slurm 2>&1)
ok "a Slurm allocation's nodes are asked through srun" sh -c '
	echo "$1" | grep -q "^n1  .*core" && echo "$1" | grep -q "^n2  .*core"' \
	_ "$out"
[ "$(echo "$out" | grep -c core)" = 2 ] || echo "$out" | sed 's/^/# /'

# NVLinks, by NVML.
libs=$top_builddir/tests
if [ ! -e "$libs/screens/.libs/libfakecuda.so" ]; then
	skip "no shared libraries here"
	done_testing
fi
mkdir lib
cp "$libs/screens/.libs/libfakecuda.so" lib/libcuda.so.1
cp "$top_builddir/tests/machines/.libs/libfakenvml.so" lib/libnvidia-ml.so.1
nvml() {
	LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
		FAKE_NVML=$1 "$accel" probe --no_python
}
out=$(nvml direct)
has "NVLinks are counted" "$out" "NVLink x4, 100 GB/s each way: GPUs 0-1"
has "the driver says its version" "$out" "driver   550.54.15"
has "and CUDA's" "$out" "CUDA     12.4"
is "a library that talks is not heard" "${out#*a library}" "$out"
has "through switches as well" "$(nvml switch)" "NVLink x18, 450 GB/s"
out=$(nvml apart)
has "GPUs that cannot copy to each other" "$out" "no copies from GPU to GPU"
out=$(nvml crash)
is "one that crashes is no failure" $? 0
has "and the rest is told" "$out" "NVIDIA Pretend 1"
done_testing
