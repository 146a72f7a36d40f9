#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One command on many hosts: accel against pdsh, clush, Hydra and Open MPI.

usage: tests/bench/hosts.py BUILD-FOLDER [HOSTS...]

The hosts are addresses of the loopback interface, each with a real sshd and a
home folder of its own, that this starts and ends; as root alone.  "cold" has the
agent to copy to every host; the other runs find it there.  Runs are interleaved;
what counts is the ratio of the medians.  All sshds share this machine's cores
with what is measured, and most of the time is theirs: "CPU" is what the launcher
and the processes that it starts here took, which is what a cluster of real hosts
leaves to wait for.  "sshd" is the CPU that the sshds took, by a cgroup, where
there is one: with it shared by all cores nobody can be faster here ("floor").
Peers that are not installed are left out.
"""
import os
import pwd
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3


def addresses(n):
    return ["127.77.%d.%d" % (i // 200, i % 200 + 1) for i in range(n)]


class Meter:
    """CPU seconds of what is started in a cgroup of version 1 or 2; or None."""

    def __init__(self):
        self.folder = None
        for above, self.file in (("/sys/fs/cgroup/cpuacct", "cpuacct.usage"),
                                 ("/sys/fs/cgroup", "cpu.stat")):
            folder = "%s/accel-bench-%d" % (above, os.getpid())
            try:
                os.mkdir(folder)
            except OSError:
                continue
            if os.path.exists(os.path.join(folder, self.file)):
                self.folder = folder
                return
            os.rmdir(folder)

    def take_in(self, pid):
        if self.folder:
            with open(os.path.join(self.folder, "cgroup.procs"), "w") as procs:
                procs.write(str(pid))

    def seconds(self):
        if not self.folder:
            return 0
        with open(os.path.join(self.folder, self.file)) as usage:
            words = usage.read().split()
        if words[0] == "usage_usec":
            return int(words[1]) / 1e6
        return int(words[0]) / 1e9

    def end(self):
        for _ in range(50 if self.folder else 0):
            try:
                os.rmdir(self.folder)
                return
            except OSError:             # the last ones are on their way out
                time.sleep(0.1)


def run(command, env, meter):
    sshd = meter.seconds()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, text=True)
    taken = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print("# %s: exit code %d\n%s" % (command[0], done.returncode,
                                          done.stdout[-600:]))
        return None
    return (taken, after.ru_utime - before.ru_utime +
            after.ru_stime - before.ru_stime, meter.seconds() - sshd)


class Hosts:
    """Real sshds on loopback addresses, with a home folder of their own."""

    def __init__(self, folder, n):
        self.folder, self.daemons, self.meter = folder, [], Meter()
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
        for address in addresses(n):
            self.start(address)

    def start(self, address):
        path = os.path.join(self.folder, "sshd-" + address)
        home = os.path.join(self.home, address)
        os.mkdir(home)
        with open(path, "w") as config:
            config.write("ListenAddress %s\n" % address)
            config.write("Port 22\nHostKey %s/host\nPidFile none\nUsePAM no\n"
                         "StrictModes no\nAuthorizedKeysFile %s/authorized\n"
                         "Subsystem sftp internal-sftp\n"
                         % (self.folder, self.folder))
        os.makedirs("/run/sshd", exist_ok=True)
        self.daemons.append(subprocess.Popen(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && '
             'exec /usr/sbin/sshd -D -e -f "$3"', "sh", home,
             pwd.getpwuid(0).pw_dir, path], stderr=subprocess.DEVNULL))
        self.meter.take_in(self.daemons[-1].pid)

    def await_all(self, names):
        for name in names:
            for _ in range(100):
                try:
                    socket.create_connection((name, 22)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.1)

    def forget_agent(self):
        for home in os.listdir(self.home):
            shutil.rmtree(os.path.join(self.home, home, ".cache"),
                          ignore_errors=True)

    def end(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
        self.meter.end()


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
    if shutil.which("mpirun.openmpi"):
        # It leaves the loopback interface out, and there is no other here.
        found["Open MPI"] = ["mpirun.openmpi", "--allow-run-as-root", "--mca",
                             "plm_rsh_agent", ssh, "--mca",
                             "plm_rsh_num_concurrent", "128", "--mca",
                             "oob_tcp_if_include", "lo", "-host", listed, "-n",
                             str(len(names)), "true"]
    return found


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        sys.exit(__doc__)
    counts = [int(n) for n in sys.argv[2:]] or [1, 8, 64, 128]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        hosts = Hosts(folder, max(counts))
        env = dict(os.environ, PDSH_SSH_ARGS_APPEND="-F " + hosts.config)
        try:
            hosts.await_all(addresses(max(counts)))
            print("%5s %-12s %8s %8s %8s %8s %8s %8s" % (
                "hosts", "", "median s", "ratio", "CPU s", "ratio", "sshd s",
                "floor s"))
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
        times["accel, cold"].append(run(commands["accel"], env, hosts.meter))
        for name, command in commands.items():
            times[name].append(run(command, env, hosts.meter))
    middle = {name: [statistics.median(figure) for figure in zip(*taken)]
              for name, taken in times.items() if None not in taken}
    ours = middle.get("accel", [1e9, 1e9])
    for name, (seconds, cpu, sshd) in sorted(middle.items()):
        print("%5d %-12s %8.2f %8.1f %8.2f %8.1f %8.2f %8.2f" % (
            len(names), name, seconds, seconds / ours[0], cpu, cpu / ours[1],
            sshd, sshd / os.cpu_count()))


main()
