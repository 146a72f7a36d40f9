# SPDX-License-Identifier: Apache-2.0
"""Deals samples as Accelerate does, and compares with what libaccel deals.

    loaders.py shards DEAL SEED         its samplers, for many random cases
    loaders.py ranks OUT SEED           under a launcher: its prepared loaders
    loaders.py compare DEAL OUT         what "ranks" wrote
"""
import json
import random
import subprocess
import sys


def ours(deal, cases):
    lines = "".join(
        f"{n} {batch} {world} {''.join(sorted(flags)) or '-'} {seed} {epoch} {skip}\n"
        for n, batch, world, flags, seed, epoch, skip in cases)
    out = subprocess.run([deal], input=lines, capture_output=True, text=True, timeout=300)
    if out.returncode or out.stderr:
        sys.exit(out.stderr or f"{deal}: exit code {out.returncode}")
    return [json.loads(line) for line in out.stdout.splitlines()]


def report(cases, got, want, what):
    assert len(got) == len(want) == len(cases) > 0
    for case, g, w in zip(cases, got, want):
        if g != w:
            sys.exit(f"{what} {case}:\n  libaccel   {g}\n  Accelerate {w}")
    print(f"{len(cases)} {what}")


def random_case(rng, kinds, worlds):
    world = rng.choice(worlds)
    flags = {c for c in kinds if rng.random() < 0.5}
    batch = rng.randint(1, 6)
    if "p" in flags:
        batch *= world
    return rng.randint(1, 60), batch, world, flags


def shards(deal, seed):
    import torch
    from accelerate.data_loader import (BatchSamplerShard, IterableDatasetShard,
                                        SeedableRandomSampler, SkipBatchSampler)
    from torch.utils.data import BatchSampler, IterableDataset, SequentialSampler

    class Stream(IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

    rng = random.Random(seed)
    cases, want = [], []
    for _ in range(2000):
        n, batch, world, flags = random_case(rng, "hpudt", [1, 2, 3, 4, 5, 8])
        key, epoch, skip = rng.randrange(2**33), rng.randrange(4), rng.randrange(4)
        per_rank = []
        for rank in range(world):
            sampler = SequentialSampler(range(n))
            if "h" in flags:
                sampler = SeedableRandomSampler(range(n), data_seed=key)
                sampler.set_epoch(epoch)
            shard = BatchSamplerShard(
                BatchSampler(sampler, batch, "d" in flags), world, rank,
                split_batches="p" in flags, even_batches="u" not in flags)
            per_rank.append([b for b in SkipBatchSampler(shard, skip)])
        cases.append((n, batch, world, flags, key, epoch, skip))
        want.append(per_rank)
    report(cases, ours(deal, cases), want, "cases of BatchSamplerShard")

    cases, want = [], []
    for _ in range(500):
        n, batch, world, flags = random_case(rng, "pdt", [1, 2, 3, 4, 5, 8])
        rows = batch // world if "p" in flags else batch
        per_rank = []
        for rank in range(world):
            one = list(IterableDatasetShard(Stream(n), batch, "d" in flags, world, rank,
                                            "p" in flags))
            per_rank.append([one[i:i + rows] for i in range(0, len(one), rows)])
        cases.append((n, batch, world, flags | {"i"}, 0, 0, 0))
        want.append(per_rank)
    report(cases, ours(deal, cases), want, "cases of IterableDatasetShard")

    cases, want = [], []
    for n in [1, 2, 623, 624, 625, 100_000]:
        for key in [0, 1, 2**32 - 1, 2**40 + 7, rng.randrange(2**63)]:
            g = torch.Generator()
            g.manual_seed(key)
            cases.append((n, n, 1, {"h"}, key, 0, 0))
            want.append([[torch.randperm(n, generator=g).tolist()]])
    report(cases, ours(deal, cases), want, "permutations of torch.randperm")


def ranks(path, seed):
    from accelerate import Accelerator
    from accelerate.state import GradientState
    from accelerate.utils import DataLoaderConfiguration, gather_object
    from torch.utils.data import DataLoader, IterableDataset

    class Stream(IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

    rng = random.Random(seed)
    accelerator = Accelerator()
    world = accelerator.num_processes
    out = []
    for _ in range(60):
        n, batch, _, flags = random_case(rng, "pdib", [world])
        # Its dispatcher leaves ranks empty below, and fails without a batch.
        n = max(n, world)
        total = batch if "p" in flags else batch * world
        if "d" in flags:
            n = max(n, total)
        accelerator.dataloader_config = DataLoaderConfiguration(
            dispatch_batches="b" in flags, split_batches="p" in flags)
        data = Stream(n) if "i" in flags else list(range(n))
        loader = accelerator.prepare(DataLoader(data, batch, drop_last="d" in flags))
        state = GradientState()
        local, ends, metrics = [], [], []
        for rows in loader:
            local.append(rows.tolist())
            ends.append(state.end_of_dataloader)
            metrics.append(accelerator.gather_for_metrics(rows).tolist())
        assert ends == [False] * (len(ends) - 1) + [True]
        if "i" not in flags and "d" not in flags:
            assert sum(metrics, []) == list(range(n)), (n, batch, flags, metrics)
        per_rank = gather_object([local])
        out.append(((n, batch, world, sorted(flags), 0, 0, 0), per_rank))
    if accelerator.is_main_process:
        with open(path, "w") as file:
            json.dump(out, file)
    accelerator.end_training()


def compare(deal, path):
    with open(path) as file:
        both = json.load(file)
    cases = [(*case[:3], set(case[3]), *case[4:]) for case, _ in both]
    report(cases, ours(deal, cases), [want for _, want in both],
           f"prepared loaders on {cases[0][2]} ranks")


{"shards": lambda a, b: shards(a, int(b)), "ranks": lambda a, b: ranks(a, int(b)),
 "compare": compare}[sys.argv[1]](*sys.argv[2:])
