# SPDX-License-Identifier: Apache-2.0
# profile.py FILE: what a trace has, a span a line: depth, name, how often
import collections
import decimal
import json
import sys

with open(sys.argv[1]) as file:
    events = json.load(file, parse_float=decimal.Decimal)
spans = [e for e in events if e["ph"] == "X"]
lines = collections.defaultdict(list)
for e in spans:
    assert e["dur"] >= 0 and e["pid"] == int(sys.argv[2]), e
    lines[e["tid"]].append(e)
seen = collections.Counter()
for line in lines.values():
    open_spans = []
    for e in sorted(line, key=lambda e: (e["ts"], -e["dur"])):
        end = e["ts"] + e["dur"]
        while open_spans and e["ts"] >= open_spans[-1][0]:
            open_spans.pop()
        assert not open_spans or end <= open_spans[-1][0], e
        inside = open_spans[-1][1] + "/" if open_spans else ""
        open_spans.append((end, inside + e["name"]))
        seen[inside + e["name"] + (":" + e["args"]["unit"] if "unit" in
             e.get("args", {}) else "")] += 1
for name, count in sorted(seen.items()):
    if "compute" not in name:
        print(name, count)
steps = [e for e in spans if e["name"] == "backward"]
inner = [e for e in spans if e["name"] in ("compute", "ready")]
whole = sum(e["dur"] for e in steps)
assert sum(e["dur"] for e in inner) <= whole + 1
assert 10 * sum(e["dur"] for e in inner) >= 9 * whole, "a tenth is unexplained"
print({e["args"]["bytes"] for e in spans if e["name"] == "communication"})
