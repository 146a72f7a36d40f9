#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A rank that the kernel kills for want of memory is named with that reason.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
# ... and below whatever this test runs in, of either version of cgroups.
group=accel-oom-$$
limit=64
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
	kind=2
	above=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
	set -- memory.max memory.swap.max
else
	kind=1
	above=/sys/fs/cgroup/memory$(sed -n \
		's/^[0-9]*:memory://p' /proc/self/cgroup)
	set -- memory.limit_in_bytes memory.memsw.limit_in_bytes
fi
cleanup() {
	rmdir "$above/$group" 2>/dev/null
	rm -rf "$work"
}
mkdir "$above/$group" 2>/dev/null && trap cleanup EXIT &&
	echo $((limit << 20)) >"$above/$group/$1" 2>/dev/null || {
	skip "may not limit memory by a cgroup here"
	done_testing
}
echo $((limit << 20)) >"$above/$group/$2" 2>/dev/null

# Rank 1 takes more than there is; rank 0 would wait for ever.
cat >eats.py <<'E'
import os, time
if os.environ["RANK"] == "1":
    taken = []
    while True:
        taken.append(b"x" * (1 << 20))
time.sleep(600)
E
sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' _ "$above/$group" \
	timeout 60 "$top_builddir/accel" launch --cpu --num_processes 2 \
	--no_python python3 eats.py >out 2>said
is "the exit code is that of SIGKILL" "$?" 137
has "rank 1 is named" "$(cat said)" "rank 1 failed"
has "and that memory was short" "$(cat said)" "out of memory"
has "with the limit that it hit (cgroups version $kind)" "$(cat said)" \
	"its cgroup may have $limit MiB"
# The same signal, with memory enough.
timeout 60 "$top_builddir/accel" launch --cpu --num_processes 2 --no_python \
	sh -c '[ "$RANK" = 0 ] || kill -9 $$; exec tail -f /dev/null' >out 2>said
is "a rank that somebody kills" "$?" 137
is "is not taken for one" "$(grep -c 'out of memory' said)" 0
done_testing
