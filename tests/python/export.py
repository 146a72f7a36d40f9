# SPDX-License-Identifier: Apache-2.0
"""The Python side of export.t: a rank, and Accelerate's view of our files."""
import json
import os
import sys


def rank(words):
    """Write what this rank sees, but for what differs from run to run."""
    from accelerate import Accelerator

    a = Accelerator()
    names = ("ACCELERATE_", "FSDP_", "OMP_", "KMP_", "RANK", "WORLD_SIZE",
             "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    seen = {k: v for k, v in os.environ.items() if k.startswith(names)}
    seen["state"] = [str(a.distributed_type), a.num_processes,
                     a.process_index, a.local_process_index,
                     a.mixed_precision]
    seen["words"] = words
    a.wait_for_everyone()
    assert a.num_processes == 2
    path = os.path.join(os.environ["FOLDER"], str(a.process_index))
    with open(path, "w") as f:
        json.dump(seen, f, indent=1, sort_keys=True)


def read(paths):
    """Load as "accelerate launch" would, up to the start of processes."""
    from accelerate.commands import launch
    from accelerate.commands.config.config_args import load_config_from_file

    parser = launch.launch_command_parser()
    for path in paths:
        try:
            config = load_config_from_file(path)
            args = parser.parse_args(["--config_file", path, "train.py"])
            args = launch._validate_launch_command(args)[0]
            for name in "num_processes", "num_machines", "mixed_precision":
                assert getattr(args, name) == getattr(config, name), name
            assert args.num_processes > 0
            print(f"{path}: taken")
        except Exception as e:
            print(f"{path}: {type(e).__name__}: {e}")


def deepspeed(path, precision, plain=False):
    """Compare with what Accelerate's plugin makes of the same values."""
    from accelerate import DeepSpeedPlugin

    if plain:
        plugin = DeepSpeedPlugin(zero_stage=2)
    else:
        plugin = DeepSpeedPlugin(
            zero_stage=3, offload_optimizer_device="cpu",
            offload_param_device="nvme", offload_param_nvme_path="/nvme",
            gradient_accumulation_steps=4, gradient_clipping=0.5,
            zero3_save_16bit_model=True)
    plugin.set_mixed_precision(precision)
    theirs = plugin.deepspeed_config
    del theirs["steps_per_print"]       # infinity, which JSON has not
    for part in theirs["zero_optimization"].values():
        if isinstance(part, dict) and part.get("nvme_path") is None:
            part.pop("nvme_path", None)
    with open(path) as f:
        ours = json.load(f)
    assert ours == theirs, f"\nours   {ours}\ntheirs {theirs}"


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "rank":
        rank(rest)
    elif what == "read":
        read(rest)
    else:
        deepspeed(*rest)
