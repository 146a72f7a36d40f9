# SPDX-License-Identifier: Apache-2.0
"""Records what torch's GradScaler does about overflows.

gradscaler.py > tests/data/gradscaler.tsv

A row: init, growth, backoff, interval, then for each step a word
OVERFLOW:SCALE:STEPS, where OVERFLOW is 1 where the step's gradient was made
infinite, SCALE the scale after it, exactly, and STEPS the optimizer's steps so
far.
"""
import random
import torch


class Counting(torch.optim.SGD):
    count = 0

    def step(self, *args, **kwargs):
        self.count += 1
        return super().step(*args, **kwargs)


def record(init, growth, backoff, interval, pattern):
    weight = torch.nn.Parameter(torch.zeros(3))
    optimizer = Counting([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=init, growth_factor=growth,
                                  backoff_factor=backoff, growth_interval=interval)
    words = []
    for k, overflow in enumerate(pattern):
        bad = (float("inf"), float("nan"), float("-inf"))[k % 3]
        weight.grad = torch.ones(3) * scaler.scale(torch.tensor(1.0))
        if overflow:
            weight.grad[k % 3] = bad
        scaler.step(optimizer)
        scaler.update()
        words.append("%d:%s:%d" % (overflow, float(scaler.get_scale()).hex(), optimizer.count))
    print("\t".join(["%.9g" % init, "%.9g" % growth, "%.9g" % backoff, str(interval)] + words))


random.seed(7)
never = [0] * 12
print("# SPDX-License-Identifier: Apache-2.0")
print("# torch %s, by tests/python/gradscaler.py" % torch.__version__)
record(65536.0, 2.0, 0.5, 2000, never)
record(65536.0, 2.0, 0.5, 2000, [1] * 12)
record(65536.0, 2.0, 0.5, 3, never)
record(65536.0, 2.0, 0.5, 3, [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0])
record(1024.0, 3.0, 0.1, 1, [0, 1, 0, 0, 1, 1, 0, 0, 0])
record(3.0, 1.7, 0.3, 2, [random.random() < 0.3 for _ in range(60)])
record(1e-38, 2.0, 0.5, 4, [1] * 30)
record(2e38, 2.0, 0.5, 2, never)
record(65536.0, 2.0, 0.5, 5, [random.random() < 0.1 for _ in range(100)])
