# SPDX-License-Identifier: Apache-2.0
"""Reads "accel schema --json", and prints where its top-level keys are not those
of the two kinds of file that the Accelerate that is installed reads."""
import dataclasses
import json
import sys

from accelerate.commands.config.config_args import ClusterConfig, SageMakerConfig

rows = [row for row in json.load(sys.stdin) if "flag only" not in row["is"]]


def keys(wanted):
    """Top-level keys and sections of the rows that are wanted."""
    return {row.get("group") or row["key"] for row in rows if wanted(row["is"])}


ours = {
    ClusterConfig: keys(lambda marks: "SageMaker only" not in marks),
    SageMakerConfig: keys(lambda marks: "SageMaker only" in marks
                          or "SageMaker too" in marks),
}
for kind, have in ours.items():
    want = {field.name for field in dataclasses.fields(kind)}
    for key in sorted(want ^ have):
        print(kind.__name__, key, "is not in the table" if key in want
              else "is in the table alone")
