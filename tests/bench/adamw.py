# SPDX-License-Identifier: Apache-2.0
"""AdamW of libaccel beside torch's fused one, in turns, one thread each.

adamw.py BUILD/.libs/libaccel.so [MILLIONS [ROUNDS]]
"""
import ctypes
import sys
import time

import torch

torch.set_num_threads(1)
n = int(sys.argv[2] if len(sys.argv) > 2 else 8) << 20
rounds = int(sys.argv[3] if len(sys.argv) > 3 else 40)
lib = ctypes.CDLL(sys.argv[1])


class Args(ctypes.Structure):
    _fields_ = [(x, ctypes.c_double) for x in
                ("lr", "beta1", "beta2", "eps", "weight_decay")]


class Range(ctypes.Structure):
    """As in accel.h."""
    _fields_ = [("unit", ctypes.c_int), ("tensor", ctypes.c_int),
                ("offset", ctypes.c_size_t), ("n", ctypes.c_size_t),
                ("param", ctypes.c_void_p), ("grad", ctypes.c_void_p),
                ("master", ctypes.c_void_p), ("state", ctypes.c_void_p * 4),
                ("dtype", ctypes.c_int), ("flags", ctypes.c_uint32),
                ("name", ctypes.c_char_p),
                ("group", ctypes.c_void_p), ("ndim", ctypes.c_int),
                ("shape", ctypes.c_void_p)]


def fresh():
    g = torch.Generator().manual_seed(1)
    p = torch.randn(n, generator=g)
    return p, torch.randn(n, generator=g)


p, grad = fresh()
m, v = torch.zeros(n), torch.zeros(n)
args = Args(1e-3, 0.9, 0.999, 1e-8, 0.01)
r = Range(n=n, param=p.data_ptr(), grad=grad.data_ptr(), name=b"w")
r.state[0], r.state[1] = m.data_ptr(), v.data_ptr()

param = torch.nn.Parameter(fresh()[0])
param.grad = fresh()[1]
optimizer = torch.optim.AdamW([param], lr=1e-3, weight_decay=0.01, fused=True)

ours = theirs = 1e9
for step in range(1, rounds + 1):
    t = time.perf_counter()
    optimizer.step()
    theirs = min(theirs, time.perf_counter() - t)
    t = time.perf_counter()
    if lib.accel_adamw(ctypes.byref(args), ctypes.byref(r), 1,
                       ctypes.c_int64(step)) != 0:
        lib.accel_errmsg.restype = ctypes.c_char_p
        sys.exit(lib.accel_errmsg().decode())
    ours = min(ours, time.perf_counter() - t)
off = (p - param.detach()).abs().max().item()
print(f"libaccel {n * 28e-9 / ours:.1f} GB/s, torch fused AdamW "
      f"{n * 28e-9 / theirs:.1f} GB/s: {theirs / ours:.2f} times as fast; "
      f"parameters differ by at most {off:.1e}")
