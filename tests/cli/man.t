#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual page in the tree is the one that the table gives.
. "${top_srcdir:-.}/tests/tap.sh"

"$top_builddir/runtime/config/mkpage" >"$work/page"
ok "make update-man would change nothing" \
	diff -u "$top_srcdir/man/accel.yaml.5" "$work/page"
if command -v mandoc >/dev/null; then
	ok "mandoc has nothing to warn of" \
		sh -c 'mandoc -T lint -W warning <"$1"' _ "$work/page"
else
	skip "no mandoc here"
fi
done_testing
