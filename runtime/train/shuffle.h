/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle: the order of torch.randperm(n) behind torch.manual_seed(seed), bit
 * for bit: the Mersenne twister MT19937 (Matsumoto and Nishimura, 1998) and
 * ATen's Fisher-Yates (aten/src/ATen/native/TensorFactories.cpp).
 */
#ifndef RUNTIME_TRAIN_SHUFFLE_H
#define RUNTIME_TRAIN_SHUFFLE_H

#include <stdint.h>

/* From this many elements on torch draws 64 bits for each, and goes up. */
#define SHUFFLE_LARGE (UINT32_MAX / 20)

/* Fills order[0 .. n-1] with the numbers below n.  As in torch, the low 32
 * bits of the seed alone count. */
void shuffle_order(int64_t *order, int64_t n, uint64_t seed);
#endif
