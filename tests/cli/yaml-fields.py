# SPDX-License-Identifier: Apache-2.0
"""Every field with every kind of scalar: its value is what PyYAML makes of the
scalar, and what is no value of the field's kind is refused.

	yaml-fields.py YAMLTOOL
"""
import subprocess
import sys

import yaml

tool = sys.argv[1]
table = [line.split("\t") for line in
         subprocess.check_output([tool, "keys"], text=True).splitlines()]
SCALARS = """0 1 2 -1 +1 010 0x10 0b11 1_0 1:30 08 0o17 1.5 1. .5 1e3 1.0e+1 1e-5
10.1 2.10 true True yes on NO no off FALSE null ~ Null '' '4' "no" '1e-5' auto
y n t f a 'a%b' 2001-01-01 !!str%5 !!int%'3' !!float%'1.5' all 0,1 [] {}
[a] {a:%b}""".split()
TRUTH = {"y": True, "yes": True, "t": True, "true": True, "on": True,
         "1": True, "n": False, "no": False, "f": False, "false": False,
         "off": False, "0": False}
REFUSED = object()


def plain(text):
    """Written without quotes: a number, a bool, or else the text."""
    value = yaml.safe_load(text)
    return value if isinstance(value, (bool, int, float)) else text


def want(kind, bare, lo, hi, words, value, text):
    """What PyYAML is to read from our file, None where the key is not there."""
    if value is None:
        return None
    if kind == "list":
        if isinstance(value, dict):
            return REFUSED
        return list if isinstance(value, list) else [
            plain(text) if bare else text]
    if isinstance(value, (list, dict)):
        return REFUSED
    if kind == "text" and bare:     # "4" and 4 say the same there
        return plain(text)
    if kind == "text":
        return text
    if kind == "bool":
        return TRUTH.get(str(value).lower(), REFUSED) if isinstance(
            value, (bool, int, str)) else REFUSED
    if kind == "choice":
        if value is False:
            value = next((w for w in words if w.lower() == "no"), text)
        return str(value)
    try:
        assert not isinstance(value, bool)
        number = int(value) if kind == "int" else float(value)
        assert kind != "int" or not isinstance(value, float)
        assert float(lo) <= number <= float(hi)
        return number
    except (ValueError, TypeError, AssertionError):
        return REFUSED


tests = []
for group, key, kind, bare, lo, hi, words in table:
    # PyYAML would have to know the file's place, and that it is FSDP
    if key in ("compute_environment", "distributed_type"):
        continue
    for scalar in SCALARS:
        scalar = scalar.replace("%", " ")
        line = f"{key}: {scalar}\n"
        text = f"{group}:\n  {line}" if group else line
        text = "distributed_type: FSDP\n" + text
        node = yaml.compose(line).value[0][1]
        value = yaml.safe_load(line)[key]
        if key == "num_processes" and value == -1:
            value = None            # Accelerate's word for it
        tests.append((text, group, key, kind, words.split(","), value, want(
            kind, bare, lo, hi, words.split(","), value,
            node.value if isinstance(node, yaml.ScalarNode) else None)))
ours = subprocess.run(
    [tool, "trip"], input=b"".join(t[0].encode() + b"\0" for t in tests),
    stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")[:-1]
assert len(ours) == len(tests)
bad = read = 0
for (text, group, key, kind, words, value, meant), our in zip(tests, ours):
    if our[0] == "E":
        # a range, a host's name, words that are none: the table's business
        fine = meant is REFUSED or kind == "choice" or (
            kind in ("text", "list") and '"' in our and "YAML" not in our)
    else:
        got = yaml.safe_load(our[1:])
        got = (got.get(group) or {} if group else got).get(key)
        if meant is None:       # a default may be written
            fine = True
        elif kind == "choice":
            fine = got in words and (got == meant or meant not in words)
        elif meant is list:
            fine = got == [str(v) for v in value]
        else:
            fine = got == meant and type(got) is type(meant)
        read += 1
    if not fine:
        bad += 1
        if bad < 20:
            print(repr(text), repr(meant), our[:300], sep="\n  ")
print(read, "of", len(tests), "read;", bad, "wrong")
sys.exit(bad > 0 or not read)
