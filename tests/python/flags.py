# SPDX-License-Identifier: Apache-2.0
"""Prints the flags of "accelerate launch" as tests/data/accelerate_flags.tsv has
them, from the parser of the Accelerate that is installed."""
import argparse

from accelerate.commands.launch import launch_command_parser


def kind(action):
    if isinstance(action, argparse._HelpAction) or action.nargs == 0:
        return "switch"
    if isinstance(action, argparse._AppendAction):
        return "append"
    if action.choices:
        return "|".join(action.choices)
    if action.type in (int, float):
        return action.type.__name__
    if action.type is bool or getattr(action.type, "__name__", "") == "str_to_bool":
        return "bool"
    return "text"


print("# SPDX-License-Identifier: Apache-2.0")
print("# Flags of \"accelerate launch\" 1.15.0, made by tests/python/flags.py.  "
      "A - in a name may be given for each _.")
for a in launch_command_parser()._actions:
    if not a.option_strings:
        continue
    names = [s for s in a.option_strings if "-" not in s.lstrip("-")]
    others = [s for s in a.option_strings if "-" in s.lstrip("-")]
    if others != [s[:2] + s[2:].replace("_", "-") for s in names if "_" in s]:
        raise SystemExit("another spelling: %s" % a.option_strings)
    print(" ".join(names), kind(a), sep="\t")
