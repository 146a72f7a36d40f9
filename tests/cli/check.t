#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel config check: all problems at once, each with its place.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
unset XDG_CACHE_HOME HWLOC_XMLFILE HWLOC_SYNTHETIC
cd "$work" || exit 1

cat >bad.yaml <<-'END'
	# a comment
	distributed_type: FSDP
	fsdp_config:
	  fsdp_version: 2
	  fsdp_reshard_after_forward: FULL_SHARD
	  fsdp_backward_prefetch: BACKWARD_PRE
	parallelism_config:
	  parallelism_config_tp_size: 2
	  parallelism_config_dp_shard_size: 4
	num_processes: 6
	main_process_port: 80
END
out=$("$accel" config check --no-probe bad.yaml)
is "errors are exit code 1" $? 1
is "all problems come at once, errors first, with line and rule" "$(echo "$out" | grep -v '^ ')" \
'bad.yaml:5: error: fsdp_reshard_after_forward "FULL_SHARD" is neither true nor false [fsdp_reshard]
bad.yaml:10: error: num_processes 6 is not dp_replicate 1 x dp_shard 4 x tp 2 x cp 1 = 8 [mesh_world]
bad.yaml:11: warning: main_process_port 80 is for root alone [port_privileged]
bad.yaml:6: warning: fsdp_backward_prefetch has no effect unless distributed_type is FSDP and fsdp_version is 1 [no_effect]
2 errors, 2 warnings'
has "and what to do" "$out" "    use true for FULL_SHARD"
out=$("$accel" config check --no-probe --num_processes 8 \
    --fsdp_reshard_after_forward true bad.yaml)
is "a flag mends it; warnings alone are exit code 0" $? 0
has "and are told" "$out" "0 errors, 2 warnings"

printf 'distributed_type: MULTI_CPU\nuse_cpu: true\nnum_processes: 2\n' >good.yaml
is "a good file has no problems" "$("$accel" config check good.yaml)" \
	"good.yaml: no problems"

# What cannot be read.
printf 'distributed_type: NO\nmain_process_port: 69420\n' >port.yaml
out=$("$accel" config check port.yaml)
is "a value out of range is exit code 1" $? 1
has "with its place" "$out" "port.yaml:2:20: error: main_process_port: \"69420\""
printf 'distributed_type: MULTI_GPU\nmain_process_ip: setup@104.1.1.1\n' >user.yaml
has "an address has no user in front" "$("$accel" config check user.yaml)" \
	"user.yaml:2:18: error: main_process_ip: \"setup@104.1.1.1\" has a user name"
cat >worse.yaml <<-'END'
	distributed_type: MULTI_GPU
	num_proceses: 4
	num_processes: many
	mixed_precision: bf17
	newkey: 3
	main_process_port: 80
	num_machines: 2
	machine_rank: 5
	fsdp_config: [1, 2]
END
is "what cannot be read hides nothing else" \
	"$("$accel" config check --no-probe worse.yaml | grep -v '^ ' | cut -d ' ' -f 1-4)" \
'worse.yaml:2:1: error: unknown key
worse.yaml:3:16: error: num_processes: "many"
worse.yaml:4:18: error: mixed_precision: "bf17"
worse.yaml:5:1: error: unknown key
worse.yaml:9:14: error: fsdp_config is
worse.yaml:8: error: machine_rank 5
worse.yaml: warning: num_machines is
worse.yaml:6: warning: main_process_port 80
6 errors, 2 warnings'
printf '{"num_processes": 2,' >torn.yaml
has "a torn file is one error" "$("$accel" config check --no-probe torn.yaml)" \
	"1 error, 0 warnings"
"$accel" config check none.yaml >out 2>err
is "a missing file is exit code 1" $? 1
has "and named" "$(cat err)" "none.yaml: there is no such file"
"$accel" config check --parameters many good.yaml 2>/dev/null
is "a wrong flag is exit code 2" $? 2
"$accel" config check --hosts a:b good.yaml 2>/dev/null
is "so is a wrong list of hosts" $? 2
"$accel" config check good.yaml bad.yaml 2>/dev/null
is "so are two files" $? 2

# Facts of the site.
has "hosts that are named count" "$("$accel" config check --num_machines 2 \
    --hosts a:1,b:1,c:1 good.yaml)" "3 hosts were named, and num_machines is 2"
has "and their slots" "$("$accel" config check --hosts a:1 good.yaml)" \
	"num_processes is 2, and the hosts have 1 slots"
ok "an unequal run is fine with hosts" "$accel" config check \
	--num_machines 2 --num_processes 3 --hosts a:1,b:2 good.yaml
out=$("$accel" config check --num_machines 2 --num_processes 2 \
    --hosts a:2,b:2 good.yaml)
is "processes counted for one machine are too few for two" $? 1
has "which is said" "$out" "2 leave one of 2 hosts without a rank: they have 4 slots"
if command -v python3 >/dev/null; then
	mkfifo hold
	python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
sys.stdin.read()' <hold >port &
	exec 9>hold
	while [ ! -s port ]; do sleep 0.05; done
	has "a port that is taken is told" "$("$accel" config check \
	    --main_process_port "$(cat port)" good.yaml)" "[port_busy]"
	exec 9>&-
	wait
	is "and no more when it is free" "$("$accel" config check \
	    --main_process_port "$(cat port)" good.yaml)" "good.yaml: no problems"
else
	skip "no python3"
	skip "no python3"
fi
cat >gpu.yaml <<-'END'
	distributed_type: FSDP
	fsdp_config:
	  fsdp_offload_params: true
	num_processes: 4
	mixed_precision: bf16
END
machine=$top_srcdir/tests/machines/two-gpus.xml
out=$("$accel" config check --machine "$machine" gpu.yaml)
is "a machine with two GPUs has no room for four ranks" $? 1
has "which it says" "$out" \
	"gpu.yaml:4: error: 4 processes on a machine that has 2 usable GPUs"
sed '0,/CUDACapability" value="9.0"/s//CUDACapability" value="7.5"/' "$machine" >old.xml
has "and the weaker of two decides" "$("$accel" config check --machine old.xml \
    gpu.yaml)" "bf16 needs compute capability 8.0, and the weakest GPU has 7.5"
has "offload has to fit" "$("$accel" config check --no-probe --machine \
    "$machine" --parameters 70B gpu.yaml)" "offload needs 1120 GB of host memory"

# Packages, by what Python says: here, one that says what it is told.
cat >python <<-'X'
	#!/bin/sh
	printf 'executable=/x\nversion=3.11.0\ntorch=2.5.1+cu124\n'
X
chmod +x python
out=$(ACCEL_PYTHON=$work/python "$accel" config check --no-probe --python \
    --fsdp_version 2 gpu.yaml)
is "an old package is an error" $? 1
has "with its version" "$out" \
	"FSDP version 2 needs torch 2.6.0, and 2.5.1 is installed [torch_old]"
has "and so is one that is not there" "$(ACCEL_PYTHON=$work/python "$accel" \
    config check --no-probe --python --use_deepspeed gpu.yaml)" \
	"the run needs deepspeed, and it is not installed"

# DeepSpeed's own file.
cat >ds.json <<-'END'
	{ "zero_optimization": { "stage": 2 }, "train_batch_size": 32,
	  "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2 }
END
cat >ds.yaml <<-'END'
	distributed_type: DEEPSPEED
	num_processes: 8
	deepspeed_config:
	  deepspeed_config_file: ds.json
END
has "the batches of DeepSpeed's JSON have to multiply" \
	"$("$accel" config check --no-probe ds.yaml)" "ds.yaml:4: error: train_batch_size \
32 is not micro-batch 4 x accumulation 2 x 8 ranks = 64 [json_batch]"
ok "and do, with 4 ranks" "$accel" config check --no-probe --num_processes 4 ds.yaml
echo '{ "zero_optimization": ' >ds.json
has "a fault in the JSON has its place too" \
	"$("$accel" config check --no-probe ds.yaml)" "deepspeed_config_file: ds.json:"

# Launch tells all of them as well.
out=$("$accel" launch --config_file bad.yaml --no_python true 2>&1)
is "launch refuses" $? 1
has "for the first reason" "$out" "fsdp_reshard_after_forward"
has "and the second" "$out" "is not dp_replicate 1 x"

if command -v python3 >/dev/null; then
	is "--json has the same" "$("$accel" config check --json --no-probe bad.yaml |
	    python3 -c 'import json, sys
r = json.load(sys.stdin)
p = r["problems"][1]
print(r["errors"], r["warnings"], p["rule"], p["key"], p["line"], p["severity"])')" \
	    "2 2 mesh_world num_processes 10 error"
else
	skip "no python3"
fi
# Processor time: the rest of the wall clock is what else runs here.
if [ -n "$ACCEL_SANITIZED" ]; then
	skip "sanitizers are slow"
elif command -v python3 >/dev/null; then
	is "it takes less than 20 ms, GPUs looked for" "$(python3 - "$accel" <<-'END'
		import resource, subprocess, sys
		def used():
		    u = resource.getrusage(resource.RUSAGE_CHILDREN)
		    return u.ru_utime + u.ru_stime
		best = 9
		for _ in range(5):
		    before = used()
		    subprocess.run([sys.argv[1], "config", "check", "good.yaml"],
		        stdout=subprocess.DEVNULL)
		    best = min(best, used() - before)
		print("yes" if best < 0.020 else "%.1f ms" % (best * 1000))
	END
	)" yes
else
	skip "no python3"
fi
"$accel" config check good.yaml >/dev/full 2>/dev/null
is "a full disk is no success" $? 1
done_testing
