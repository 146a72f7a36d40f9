# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as PyTorch writes them, and what they hold.

    weights.py save FOLDER [RANKS]	one of torch.distributed.checkpoint
    weights.py hf FOLDER [RANKS]	one of its HuggingFaceStorageWriter
    weights.py fsdp FOLDER [RANKS]	model and optimizer of an FSDP2 model
    weights.py far FROM TO		the same, its data beyond 4 GiB
    weights.py same FILE...		compares each with the tensors of "save"

tests/data/dcp and tests/data/dcp.safetensors are from "save" with 2 ranks and
from safetensors.torch.save_file(tensors(), ..., metadata={"format": "pt"}).
"""
import json
import os
import pathlib
import pickle
import shutil
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

# How each tensor is cut: a dimension, two over a 2 x 2 mesh, or not at all.
CUT = {"rows.f32": 0, "rows.bf16": 0, "rows.f16": 0, "columns.f64": 1,
       "columns.u8": 1, "middle.i16": 1, "few.i32": 0, "both.f32": (0, 1),
       "f8": 0}


def tensors():
    g = torch.Generator().manual_seed(1)

    def random(*shape):
        return torch.randn(*shape, generator=g)
    return {
        "rows.f32": random(7, 5),
        "rows.bf16": random(33, 3).bfloat16(),
        "rows.f16": random(16).half(),
        "columns.f64": random(4, 5).double(),
        "columns.u8": torch.arange(12, dtype=torch.uint8).reshape(3, 4),
        "middle.i16": torch.arange(30, dtype=torch.int16).reshape(2, 5, 3),
        "few.i32": torch.tensor([7], dtype=torch.int32),
        "both.f32": random(6, 6),
        "whole.i64": torch.arange(-5, 5),
        "whole.bool": torch.tensor([True, False, True]),
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 4),
        "transposed": random(3, 4).t(),
        "i8": torch.tensor([-128, 127], dtype=torch.int8),
        "f8": random(8, 2).to(torch.float8_e4m3fn),
        "f8.range": random(3).to(torch.float8_e5m2),
        "u16": torch.tensor([1, 65535]).to(torch.uint16),
        "complex": torch.complex(random(2), random(2)),
    }


def ranks(rank, world, what, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK=str(rank),
                      WORLD_SIZE=str(world))
    dist.init_process_group("gloo", init_method="file://" + folder + ".store",
                            rank=rank, world_size=world)
    if what == "fsdp":
        save_fsdp(folder, world)
    else:
        save(what, folder, world)
    dist.destroy_process_group()


def save(what, folder, world):
    mesh = init_device_mesh("cpu", (world,))
    square = init_device_mesh("cpu", (2, 2)) if world == 4 else None
    state = {}
    for name, tensor in tensors().items():
        cut = CUT.get(name)
        if isinstance(cut, tuple):
            state[name] = distribute_tensor(
                tensor, square or mesh,
                [Shard(d) for d in (cut if square else cut[:1])],
                src_data_rank=None)
        elif cut is not None:
            state[name] = distribute_tensor(tensor, mesh, [Shard(cut)],
                                            src_data_rank=None)
        else:
            state[name] = tensor
    if what == "hf":
        # It has no names for these types.
        for name in ("f8", "f8.range", "u16", "complex", "transposed"):
            del state[name]
        writer = dcp.HuggingFaceStorageWriter(folder, save_distributed=True)
        dcp.save(state, storage_writer=writer)
    else:
        dcp.save({"model": state}, checkpoint_id=folder)


def save_fsdp(folder, world):
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(9, 7), torch.nn.ReLU(),
                                torch.nn.Linear(7, 3)).bfloat16()
    for layer in model:
        fully_shard(layer, mesh=init_device_mesh("cpu", (world,)))
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 9).bfloat16()).sum().backward()
    optimizer.step()
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state}, checkpoint_id=folder + "/pytorch_model_fsdp_0")
    dcp.save({"optimizer": optimizer_state}, checkpoint_id=folder + "/optimizer_0")


def far(source, target, gap=5 << 30):
    """Moves what the files hold behind a hole."""
    shutil.copytree(source, target)
    for path in pathlib.Path(target).glob("*.distcp"):
        data = path.read_bytes()
        with open(path, "wb") as file:
            file.seek(gap)
            file.write(data)
    path = pathlib.Path(target, ".metadata")
    metadata = pickle.loads(path.read_bytes())
    for info in metadata.storage_data.values():
        info.offset += gap
    path.write_bytes(pickle.dumps(metadata))


def load(path):
    from safetensors.torch import load_file

    if path.endswith(".index.json"):
        found = {}
        where = json.load(open(path))["weight_map"]
        for name in sorted(set(where.values())):
            part = load(os.path.join(os.path.dirname(path), name))
            assert set(part) == {k for k in where if where[k] == name}
            found.update(part)
        return found
    if path.endswith(".bin"):
        return torch.load(path, weights_only=True)
    return load_file(path)


def compare(got, want):
    assert sorted(got) == sorted(want), (sorted(got), sorted(want))
    for name, tensor in want.items():
        other = got[name]
        assert other.dtype == tensor.dtype and other.shape == tensor.shape, name
        assert other.contiguous().view(-1).view(torch.uint8).equal(
            tensor.contiguous().view(-1).view(torch.uint8)), name
    return len(want)


if __name__ == "__main__":
    what, folder = sys.argv[1:3]
    if what == "far":
        far(folder, sys.argv[3])
    elif what == "same":
        want = tensors()
        for path in sys.argv[2:]:
            got = load(path)
            print(path, compare(got, {k: want[k] for k in want if k in got or
                                      not path.startswith("hf")}))
    else:
        world = int(sys.argv[3]) if len(sys.argv) > 3 else 2
        folder = os.path.abspath(folder)
        pathlib.Path(folder + ".store").unlink(missing_ok=True)
        mp.spawn(ranks, args=(world, what, folder), nprocs=world)
