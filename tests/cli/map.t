#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where ranks are put on this machine: what the table says, /proc says later.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
unset XDG_CACHE_HOME OMP_NUM_THREADS CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
unset ACCEL_DEVICES
cd "$work" || exit 1

cat >rank.sh <<'END'
#!/bin/sh
echo "$RANK $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" \
	"$OMP_NUM_THREADS ${CUDA_VISIBLE_DEVICES:--}" >"ran.$RANK"
END
chmod +x rank.sh
ran() { cat ran.*; rm -f ran.*; }
launch() { # flags...
	"$accel" launch --cpu "$@" --no_python ./rank.sh >out 2>said
}
table() { # FILE: rank and CPUs of each line of the table
	awk '/^rank  local/ { on = 1; next } !NF { on = 0 }
	    on { print $1, $NF }' "$1"
}
mine=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)

for wish in "--bind_to core" "--bind_to numa" "--bind_to socket" \
    "--map_by numa" "--map_by numa --bind_to core" \
    "--map_by node --bind_to core"; do
	# shellcheck disable=SC2086
	launch --num_processes 3 $wish
	is "$wish: ranks run" "$?" 0
	ran | cut -d' ' -f1,2 >ran
	is "$wish: the table on stderr is what /proc shows" "$(table said)" \
		"$(cat ran)"
	# shellcheck disable=SC2086
	"$accel" launch --cpu --num_processes 3 $wish --print --no_python \
		./rank.sh >print 2>/dev/null
	is "$wish: --print shows the same" "$(table print)" "$(cat ran)"
	# shellcheck disable=SC2086
	"$accel" check --cpu --num_processes 3 $wish >checked
	is "$wish: so does accel check" "$(table checked)" "$(cat ran)"
done
launch --num_processes 2
is "without a wish, ranks have all CPUs" "$(ran | cut -d' ' -f2 | sort -u)" \
	"$mine"
is "and there is no table" "$(cat said)" ""

# One CPU, as a cgroup would leave it.
first=${mine%%[-,]*}
if taskset -c "$first" true 2>/dev/null; then
	taskset -c "$first" "$accel" launch --cpu --num_processes 2 \
		--bind_to core --no_python ./rank.sh >out 2>said
	is "fewer cores than ranks: they run on what is allowed" \
		"$(ran | cut -d' ' -f2)" "$first
$first"
	has "and it is said" "$(cat said)" "2 ranks share 1 core"
else
	skip "no taskset"
fi

# Threads.
launch --num_processes 1 --bind_to core
cores=$(ran | cut -d' ' -f3)
is "a rank bound to all cores has a thread for each" "$cores" \
	"$("$accel" check --cpu --json | sed -n '/"core": \[/,/\]/p' |
	grep -c '^ *"[0-9]')"
launch --num_processes 1 --bind_to core --num_cpu_threads_per_process 7
is "unless the user says how many" "$(ran | cut -d' ' -f3)" 7
OMP_NUM_THREADS=5 launch --num_processes 1 --bind_to core
is "or a variable" "$(ran | cut -d' ' -f3)" 5

# GPUs.
launch --num_processes 2 --gpu_per_rank
is "each rank sees one GPU" "$(ran | cut -d' ' -f4 | tr '\n' ' ')" "0 1 "
launch --hosts localhost:2/gpus=3+1 --no_preflight
is "ranks see the host's list" "$(ran | cut -d' ' -f4 | tr '\n' ' ')" "3,1 3,1 "
"$accel" launch --hosts localhost:2/gpus=0 --no_python ./rank.sh >out 2>said
is "two ranks and a list of one GPU are an error" "$?" 1
has "which says so" "$(cat said)" "2 ranks and a list of 1 GPU"
is "any command sees the host's list" "$("$accel" run \
	--hosts localhost/gpus=3+1 sh -c 'echo $CUDA_VISIBLE_DEVICES')" 3,1
is "or without one what there is" "$(CUDA_VISIBLE_DEVICES=5 "$accel" run \
	sh -c 'echo $CUDA_VISIBLE_DEVICES')" 5
"$accel" launch --cpu --num_processes 2 --map_by gpu --no_python ./rank.sh \
	>out 2>said
status=$?
if [ -d /proc/driver/nvidia ] || [ -e /dev/kfd ]; then
	skip "there are GPUs here"
else
	is "by GPU where there is none: nothing starts" \
		"$status $(ls ran.* 2>/dev/null)" "1 "
	has "and it is said" "$(cat said)" "GPU 0 of its local rank 0 is not there"
fi
"$accel" launch --map_by rack --no_python ./rank.sh >out 2>said
is "an unknown way is wrong usage" "$?" 2
has "with those that are" "$(cat said)" "gpu"

# A machine with two sockets and GPUs at both.
sys=$work/machine/sys
for cpu in 0 1 2 3; do
	mkdir -p "$sys/devices/system/cpu/cpu$cpu/topology"
	echo $((cpu / 2)) >"$sys/devices/system/cpu/cpu$cpu/topology/physical_package_id"
	echo $cpu >"$sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list"
done
echo 0-3 >"$sys/devices/system/cpu/online"
for node in 0 1; do
	mkdir -p "$sys/devices/system/node/node$node"
	echo "$((2 * node))-$((2 * node + 1))" >"$sys/devices/system/node/node$node/cpulist"
	gpu=$sys/bus/pci/devices/0000:0$((3 - node)):00.0
	mkdir -p "$gpu"
	echo 0x030200 >"$gpu/class"
	echo 0x10de >"$gpu/vendor"
	echo $node >"$gpu/numa_node"
	echo "$((2 * node))-$((2 * node + 1))" >"$gpu/local_cpulist"
done
: >train.py
ACCEL_DEVICES=$work/machine "$accel" launch --num_processes 2 --map_by gpu \
	--gpu_per_rank --print train.py >print 2>&1
is "--print has the GPU of each rank and the cores near it" \
	"$(sed '/^$/,$d' print)" \
"rank  local  host       GPU             NUMA  CPUs
   0      0  localhost  0 0000:02:00.0  1     2-3
   1      1  localhost  1 0000:03:00.0  0     0-1"
has "and what it will see" "$(cat print)" "CUDA_VISIBLE_DEVICES=1"
done_testing
