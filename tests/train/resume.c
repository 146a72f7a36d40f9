/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume: one rank of a training that is saved and goes on.
 *	resume save|async|load|both|plain DIR FROM TO [ACCUM]
 * Batches FROM to TO - 1, of which "load" and "both" load the state in DIR
 * before, and "save", "async" and "both" save it there after.  Prints a hash of
 * the parameters, which is the same for 1, 2 and 4 ranks, and this rank's random
 * state.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/train/accel.h"

enum { N = 4000, SAMPLES = 96 };

static float w[3][N], g[3][N];
static accel *a;
static uint64_t dice;
static int64_t batch;

static int
fail(accel_status st)
{
	printf("status %d: %s\n", (int)st, accel_errmsg());
	return 1;
}

/* Six samples a batch, whatever the world; whole numbers, so that sums do not
 * depend on their order, nor averages over a power of two. */
static accel_status
backward(void *user)
{
	int world = accel_world(a);
	accel_status st = ACCEL_OK;

	(void)user;
	for (int s = accel_rank(a); s < 6; s += world) {
		int sample = (int)(batch * 6 + s) % SAMPLES;

		dice = dice * 6364136223846793005u + 1442695040888963407u;
		for (int u = 0; u < 3; u++)
			for (int i = 0; i < N; i++)
				g[u][i] += (float)(world * ((sample * 7 + i *
				    3 + u + (w[u][i] > 0 ? 5 : 0)) % 17 - 8));
	}
	for (int u = 2; u >= 0 && st == ACCEL_OK; u--)
		st = accel_leave(a, u);
	return st;
}

static accel_status
train(int64_t to)
{
	accel_adamw_args adam = { 1e-2, 0.9, 0.99, 1e-8, 0.1 };
	accel_status st = ACCEL_OK;

	for (; batch < to && st >= 0; batch++) {
		st = accel_backward(a, backward, NULL);
		if (st == ACCEL_OK)
			st = accel_step(a, accel_adamw, &adam);
	}
	return st < 0 ? st : ACCEL_OK;
}

int
main(int argc, char **argv)
{
	static const char *const name[] = { "a", "b", "c" };
	accel_config config = ACCEL_CONFIG_INIT;
	accel_save_args o = ACCEL_SAVE_INIT;
	accel_status st, end;
	bool save, load;

	if (argc < 5)
		return 2;
	save = strcmp(argv[1], "load") != 0 && strcmp(argv[1], "plain") != 0;
	load = strcmp(argv[1], "load") == 0 || strcmp(argv[1], "both") == 0;
	o.async = strcmp(argv[1], "async") == 0;
	config.grad_accum = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 1;
	if ((st = accel_init(&config, &a)) != ACCEL_OK)
		return fail(st);
	for (int u = 0; u < 3 && st == ACCEL_OK; u++) {
		accel_tensor t = { name[u], w[u], g[u], ACCEL_F32, 0, 2,
		    { 4, N / 4 } };

		for (int i = 0; i < N; i++)
			w[u][i] = (float)((i * 31 + u) % 13 - 6) / 8;
		st = accel_unit(a, name[u], &t, 1, NULL);
	}
	dice = (uint64_t)accel_rank(a);
	if (st == ACCEL_OK)
		st = accel_prepare(a, 2);
	if (st == ACCEL_OK)
		st = accel_register(a, "dice", &dice, sizeof(dice),
		    ACCEL_PER_RANK);
	if (st == ACCEL_OK)
		st = accel_register(a, "batch", &batch, sizeof(batch), 0);
	batch = strtol(argv[3], NULL, 10);
	if (st == ACCEL_OK && load)
		st = accel_load_state(a, argv[2]);
	if (st == ACCEL_OK)
		st = train(strtol(argv[4], NULL, 10));
	if (st == ACCEL_OK && save)
		st = accel_save_state(a, argv[2], &o);
	if (st != ACCEL_OK)
		fail(st);
	else
		printf("batch %lld hash %016llx\nown %016llx\n",
		    (long long)batch, (unsigned long long)hash_bytes(w,
		    sizeof(w)), (unsigned long long)dice);
	end = accel_fini(a);
	if (end != ACCEL_OK)
		fail(end);
	return st != ACCEL_OK || end != ACCEL_OK;
}
