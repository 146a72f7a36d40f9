#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libaccel.so exports accel.h, with its version, and has no state of its own.
. "${top_srcdir:-.}/tests/tap.sh"
lib=$top_builddir/.libs/libaccel.so
header=$top_srcdir/runtime/train/accel.h
if ! [ -e "$lib" ]; then
	skip "no shared library was built"
	done_testing
fi
# What the compiler's instrumentation adds is not ours to judge.
if [ -n "$ACCEL_SANITIZED" ]; then
	skip "sanitizers have symbols of their own"
	done_testing
fi

declared() { # functions of accel.h: a name and "(" outside comments
	python3 - "$header" <<'END'
import re, sys
text = re.sub(r"/\*.*?\*/", "", open(sys.argv[1]).read(), flags=re.S)
text = re.sub(r"(?m)^#.*(\\\n.*)*$", "", text)
text = re.sub(r"\(\*\w+\)\([^;]*;", ";", text)
print(*sorted(set(re.findall(r"\b(accel_[a-z0-9_]+)\s*\(", text))), sep="\n")
END
}
exported() {
	nm -D --defined-only --with-symbol-versions "$lib" |
		awk '$3 != "ACCEL_0.1" && $2 != "A" { print $2, $3 }'
}
is "it exports what accel.h declares, of version ACCEL_0.1, and nothing else" \
	"$(exported)" "$(declared | sed 's/.*/T &@@ACCEL_0.1/')"

# Writable data that all threads share: name, and why it may be.
cat >"$work/allowed" <<'EOF_ALLOWED'
completed	the compiler's, for destructors
__TMC_END__	the compiler's
__dso_handle	the compiler's
__cpu_model	libgcc's: which instructions there are
__cpu_features2	libgcc's
known	half.c: whether the processor converts 16-bit floats; atomic
EOF_ALLOWED
state() {
	objdump -t "$lib" | awk 'NF > 3 && ($(NF-2) == ".data" || $(NF-2) == ".bss") {
		sub(/\.[0-9]+$/, "", $NF); print $NF }' | sort -u |
		grep -v '^\.\(data\|bss\)$' |
		grep -vxF "$(cut -f1 "$work/allowed")"
}
is "there is no writable data but what others put there" "$(state)" ""
is "each thread has its own last error, and nothing more" \
	"$(objdump -t "$lib" | awk 'NF > 3 && ($(NF-2) == ".tbss" || $(NF-2) == ".tdata") {
		print $NF }' | grep -v '^\.t' | sort | xargs)" "last message"
is "it links neither MPI nor CUDA nor libcurl" \
	"$(objdump -p "$lib" | awk '$1 == "NEEDED" { print $2 }' |
	grep -E 'mpi|cuda|nccl|curl|ucx')" ""

# The manual says of every function which threads may call it.
said() {
	sed -n '/^\.Sh THREADS/,/^\.Sh [^T]/p' "$top_srcdir/man/libaccel.3" |
		grep '^\.Fn' | sed 's/^\.Fn//; s/[ ,]\+/\n/g' | grep accel_ | sort
}
is "THREADS in libaccel(3) has each function once" "$(said)" "$(declared)"
done_testing
