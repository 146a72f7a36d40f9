#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What accel config exports, under the real torchrun, Accelerate and MPICH; and
# the templates in Accelerate's own reader.
. "${top_srcdir:-.}/tests/tap.sh"

"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate' 2>/dev/null || {
	skip "no Python with torch and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
accel=$top_builddir/accel
PATH=$(dirname "$ACCEL_PYTHON"):$PATH
HF_HOME=$work/hf
export PATH HF_HOME
unset XDG_CACHE_HOME OMP_NUM_THREADS
here=$top_srcdir/tests/python
cd "$work" || exit 1

"$ACCEL_PYTHON" "$here/export.py" read "$top_srcdir"/templates/*.yaml >read 2>&1
for file in "$top_srcdir"/templates/*.yaml; do
	ok "Accelerate reads and takes $(basename "$file")" \
	    grep -qxF "$file: taken" read
done
[ "$tap_failed" -eq 0 ] || sed 's/^/# /' read

cat >two.yaml <<-'END'
	distributed_type: MULTI_CPU
	use_cpu: true
	num_processes: 2
	mixed_precision: bf16
	debug: true
END
ranks() { # folder command...
	mkdir "$1"
	FOLDER=$work/$1
	export FOLDER
	what=$1
	shift
	ok "$what starts a world of two" timeout 300 "$@"
}
ranks launch "$accel" launch --config_file two.yaml "$here/export.py" rank "a b"
"$accel" config export --torchrun -o t.sh two.yaml -- "$here/export.py" rank "a b"
ranks torchrun ./t.sh
ok "under torchrun it sees what it sees under accel launch" diff -r launch torchrun
if command -v mpirun.mpich >/dev/null; then
	"$accel" config export --mpirun two.yaml -- "$here/export.py" rank "a b" |
	    sed 's/^mpirun /mpirun.mpich /' >m.sh
	ranks mpirun sh m.sh
	ok "and under mpirun" diff -r launch mpirun
else
	skip "no MPICH"
	skip "no MPICH"
fi

for precision in no fp16 bf16; do
	cat >ds.yaml <<-END
		distributed_type: DEEPSPEED
		num_processes: 2
		mixed_precision: '$precision'
		deepspeed_config:
		  zero_stage: 3
		  offload_optimizer_device: cpu
		  offload_param_device: nvme
		  offload_param_nvme_path: /nvme
		  gradient_accumulation_steps: 4
		  gradient_clipping: 0.5
		  zero3_save_16bit_model: true
	END
	"$accel" config export --deepspeed -o ds.json ds.yaml
	ok "DeepSpeed's JSON is Accelerate's, with $precision" \
	    "$ACCEL_PYTHON" "$here/export.py" deepspeed ds.json $precision
done
"$accel" config export --deepspeed -o ds.json --use_deepspeed --zero_stage 2
ok "and where little is said" "$ACCEL_PYTHON" "$here/export.py" deepspeed ds.json no plain
done_testing
