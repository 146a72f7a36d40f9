#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PyYAML reads from our files the texts that we put in.
. "${top_srcdir:-.}/tests/tap.sh"

for py in python3 /usr/bin/python3 none; do
	"$py" -c 'import yaml' 2>/dev/null && break
done
if [ "$py" = none ]; then
	skip "no Python with yaml"
	done_testing
fi
cat >"$work/check.py" <<'EOF'
import random, subprocess, sys, yaml
random.seed(7)
words = ["no", "NO", "yes", "Off", "~", "Null", "0", "010", "0o17", "1_0",
    "1:30", "1e3", "1.5", ".inf", ".NaN", "1.e+5", "2001-01-01", "=", "<<",
    "- a", "-", "---", "--- a", "...", "a: b", "a:", "a #b", "#a", " a", "a ",
    "'", '"', "\\", "\n", "a\nb", "\t", "\x7f", "\x85", "\u2028", "\ufeff",
    "é", "😀", "[a", "{a", "a, b", "0,1", "@a", "`a", "%a", "!a", "&a", "*a",
    "|", ">", "?", "? a", "?a", "-a", ":a", ":", "0x1F", "0b1", "+1", "a" * 300,
    "word " * 60 + "end", "\x01", "y", "N", "true", "1.2.3.4"]
signs = "ab01 :#-?,[]{}'\"\\\n\t.~=<>|&*!%@`_eExé\x85\u2029"
texts = words + ["".join(random.choice(signs)
    for _ in range(random.randint(1, 9))) for _ in range(2000)]
texts = [t for t in texts if t and t != "null"]
out = subprocess.run([sys.argv[1]], check=True, stdout=subprocess.PIPE,
    input=b"".join(t.encode() + b"\0" for t in texts)).stdout
got = [d["tpu_name"] for d in yaml.safe_load_all(out.decode())]
bad = [(t, g) for t, g in zip(texts, got) if t != g]
print(len(texts), len(got), bad[:5])
sys.exit(len(got) != len(texts) or bool(bad))
EOF
ok "2000 random texts come back as they were" \
	"$py" "$work/check.py" "$top_builddir/tests/unit/yamltext"
here=$top_srcdir/tests/cli
ok "of 4000 random files we take those that PyYAML takes, as it does" \
	"$py" "$here/yaml-read.py" "$top_builddir/tests/unit/yamltool"
ok "every field has the value that PyYAML reads, or refuses it" \
	"$py" "$here/yaml-fields.py" "$top_builddir/tests/unit/yamltool"
ok "of 1000 we write what PyYAML writes" \
	"$py" "$here/yaml-print.py" "$top_builddir/tests/unit/yamltool"

files=$(ls "$top_srcdir"/templates/*.yaml \
	"${ACCEL_SHARED:-$top_srcdir/../shared}"/corpus/accelerate/*.y*ml \
	2>/dev/null | grep -Ev 'invalid_keys|sagemaker')
# shellcheck disable=SC2086 # no file of ours has a space in its name
ok "400 random changes keep comments, order and the lines of other keys" \
	"$py" "$here/yaml-edit.py" "$top_builddir/tests/unit/yamltool" \
	"$work" 400 $files
done_testing
