/* SPDX-License-Identifier: Apache-2.0 */
/* One process: AdamW, accumulation, clipping. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/train.h"
#include "tests/tap.h"

static float w[3] = { 1, -2, 3 }, g[3];
static accel *world1;

static accel_status
backward(void *user)
{
	for (int i = 0; i < 3; i++)
		g[i] += *(const float *)user * (float)(i + 1);
	return accel_leave(world1, 0);
}

int
main(void)
{
	accel_tensor t = { "w", w, g, ACCEL_F32, 0, 1, { 3 } };
	accel_adamw_args adam = { 0.1f, 0.9f, 0.99f, 1e-8f, 0.01f };
	accel_config config = ACCEL_CONFIG_INIT;
	double p[3] = { 1, -2, 3 }, m[3] = { 0 }, v[3] = { 0 }, worst = 0;
	accel_status st = ACCEL_OK;
	float one = 1, norm;

	config.grad_accum = 2;
	ok(accel_init(&config, &world1) == ACCEL_OK, "one process alone");
	ok(accel_unit(world1, "u", &t, 1, NULL) == ACCEL_OK, "a unit");
	ok(accel_unit(world1, "u", &t, 1, NULL) == ACCEL_EINVAL,
	    "not two tensors of one name");
	ok(accel_step(world1, accel_adamw, &adam) == ACCEL_SKIPPED,
	    "no step without gradients");
	ok(accel_prepare(world1, 2) == ACCEL_OK, "prepare");
	ok(accel_backward(world1, backward, &one) == ACCEL_OK &&
	    !accel_syncing(world1), "the first of two batches only adds");
	ok(accel_step(world1, accel_adamw, &adam) == ACCEL_SKIPPED,
	    "and its step is skipped");
	for (int s = 1; s <= 5 && st == ACCEL_OK; s++) {
		if (s > 1)
			st = accel_backward(world1, backward, &one);
		if (st == ACCEL_OK)
			st = accel_backward(world1, backward, &one);
		if (st == ACCEL_OK)
			st = accel_clip_grad_norm(world1, 100, &norm);
		if (st == ACCEL_OK)
			st = accel_step(world1, accel_adamw, &adam);
		for (int i = 0; i < 3; i++) {
			double d = i + 1;

			m[i] = 0.9 * m[i] + 0.1 * d;
			v[i] = 0.99 * v[i] + 0.01 * d * d;
			p[i] -= 0.1 * 0.01 * p[i];
			p[i] -= 0.1 * (m[i] / (1 - pow(0.9, s))) /
			    (sqrt(v[i] / (1 - pow(0.99, s))) + 1e-8);
		}
	}
	for (int i = 0; i < 3; i++)
		worst = fmax(worst, fabs(p[i] - (double)w[i]));
	ok(st == ACCEL_OK && worst < 1e-5, "AdamW is the plain formula");
	ok(fabsf(norm - sqrtf(14)) < 1e-5f, "the norm is of the average");
	ok(g[0] == 0, "the step clears the gradients");
	ok(accel_fini(world1) == ACCEL_OK, "the end");
	return tap_done();
}
