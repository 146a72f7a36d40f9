#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wizard's pace: from start to its first screen, from a key to its paint.

usage: tests/bench/screens.py BUILD-FOLDER [PYTHON-WITH-ACCELERATE]

Each runs on a terminal of its own.  A screen counts when its mark has come
(ACCEL_TEST_SYNC), which is behind the paint and the draft; Accelerate's first
question when its words have.  Starts are interleaved; what counts is the ratio
of the medians.
"""
import os
import pty
import select
import signal
import statistics
import struct
import fcntl
import sys
import tempfile
import termios
import time

build = os.path.abspath(sys.argv[1])
python = sys.argv[2] if len(sys.argv) > 2 else None
rounds = 9
limit = 60


class Terminal:
    """A program on a line of 24x80, and what it wrote."""

    def __init__(self, command, env):
        self.begun = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ,
                        struct.pack("HHHH", 24, 80, 0, 0))
            os.execvpe(command[0], command, env)
        self.seen = b""

    def until(self, text, since):
        """Seconds from "since" until the text has come."""
        end = time.perf_counter() + limit
        while text not in self.seen:
            left = end - time.perf_counter()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                sys.exit("%r did not come within %d s" % (text, limit))
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                sys.exit("it ended before %r came: %r"
                         % (text, self.seen[-300:]))
        return time.perf_counter() - since

    def press(self, key, count):
        """Seconds and bytes from a key to its screen."""
        self.seen = b""
        since = time.perf_counter()
        os.write(self.fd, key)
        return (self.until(b"\033]0;%d\007" % count, since), len(self.seen))

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def report(name, times, theirs=None):
    times = sorted(times)
    line = "%-30s %9.1f %9.1f %9.1f" % (
        name, 1e3 * statistics.median(times),
        1e3 * times[int(len(times) * 0.99)], 1e3 * times[0])
    if theirs:
        line += " %14.1f %8.1f" % (
            1e3 * statistics.median(theirs),
            statistics.median(theirs) / statistics.median(times))
    print(line)


with tempfile.TemporaryDirectory() as folder:
    env = dict(os.environ, TERM="xterm-256color", ACCEL_TEST_SYNC="1",
               HF_HOME=folder, LC_ALL="C.UTF-8")
    env.pop("ACCESSIBLE", None)
    ours = [os.path.join(build, "accel-setup"), "--config_file",
            os.path.join(folder, "c.yaml")]
    starts, peer = [], []
    for _ in range(rounds):
        t = Terminal(ours, env)
        starts.append(t.until(b"\033]0;0\007", t.begun))
        t.end()
        if python:
            t = Terminal([python, "-m", "accelerate.commands.accelerate_cli",
                          "config"], env)
            peer.append(t.until(b"compute environment", t.begun))
            t.end()

    t = Terminal(ours, env)
    t.until(b"\033]0;0\007", t.begun)
    keys = {"Down": [], "Space (a change)": [], "u (undo)": [],
            "Tab (a step)": [], "/ (search)": [], "Esc": []}
    sizes = {name: [] for name in keys}
    count = 0

    def press(name, key):
        global count
        count += 1
        seconds, size = t.press(key, count)
        if name:
            keys[name].append(seconds)
            sizes[name].append(size)

    press(None, b"4")
    press(None, b"\r")
    press(None, b"4")
    press(None, b"\r")
    for i in range(100):
        press("Down", b"\033OB" if i % 20 < 10 else b"\033OA")
        press("Space (a change)", b" ") if i % 20 else press("Down", b"j")
        # Space opens a line where the field is one.
        press("Esc", b"\033")
        press("u (undo)", b"u")
        press("/ (search)", b"/")
        press("Esc", b"\033")
        press("Tab (a step)", b"\t" if i % 2 else b"\033[Z")
    t.end()

print("%-30s %9s %9s %9s" % ("", "median ms", "p99 ms", "min ms")
      + (" %14s %8s" % ("accelerate ms", "ratio") if python else ""))
report("start to first screen", starts, peer)
for name, times in keys.items():
    report("key to paint: " + name, times)
print("bytes per key: " + ", ".join(
    "%s %d" % (name, statistics.median(size)) for name, size in sizes.items()))
