/* SPDX-License-Identifier: Apache-2.0 */
/* two: a model of two units, a matrix and a vector, for tests of how gradients
 * travel. */
#ifndef TESTS_TRAIN_TWO_H
#define TESTS_TRAIN_TWO_H

#include "tests/train/world.h"

enum { ROWS = 24, COLS = 20, N = ROWS * COLS, SMALL = 5 };

static float w[2][N], g[2][N];

/* Units "big" (a matrix) and "small" (a vector). */
static inline accel_status
model(const accel_config *c, accel **out)
{
	accel_tensor big = { "big", w[0], g[0], ACCEL_F32, 0, 2,
	    { ROWS, COLS } };
	accel_tensor small = { "small", w[1], g[1], ACCEL_F32, 0, 1,
	    { SMALL } };
	accel *a;

	GOOD(accel_init(c, out));
	a = *out;
	for (int i = 0; i < N; i++)
		w[0][i] = w[1][i] = (float)(accel_rank(a) * 100 + i);
	GOOD(accel_unit(a, "big", &big, 1, NULL));
	GOOD(accel_unit(a, "small", &small, 1, NULL));
	return accel_prepare(a, 0);
}

/* What backward adds to every element, and which units it leaves. */
static struct {
	accel *a;
	float big, small;
	unsigned leave;
} task;

static inline accel_status
backward(void *user)
{
	accel_status st = ACCEL_OK;

	(void)user;
	for (int i = 0; i < N; i++)
		g[0][i] += task.big;
	for (int i = 0; i < SMALL; i++)
		g[1][i] += task.small;
	for (int u = 1; u >= 0 && st == ACCEL_OK; u--)
		if (task.leave & 1u << u)
			st = accel_leave(task.a, u);
	return st;
}

static inline accel_status
one_step(accel *a, float big, float small, unsigned leave,
    accel_status *status)
{
	accel_sgd_args sgd = { .lr = 1 };

	task.a = a;
	task.big = big;
	task.small = small;
	task.leave = leave;
	GOOD(accel_backward(a, backward, NULL));
	*status = accel_step(a, accel_sgd, &sgd);
	return ACCEL_OK;
}
#endif
