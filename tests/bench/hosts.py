#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One command on many hosts: accel against pdsh, clush and Hydra.

usage: tests/bench/hosts.py BUILD-FOLDER [HOSTS...]

The hosts are addresses of the loopback interface, with real sshds (16 addresses
each) that this starts and ends; as root alone.  "cold" is the first run, with
the agent to copy to a home folder that has none (all hosts share it here, so it
is one copy); "warm" has it there.  Runs are interleaved; what counts is the
ratio of the medians.  Peers that are not installed are left out.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3


def addresses(n):
    return ["127.77.%d.%d" % (i // 200, i % 200 + 1) for i in range(n)]


def run(command, env):
    begun = time.perf_counter()
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, text=True)
    taken = time.perf_counter() - begun
    if done.returncode:
        print("# %s: exit code %d\n%s" % (command[0], done.returncode,
                                          done.stdout[-600:]))
        return None
    return taken


class Hosts:
    """Real sshds on loopback addresses, with a home folder of their own."""

    def __init__(self, folder, n):
        self.folder, self.daemons = folder, []
        self.config = os.path.join(folder, "config")
        self.home = os.path.join(folder, "home")
        os.mkdir(self.home)
        for name in ("key", "host"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                            "-f", os.path.join(folder, name)], check=True)
        shutil.copy(os.path.join(folder, "key.pub"),
                    os.path.join(folder, "authorized"))
        with open(os.path.join(folder, "host.pub")) as public, \
                open(os.path.join(folder, "known"), "w") as known:
            key = public.read()
            for address in addresses(n):
                known.write("%s %s" % (address, key))
        with open(self.config, "w") as config:
            config.write("Host *\n IdentityFile %s/key\n IdentitiesOnly yes\n"
                         " UserKnownHostsFile %s/known\n BatchMode yes\n"
                         % (folder, folder))
        for first in range(0, n, 16):
            self.start(first, addresses(n)[first:first + 16])

    def start(self, number, listen):
        path = os.path.join(self.folder, "sshd%d" % number)
        with open(path, "w") as config:
            config.write("".join("ListenAddress %s\n" % a for a in listen))
            config.write("Port 22\nHostKey %s/host\nPidFile none\nUsePAM no\n"
                         "StrictModes no\nAuthorizedKeysFile %s/authorized\n"
                         "MaxStartups 500:30:1000\nSetEnv HOME=%s "
                         "XDG_CACHE_HOME=%s/cache\n"
                         "Subsystem sftp internal-sftp\n"
                         % (self.folder, self.folder, self.home, self.home))
        os.makedirs("/run/sshd", exist_ok=True)
        self.daemons.append(subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-e", "-f", path],
            stderr=subprocess.DEVNULL))

    def forget_agent(self):
        shutil.rmtree(os.path.join(self.home, "cache"), ignore_errors=True)

    def end(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()


def peers(hosts, names, build):
    listed = ",".join(names)
    ssh = os.path.join(hosts.folder, "ssh")
    with open(ssh, "w") as script:
        script.write('#!/bin/sh\nexec /usr/bin/ssh -F %s "$@"\n' % hosts.config)
    os.chmod(ssh, 0o700)
    found = {"accel": [os.path.join(build, "accel"), "run", "--ssh_config",
                       hosts.config, "--hosts", listed, "true"]}
    if shutil.which("pdsh"):
        found["pdsh"] = ["pdsh", "-R", "ssh", "-f", "128", "-S", "-w", listed,
                         "true"]
    if shutil.which("clush"):
        found["clush"] = ["clush", "-S", "-f", "128", "-o", "-F " + hosts.config,
                          "-w", listed, "true"]
    if shutil.which("mpiexec.hydra"):
        found["hydra"] = ["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec",
                          ssh, "-hosts", listed, "-n", str(len(names)), "true"]
    return found


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        sys.exit(__doc__)
    counts = [int(n) for n in sys.argv[2:]] or [1, 8, 64, 128]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        hosts = Hosts(folder, max(counts))
        env = dict(os.environ, PDSH_SSH_ARGS_APPEND="-F " + hosts.config)
        try:
            print("%5s %-8s %12s %8s" % ("hosts", "", "median s", "ratio"))
            for n in counts:
                table(hosts, addresses(n), os.path.abspath(sys.argv[1]), env)
        finally:
            hosts.end()


def table(hosts, names, build, env):
    commands = peers(hosts, names, build)
    times = {name: [] for name in commands}
    times["accel, cold"] = []
    for _ in range(ROUNDS):
        hosts.forget_agent()
        times["accel, cold"].append(run(commands["accel"], env))
        for name, command in commands.items():
            times[name].append(run(command, env))
    middle = {name: statistics.median(taken) for name, taken in times.items()
              if None not in taken}
    for name, seconds in sorted(middle.items()):
        print("%5d %-12s %8.2f %8.1f" % (
            len(names), name, seconds, seconds / middle.get("accel", 1e9)))


main()
