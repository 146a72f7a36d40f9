#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel config export: what is exported is run, and its ranks compared with those
# of accel launch.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HF_HOME=$work/hf
export HF_HOME
OMP_NUM_THREADS=3
export OMP_NUM_THREADS
unset XDG_CACHE_HOME ACCEL_PYTHON
cd "$work" || exit 1

cat >f.yaml <<-'END'
	distributed_type: MULTI_CPU
	use_cpu: true
	num_processes: 4
	mixed_precision: bf16
	debug: true
END
# What a rank sees: its number, the world, our variables, its arguments.
cat >rank.sh <<-'END'
	#!/bin/sh
	{
		echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE ${MASTER_ADDR:+there}"
		env | grep -E '^(ACCELERATE_|FSDP_|OMP_|KMP_)' | sort
		for word; do printf '<%s>' "$word"; done
	} >"$RANKS/$RANK"
END
chmod +x rank.sh
ranks() { # folder command...
	mkdir -p "$1"
	RANKS=$work/$1
	export RANKS
	shift
	"$@" >out 2>&1
}
hard="it's \$HOME \"x\" *
end"

ranks launch "$accel" launch --config_file f.yaml --no_python ./rank.sh -a "$hard" ""
is "accel launch starts four ranks" "$(ls launch | tr '\n' ' ')" "0 1 2 3 "

# Each word of a command, quoted, is the word again.
if command -v mpirun.mpich >/dev/null; then
	mkdir bin
	printf '#!/bin/sh\nexec mpirun.mpich "$@"\n' >bin/mpirun
	chmod +x bin/mpirun
	"$accel" config export --mpirun -o m.sh --no_python f.yaml -- ./rank.sh \
	    -a "$hard" "" >/dev/null
	ranks mpirun env PATH="$work/bin:$PATH" ./m.sh
	is "mpirun starts them, executable as it was written" $? 0
	ok "with the same numbers, environment and words" diff -r launch mpirun
else
	skip "no MPICH"
	skip "no MPICH"
fi

# A srun of our own, which starts the tasks of the script's #SBATCH lines.
mkdir -p fake
cat >fake/srun <<-'END'
	#!/bin/sh
	[ "$1" = --kill-on-bad-exit=1 ] && shift
	n=$(sed -n 's/^#SBATCH --ntasks-per-node=//p' "$JOB_FILE")
	i=0
	while [ $i -lt "$n" ]; do
		SLURM_PROCID=$i SLURM_LOCALID=$i SLURM_NODEID=0 "$@" &
		i=$((i + 1))
	done
	wait
END
printf '#!/bin/sh\nprintf "%%s\\n" n1 n2\n' >fake/scontrol
chmod +x fake/srun fake/scontrol
"$accel" config export --slurm --no_python f.yaml -- ./rank.sh -a "$hard" "" >s.sh
ok "bash reads the script for sbatch" bash -n s.sh
if command -v shellcheck >/dev/null; then
	ok "and shellcheck has nothing to say" shellcheck -S warning s.sh
else
	skip "no shellcheck"
fi
ranks slurm env PATH="$work/fake:$PATH" JOB_FILE=s.sh SLURM_JOB_ID=71 \
	SLURM_JOB_NODELIST='n[1-2]' bash s.sh
ok "a fake srun starts the same ranks" diff -r launch slurm
is "the script asks for their number" \
	"$(grep -c -e '^#SBATCH --nodes=1$' -e '^#SBATCH --ntasks-per-node=4$' s.sh)" 2
is "and for no GPUs" "$(grep -c gpus s.sh)" 0
ranks none env PATH="/usr/bin:/bin" JOB_FILE=s.sh SLURM_JOB_ID=71 \
	SLURM_JOB_NODELIST='n[1-2]' bash s.sh
ok "without scontrol it stops, and meets nobody else" test ! -e none/0

cat >gpu.yaml <<-'END'
	distributed_type: FSDP
	num_machines: 2
	num_processes: 8
	main_process_ip: 10.0.0.1
	main_process_port: 29501
	gpu_ids: 0,1,2,3
	fsdp_config:
	  fsdp_version: 2
END
"$accel" config export --slurm gpu.yaml >g.sh
has "GPUs are asked for" "$(cat g.sh)" "#SBATCH --gpus-per-node=4"
is "and which ones is left to Slurm" "$(grep -c CUDA_VISIBLE g.sh)" 0
has "without a script it takes one" "$(cat g.sh)" 'python3 -u "$@"'
if command -v shellcheck >/dev/null; then
	for kind in torchrun mpirun slurm; do
		"$accel" config export --$kind gpu.yaml >k.sh
		ok "shellcheck passes what --$kind exports" shellcheck -S warning k.sh
	done
else
	skip "no shellcheck"
fi
has "torchrun is told of the machines" "$("$accel" config export --torchrun gpu.yaml)" \
	"--master_addr 10.0.0.1 --master_port 29501"
"$accel" config export --torchrun gpu.yaml >t.sh
has "each machine has to say its number" "$(sh t.sh train.py 2>&1)" "NODE_RANK"
has "flags of launch count" "$("$accel" config export --torchrun --num_machines 1 --num_processes 4 \
    --max_restarts 2 gpu.yaml)" "--max_restarts 2"

# DeepSpeed's own file.
cat >ds.yaml <<-'END'
	distributed_type: DEEPSPEED
	num_processes: 2
	mixed_precision: fp16
	deepspeed_config:
	  zero_stage: 3
	  offload_param_device: nvme
	  offload_param_nvme_path: /nvme
	  gradient_accumulation_steps: 4
END
is "-o says where it wrote" \
    "$("$accel" config export --deepspeed -o ds.json ds.yaml)" \
    "written: ds.json"
cat >with.yaml <<-'END'
	distributed_type: DEEPSPEED
	num_processes: 2
	deepspeed_config:
	  deepspeed_config_file: ds.json
END
ok "a configuration with the exported JSON is fine" "$accel" config check \
	--no-probe with.yaml
has "it has the values" "$(tr -d ' \n' <ds.json)" \
	'"offload_param":{"device":"nvme","nvme_path":"/nvme"}'

# What cannot be.
"$accel" config export gpu.yaml >out 2>&1
is "no format is wrong usage" $? 2
"$accel" config export --slurm --torchrun gpu.yaml >out 2>&1
is "two formats as well" $? 2
"$accel" config export --slurm gpu.yaml --debug >out 2>&1
is "so is a flag behind the file" $? 2
out=$("$accel" config export --deepspeed gpu.yaml 2>&1)
is "what is no DeepSpeed run has no DeepSpeed JSON" $? 1
has "which is said" "$out" "distributed_type is not DEEPSPEED"
out=$("$accel" config export --slurm --num_processes 9 gpu.yaml 2>&1)
is "what breaks a rule is not exported" $? 1
has "with the rule's words" "$out" "9 does not divide by num_machines 2"
"$accel" config export --slurm -o folder/of/mine/s.sh gpu.yaml >/dev/null 2>&1
ok "a missing folder is made" test -x folder/of/mine/s.sh
done_testing
