#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel test runs Accelerate's own test script, and tells when that fails.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/python/torch.sh"
"${ACCEL_PYTHON:-false}" -c 'import torch, accelerate' 2>/dev/null || {
	skip "no Python with torch and accelerate (make check-python ACCEL_PYTHON=...)"
	done_testing
}
HF_HOME=$work/hf
export HF_HOME
for ranks in 2 3; do
	cat >"$work/$ranks.yaml" <<-EOT
	compute_environment: LOCAL_MACHINE
	distributed_type: MULTI_CPU
	num_machines: 1
	num_processes: $ranks
	use_cpu: true
	EOT
done
torch_run "$work/out" "$top_builddir/accel" test --config_file "$work/2.yaml"
status=$? out=$(cat "$work/out")
is "two ranks pass" "$status" 0
[ "$status" = 0 ] || sed 's/^/# /' "$work/out"
has "Accelerate's script too" "$out" "PASS  Accelerate's test script"
# It splits a tensor in a way that an odd number of ranks cannot.
out=$("$top_builddir/accel" test --config_file "$work/3.yaml" 2>&1)
is "three fail" $? 1
has "by Accelerate's script" "$out" "FAIL  Accelerate's test script: exit code 1"
has "whose words are shown" "$out" "test_split_between_processes_tensor"
done_testing
