#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launching two trivial local ranks: accel against mpirun and accelerate.

usage: tests/bench/launch.py BUILD-FOLDER [PYTHON-WITH-ACCELERATE]

Runs are interleaved, so that a busy machine slows all alike; what counts is the
ratio of the medians.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

if len(sys.argv) < 2:
    sys.exit(__doc__)
build = sys.argv[1]
python = sys.argv[2] if len(sys.argv) > 2 else None
rounds = 15

with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "nothing.py")
    with open(script, "w") as out:
        out.write("pass\n")
    peers = {"accel launch": [os.path.join(build, "accel"), "launch", "--cpu",
                              "--num_processes", "2", "--no_python", "/bin/true"]}
    if shutil.which("mpirun.mpich"):
        peers["mpirun, MPICH"] = ["mpirun.mpich", "-n", "2", "/bin/true"]
    if shutil.which("mpirun.openmpi"):
        peers["mpirun, Open MPI"] = ["mpirun.openmpi", "--allow-run-as-root",
                                     "-n", "2", "/bin/true"]
    if python:
        peers["accel launch, Python"] = [
            os.path.join(build, "accel"), "launch", "--cpu",
            "--num_processes", "2", script]
        peers["accelerate launch"] = [
            python, "-m", "accelerate.commands.launch", "--cpu",
            "--num_processes", "2", script]
    env = dict(os.environ, HF_HOME=folder)
    times = {name: [] for name in peers}
    for _ in range(rounds):
        for name, command in peers.items():
            begun = time.perf_counter()
            subprocess.run(command, env=env, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - begun)

base = statistics.median(times["accel launch"])
print("%-22s %10s %10s %10s" % ("two ranks", "median ms", "min ms", "ratio"))
for name, taken in times.items():
    print("%-22s %10.1f %10.1f %10.1f" % (
        name, 1e3 * statistics.median(taken), 1e3 * min(taken),
        statistics.median(taken) / base))
