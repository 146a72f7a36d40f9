#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many agents on one machine: what each host costs the launcher.

usage: tests/bench/agents.py BUILD-FOLDER [HOSTS...]

Every host name is an agent here (ACCEL_TEST_TRANSPORT=exec), so that nothing is
measured but our own: no ssh.  Each rank says one line of its own.  CPU and memory
are the launcher's alone; the wall time is mostly that of so many agents on the
cores that there are.  A launcher with no square in it has the same microseconds
and bytes a host in each row.
"""
import os
import subprocess
import sys
import threading
import time


def watch(pid, peak):
    """The launcher's peak of memory: wait4 would tell our own before exec."""
    try:
        while True:
            with open("/proc/%d/status" % pid) as status:
                peak[0] = int(status.read().split("VmHWM:")[1].split()[0])
            time.sleep(0.005)
    except (OSError, IndexError):
        pass                    # it has ended


def launch(accel, n, command):
    names = ",".join("fake%04d" % i for i in range(n))
    env = dict(os.environ, ACCEL_TEST_TRANSPORT="exec",
               XDG_STATE_HOME="/nonexistent")
    begun = time.perf_counter()
    child = subprocess.Popen([accel, "run", "--hosts", names] + command,
                             env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    peak = [0]
    watcher = threading.Thread(target=watch, args=(child.pid, peak))
    watcher.start()
    lines = child.stdout.read().count(b"\n")
    # A zombie keeps its own times, without those of the agents.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter() - begun
    with open("/proc/%d/schedstat" % child.pid) as stat:
        cpu = int(stat.read().split()[0]) / 1e9
    watcher.join()
    if child.wait():
        sys.exit("%d hosts: exit code %d" % (n, child.returncode))
    return wall, cpu, peak[0], lines


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    accel = os.path.join(os.path.abspath(sys.argv[1]), "accel")
    counts = [int(n) for n in sys.argv[2:]] or [64, 256, 1024]
    print("%6s %-6s %8s %8s %8s %12s %10s" % (
        "hosts", "", "wall s", "CPU s", "MiB", "us a host", "KiB a host"))
    for name, command in (("true", ["true"]),
                          ("a line", ["sh", "-c", "echo hello from $RANK"])):
        alone = launch(accel, 1, command)
        for n in counts:
            wall, cpu, kib, lines = launch(accel, n, command)
            if name != "true" and lines != n:
                sys.exit("%d hosts, %d lines" % (n, lines))
            print("%6d %-6s %8.2f %8.2f %8.1f %12.0f %10.1f" % (
                n, name, wall, cpu, kib / 1024, (cpu - alone[1]) / n * 1e6,
                (kib - alone[2]) / n))


main()
