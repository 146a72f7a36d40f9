/* SPDX-License-Identifier: Apache-2.0 */
/* Not CUDA: see cuda_runtime_api.h. */
#include "tests/fake/cuda/launch.h"
