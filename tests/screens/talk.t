#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Conversations: talk/NAME.in is typed, and what is said must be NAME.out.
# UPDATE=1 ("make update-screens") writes those files into the source.
. "${top_srcdir:-.}/tests/tap.sh"
case $top_builddir in /*) ;; *) top_builddir=$PWD/$top_builddir ;; esac
case $top_srcdir in /*) ;; *) top_srcdir=$PWD/$top_srcdir ;; esac
talk=$top_srcdir/tests/screens/talk
HWLOC_XMLFILE=$top_srcdir/tests/machines/two-gpus.xml
export HWLOC_XMLFILE
HOME=$work
export HOME
unset ACCESSIBLE NO_COLOR
cd "$work" || exit 1
for in in "$talk"/*.in; do
	name=$(basename "$in" .in)
	rm -f c.yaml c.yaml.draft
	"$top_builddir/accel-setup" --config_file c.yaml --launch train.py \
		<"$in" >said 2>&1
	echo "exit $?" >>said
	[ -z "$UPDATE" ] || cp said "$talk/$name.out"
	diff -u "$talk/$name.out" said >difference
	is "$name" "$(cat difference)" ""
done

# Chosen by itself, where there is a terminal that cannot do more.
if command -v script >/dev/null; then
	for way in "TERM=dumb" "ACCESSIBLE=1" "TERM="; do
		out=$(echo q | env TERM=xterm "$way" script -qec \
			"$top_builddir/accel-setup --config_file n.yaml" \
			/dev/null)
		has "a conversation with $way" "$out" \
			"Which machines take part?"
	done
else
	skip "no script(1)"
fi
done_testing
