# SPDX-License-Identifier: Apache-2.0
"""What we write is, byte for byte, what PyYAML's safe_dump writes of the same
values; where a text needs double quotes it may be folded elsewhere.

	yaml-print.py YAMLTOOL [ROUNDS]
"""
import json
import random
import subprocess
import sys

import yaml

tool = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
random.seed(4)
table = [line.split("\t") for line in
         subprocess.check_output([tool, "keys"], text=True).splitlines()]
keys = [row[:2] for row in table if row[2] == "text" and not row[3]]
WORDS = ["a", "no", "x: y", "#", "- b", "'q'", '"d"', "word", "longer-word",
         "1.5", "010", "~", "[x", "a,b", "  ", "\\", "{}", "?", "tail "]
OTHER = ["é", "😀", "\t", "\x85", "\u2028"]


def text(words):
    return " ".join(random.choice(words)
                    for _ in range(random.choice([1, 2, 3, 40])))


texts, exact = [], []
for i in range(rounds):
    words = WORDS + OTHER * (i % 2)
    top = {"distributed_type": "FSDP", "future": {
        random.choice(WORDS): [text(words) for _ in range(3)],
        "b": {"c": [[1, 2.5], {"d": None}, [], {}, True]},
        "long": " ".join(["word"] * random.choice([3, 30]))}}
    for group, key in random.sample(keys, 3):
        (top.setdefault(group, {}) if group else top)[key] = text(words)
    # libyaml has no half of a pair, so what is no ASCII stands as it is
    texts.append(json.dumps(top, ensure_ascii=False))
    exact.append(i % 2 == 0)
ours = subprocess.run(
    [tool, "trip"], input=b"".join(t.encode() + b"\0" for t in texts),
    stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")[:-1]
assert len(ours) == rounds
bad = 0
for was, our, same in zip(texts, ours, exact):
    value = yaml.safe_load(our[1:])
    meant = yaml.safe_load(was)
    if our[0] != "O" or any(value[k] != v for k, v in meant.items()) or (
            same and yaml.safe_dump(value) != our[1:]):
        bad += 1
        print(was, our, yaml.safe_dump(value), sep="\n")
sys.exit(bad > 0)
