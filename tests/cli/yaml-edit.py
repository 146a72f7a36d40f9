# SPDX-License-Identifier: Apache-2.0
"""Random changes to configuration files: PyYAML reads from the result what was
meant, every comment is there, and every line of a key that was not changed is
there byte for byte and in its order.

	yaml-edit.py YAMLTOOL FOLDER ROUNDS FILE...
"""
import json
import os
import random
import re
import subprocess
import sys

import yaml

tool, work, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(int(os.environ.get("SEED", 5)))
table = [line.split("\t") for line in
         subprocess.check_output([tool, "keys"], text=True).splitlines()]
KINDS = {(row[0], row[1]): row[2] for row in table}
ODD = ["a", "no", "010", "é", "a # b", "it's", "x: y", "1.5", "a b  c", "~",
       "word " * 30 + "end", "[x]", "\\", '"q"']
COMMENT = re.compile(r"(?:(?<=\s)|^)#.*?(?=\r?$)", re.M)


def value(kind, bare, lo, hi, words):
    """For config_set, and what PyYAML is to read."""
    if kind == "bool":
        v = random.random() < .5
        return str(v).lower(), v
    if kind == "int":
        v = random.randint(int(lo), min(int(hi), int(lo) + 300))
        return str(v), v
    if kind == "real":
        v = random.choice([0.5, 1.0, 2.25])
        return repr(v), v
    if kind == "choice":
        v = random.choice(words.split(","))
        return v, v
    words = ["auto", "x y"] if bare else ODD
    if kind == "list":
        v = [random.choice(words[:9]) for _ in range(random.randint(1, 4))]
        return ";".join(v) + ";", v
    v = random.choice(words)
    return v, v


def flat(top):
    out = {}
    for key, v in top.items():
        if isinstance(v, dict) and key.endswith("_config"):
            out.update({(key, k): w for k, w in v.items()})
        elif not key.endswith("_config"):
            out["", key] = v
    # Accelerate's wizard writes downcast_bf16: 'no' for a bool
    return {k: v == "yes" if KINDS.get(k) == "bool" and isinstance(v, str)
            else v for k, v in out.items() if v is not None}


def variants(text):
    yield text
    yield text.replace("\n", "\r\n")
    yield "\ufeff# Grüße 漢字 😀\n" + text
    yield "# é\n\n" + re.sub(r"(?m)(?<=\w)$", "  # ü — 数", text)
    if "commands" not in text:
        yield (text.rstrip("\n") + "\nfuture_key:\n  # kept\n"
               "  a: [1, {b: no}]\ncommands:\n  # first\n  - a # A\n  - b\n\n"
               "  # last\n  - c")
    yield json.dumps(yaml.safe_load(text), indent=2) + "\n"


def changes(before):
    want, words, touched = dict(before), [], set()
    for group, key, kind, *rest in random.sample(table, random.randint(1, 4)):
        if key in touched or key in ("distributed_type",
                                     "compute_environment"):
            continue
        if random.random() < .3:
            words.append(key + "=")
            want.pop((group, key), None)
        else:
            text, v = value(kind, *rest)
            if v == want.get((group, key)):
                continue
            words.append(key + "=" + text)
            want[group, key] = v
        touched.add(key)
    return want, words, touched


def check_lines(text, new, touched, after):
    at, key = 0, None
    lines = new.splitlines(keepends=True)
    for line in text.splitlines(keepends=True):
        m = re.match(r"\s*(\w+)\s*:", line)
        key = m.group(1) if m else key
        if key in touched or not line.strip():
            continue
        if not line.endswith("\n") and line not in lines[at:]:
            line += "\r\n" if "\r\n" in text else "\n"
        if key and key.endswith("_config") and line not in lines[at:]:
            # the head of a section that came or went
            assert (not any(k[0] == key for k in after) or
                    re.search(r":\s*({}|null|~)", line)), ("section", line)
            continue
        assert line in lines[at:], ("lost line", line)
        at += lines[at:].index(line) + 1


def check(text, path):
    """True where the file was changed in place."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        f.write(text)
    want, words, touched = changes(flat(yaml.safe_load(text)))
    run = subprocess.run([tool, "edit", path] + words, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    if run.returncode == 4:  # a value that the table refuses
        return True
    if run.returncode == 3:
        return False
    try:
        assert run.returncode == 0, run.stderr
        new = run.stdout.decode()
        after = flat(yaml.safe_load(new))
        assert after == want, {k: (after.get(k), want.get(k)) for k in
                               set(after) | set(want)
                               if after.get(k) != want.get(k)}
        left = new
        for comment in COMMENT.findall(text):
            assert comment in left, ("lost comment", comment)
            left = left[left.index(comment) + len(comment):]
        if text[0] != "{":
            check_lines(text, new, touched, after)
        if "\r\n" in text:
            assert "\n" not in new.replace("\r\n", ""), "line ends"
        same = subprocess.check_output([tool, "edit", path])
        assert same == text.encode(), "changed without a change"
    except AssertionError:
        print(words, text, run.stdout.decode(), sep="\n=====\n")
        raise
    return True


texts = []
for name in sys.argv[4:]:
    with open(name, encoding="utf-8") as f:
        texts += variants(f.read())
assert texts
done = [check(random.choice(texts), os.path.join(work, "f.yaml"))
        for _ in range(rounds)]
print(sum(done), "of", len(done), "changed in place")
sys.exit(sum(done) < .95 * len(done))
