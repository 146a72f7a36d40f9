# SPDX-License-Identifier: Apache-2.0
"""Learning rates as transformers, torch and Accelerate make them:
tests/data/schedule.txt.

"schedule KIND LR WARMUP TOTAL END CYCLES POWER GAMMA EVERY", "milestones",
those, "rates", then one for each count from 0.  Started by a launcher on two
ranks it prints "accelerate" lines instead: for each batch of two epochs whether
a step was made, and the rate after it.
"""
import os
import warnings

import torch
from torch.optim.lr_scheduler import (LambdaLR, MultiStepLR, SequentialLR,
                                      StepLR)

warnings.simplefilter("ignore")


def optimizer(lr):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)


def ramp(opt, warmup, after):
    if not warmup:
        return after
    return SequentialLR(opt, [LambdaLR(opt, lambda c: c / warmup), after],
                        [warmup])


def make(opt, kind, lr, warmup, total, end, cycles, power, gamma, every,
         milestones):
    import transformers.optimization as t
    if kind == "constant":
        return t.get_constant_schedule_with_warmup(opt, warmup)
    if kind == "linear":
        return t.get_linear_schedule_with_warmup(opt, warmup, total)
    if kind == "cosine" and end:
        return t.get_cosine_with_min_lr_schedule_with_warmup(
            opt, warmup, total, cycles or 0.5, min_lr=end)
    if kind == "cosine":
        return t.get_cosine_schedule_with_warmup(opt, warmup, total,
                                                 cycles or 0.5)
    if kind == "restarts":
        return t.get_cosine_with_hard_restarts_schedule_with_warmup(
            opt, warmup, total, int(cycles or 1))
    if kind == "polynomial":
        return t.get_polynomial_decay_schedule_with_warmup(
            opt, warmup, total, end, power)
    if kind == "inverse_sqrt":
        return t.get_inverse_sqrt_schedule(opt, warmup, every or None)
    if kind == "step":
        return ramp(opt, warmup, StepLR(opt, every, gamma))
    return ramp(opt, warmup, MultiStepLR(opt, milestones, gamma))


CASES = [
    # kind, lr, warmup, total, end, cycles, power, gamma, every, milestones
    ("constant", 0.1, 0, 0, 0, 0, 1, 0.1, 0, []),
    ("constant", 0.1, 4, 0, 0, 0, 1, 0.1, 0, []),
    ("linear", 0.1, 0, 10, 0, 0, 1, 0.1, 0, []),
    ("linear", 3e-4, 4, 12, 0, 0, 1, 0.1, 0, []),
    ("linear", 3e-4, 5, 5, 0, 0, 1, 0.1, 0, []),
    ("cosine", 0.1, 0, 10, 0, 0, 1, 0.1, 0, []),
    ("cosine", 3e-4, 4, 12, 0, 0, 1, 0.1, 0, []),
    ("cosine", 3e-4, 2, 13, 0, 1.25, 1, 0.1, 0, []),
    ("cosine", 3e-4, 4, 12, 2e-5, 0, 1, 0.1, 0, []),
    ("restarts", 0.1, 3, 14, 0, 3, 1, 0.1, 0, []),
    ("polynomial", 0.1, 0, 10, 1e-7, 0, 1, 0.1, 0, []),
    ("polynomial", 0.1, 4, 12, 1e-3, 0, 2.5, 0.1, 0, []),
    ("inverse_sqrt", 0.1, 4, 0, 0, 0, 1, 0.1, 0, []),
    ("inverse_sqrt", 0.1, 0, 0, 0, 0, 1, 0.1, 0, []),
    ("inverse_sqrt", 0.1, 3, 0, 0, 0, 1, 0.1, 7, []),
    ("step", 0.1, 0, 0, 0, 0, 1, 0.3, 3, []),
    ("step", 0.1, 4, 0, 0, 0, 1, 0.5, 5, []),
    ("milestones", 0.1, 0, 0, 0, 0, 1, 0.1, 0, [2, 5, 5, 11]),
    ("milestones", 0.1, 3, 0, 0, 0, 1, 0.5, 0, [4, 6]),
]


def schedules():
    for kind, lr, *rest, milestones in CASES:
        opt = optimizer(lr)
        sched = make(opt, kind, lr, *rest, milestones)
        rates = []
        for _ in range(18):
            rates.append(opt.param_groups[0]["lr"])
            opt.step()
            sched.step()
        print("schedule", kind, lr, *rest, "milestones", *milestones, "rates",
              *map(repr, rates))


def stepping():
    """Three batches a rank, accumulation 2, a linear fall over 12."""
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration
    for split, linked in ((False, True), (True, True), (False, False)):
        acc = Accelerator(cpu=True, gradient_accumulation_steps=2,
                          step_scheduler_with_optimizer=linked,
                          dataloader_config=DataLoaderConfiguration(
                              split_batches=split))
        model = torch.nn.Linear(1, 1)
        opt = torch.optim.SGD(model.parameters(), lr=1.0)
        sched = LambdaLR(opt, lambda c: max(0.0, (12 - c) / 12))
        data = torch.utils.data.DataLoader(
            torch.ones(6, 1), batch_size=2 if split else 1)
        model, opt, sched, data = acc.prepare(model, opt, sched, data)
        row = []
        for _ in range(2):
            for x in data:
                with acc.accumulate(model):
                    acc.backward(model(x).sum())
                    opt.step()
                    sched.step()
                    opt.zero_grad()
                row.append(int(acc.sync_gradients))
                row.append(repr(sched.get_last_lr()[0]))
        if acc.is_main_process:
            print("accelerate", acc.num_processes, int(split), int(linked),
                  *row, flush=True)


if int(os.environ.get("WORLD_SIZE", 1)) > 1:
    stepping()
else:
    schedules()
