/* SPDX-License-Identifier: Apache-2.0 */
/* precision: in what types tests train, and how those gradients travel. */
#ifndef TESTS_TRAIN_PRECISION_H
#define TESTS_TRAIN_PRECISION_H

#include "runtime/train/accel.h"

static const struct precision {
	const char *name;
	accel_dtype dtype;
	int reduce, compress;
	float scale;
} precision[] = {
	{ "f32", ACCEL_F32, 0, 0, 0 },
	{ "f64", ACCEL_F64, 0, 0, 0 },
	{ "bf16", ACCEL_BF16, 0, 0, 0 },
	{ "bf16 as it is", ACCEL_BF16, ACCEL_REDUCE_OWN, 0, 0 },
	{ "f16", ACCEL_F16, 0, 0, 256 },
	{ "f16 as it is", ACCEL_F16, ACCEL_REDUCE_OWN, 0, 256 },
	{ "f32 sent as f16", ACCEL_F32, 0, ACCEL_COMPRESS_F16, 0 },
	{ "f32 sent as bf16", ACCEL_F32, 0, ACCEL_COMPRESS_BF16, 0 },
};
enum { PRECISIONS = sizeof(precision) / sizeof(*precision) };
#endif
