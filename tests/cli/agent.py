# SPDX-License-Identifier: Apache-2.0
"""usage: agent.py AGENT FOLDER

Is the launcher of an agent, by the frames of runtime/launch/wire.h, and at the
same time a stranger who reached the port that the agent holds for rank 0.  Prints
lines: what is looked at|what was found|what should be.
"""
import os
import socket
import struct
import subprocess
import sys

BEAT, HOLD, START, STOP, HELLO, HELD, STARTED, EXIT, DONE = \
    1, 3, 5, 7, 9, 11, 13, 15, 17


def number(n):
    return struct.pack("<I", n)


def text(s):
    return number(len(s)) + s


def frame(kind, *parts):
    body = b"".join(parts)
    return bytes([kind]) + number(len(body)) + body


def start(rank, *command):
    argv = [word.encode() for word in command]
    return frame(START, number(1000), number(1), number(rank), number(0),
                 text(b"/"), number(len(argv)), *map(text, argv), number(0))


class Link:
    def __init__(self, sock):
        self.sock, self.have = sock, b""
        sock.settimeout(15)

    def frame(self, *wanted):
        """The next frame of these kinds; others are passed over."""
        while True:
            while len(self.have) < 5 or \
                    len(self.have) < 5 + struct.unpack("<I", self.have[1:5])[0]:
                block = self.sock.recv(65536)
                if not block:
                    raise EOFError("the agent has gone")
                self.have += block
            n = 5 + struct.unpack("<I", self.have[1:5])[0]
            kind, body, self.have = self.have[0], self.have[5:n], self.have[n:]
            if kind in wanted:
                return kind, body


def listening(pid):
    """Sockets of the process that listen."""
    inodes = set()
    for name in ("tcp", "tcp6"):
        with open("/proc/net/" + name) as table:
            inodes |= {row.split()[9] for row in table
                       if row.split()[3] == "0A"}
    found = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            target = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError:
            continue
        found += target.startswith("socket:[") and target[8:-1] in inodes
    return found


def say(what, got, want):
    print("%s|%s|%s" % (what, got, want))


def begin():
    """A new agent: our end of its link, what is said on it, the process."""
    ours, its = socket.socketpair()
    process = subprocess.Popen([agent], stdin=its, stdout=its)
    its.close()
    link = Link(ours)
    link.frame(HELLO)
    return ours, link, process


def hold(ours, link, asked):
    """Has the agent hold a port: its number, or 0, and the problem."""
    ours.sendall(frame(HOLD, text(b"127.0.0.1"), number(asked), text(token)))
    body = link.frame(HELD)[1]
    return struct.unpack("<I", body[:4])[0], body[8:].decode()


agent, folder = sys.argv[1:]
token = b"0123456789abcdef"
ours, link, process = begin()
say("an agent that holds no port listens on none", listening(process.pid), 0)
port, _ = hold(ours, link, 0)
with open("/proc/sys/net/ipv4/ip_local_port_range") as kernels:
    low = int(kernels.read().split()[0])
say("no connection gets that port from the kernel",
    29500 < port < low or low < 32768, True)
say("the port that it holds is the only one", listening(process.pid), 1)

stranger = socket.create_connection(("127.0.0.1", port), 10)
stranger.settimeout(2)
evil, good = os.path.join(folder, "evil"), os.path.join(folder, "good")
try:
    stranger.sendall(start(0, "touch", evil) + frame(STOP, number(0)))
    answer = b""
    while True:
        block = stranger.recv(65536)
        if not block:
            break
        answer += block
except OSError:
    pass                                  # it hung up, or says no more
say("a stranger is told no more than what tells the hosts apart",
    len(answer) <= len(token) + 8, True)
# It still does what its launcher says, so it did not obey STOP either.
ours.sendall(start(1, "touch", good))
kind, body = link.frame(EXIT)
say("its launcher starts a rank", struct.unpack("<II", body[:8]), (1, 0))
say("which ran", os.path.exists(good), True)
say("what the stranger wanted did not", os.path.exists(evil), False)
link.frame(DONE)
say("and the agent ends", process.wait(15), 0)

# From the agent's letting go to rank 0's bind, the port is nobody's: but no other
# agent of this host takes it.
ours, link, process = begin()
port, _ = hold(ours, link, 0)
ours.sendall(start(0, "sleep", "600"))
link.frame(STARTED)
say("with rank 0 started the agent holds no port", listening(process.pid), 0)
other, its, second = begin()
taken, problem = hold(other, its, port)
say("another agent does not get it", taken, 0)
say("and says why", problem, "port %d on 127.0.0.1: Address already in use"
    % port)
say("it gets another one", hold(other, its, 0)[0] not in (0, port), True)
ours.sendall(frame(STOP, number(0)))
link.frame(DONE)
process.wait(15)
say("and that one, once the run is over", hold(other, its, port)[0], port)
other.close()
second.wait(15)
