# SPDX-License-Identifier: Apache-2.0
"""What torch.optim makes of known parameters and gradients: tests/data/optim.txt.

A line is: optimizer, its numbers in the order of accel.h, "shape" and the axes,
"after STEPS", then the parameters.  Start and gradients are a formula that
tests/train/optim.c has too, so that the file holds results alone.
"""
import torch

STEPS = 20


def noise(n, seed):
    """Multiples of 2^-23 in [-1, 1): the same floats everywhere."""
    out = []
    x = seed * 2654435761 + 12345 & 0xffffffff
    for _ in range(n):
        x = (x * 1664525 + 1013904223) & 0xffffffff
        out.append(((x >> 8) - (1 << 23)) / (1 << 23))
    return torch.tensor(out, dtype=torch.float32)


class Lion(torch.optim.Optimizer):
    """Program 1 of arXiv:2302.06675; torch has none."""

    def __init__(self, params, lr, beta1, beta2, weight_decay):
        super().__init__(params, dict(lr=lr, b1=beta1, b2=beta2,
                                      wd=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = m * group["b1"] + p.grad * (1 - group["b1"])
                p.mul_(1 - group["lr"] * group["wd"])
                p.add_(update.sign(), alpha=-group["lr"])
                m.mul_(group["b2"]).add_(p.grad, alpha=1 - group["b2"])


def adam(kind, fused):
    return lambda p, lr, b1, b2, eps, wd: kind(
        p, lr=lr, betas=(b1, b2), eps=eps, weight_decay=wd, fused=fused)


MAKE = {
    "adamw": adam(torch.optim.AdamW, False),
    "adamw_fused": adam(torch.optim.AdamW, True),
    "adam": adam(torch.optim.Adam, False),
    "sgd": lambda p, lr, momentum, wd, dampening, nesterov: torch.optim.SGD(
        p, lr=lr, momentum=momentum, weight_decay=wd, dampening=dampening,
        nesterov=bool(nesterov)),
    "lion": Lion,
    "adafactor": lambda p, lr, decay, eps1, eps2, d, wd: torch.optim.Adafactor(
        p, lr=lr, beta2_decay=decay, eps=(eps1 or None, eps2), d=d,
        weight_decay=wd),
}

CASES = [
    ("adamw", (1e-3, 0.9, 0.999, 1e-8, 0.01), (5, 7)),
    ("adamw", (3e-2, 0.8, 0.95, 1e-6, 0.3), (67,)),
    ("adamw_fused", (3e-2, 0.8, 0.95, 1e-6, 0.3), (67,)),
    ("adam", (1e-2, 0.9, 0.98, 1e-8, 0), (33,)),
    ("adam", (1e-2, 0.9, 0.98, 1e-8, 0.1), (33,)),
    ("sgd", (0.1, 0, 0, 0, 0), (33,)),
    ("sgd", (0.1, 0, 0.05, 0, 0), (33,)),
    ("sgd", (0.1, 0.9, 0.05, 0, 0), (33,)),
    ("sgd", (0.1, 0.9, 0.05, 0.3, 0), (33,)),
    ("sgd", (0.1, 0.9, 0.05, 0, 1), (33,)),
    ("lion", (1e-2, 0.9, 0.99, 0), (33,)),
    ("lion", (1e-2, 0.9, 0.99, 0.5), (33,)),
    ("adafactor", (0.01, -0.8, 0, 1e-3, 1, 0.01), (5, 7)),
    ("adafactor", (0.5, -0.6, 1e-4, 0.05, 1.2, 0.1), (40, 33)),
    ("adafactor", (0.1, -0.8, 0, 1e-3, 1, 0), (2, 3, 5, 4)),
    ("adafactor", (0.1, -0.8, 0, 1e-3, 1, 0.1), (41,)),
]

for kind, numbers, shape in CASES:
    n = torch.Size(shape).numel()
    param = torch.nn.Parameter(noise(n, 1).reshape(shape))
    optimizer = MAKE[kind]([param], *numbers)
    for step in range(1, STEPS + 1):
        param.grad = noise(n, step + 1).reshape(shape) * (
            0.5 if step % 5 else 2)
        optimizer.step()
    print(kind, *(repr(float(x)) for x in numbers), "shape", *shape, "after",
          STEPS, *("%.9g" % x for x in param.detach().flatten().tolist()))
