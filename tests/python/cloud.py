# SPDX-License-Identifier: Apache-2.0
"""Is what we would send to a cloud what Accelerate would?

    cloud.py ACCEL FOLDER
"""
import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys

from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import launch_command_parser
from accelerate.commands.tpu import tpu_command_launcher, tpu_command_parser
from accelerate.utils.launch import (_convert_nargs_to_dict,
                                     prepare_sagemager_args_inputs)

accel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
count = 0


def ours(*words):
    return subprocess.run([accel, *words], capture_output=True, text=True)


def same(what, got, want):
    global count
    count += 1
    print(f"{'ok' if got == want else 'not ok'} {count} - {what}")
    if got != want:
        print(f"#   got: {got}\n#  want: {want}")


base = {"compute_environment": "AMAZON_SAGEMAKER", "distributed_type":
        "DATA_PARALLEL", "ec2_instance_type": "ml.p4d.24xlarge",
        "iam_role_name": "role", "profile": "p", "region": "eu-west-1",
        "num_machines": 2, "mixed_precision": "fp16"}
inputs, metrics = folder / "inputs.tsv", folder / "metrics.tsv"
inputs.write_text("channel\twhere\ntrain\ts3://bucket/train\nx\ts3://y\n")
metrics.write_text("Name\tRegex\nloss\tloss=(.*?);\n")
configs = {
    "plain": {},
    "model parallel": {"distributed_type": "MODEL_PARALLEL",
                       "mixed_precision": "bf16", "num_machines": 1},
    "everything": {"sagemaker_inputs_file": str(inputs),
                   "sagemaker_metrics_file": str(metrics),
                   "image_uri": "registry/image:1", "base_job_name": "base",
                   "pytorch_version": "2.1.0", "py_version": "py310",
                   "transformers_version": "4.36.0",
                   "additional_args": {"max_run": 3600, "tags": [1, "a", None],
                                       "environment": {"MORE": "1"},
                                       "instance_count": 5}},
}
script = folder / "train.py"
script.write_text("")
words = ["--lr", "1e-4", "--n", "3", "--whole", "3.0", "--on", "True",
         "--off", "False", "--text", "a b", "--with-dash", "-0x"[1:]]
for name, more in configs.items():
    path = folder / "c.json"
    path.write_text(json.dumps({**base, **more}))
    args = launch_command_parser().parse_args(
        ["--config_file", str(path), "--mixed_precision",
         {**base, **more}["mixed_precision"], "--dynamo_backend", "no",
         str(script), *words])
    args.dynamo_mode = args.dynamo_mode or "default"
    with contextlib.redirect_stdout(io.StringIO()):
        estimator, fit = prepare_sagemager_args_inputs(
            load_config_from_file(str(path)), args)
    # str() of their enumerations is a part of what they send.
    estimator["environment"] = {
        k: v.replace("PrecisionType.", "").lower() if "PRECISION" in k else v
        for k, v in estimator["environment"].items()}
    got = ours("launch", "--config_file", str(path), "--print", str(script),
               *words)
    job = json.loads(got.stdout or "{}")
    want = json.loads(json.dumps({"estimator": estimator, "inputs": fit}))
    if job:
        same(f"SageMaker, {name}: environment",
             job["estimator"].pop("environment"),
             want["estimator"].pop("environment"))
    same(f"SageMaker, {name}", job, want)

for words in (["--a", "1"], ["--a", "1.5"], ["--a", "2.0"], ["--a", "1e3"],
              ["--a", "True", "--b-c", "False"], ["--a", "true"],
              ["-x", "y"], ["--a", ""], ["--a", "007"], ["--a", "+5"],
              ["--a", "1e-7", "--long-name", "text with blanks"], []):
    path = folder / "c.json"
    path.write_text(json.dumps(base))
    got = ours("launch", "--config_file", str(path), "--print", str(script),
               *words)
    same(f"hyperparameters {words}",
         json.loads(got.stdout or "{}")["estimator"]["hyperparameters"],
         _convert_nargs_to_dict(words))

commands = folder / "commands"
commands.write_text("one\ntwo words\n")
pod = folder / "pod.yaml"
pod.write_text("""compute_environment: LOCAL_MACHINE
distributed_type: XLA
main_training_function: main
num_machines: 1
num_processes: 1
tpu_name: test-tpu
tpu_zone: us-central1-a
use_cpu: false
commands:
- ls
""")
name = ["--tpu_name", "n", "--tpu_zone", "z"]
file = ["--config_file", str(pod)]
for words in (file, name + file, file + ["--command", "a"],
              file + ["--command", "a", "b c", "--command", "echo \"d\""],
              file + ["--command_file", str(commands)],
              file + ["--command", "x", "--command_file", str(commands)],
              file + ["--install_accelerate"],
              file + ["--install_accelerate", "--accelerate_version", "12.0.0"],
              file + ["--install_accelerate", "--accelerate_version", "dev"],
              file + ["--use_alpha"]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tpu_command_launcher(tpu_command_parser().parse_args(words + ["--debug"]))
    same(f"tpu-config {words}", ours("tpu-config", *words, "--debug").stdout,
         out.getvalue())
print(f"1..{count}")
