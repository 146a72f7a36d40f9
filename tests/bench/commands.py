#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands around a configuration: accel against accelerate.

usage: tests/bench/commands.py BUILD-FOLDER [PYTHON-WITH-ACCELERATE]

Runs are interleaved, so that a busy machine slows all alike; what counts is the
ratio of the medians to that of accel's counterpart.  Accelerate has no check;
the nearest to it is update, which reads, migrates and writes.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
python = sys.argv[2] if len(sys.argv) > 2 else None
accel = os.path.join(build, "accel")
rounds = 7

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "c.yaml")
    new = os.path.join(folder, "new.yaml")
    subprocess.run([accel, "config", "default", "--config_file", path],
                   check=True, stdout=subprocess.DEVNULL)
    file = ["--config_file", path]
    # name: accel's words, accelerate's words
    pairs = {
        "config check": (["config", "check", "--no_probe"] + file,
                         ["config", "update"] + file),
        "config check, this machine": (["config", "check"] + file,
                                   ["config", "update"] + file),
        "config default": (["config", "default", "--force", "--config_file",
                            new], ["config", "default", "--config_file", new]),
        "config update": (["config", "update"] + file,
                          ["config", "update"] + file),
        "env": (["env"] + file, ["env"] + file),
        "env, Python not asked": (["env", "--no_python"] + file,
                                  ["env"] + file),
    }
    cli = ["-m", "accelerate.commands.accelerate_cli"]
    env = dict(os.environ, HF_HOME=folder)
    if python:
        env["PATH"] = os.path.dirname(python) + ":" + env["PATH"]

    def seconds(command):
        begun = time.perf_counter()
        run = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        taken = time.perf_counter() - begun
        # 1 is what a check says of a file with an error.
        if run.returncode not in (0, 1):
            sys.exit("%s: exit code %d" % (" ".join(command), run.returncode))
        return taken

    times = {name: ([], []) for name in pairs}
    for _ in range(rounds):
        for name, (ours, theirs) in pairs.items():
            times[name][0].append(seconds([accel] + ours))
            if python:
                times[name][1].append(seconds([python] + cli + theirs))

print("%-28s %10s %10s %14s %8s" % ("", "median ms", "min ms", "accelerate ms",
                                    "ratio"))
for name, (ours, theirs) in times.items():
    line = "%-28s %10.1f %10.1f" % (name, 1e3 * statistics.median(ours),
                                    1e3 * min(ours))
    if theirs:
        line += " %14.1f %8.1f" % (
            1e3 * statistics.median(theirs),
            statistics.median(theirs) / statistics.median(ours))
    print(line)
