# SPDX-License-Identifier: Apache-2.0
"""Is what PowerSGD makes of gradients what torch's powerSGD_hook makes of them?

powersgd.py DIR RANK START KIND, on two ranks, behind tests/train/powersgd of the
same arguments, whose output is DIR/buckets.  Both begin with one Q: torch's is
set to that in libaccel's checkpoint.  Prints the greatest difference of any
tensor in any step, by the root mean square of its gradients.
"""
import sys

import torch
import torch.distributed as dist
from safetensors.numpy import load_file
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.nn.parallel import DistributedDataParallel

STEPS = 10
SHAPES = {
    "in": (24, 20), "in.bias": (24,), "conv": (12, 6, 3, 2), "tiny": (3, 3),
    "same": (24, 20), "tall": (60, 16), "low": (10, 12), "out": (40, 33),
    "out.bias": (37,),
}
folder, approximation, start, kind = sys.argv[1:]
approximation, start = int(approximation), int(start)


def gradient(step, rank, index, shape):
    """As in tests/train/powersgd.c."""
    x = (1000 * step + 100 * rank + index) * 2654435761 + 12345 & 0xffffffff
    out = []
    for _ in range(torch.Size(shape).numel()):
        x = (x * 1664525 + 1013904223) & 0xffffffff
        out.append(((x >> 8) - (1 << 23)) / (1 << 23))
    g = torch.tensor(out, dtype=torch.float32).reshape(shape)
    return {"f32": g, "tiny": g * 2.0 ** -60}.get(
        kind, g.to(torch.bfloat16).float())


def matrix(shape):
    return shape[0], torch.Size(shape).numel() // shape[0]


def is_low(shape):
    return power._should_compress(*matrix(shape), min(
        *matrix(shape), approximation), 2)[0]


def first_q():
    """The Q of each tensor, columns side by side, out of the checkpoint: of each
    bucket Q by columns, the error of all its tensors, and where random stands."""
    saved = torch.tensor(load_file(f"{folder}/state/ranks.safetensors")
                         ["0/accel.powersgd"]).view(torch.uint8)
    out, at = {}, 0
    for names in map(str.split, open(f"{folder}/buckets")):
        for name in filter(lambda n: is_low(SHAPES[n]), names):
            n = matrix(SHAPES[name])[1] * approximation
            out[name] = saved[at:at + 4 * n].clone().view(torch.float32).view(
                approximation, -1).T.contiguous()
            at += 4 * n
        at += 4 * sum(torch.Size(SHAPES[n]).numel() for n in names) + 8
    assert at == len(saved), (at, len(saved))
    return out


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.ParameterList(
            torch.zeros(shape) for shape in SHAPES.values())

    def forward(self, step, rank):
        return sum((w * gradient(step, rank, i, w.shape)).sum()
                   for i, w in enumerate(self.w))


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
net = Model()
name_of = {id(w): name for w, name in zip(net.w, SHAPES)}
q = first_q()
buckets = set()


def hook(state, bucket):
    index = bucket.index()
    if state.iter >= start and index not in state.q_memory_dict:
        # In the hook's order: by shape, as each is first met.
        shapes = {}
        for w in bucket.parameters():
            if name_of[id(w)] in q:
                shapes.setdefault(matrix(w.shape), []).append(
                    q[name_of[id(w)]].flatten())
        parts = [part for parts in shapes.values() for part in parts]
        state.q_memory_dict[index] = torch.cat(parts or [torch.zeros(0)])
        state.p_memory_dict[index] = torch.zeros(
            sum(n * len(parts) for (n, _), parts in shapes.items())
            * approximation)
        buckets.add(index)
    # Bucket by bucket: with gloo torch's own order of exchanges is a race, as
    # those behind the first begin in callbacks.
    future = power.powerSGD_hook(state, bucket)
    future.wait()
    return future


ddp = DistributedDataParallel(net, bucket_cap_mb=0.004)
ddp.register_comm_hook(power.PowerSGDState(
    None, matrix_approximation_rank=approximation, start_powerSGD_iter=start),
    hook)
ours = torch.frombuffer(bytearray(open(f"{folder}/ours", "rb").read()),
                        dtype=torch.float32).split(
    [torch.Size(s).numel() for s in SHAPES.values()] * STEPS)
worst, lossy = 0, 0
for step in range(STEPS):
    ddp.zero_grad()
    ddp(step, rank).backward()
    for i, (name, shape) in enumerate(SHAPES.items()):
        got = ours[step * len(SHAPES) + i].view(shape)
        mean = sum(gradient(step, r, i, shape) for r in range(world)) / world
        rms = mean.square().mean().sqrt()
        if kind == "own" and step < start:
            continue            # sums of 16 bits
        worst = max(worst, float((got - net.w[i].grad).abs().max() / rms))
        # What is sent as two thin matrices is far from the mean, all else not.
        far = float((got - mean).square().mean().sqrt() / rms) > 0.1
        assert far == (step >= start and name in q), (step, name)
        lossy += far
assert len(buckets) > 2 and lossy == len(q) * (STEPS - start), (buckets, lossy)
if rank == 0:
    print("%d tensors compressed, off by %.1e" % (len(q), worst))
dist.destroy_process_group()
sys.exit(not worst < float("1e-4"))
