#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The change is small: a program for one process learns the same on two ranks
# with ten lines more, and those are the lines of the manual.
. "${top_srcdir:-.}/tests/tap.sh"
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
export ACCEL_JOB=job$$ MASTER_ADDR=127.0.0.1 ASAN_OPTIONS=detect_leaks=0
one=$top_builddir/examples/chars
many=$top_builddir/examples/chars-ranks
change=$top_srcdir/examples/chars.patch

lines=$(wc -l <"$top_srcdir/examples/chars.c")
ok "the program has about a thousand lines ($lines)" \
	test "$lines" -ge 900 -a "$lines" -le 1100
added=$(grep -c '^+[^+]' "$change")
ok "the change has at most ten ($added)" test "$added" -le 10
ok "the program knows nothing of it" \
	sh -c '! grep -q "accel[._]h\|accel_" "$0"' "$top_srcdir/examples/chars.c"
manual() { # the block of libaccel(3) that shows it
	sed -n '/^\.\\" examples\/chars.patch/,/^\.Ed/p' \
		"$top_srcdir/man/libaccel.3" | sed '/^\./d; s/\\-/-/g; s/\\e/\\/g'
}
is "libaccel(3) shows this change" "$(manual)" "$(sed '1,2d' "$change")"

cd "$work" || exit 1
# Some text, the same everywhere: numbers in words.
awk 'BEGIN { split("one two three four five six seven eight nine ten", w, " ")
	for (i = 0; i < 900; i++)
		printf "%s and %s%s", w[i * 7 % 10 + 1], w[i * i % 10 + 1],
		    i % 5 ? ", " : ".\n" }' >text
options="--steps 40 --every 20 --size 32 --window 16 --held 20"
ok "its derivatives are those of its loss" "$one" --check $options text
want=$("$one" $options --batch 8 text 2>/dev/null)
has "it learns" "$want" "step 40 held-out loss"
near() { # 0 where two outputs have the same steps, and losses within 0.001
	printf '%s\n%s\n' "$1" "$2" | awk '
		{ step[NR] = $2; loss[NR] = $5 }
		END {
			for (i = 1; i <= NR / 2; i++) {
				d = loss[i] - loss[i + NR / 2]
				if (step[i] != step[i + NR / 2] || d > 0.001 ||
				    d < -0.001)
					exit 1
			}
			exit NR != 4
		}'
}
first=$(echo "$want" | sed -n '1s/.* //p')
last=$(echo "$want" | sed -n '$s/.* //p')
ok "the loss falls ($first to $last)" \
	awk "BEGIN { exit !($last < $first && $last < 3) }"
got=$("$many" $options --batch 8 text 2>err)
ok "changed, on one rank, it learns the same" near "$got" "$want"
sed 's/^/# /' err
[ -e "$top_builddir/.libs/libaccel-mpi.so" ] || {
	skip "built without MPICH"
	done_testing
}
port=$(free_port)
for r in 0 1; do
	RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_PORT=$port \
		timeout 200 "$many" $options --batch 4 text >out.$r 2>err.$r &
	eval pid$r=$!
done
wait $pid0 && wait $pid1
is "two ranks, each with half of the batch, come to their end" $? 0
for r in 0 1; do
	ok "and rank $r learns the same" near "$(cat out.$r)" "$want"
done
is "with the same weights" "$(cat out.0)" "$(cat out.1)"
sed 's/^/# /' err.*
done_testing
