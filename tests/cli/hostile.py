#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that means harm: it takes the launcher's frames and answers with
ranks, streams, lengths and texts that are not its own to give.

$HOSTILE says how it ends: "done", "garbage" or "huge"; $WIRE_H is wire.h, which
has the numbers of frames.
"""
import os
import re
import struct
import sys

text = open(os.environ["WIRE_H"]).read()
enum = re.search(r"enum wire_type \{(.*?)\};", text, re.S).group(1)
enum = re.sub(r"/\*.*?\*/", "", enum, flags=re.S)
names = re.findall(r"\b(WIRE_[A-Z]+)\b", enum)
number = {name[5:].lower(): i + 1 for i, name in enumerate(names)}
version = int(re.search(r"WIRE_VERSION = (\d+)", text).group(1))
evil = b"\x1b]0;owned\x07\x1b[2J../../../../etc/passwd\n\r\xff"


def u32(n):
    return struct.pack("<I", n)


def string(data):
    return u32(len(data)) + data


def say(name, *parts):
    data = b"".join(parts)
    os.write(1, bytes([number[name]]) + u32(len(data)) + data)


def hear():
    head = b""
    while len(head) < 5:
        got = os.read(0, 5 - len(head))
        if not got:
            sys.exit(0)
        head += got
    left, data = struct.unpack("<I", head[1:])[0], b""
    while len(data) < left:
        data += os.read(0, left - len(data))
    return [k for k, v in number.items() if v == head[0]][0]


how = os.environ["HOSTILE"]
say("hello", u32(version), string(evil), string(evil))
started = 0
while True:
    frame = hear()
    if frame == "check":
        if how == "problem":
            say("checked", u32(1), u32(1), string(evil), string(evil), u32(0))
        else:
            say("checked", u32(0), u32(1), string(b"uid=" + evil))
    elif frame == "hold":
        say("held", u32(4242), string(b""))
    elif frame == "start":
        started += 1
        if started < 2:
            continue
        for rank in (0, 1, 2, 99, 2**31, 2**32 - 1):
            say("started", u32(rank), u32(1))
            for stream in (0, 1, 2, 3, 2**32 - 1):
                say("out", u32(rank), u32(stream), string(evil))
                say("out", u32(rank), u32(stream), u32(2**32 - 1) + b"short")
            say("pmi", u32(rank), string(b"cmd=put kvsname=" + evil + b"\n"))
            say("input", u32(rank))
        say("held", u32(0), string(evil))
        say("probed", u32(2**32 - 1), string(evil))
        say("signal", u32(9))
        if how == "garbage":
            os.write(1, b"\xff" * 4096)
        elif how == "huge":
            os.write(1, bytes([number["out"]]) + u32(2**32 - 1) + b"x" * 65536)
        else:
            say("exit", u32(1), u32(3 << 8), string(evil))
            say("exit", u32(1), u32(4 << 8), string(evil))
            say("exit", u32(0), u32(0), string(b""))
            say("done")
    elif frame == "stop" and how != "done":
        sys.exit(0)
