#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel config default, set and update against real Accelerate: what it reads
# from our file is what it reads from its own.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
python=$ACCEL_PYTHON
"${ACCEL_PYTHON:-false}" -c 'import accelerate' 2>/dev/null || {
	skip "no Python with accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
# Accelerate counts GPUs by PyTorch, we by their nodes; here neither has one.
CUDA_VISIBLE_DEVICES=
mkdir -p "$work/dev"
ACCEL_DEVICES=$work
HF_HOME=$work/hf
export CUDA_VISIBLE_DEVICES ACCEL_DEVICES HF_HOME

# Each field as Accelerate has it after reading a file.
read_by_accelerate() {
	"$python" - "$1" <<-'END'
	import sys
	from accelerate.commands.config.config_args import load_config_from_file
	config = load_config_from_file(sys.argv[1])
	for key, value in sorted(vars(config).items()):
	    # These differ only in how the default is said.
	    if key not in ("debug", "downcast_bf16", "gpu_ids", "rdzv_backend",
	                   "same_network", "tpu_env"):
	        print(key, getattr(value, "value", value))
	END
}
command="from accelerate.commands.accelerate_cli import main; main()"
for precision in no bf16; do
	"$python" -c "$command" config default --mixed_precision $precision \
		--config_file "$work/theirs.yaml" >"$work/out" 2>&1
	ok "accel config default, $precision" "$accel" config default --force \
		--mixed_precision $precision --config_file "$work/ours.yaml"
	read_by_accelerate "$work/theirs.yaml" >"$work/want"
	ok "Accelerate wrote a file, too" grep -q num_processes "$work/want"
	read_by_accelerate "$work/ours.yaml" >"$work/got"
	ok "and reads the same from both" diff -u "$work/want" "$work/got"
	cp "$work/theirs.yaml" "$work/updated.yaml"
	ok "its own, JSON in a .yaml, can be changed" "$accel" config set \
		--config_file "$work/updated.yaml" num_processes=3
	read_by_accelerate "$work/updated.yaml" >"$work/got"
	is "in that alone" "$(diff "$work/want" "$work/got" | grep '^[<>]')" \
		"< num_processes 1
> num_processes 3"
	rm -f "$work"/*.yaml
done
done_testing
