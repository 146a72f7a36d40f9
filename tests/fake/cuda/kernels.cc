/* SPDX-License-Identifier: Apache-2.0 */
/* The real kernels, for the fake CUDA. */
#include "tests/fake/cuda/launch.hh"

#include "runtime/device/cuda_kernels.cu"
