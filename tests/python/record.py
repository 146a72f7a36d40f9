# SPDX-License-Identifier: Apache-2.0
"""Records what the Accelerate that is installed gives to the ranks of random
files and flags, as tests/data/launch_env.jsonl has it.

    record.py SEED COUNT SCHEMA.json FLAGS.tsv >record.jsonl

The keys and their values come from "accel schema --json".  Packages of fp8 are
taken as present, bf16 as possible, ports as free, and the cores are two.
"""
import json
import os
import random
import sys
import tempfile

import psutil
import yaml
from accelerate.commands import launch as cli
from accelerate.utils import launch as lib

cli.is_bf16_available = lambda *_: True
lib.is_fp8_available = lambda: True
lib.is_port_in_use = lambda *_: False
psutil.cpu_count = lambda logical=True: 2

SECTIONS = {
    "NO": [], "MULTI_CPU": [], "MULTI_GPU": [],
    "FSDP": ["fsdp_config", "parallelism_config"],
    "DEEPSPEED": ["deepspeed_config", "parallelism_config"],
    "MEGATRON_LM": ["megatron_lm_config"],
    "XLA": [],
}
TOP = ["num_machines", "machine_rank", "main_process_port", "same_network",
       "rdzv_backend", "gpu_ids", "mixed_precision", "enable_cpu_affinity",
       "debug", "main_training_function"]


def value(row):
    if row["type"] == "bool":
        return random.choice([True, False])
    if row["type"] == "choice":
        return random.choice(row["choices"])["word"]
    if row["key"] == "main_process_port":
        return random.randint(29500, 29999)
    if row["type"] == "int":
        low, high = row["range"]
        return random.randint(low, min(high, low + 3))
    if row["type"] == "real":
        return random.choice([0.5, 0.25, 1.0])
    if row["type"] == "list":
        return [random.choice([True, False]) for _ in range(3)]
    return {
        "gradient_accumulation_steps": random.choice([1, 4, "auto"]),
        "gradient_clipping": random.choice([0.5, "auto"]),
        "gpu_ids": random.choice(["0,1", "all"]),
        "fsdp_reshard_after_forward": random.choice(
            [True, False, "FULL_SHARD", "SHARD_GRAD_OP"]),
        "fsdp_sharding_strategy": random.choice(["NO_SHARD", 2]),
    }.get(row["key"], random.choice(["some", "a,b", "/a/path"]))


def make_file(rows):
    kind = random.choice(list(SECTIONS))
    config = {"compute_environment": "LOCAL_MACHINE", "distributed_type": kind,
              "num_processes": random.choice([2, 4, 8]),
              "use_cpu": kind == "MULTI_CPU"}
    sections = SECTIONS[kind] + ["dynamo_config"]
    for row in rows:
        key, group = row["key"], row.get("group")
        if "flag only" in row["is"] or random.random() < 0.5:
            continue
        if not group and key in TOP:
            config[key] = value(row)
        elif group in sections or group == "fp8_config" \
                and config.get("mixed_precision") == "fp8":
            config.setdefault(group, {})[key] = value(row)
    return config


def make_flags(config, rows, known):
    words = []
    sections = [*SECTIONS[config["distributed_type"]], "dynamo_config",
                "fp8_config"]
    for row in random.sample(rows, 40):
        flag, group = row.get("flag"), row.get("group")
        kind = known.get(flag)
        if not kind or len(words) > 8 or group == "parallelism_config" or not (
                group in sections or not group and row["key"] in TOP):
            continue
        if kind == "switch":
            words.append("--" + flag)
        elif kind == "append":
            continue
        elif kind == "bool":		# all that Accelerate understands
            words += ["--" + flag, "True"]
        elif "|" in kind:
            words += ["--" + flag, random.choice(kind.split("|")[:3])]
        elif row["type"] == "list":
            words += ["--" + flag, "true,false,yes"]
        else:
            words += ["--" + flag, str(value(row))]
    return words


def record(name, config, flags):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        yaml.safe_dump(config, f)
        f.flush()
        parser = cli.launch_command_parser()
        args = parser.parse_args(["--config_file", f.name, *flags, "x.py"])
        args, defaults, from_file = cli._validate_launch_command(args)
    before = dict(os.environ)
    if args.use_deepspeed and not args.cpu:
        mode = "deepspeed"
        fields = list(defaults.deepspeed_config)
        if from_file:
            fields.append("mixed_precision")
        args.deepspeed_fields_from_accelerate_config = ",".join(fields)
        env = lib.prepare_deepspeed_cmd_env(args)[1]
        del env["PYTHONPATH"]
    elif (args.use_fsdp or args.use_megatron_lm or args.multi_gpu) \
            and not args.cpu:
        mode = "fsdp" if args.use_fsdp else \
            "megatron" if args.use_megatron_lm else "multi_gpu"
        env = lib.prepare_multi_gpu_env(args)
    elif args.tpu and not args.cpu:
        mode = "tpu"
        env = lib.prepare_tpu(args, {})[1]
    else:
        mode = "simple"
        env = lib.prepare_simple_launcher_cmd_env(args)[1]
    return {"name": name, "yaml": yaml.safe_dump(config), "flags": flags,
            "mode": mode,
            "env": {k: v for k, v in env.items() if before.get(k) != v}}


def main():
    seed, count, schema, flags = sys.argv[1:]
    random.seed(int(seed))
    for name in ("OMP_NUM_THREADS", "PYTHONPATH", "ACCELERATE_USE_CPU"):
        os.environ.pop(name, None)
    with open(schema) as f:
        rows = json.load(f)
    with open(flags) as f:
        known = {n[2:]: line.rstrip("\n").split("\t")[1] for line in f
                 if line[0] != "#" for n in line.split("\t")[0].split()}
    done = refused = 0
    while done < int(count):
        config = make_file(rows)
        words = make_flags(config, rows, known)
        try:
            row = record("live-%d" % done, config, words)
        except (Exception, SystemExit) as e:
            refused += 1
            if refused > 20 * int(count):
                raise
            continue
        print(json.dumps(row))
        done += 1


main()
