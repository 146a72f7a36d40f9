# SPDX-License-Identifier: Apache-2.0
"""What a rank sees: one line, from rank 0, after a real all-reduce."""
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import reduce

accelerator = Accelerator()
total = reduce(torch.tensor([accelerator.process_index + 1.0]), "sum")
if len(sys.argv) > 1 and accelerator.process_index == int(sys.argv[1]):
    raise ValueError("rank %d was told to fail" % accelerator.process_index)
if accelerator.is_main_process:
    print(accelerator.distributed_type.value, accelerator.num_processes, total.item())
accelerator.end_training()
