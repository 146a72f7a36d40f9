# SPDX-License-Identifier: Apache-2.0
"""Bytes that two ranks keep of a model, for each parameter: run by a launcher.

Rank 0 prints a line for DDP and one for FSDP 2 in mixed precision: parameters,
gradients, optimizer, and DDP's buckets.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group("gloo")
lines = []


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def size(tensors):
    return sum(local(t).numel() * local(t).element_size() for t in tensors)


for kind in ("ddp", "fsdp"):
    model = nn.Sequential(*(nn.Linear(256, 256, bias=False) for _ in range(4)))
    count = sum(p.numel() for p in model.parameters())
    if kind == "fsdp":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
        for layer in model:
            fully_shard(layer, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
        run = model
    else:
        run = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        run(torch.randn(8, 256)).float().sum().backward()
        optimizer.step()
    buckets = 0
    if kind == "ddp":
        # as views, a gradient would be a part of its bucket's storage
        apart = all(p.grad.untyped_storage().nbytes() == size([p.grad]) for p in model.parameters())
        data = run._get_ddp_logging_data()
        sizes = data.get("rebuilt_bucket_sizes") or data["bucket_sizes"]
        buckets = apart * sum(int(n) for n in str(sizes).split(","))
    kept = [t for s in optimizer.state.values() for t in s.values() if torch.is_tensor(t) and t.dim()]
    lines.append("%s %g %g %g %g" % (kind, size(model.parameters()) / count,
                                     size([p.grad for p in model.parameters()]) / count,
                                     size(kept) / count, buckets / count))
if dist.get_rank() == 0:
    print("\n".join(lines))
dist.destroy_process_group()
