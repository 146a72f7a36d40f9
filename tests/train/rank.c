/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank: one rank of the tests.  rank train|loop|big|linger|mismatch|gather [BUCKET]
 *	train		integer gradients of 6 samples; prints the parameters
 *	loop		reduces until a rank dies; prints the error
 *	big		the same with 4 MiB
 *	linger		the last rank never leaves; all say when they would
 *	mismatch	the last rank has another shape
 *	gather		7 rows over all ranks, in order
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/train/accel.h"

#define N 1000

static float w[3][N], g[3][N];
static accel *a;
static int step;

static int
fail(accel_status st)
{
	printf("status %d: %s\n", (int)st, accel_errmsg());
	fflush(stdout);
	return 1;
}

/* Samples rank, rank + world, ...: six a step, whatever the world. */
static accel_status
backward(void *user)
{
	const int *micro = user;
	int world = accel_world(a), accum = 6 / world;
	int sample = accel_rank(a) + world * (*micro % accum);
	accel_status st = ACCEL_OK;

	for (int u = 2; u >= 0 && st == ACCEL_OK; u--) {
		for (int i = 0; i < N; i++)
			g[u][i] += (float)((sample * 7 + i * 3 + u + step) %
			    17 - 8);
		st = accel_leave(a, u);
	}
	return st;
}

static accel_status
train(void)
{
	accel_sgd_args sgd = { 0.1, 0.9, 0, 0, 0 };
	accel_status st = ACCEL_OK;
	uint64_t h = 1469598103934665603u;

	for (step = 0; step < 4; step++)
		for (int m = 0; m < 6 / accel_world(a); m++) {
			st = accel_backward(a, backward, &m);
			if (st == ACCEL_OK)
				st = accel_step(a, accel_sgd, &sgd);
			if (st < 0)
				return st;
		}
	for (size_t i = 0; i < sizeof(w); i++)
		h = (h ^ ((unsigned char *)w)[i]) * 1099511628211u;
	printf("parameters %016llx\n", (unsigned long long)h);
	return ACCEL_OK;
}

static accel_status
loop(void)
{
	accel_status st;

	for (long i = 0;; i++) {
		st = accel_all_reduce(a, w[0], N, ACCEL_F32, ACCEL_AVG);
		if (st != ACCEL_OK)
			return st;
		if (i == 100) {
			printf("pid %ld\n", (long)getpid());
			fflush(stdout);
		}
	}
}

/* Messages large enough for UCX to copy out of the other process. */
static accel_status
big(void)
{
	static float x[1 << 20];
	accel_status st = ACCEL_OK;

	for (long i = 0; st == ACCEL_OK; i++) {
		st = accel_all_reduce(a, x, 1 << 20, ACCEL_F32, ACCEL_MAX);
		if (i == 3) {
			printf("pid %ld\n", (long)getpid());
			fflush(stdout);
		}
	}
	return st;
}

static accel_status
gather(void)
{
	accel_loader *l;
	accel_status st;
	int64_t index[2], out[16];
	size_t n;
	int rows;

	st = accel_loader_new(a, 7, 2, 0, 0, &l);
	while (st == ACCEL_OK &&
	    (st = accel_next(l, index, &rows)) == ACCEL_OK) {
		st = accel_gather_for_metrics(l, index, sizeof(*index), out,
		    &n);
		for (size_t i = 0; st == ACCEL_OK && i < n; i++)
			printf("%d ", (int)out[i]);
	}
	printf("\n");
	accel_loader_free(l);
	return st == ACCEL_END ? ACCEL_OK : st;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	accel_config config = ACCEL_CONFIG_INIT;
	static const char *const name[] = { "w0", "w1", "w2" };
	accel_status st, end;

	if (argc > 2)
		config.bucket_bytes = (int)strtol(argv[2], NULL, 10);
	if (strcmp(what, "train") == 0 && getenv("WORLD_SIZE") != NULL)
		config.grad_accum = 6 /
		    (int)strtol(getenv("WORLD_SIZE"), NULL, 10);
	if ((st = accel_init(&config, &a)) != ACCEL_OK)
		return fail(st);
	for (int u = 0; u < 3 && st == ACCEL_OK; u++) {
		accel_tensor t = { name[u], w[u], g[u], ACCEL_F32, 0, 1,
		    { N } };

		for (int i = 0; i < N; i++)
			w[u][i] = (float)(accel_rank(a) * 1000 + i + u);
		if (strcmp(what, "mismatch") == 0 && u == 1 &&
		    accel_rank(a) == accel_world(a) - 1)
			t.shape[0] = N - 1;
		st = accel_unit(a, name[u], &t, 1, NULL);
	}
	if (st == ACCEL_OK)
		st = accel_prepare(a, 1);
	if (st == ACCEL_OK)
		st = strcmp(what, "train") == 0 ? train() :
		    strcmp(what, "loop") == 0 ? loop() :
		    strcmp(what, "big") == 0 ? big() :
		    strcmp(what, "gather") == 0 ? gather() : st;
	if (st != ACCEL_OK)
		fail(st);
	if (strcmp(what, "linger") == 0) {
		printf("pid %ld\n", (long)getpid());
		fflush(stdout);
		while (accel_rank(a) == accel_world(a) - 1)
			pause();
	}
	end = accel_fini(a);
	if (end != ACCEL_OK)
		fail(end);
	return st != ACCEL_OK || end != ACCEL_OK;
}
