# SPDX-License-Identifier: Apache-2.0
"""Random texts in the corners of YAML 1.1: we refuse what PyYAML refuses, and
what we read and write again PyYAML reads as what the text itself says.

	yaml-read.py YAMLTOOL [ROUNDS [SEED]]
"""
import collections
import random
import subprocess
import sys

import yaml

tool = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 11)

PLAIN = r"""no NO Yes off ~ null 0 010 0x1F 1_000 -1 1:30 1:30.5 1e3 1.5 .5 .inf
2001-01-01 "a\tb" é a b 漢 y 10.1 0,1""".split() + ["[a, b]", "{a: 1}", "a b"]
ATOMS = r"""no NO Yes off On true ~ null Null 0 010 0o17 0x1F 0b11 1_0 1_000 -1 +1
1:30 1:30.5 1e3 1e-5 1.5 1.e+5 1.0e-3 .5 .inf -.INF .NaN 1_0.5 2001-01-01
2001-1-1 2001-01-01T10:00:00 2001-13-01 = << - -- --- ... : a: a b :a -a ?a a?
"a" 'b' "a\tb" 'it''s' "é" é 漢 😀 # #a a#b a,b [] {} [a] [a,] {a} > ! |- !!str
!!int !!float !!null !!bool !!map !x &a *a &b *b % @ ` , ] } [ { ' " \ y n Y N
192.168.1.1 10.1 0,1 (false,false) C:\x http://a:80/b?c=d 08 09 0_8 0x_ 0b_
"\x41\u00e9" "\/" """.split()
KEYS = ["x", "y", "z", "x", "no", "1", '"q"', "<<", "x y", "? x", "é", "a b"]


def scalar():
    if random.random() < .8:
        return random.choice(PLAIN)
    return " ".join(random.choice(ATOMS)
                    for _ in range(random.choice([1] * 12 + [2, 3])))


def block(depth, indent):
    pad = " " * indent
    out = ""
    for _ in range(random.randint(1, 3)):
        kind, key = random.random(), random.choice(KEYS)
        if depth and kind < .2:
            out += f"{pad}{key}:\n"
            out += block(depth - 1, indent + random.choice([1, 2, 4]))
        elif depth and kind < .3:
            out += f"{pad}{key}: &{random.choice('abcdefghijk')}\n"
            out += block(depth - 1, indent + 2)
        elif kind < .4:
            out += f"{pad}{key}:\n" + "".join(
                f"{pad}- {scalar()}\n" for _ in range(random.randint(1, 3)))
        elif kind < .45:
            chomp = random.choice(["", "-", "+"])
            out += f"{pad}{key}: |{chomp}\n{pad}  {scalar()}\n\n{pad}   b\n"
        elif kind < .5:
            chomp = random.choice(["", "-", "+"])
            out += f"{pad}{key}: >{chomp} # c\n{pad}  {scalar()}\n{pad}  b\n"
        elif kind < .55:
            out += f"{pad}<<: *a\n"
        elif kind < .6:
            out += f"{pad}{key}: {scalar()}\n{pad}  {scalar()}\n"
        else:
            end = random.choice([""] * 6 + [" # c", " # c", "\t", " "])
            out += f"{pad}{key}: {scalar()}{end}\n"
    return out


def mutate(text):
    for _ in range(random.choice([0] * 6 + [1, 2])):
        i = random.randrange(len(text))
        new = random.choice(["", "\t", " ", "\n", ":", "-", "#", "\r\n", "é",
                             "'", '"', ",", "---\n"])
        text = text[:i] + new + text[i + random.choice([0, 1]):]
    return text


def norm(value):
    """As it is, but comparable: NaN, and True beside 1."""
    if isinstance(value, dict):
        return {("key", str(norm(k))): norm(v) for k, v in value.items()}
    if isinstance(value, list):
        return [norm(v) for v in value]
    return (type(value).__name__, repr(value))


texts = []
for _ in range(rounds):
    text = "distributed_type: FSDP\nfuture:\n" + mutate(block(2, 2))
    texts.append(text.replace("\n", "\r\n") if random.random() < .1 else text)
ours = subprocess.run(
    [tool, "trip"], input=b"".join(t.encode() + b"\0" for t in texts),
    stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")[:-1]
assert len(ours) == len(texts)
# Of these we say that they are refused, and PyYAML takes them.
allowed = ("stands in what it stands for", "tab character where an indent",
           "found unexpected ':'")
seen, bad = collections.Counter(), 0
for text, our in zip(texts, ours):
    try:
        want = yaml.safe_load(text)
        if want.get("distributed_type") != "FSDP":
            continue
        theirs = "O"
    except Exception as error:
        want, theirs = error, "E"
    seen[our[0] + theirs] += 1
    if our[0] == theirs == "O":
        got = yaml.safe_load(our[1:])
        wrong = norm(got.get("future")) != norm(want.get("future"))
    else:
        wrong = our[0] != theirs and not (
            our[0] == "E" and any(a in our for a in allowed))
    if wrong:
        bad += 1
        print(repr(text), our, repr(want), sep="\n  ")
print(dict(seen), bad, "differ")
sys.exit(bad > 0 or seen["OO"] < rounds / 10)
