/* SPDX-License-Identifier: Apache-2.0 */
/* Not CUDA: see cuda_runtime_api.h, and launch.hh for kernels. */
#ifndef TESTS_FAKE_CUDA_RUNTIME_H
#define TESTS_FAKE_CUDA_RUNTIME_H

#ifdef __cplusplus
#include "tests/fake/cuda/launch.hh"
#else
#include "tests/fake/cuda/cuda_runtime_api.h"
#endif
#endif
