/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume: one rank of a training that is saved and goes on.
 *	resume save|async|load|both|plain|model|forever DIR TO [ACCUM [KIND]]
 * Trains until TO batches are behind it; "load" and "both" load the state in
 * DIR before, "save", "async" and "both" save it there after, and "model" the
 * parameters alone, in files of at most 20000 bytes.  "forever" saves until a
 * rank dies.  KIND:
 *	whole	F32; whole numbers, so that 1, 2 and 4 ranks train the same
 *	f16	16 bits, loss scaling that overflows, a scheduler, and batches
 *		of a shuffled loader of which an epoch ends on the way
 *	low	PowerSGD from the first step
 *	local	local SGD, averaged every third step
 * Prints a hash of the parameters, and this rank's random state, rate and
 * scale.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/half.h"
#include "runtime/base/hash.h"
#include "runtime/train/accel.h"

enum { N = 4000, SAMPLES = 50, ROWS = 5 };

static float w[3][N], g[3][N];
static uint16_t hw[3][N], hg[3][N];
static accel *a;
static uint64_t dice;
static int64_t batch, row[12];
static int rows;
static bool half, whole;

static int
fail(accel_status st)
{
	printf("status %d: %s\n", (int)st, accel_errmsg());
	return 1;
}

static float
value(int sample, int u, int i)
{
	float here = w[u][i], x;

	if (half)
		f16_to_f32(&here, &hw[u][i], 1);
	x = (float)((sample * 7 + i * 3 + u + (here > 0 ? 5 : 0)) % 17 - 8);
	if (whole)
		return x * (float)accel_world(a);
	/* The scale overflows until it is small enough. */
	return (x + 0.3f * here) / 7 * accel_loss_scale(a);
}

static void
add(int sample)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	for (int u = 0; u < 3; u++)
		for (int i = 0; i < N; i++) {
			float sum = g[u][i];

			if (half)
				f16_to_f32(&sum, &hg[u][i], 1);
			sum += value(sample, u, i);
			if (half)
				f16_from_f32(&hg[u][i], &sum, 1);
			else
				g[u][i] = sum;
		}
}

/* Whole: six samples a batch, whatever the world. */
static accel_status
backward(void *user)
{
	accel_status st = ACCEL_OK;

	(void)user;
	for (int s = accel_rank(a); whole && s < 6; s += accel_world(a))
		add((int)(batch * 6 + s) % SAMPLES);
	for (int s = 0; !whole && s < rows; s++)
		add((int)row[s]);
	for (int u = 2; u >= 0 && st == ACCEL_OK; u--)
		st = accel_leave(a, u);
	return st;
}

static accel_status
train(int64_t to, accel_adamw_args *adam, accel_loader *l, accel_scheduler *s)
{
	accel_status st = ACCEL_OK;

	while (batch < to && st >= 0) {
		st = accel_next(l, row, &rows);
		if (st == ACCEL_END)
			continue;
		if (st == ACCEL_OK)
			st = accel_backward(a, backward, NULL);
		if (st == ACCEL_OK)
			st = accel_step(a, accel_adamw, adam);
		if (st >= 0)
			st = accel_scheduler_step(s);
		batch++;
	}
	return st < 0 ? st : ACCEL_OK;
}

static accel_status
make_model(void)
{
	static const char *const name[] = { "a", "b", "c" };
	accel_status st = ACCEL_OK;

	for (int u = 0; u < 3 && st == ACCEL_OK; u++) {
		accel_tensor t = { name[u], w[u], g[u], ACCEL_F32, 0, 2,
		    { 40, N / 40 } };

		for (int i = 0; i < N; i++)
			w[u][i] = (float)((i * 31 + u) % 13 - 6) / 8;
		if (half) {
			f16_from_f32(hw[u], w[u], N);
			t.data = hw[u];
			t.grad = hg[u];
			t.dtype = ACCEL_F16;
		}
		st = accel_unit(a, name[u], &t, 1, NULL);
	}
	return st == ACCEL_OK ? accel_prepare(a, 2) : st;
}

int
main(int argc, char **argv)
{
	accel_config config = ACCEL_CONFIG_INIT;
	accel_adamw_args adam = { 1e-2, 0.9, 0.99, 1e-8, 0.1 };
	accel_save_args o = ACCEL_SAVE_INIT;
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_scheduler *s = NULL;
	accel_loader *l = NULL;
	accel_status st, end;
	const char *kind = argc > 5 ? argv[5] : "whole";
	bool save, load, model, forever;

	if (argc < 4)
		return 2;
	model = strcmp(argv[1], "model") == 0;
	forever = strcmp(argv[1], "forever") == 0;
	save = strcmp(argv[1], "load") != 0 &&
	    strcmp(argv[1], "plain") != 0 && !model && !forever;
	load = strcmp(argv[1], "load") == 0 || strcmp(argv[1], "both") == 0;
	o.async = strcmp(argv[1], "async") == 0;
	whole = strcmp(kind, "whole") == 0;
	half = strcmp(kind, "f16") == 0;
	config.grad_accum = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 1;
	if (half) {
		config.loss_scale = ACCEL_LOSS_SCALE;
		config.scale_interval = 3;
	}
	if (strcmp(kind, "low") == 0) {
		config.compress = ACCEL_COMPRESS_POWERSGD;
		config.powersgd_start = -1;
	}
	how.kind = ACCEL_LR_COSINE;
	how.total = whole ? 1000000 : 40;
	if ((st = accel_init(&config, &a)) != ACCEL_OK)
		return fail(st);
	dice = (uint64_t)accel_rank(a);
	st = make_model();
	if (st == ACCEL_OK)
		st = accel_register(a, "dice", &dice, sizeof(dice),
		    ACCEL_PER_RANK);
	if (st == ACCEL_OK)
		st = accel_register(a, "batch", &batch, sizeof(batch), 0);
	/* Neither place nor rate may depend on the number of ranks. */
	if (st == ACCEL_OK)
		st = accel_loader_new(a, whole ? 1 << 20 : SAMPLES, whole ?
		    12 : ROWS, whole ? ACCEL_SPLIT : ACCEL_SHUFFLE, 7, &l);
	how.flags = whole ? ACCEL_LR_ONCE : 0;
	if (st == ACCEL_OK)
		st = accel_scheduler_new(a, &adam.lr, &how, &s);
	if (st == ACCEL_OK && strcmp(kind, "local") == 0)
		st = accel_local_sgd(a, 3);
	if (st == ACCEL_OK && load)
		st = accel_load_state(a, argv[2]);
	if (st == ACCEL_OK)
		st = train(strtol(argv[3], NULL, 10), &adam, l, s);
	if (st == ACCEL_OK && save)
		st = accel_save_state(a, argv[2], &o);
	for (long i = 0; forever && st == ACCEL_OK; i++) {
		st = accel_save_state(a, argv[2], NULL);
		if (i == 5) {
			printf("pid %ld\n", (long)getpid());
			fflush(stdout);
		}
	}
	if (st == ACCEL_OK && model)
		st = accel_save_model(a, argv[2], 20000);
	if (st != ACCEL_OK)
		fail(st);
	else
		printf("batch %lld hash %016llx\nown %016llx\nrate %a scale %a "
		    "mine %016llx\n", (long long)batch,
		    (unsigned long long)(half ? hash_bytes(hw, sizeof(hw)) :
		    hash_bytes(w, sizeof(w))), (unsigned long long)dice,
		    adam.lr, (double)accel_loss_scale(a),
		    (unsigned long long)hash_bytes(row, sizeof(row)));
	accel_loader_free(l);
	accel_scheduler_free(s);
	end = accel_fini(a);
	if (end != ACCEL_OK)
		fail(end);
	return st != ACCEL_OK || end != ACCEL_OK;
}
