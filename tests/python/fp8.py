# SPDX-License-Identifier: Apache-2.0
"""What torch's 8-bit floats are: tests/data/fp8.txt.

"values FORMAT", then the number of each of the 256 codes;
"codes FORMAT FROM", then the 64-bit FNV-1a hash of the codes of all bf16, of
all f16, and of a million f32 of tests/train/fp8.c's formula;
"delayed FORMAT MARGIN RECENT LENGTH", then for each step the largest number
that it saw and the scale after it, by Transformer Engine's _default_sf_compute
and _update_amax_history, restated here because the package needs a GPU.
"""
import numpy as np
import torch

FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


def fnv(codes):
    h = 14695981039346656037
    for c in codes.tolist():
        h = (h ^ c) * 1099511628211 & (1 << 64) - 1
    return h


def noise(n):
    """Both signs, 2^-19 to 2^13, and some of everything."""
    x = np.empty(n, dtype=np.uint32)
    s = 1
    for i in range(n):
        s = (s * 1664525 + 1013904223) & 0xffffffff
        x[i] = s if i % 16 == 0 else (
            s & 0x80000000 | 0x36000000 + (s >> 3 & 0x0fffffff))
    return torch.from_numpy(x.view(np.float32))


every = torch.arange(65536, dtype=torch.int32).to(torch.int16)
inputs = {"bf16": every.view(torch.bfloat16).float(),
          "f16": every.view(torch.float16).float(), "f32": noise(1000000)}
for name, dtype in FORMATS.items():
    print("values", name, *(repr(x) for x in torch.arange(
        256, dtype=torch.int32).to(torch.uint8).view(dtype).float().tolist()))
    for kind, x in inputs.items():
        print("codes", name, kind,
              "%016x" % fnv(x.to(dtype).view(torch.uint8)))


def delayed(name, margin, recent, length, amaxes):
    history = torch.zeros(length)
    scale = torch.ones(1)
    row = []
    for amax in amaxes:
        history[0] = amax
        most = history[0].clone() if recent else history.max()
        if length > 1:
            history = torch.roll(history, -1, 0)
        history[0] = 0.0
        sf = (torch.tensor([LARGEST[name]]) / most) / (2 ** margin)
        sf = torch.where(most > 0.0, sf, scale)
        sf = torch.where(torch.isfinite(most), sf, scale)
        scale = torch.where(torch.isinf(sf), torch.full_like(
            sf, torch.finfo(torch.float32).max), sf)
        row += ["%.9g" % torch.tensor(amax), "%.9g" % scale.item()]
    print("delayed", name, margin, int(recent), length, *row)


inf = float("inf")
SEEN = [0.0, 3.0, 7.5, 0.1, 0.2, 0.3, 1e-3, 0.0, 500.0, 1.0, 1.1, 1.2, 1e-38,
        1e-38, 1e-38, 1e-38, inf, 2.0, 2.0, 2.0, 2.0, 3e38]
delayed("e4m3", 0, False, 1024, SEEN)
delayed("e4m3", 0, False, 4, SEEN)
delayed("e5m2", 2, False, 3, SEEN)
delayed("e5m2", 0, True, 4, SEEN)
delayed("e4m3", 1, False, 1, SEEN)
