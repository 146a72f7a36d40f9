# SPDX-License-Identifier: Apache-2.0
# For tests of scripts that are not ours.  PyTorch 2.15 may abort as it exits,
# when threads of gloo still run: 2 of 12 runs of Accelerate's test script under
# torchrun did.  That alone is tried again.
#	torch_run OUT COMMAND...	its status; what it says is in OUT
torch_run() {
	torch_out=$1
	shift
	for torch_try in 1 2 3 4 5; do
		"$@" >"$torch_out" 2>&1
		torch_status=$?
		grep -q 'terminate called without an active exception' \
			"$torch_out" || break
		echo "# PyTorch aborted at its exit, in try $torch_try"
	done
	return $torch_status
}
