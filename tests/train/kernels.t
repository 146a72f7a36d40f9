#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernels' instructions: each operation rounded by itself, as on the CPU.
. "${top_srcdir:-.}/tests/tap.sh"
ptx=$top_builddir/runtime/device/cuda_kernels.ptx
if ! [ -e "$ptx" ]; then
	skip "built without nvcc"
	done_testing
fi
operations() { # of floats, as mul.rn.f32
	grep -oE '\b(fma|mad|mul|add|sub|div|sqrt|rcp|rsqrt)\.[a-z.]*f(32|64)' "$ptx" |
		sort -u
}
ok "it has kernels" grep -q '\.entry .*adam' "$ptx"
is "no product is contracted into a sum" \
	"$(operations | grep -E '^(fma|mad)\.')" ""
is "nothing is approximate, and small numbers stay" \
	"$(operations | grep -E 'approx|ftz|full')" ""
is "all round to nearest" "$(operations | grep -v '\.rn\.')" ""
done_testing
