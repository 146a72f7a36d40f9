# SPDX-License-Identifier: Apache-2.0
"""Prints launch_env_ours.tsv: where we differ from Accelerate on purpose.

    python3 launch_env_ours.py RECORD... >launch_env_ours.tsv

Worked out from the files and flags of the records, and not by our program, which
is what tests/unit/launch_env.c compares with it.  A file of Accelerate's own is
looked for beside its record, under its name with "/" as "_".
"""
import json
import os
import sys

import yaml

DYNAMO = (("MODE", "dynamo_mode", "default"),
          ("USE_FULLGRAPH", "dynamo_use_fullgraph", False),
          ("USE_DYNAMIC", "dynamo_use_dynamic", False),
          ("USE_REGIONAL_COMPILATION", "dynamo_use_regional_compilation", False))


def flags_of(words):
    flags = {}
    for word in words:
        if word.startswith("--"):
            name = word[2:]
            flags[name] = True
        else:
            flags[name] = word
    return flags


def differences(row, config):
    flags = flags_of(row["flags"])
    fp8 = config.get("fp8_config") or {}
    fsdp = config.get("fsdp_config") or {}
    deepspeed = config.get("deepspeed_config") or {}
    dynamo = config.get("dynamo_config") or {}
    mode = row.get("mode")
    if config.get("compute_environment") == "AMAZON_SAGEMAKER":
        yield "-", "refused", "taken", 6
    elif "num_processes" in row.get("error", ""):
        yield "-", "refused", "taken", 23
    if not mode:
        return
    if config.get("mixed_precision") == "fp12":
        yield "-", "taken", "refused", 22
        return
    if mode == "tpu":
        if config.get("downcast_bf16") in ("yes", True):
            yield "ACCELERATE_DOWNCAST_BF16", "-", "1", 1
        return
    if config.get("enable_cpu_affinity") and "enable_cpu_affinity" not in flags:
        yield "ACCELERATE_CPU_AFFINITY", "-", "1", 1
    if mode == "fsdp" and "fsdp_sharding_strategy" not in {**fsdp, **flags} \
            and str(flags.get("fsdp_version", fsdp.get("fsdp_version", 1))) == "1":
        strategy = str(flags.get("fsdp_reshard_after_forward",
                                 fsdp.get("fsdp_reshard_after_forward")))
        if "_" in strategy and strategy != "FULL_SHARD":
            yield "FSDP_SHARDING_STRATEGY", "FULL_SHARD", strategy, 4
    if flags.get("mixed_precision", config.get("mixed_precision")) == "fp8":
        for wizard, reader, default in (
                ("amax_history_length", "AMAX_HISTORY_LEN", "1024"),
                ("amax_compute_algorithm", "AMAX_COMPUTE_ALGO", "most_recent")):
            if wizard in fp8:
                value = str(fp8[wizard])
                yield "ACCELERATE_FP8_" + wizard.upper(), value, "-", 5
                if value != default:
                    yield "ACCELERATE_FP8_" + reader, default, value, 5
        if "fp8_backend" in flags:
            yield "ACCELERATE_FP8_BACKEND", flags["fp8_backend"], \
                flags["fp8_backend"].upper(), 5
        precision = fp8.get("override_linear_precision")
        if isinstance(precision, str):
            for i, name in enumerate(("FPROP", "DGRAD", "WGRAD")):
                value = precision.strip("()").split(",")[i].strip()
                yield "ACCELERATE_FP8_OVERRIDE_" + name, precision[i], \
                    value.capitalize(), 5
    if mode == "deepspeed":
        yield "OMP_NUM_THREADS", "-", \
            flags.get("num_cpu_threads_per_process", "1"), 8
        backend = flags.get("dynamo_backend", dynamo.get("dynamo_backend", "no"))
        yield "ACCELERATE_DYNAMO_BACKEND", "-", backend.upper(), 8
        for name, key, default in DYNAMO:
            yield "ACCELERATE_DYNAMO_" + name, "-", \
                str(flags.get(key, dynamo.get(key, default))), 8
        for key in ("offload_optimizer_nvme_path", "offload_param_nvme_path"):
            if key in deepspeed or key in flags:
                yield "ACCELERATE_DEEPSPEED_" + key.upper(), "-", \
                    flags.get(key, deepspeed.get(key)), 8


def main():
    print("# SPDX-License-Identifier: Apache-2.0")
    print("# Made by launch_env_ours.py.  Case, variable, Accelerate's value, "
          "ours, difference in accel-launch(1).")
    for record in sys.argv[1:]:
        with open(record) as rows:
            for row in map(json.loads, rows):
                text = row.get("yaml")
                if text is None:
                    with open(os.path.join(os.path.dirname(record),
                                           row["name"].replace("/", "_"))) as f:
                        text = f.read()
                for difference in differences(row, yaml.safe_load(text)):
                    print(row["name"], *difference, sep="\t")


main()
