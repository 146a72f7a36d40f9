#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages in the tree are those that the table gives, all pages are in order,
# and each difference from Accelerate has a test that begins with its number.
. "${top_srcdir:-.}/tests/tap.sh"
man=$top_srcdir/man
mkpage=$top_builddir/runtime/config/mkpage

"$mkpage" >"$work/accel.yaml.5"
"$mkpage" "$man/accel-launch.1.in" >"$work/accel-launch.1"
"$top_builddir/tui/mksetup" "$man/accel-setup.1.in" >"$work/accel-setup.1"
for page in accel.yaml.5 accel-launch.1 accel-setup.1; do
	ok "make update-man would change nothing in $page" \
		diff -u "$man/$page" "$work/$page"
done
"$mkpage" /dev/null >"$work/out" 2>"$work/err"
is "a page without a place for flags is refused" $? 1
has "and named" "$(cat "$work/err")" "/dev/null"

if command -v mandoc >/dev/null; then
	for page in "$man"/*.[0-9]; do
		ok "mandoc has nothing to warn of in ${page##*/}" \
			sh -c 'mandoc -T lint -W warning <"$1"' _ "$page"
	done
else
	skip "no mandoc here"
fi

for page in "$man"/accel-*.1; do
	name=$(basename "$page" .1)
	ok "accel(1) or a page that it names has $name" \
		grep -q "^.*Xr $name 1" "$man/accel.1"
done

# ".It NUMBER" ... ".Pq Pa FILE"
awk '/^\.Sh DIFFERENCES/ { on = 1 } on && /^\.It [0-9]+$/ { n = $2 }
	on && /^\.Pq Pa / { print n, $3 }' "$man/accel-launch.1" >"$work/list"
is "there are 25 differences, each with a test" "$(wc -l <"$work/list")" 25
while read -r n file; do
	ok "difference $n has a test in $file" grep -qE \
		"(\"|, |\[)$n(, [0-9]+)*[:,] |	$n\$" "$top_srcdir/$file"
done <"$work/list"
done_testing
