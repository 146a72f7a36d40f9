#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real machines that hwloc's authors recorded: what is told of each is what its
# XML has, and what is proposed for it is possible there.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
corpus=$top_srcdir/../shared/corpus/machines
if [ ! -d "$corpus" ]; then
	skip "no recordings: ../shared/corpus/machines is not there"
	done_testing
fi
unset SLURM_JOB_ID ACCEL_DEVICES
for file in "$corpus"/*.xml; do
	name=$(basename "$file" .xml)
	"$accel" probe --machine "$file" --json >"$work/$name.json" 2>"$work/said"
	is "$name is read" "$? $(cat "$work/said")" "0 "
	is "$name: CPUs, cores, packages and NUMA nodes" "$(python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))["machines"][0]
print(m["cpus"], m["cores"], m["packages"], m["numa_nodes"])
' "$work/$name.json")" "$(python3 -c '
import sys, xml.etree.ElementTree as E
kinds = [o.get("type") for o in E.parse(sys.argv[1]).iter("object")]
print(kinds.count("PU"), kinds.count("Core"),
      kinds.count("Package") + kinds.count("Socket"), kinds.count("NUMANode"))
' "$file")"
done

# POWER8 with four P100, two and two joined by NVLink.
gpus=$corpus/power8gpudistances.xml
is "links of four GPUs" "$("$accel" probe --machine "$gpus" |
	sed -n 's/^links *//p' | tr '\n' ';')" \
	"NVLink, 40 GB/s each way: 0-1 2-3;across sockets: 0-2 0-3 1-2 1-3;"
"$accel" advise --machine "$gpus" --params 1.3B --batch 64 --seq 1024 --json \
	>"$work/advice.json"
is "a P100 has no bfloat16" "$(python3 -c '
import json, sys
plan = json.load(open(sys.argv[1]))["plan"]
print(plan["precision"], plan["processes"])' "$work/advice.json")" "fp16 4"
done_testing
