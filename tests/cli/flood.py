#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: flood.py ACCEL RANKS LINES STALL

Launches that many ranks that write that many lines each, reads them after a
pause of STALL seconds, and prints what was wrong with them, and the launcher's
memory in MiB."""
import os
import re
import resource
import subprocess
import sys
import time

accel, ranks, lines, stall = sys.argv[1], *map(int, sys.argv[2:])
with open("flooder.py", "w") as out:
    out.write("""import os, sys
r, n = os.environ["RANK"], int(sys.argv[1])
for first in range(0, n, 1000):
    os.write(1, b"".join(b"%d of %s: the loss is 0.12345, the step took 0.4 s\\n"
             % (i, r.encode()) for i in range(first, min(n, first + 1000))))
""")
run = subprocess.Popen([accel, "launch", "--cpu", "--num_processes", str(ranks),
                        "flooder.py", str(lines)], stdout=subprocess.PIPE,
                       bufsize=1 << 20)
time.sleep(stall)
form = re.compile(rb"localhost:(\d+) (\d+) of (\d+): the loss is 0.12345, "
                  rb"the step took 0.4 s\n")
seen, torn, disordered = [0] * ranks, 0, 0
for line in run.stdout:
    match = form.fullmatch(line)
    if not match or match[1] != match[3]:
        torn += 1
        continue
    rank = int(match[1])
    disordered += int(match[2]) != seen[rank]
    seen[rank] += 1
code = run.wait()
print("exit code", code, "torn", torn, "out of order", disordered, "lost",
      ranks * lines - sum(seen))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
      file=sys.stderr)
