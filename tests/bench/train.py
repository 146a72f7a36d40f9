#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What data-parallel training costs, beside MPI itself and PyTorch.

usage: train.py BUILD-FOLDER [overhead] [poll] [reduce] [model]

overhead  one rank, a step of about 1 ms: what accel_backward and accel_step add
poll      what libaccel's threads take of a core beside a computation
reduce    all-reduce of two ranks on this host: libaccel, MPI's own two ways, and
          torch's gloo; the tenth part of the runs that took least
model     12.2M parameters on two "hosts" (network namespaces, 1 Gbit/s by tc
          tbf): how much of the exchange a step hides, here and with torch DDP;
          needs root
Run it on an idle machine.  One thread a rank.  The first line of each part is
libaccel's, the rest its peers' in the same run.
"""
import os
import socket
import subprocess
import sys
import time

LAYERS, C, V = 6, 384, 4096


def ranks(command, addr="127.0.0.1", inside=("", "")):
    """Runs a command as two ranks; rank 0's output."""
    with socket.socket() as s:
        s.bind(("", 0))
        port = s.getsockname()[1]
    running = []
    for rank in range(2):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0" if inside[0] else str(rank),
                   MASTER_ADDR=addr, MASTER_PORT=str(port), OPENBLAS_NUM_THREADS="1",
                   OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
        line = command
        if inside[rank]:
            env["GLOO_SOCKET_IFNAME"] = "eth0"
            # A host of its own for every library: name, memory, network.
            line = ["ip", "netns", "exec", inside[rank], "unshare", "-u", "-i", "-m", "sh", "-c",
                    'hostname "$0" && mount -t tmpfs none /dev/shm && exec "$@"', inside[rank]] + command
        running.append(subprocess.Popen(line, env=env, text=True,
                                        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL))
    out = running[0].communicate(timeout=900)[0]
    if any(p.wait() for p in running):
        sys.exit("%s failed" % command[0])
    return out


# ---- torch's side ------------------------------------------------------------


def start_gloo():
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    return torch, dist


def gloo_reduce():
    torch, dist = start_gloo()
    size = 1024
    while size <= 64 << 20:
        n = 501 if size <= 65536 else 101 if size <= 4 << 20 else 15
        x, took = torch.ones(size // 4), []
        for _ in range(n):
            t = time.perf_counter()
            dist.all_reduce(x)
            took.append(time.perf_counter() - t)
        if dist.get_rank() == 0:
            print("gloo\t%d\t%.2f" % (size, sorted(took)[n // 10] * 1e6), flush=True)
        size *= 4
    dist.barrier()
    dist.destroy_process_group()


def ddp_model(rows):
    torch, dist = start_gloo()

    class Net(torch.nn.Module):
        """The same matrices as train.c's."""

        def __init__(self):
            super().__init__()
            shapes = [(3 * C, C), (C, C), (4 * C, C), (C, 4 * C)] * LAYERS
            self.tied = torch.nn.Parameter(torch.randn(V, C) * 0.02)
            self.part = torch.nn.ModuleList(torch.nn.Linear(i, o, bias=False) for o, i in shapes)

        def forward(self, x):
            x = x + self.tied[:1]
            for k in range(0, len(self.part), 4):
                qkv, out, up, down = self.part[k:k + 4]
                x = x + out(qkv(x)[:, :C])
                x = x + down(torch.relu(up(x)))
            return x @ self.tied.t()

    net = Net()
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    x = torch.randn(rows, C)

    def steps(n, how):
        took = []
        for _ in range(n):
            dist.barrier()
            t = time.perf_counter()
            net.zero_grad()
            if how == "none":
                with ddp.no_sync():
                    ddp(x).mean().backward()
            else:
                ddp(x).mean().backward()
            dist.barrier()
            took.append(time.perf_counter() - t)
        return sorted(took)[n // 2]

    def alone(n):
        flat = torch.ones(sum(p.numel() for p in net.parameters()))
        took = []
        for _ in range(n):
            dist.barrier()
            t = time.perf_counter()
            dist.all_reduce(flat)
            took.append(time.perf_counter() - t)
        return sorted(took)[n // 2]

    steps(2, "ddp")
    overlapped, only, none = steps(9, "ddp"), alone(9), steps(9, "none")
    if dist.get_rank() == 0:
        print("torch DDP\tms a step: none %.0f, overlapped %.0f, exchange alone %.0f: hidden %.0f %%" %
              (none * 1e3, overlapped * 1e3, only * 1e3, 100 * (1 - (overlapped - none) / only)), flush=True)
    dist.barrier()
    dist.destroy_process_group()


# ---- parts ----------------------------------------------------------------------


def reduce(train):
    ours = [line.split()[1:] for line in ranks([train, "reduce"]).splitlines()]
    try:
        import torch  # noqa: F401
        lines = ranks([sys.executable, __file__, "--gloo-reduce"]).splitlines()
        gloo = {line.split()[1]: float(line.split()[2]) for line in lines}
    except ImportError:
        gloo = {}
    print("%10s %12s %12s %14s %12s   %s" % ("bytes", "libaccel us", "MPI_I+Test", "MPI_Allreduce", "torch gloo",
                                             "libaccel/MPI_I  gloo/libaccel"))
    for size, a, i, b in ours:
        g = gloo.get(size)
        print("%10s %12s %12s %14s %12s   %.2f  %s" % (size, a, i, b, g, float(a) / float(i),
                                                       "%.1f" % (g / float(a)) if g else ""))


def model(train):
    names = ["acb%d%s" % (os.getpid(), c) for c in "ab"]

    def sh(line):
        subprocess.run(line.split(), check=True)

    try:
        for name in names:
            sh("ip netns add " + name)
            sh("ip netns exec %s ip link set lo up" % name)
        sh("ip link add eth0 netns %s type veth peer name eth0 netns %s" % tuple(names))
        for k, name in enumerate(names):
            sh("ip netns exec %s ip addr add 10.213.7.%d/24 dev eth0" % (name, k + 1))
            sh("ip netns exec %s ip link set eth0 up" % name)
            sh("ip netns exec %s tc qdisc add dev eth0 root tbf rate 1gbit burst 128kb latency 50ms" % name)
        for name in names:      # the kernel says so a while after both are up
            for _ in range(100):
                state = subprocess.check_output(["ip", "netns", "exec", name, "cat",
                                                 "/sys/class/net/eth0/operstate"], text=True)
                if state.strip() == "up":
                    break
                time.sleep(0.1)
        rows = os.environ.get("ROWS", "1536")
        print(ranks([train, "model", "9", rows], "10.213.7.1", names), end="", flush=True)
        try:
            import torch  # noqa: F401
        except ImportError:
            return
        print(ranks([sys.executable, __file__, "--ddp-model", rows], "10.213.7.1", names), end="", flush=True)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    if sys.argv[1] == "--gloo-reduce":
        return gloo_reduce()
    if sys.argv[1] == "--ddp-model":
        return ddp_model(int(sys.argv[2]))
    train = os.path.abspath(os.path.join(sys.argv[1], "tests/bench/train"))
    for part in sys.argv[2:] or ["overhead", "poll", "reduce", "model"]:
        if part == "overhead":
            print(subprocess.check_output([train, "overhead"], text=True), end="")
        elif part == "poll":
            print(ranks([train, "poll"]), end="")
        elif part == "reduce":
            reduce(train)
        elif part == "model":
            model(train)
        else:
            sys.exit("train.py: no part %s" % part)


if __name__ == "__main__":
    main()
