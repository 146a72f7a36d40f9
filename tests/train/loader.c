/* SPDX-License-Identifier: Apache-2.0 */
/* One process: dealing out samples as Accelerate does, AdamW, accumulation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/train.h"
#include "tests/tap.h"

static void
deal(char *out, size_t room, int n, int batch, int world, uint32_t flags)
{
	struct accel a = { .world = world };
	accel_loader *l;
	int64_t index[64];
	size_t len = 0;
	int rows;

	out[0] = '\0';
	for (a.rank = 0; a.rank < world; a.rank++) {
		if (a.rank > 0)
			len += (size_t)snprintf(out + len, room - len, " ");
		if (accel_loader_new(&a, n, batch, flags, 0, &l) != ACCEL_OK)
			return;
		while (accel_next(l, index, &rows) == ACCEL_OK) {
			if (rows == 0)
				continue;
			len += (size_t)snprintf(out + len, room - len, "[");
			for (int i = 0; i < rows; i++)
				len += (size_t)snprintf(out + len, room - len,
				    "%d", (int)index[i]);
			len += (size_t)snprintf(out + len, room - len, "]");
		}
		accel_loader_free(l);
	}
}

static const struct {
	int n, batch, world;
	uint32_t flags;
	const char *want;
} golden[] = {
	{ 7, 2, 2, 0, "[01][45] [23][60]" },
	{ 7, 2, 2, ACCEL_UNEVEN, "[01][45] [23][6]" },
	{ 7, 2, 2, ACCEL_DROP_LAST, "[01] [23]" },
	{ 7, 2, 2, ACCEL_SPLIT, "[0][2][4][6] [1][3][5][0]" },
	{ 7, 2, 2, ACCEL_SPLIT | ACCEL_UNEVEN, "[0][2][4][6] [1][3][5]" },
	{ 10, 4, 2, 0, "[0123][8901] [4567][2345]" },
	{ 10, 4, 2, ACCEL_UNEVEN, "[0123][89] [4567]" },
	{ 10, 4, 2, ACCEL_SPLIT, "[01][45][89] [23][67][01]" },
	{ 10, 4, 2, ACCEL_SPLIT | ACCEL_UNEVEN, "[01][45][89] [23][67]" },
	{ 5, 2, 3, 0, "[01] [23] [40]" },
	{ 5, 2, 3, ACCEL_UNEVEN, "[01] [23] [4]" },
	{ 1, 2, 2, 0, "[00] [00]" },
	{ 1, 2, 2, ACCEL_UNEVEN, "[0] " },
};

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
	char got[256];

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		deal(got, sizeof(got), golden[i].n, golden[i].batch,
		    golden[i].world, golden[i].flags);
		is(got, golden[i].want, "%d samples in batches of %d for %d "
		    "ranks, flags %u", golden[i].n, golden[i].batch,
		    golden[i].world, golden[i].flags);
	}
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
