#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CUDA driver, played by a library of the tests.
. "${top_srcdir:-.}/tests/tap.sh"
setup=$top_builddir/accel-setup
fake=$top_builddir/tests/screens/.libs/libfakecuda.so
if [ ! -e "$fake" ]; then
	skip "no shared libraries here"
	done_testing
fi
cp "$fake" "$work/libcuda.so.1"
LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

out=$("$setup" --facts)
has "a GPU is found" "$out" "NVIDIA Pretend 0, 80 GiB, capability 7.5"
has "and the other" "$out" "NVIDIA Pretend 1, 80 GiB"
out=$("$setup" --config_file "$work/c.yaml" --print)
has "one process for each" "$out" "num_processes: 2"
has "on GPUs" "$out" "distributed_type: MULTI_GPU"
has "in the precision that they have" "$out" "mixed_precision: fp16"
is "a driver that talks is not heard" "${out#a driver}" "$out"

out=$(FAKE_CUDA=crash "$setup" --facts)
is "a driver that dies is no failure" $? 0
has "the rest is told" "$out" "memory"
done_testing
