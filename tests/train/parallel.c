/* SPDX-License-Identifier: Apache-2.0 */
/* What gradients and parameters go through beside the plain average: unused
 * units, uneven data, PowerSGD, local SGD, buffers, debug mode. */
#include <math.h>

#include "tests/train/two.h"

static accel_status
count_ranges(void *user, const accel_range *r, int n, int64_t step)
{
	(void)r;
	(void)step;
	*(int *)user = n;
	return ACCEL_OK;
}

/* Rank 0 alone leaves "small", nobody "big"; the others leave nothing. */
static accel_status
unused(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	int seen = 0;
	accel *a;

	c.unused = *(int *)user;
	GOOD(model(&c, &a));
	task.a = a;
	task.big = 0;
	task.small = 1;
	task.leave = accel_rank(a) == 0 ? 2 : 0;
	if (c.unused == ACCEL_UNUSED_ERROR) {
		accel_sgd_args sgd = { .lr = 1 };

		GOOD(accel_backward(a, backward, NULL));
		st = accel_step(a, accel_sgd, &sgd);
		
		HOLDS(st == ACCEL_EMISMATCH);
		HOLDS(strstr(accel_errmsg(), "unit big had no accel_leave on "
		    ) != NULL);
	} else {
		GOOD(accel_backward(a, backward, NULL));
		GOOD(accel_step(a, count_ranges, &seen));
		HOLDS(seen == (c.unused == ACCEL_UNUSED_SKIP ? 1 : 2));
		/* No accel_leave anywhere is another way of working. */
		task.leave = 0;
		GOOD(accel_backward(a, backward, NULL));
		GOOD(accel_step(a, count_ranges, &seen));
		HOLDS(seen == 2);
	}
	return accel_fini(a);
}

/* The last rank has half of an accumulation, and never leaves "big". */
static accel_status
unused_in_half(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 1 };
	int active, last;
	accel *a;

	(void)user;
	c.unused = ACCEL_UNUSED_ERROR;
	c.grad_accum = 2;
	GOOD(model(&c, &a));
	last = accel_rank(a) == accel_world(a) - 1;
	task.a = a;
	task.leave = last ? 2 : 3;
	for (int m = 0; m < 2; m++) {
		GOOD(accel_join(a, m == 0 || !last, &active));
		GOOD(accel_backward(a, m == 0 || !last ? backward : NULL,
		    NULL));
	}
	HOLDS(accel_step(a, accel_sgd, &sgd) == ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "unit big had no accel_leave on 1 of ") !=
	    NULL);
	return accel_fini(a);
}

/* Rank r has r + 1 batches. */
static accel_status
joins(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 1 };
	float want = 0;
	int active, world, rounds = 0;
	accel *a;

	c.uneven = *(int *)user;
	GOOD(model(&c, &a));
	world = accel_world(a);
	task.a = a;
	task.big = 6;
	task.small = 0;
	task.leave = 3;
	for (;; rounds++) {
		int have = rounds <= accel_rank(a);
		accel_status st = accel_join(a, have, &active);

		if (c.uneven == ACCEL_UNEVEN_ERROR && rounds == 1 &&
		    world > 1) {
			HOLDS(st == ACCEL_EMISMATCH);
			HOLDS(strncmp(accel_errmsg(), "rank 0 has no more data "
			    "while", 29) == 0);
			return accel_fini(a);
		}
		GOOD(st);
		if (active == 0)
			break;
		HOLDS(active == world - rounds);
		want += c.uneven == ACCEL_UNEVEN_ACTIVE ? 6 : 6 *
		    (float)active / (float)world;
		GOOD(accel_backward(a, have ? backward : NULL, NULL));
		GOOD(accel_step(a, accel_sgd, &sgd));
		GOOD(accel_check_replicas(a));
	}
	HOLDS(rounds == world);
	HOLDS(fabsf(w[0][3] - (3 - want)) < 1e-4f);
	return accel_fini(a);
}

/* A matrix of rank one is sent exactly; of others, what is left out comes
 * later: over some steps the sum is right though no step is. */

static accel_status
random_matrix(void *user)
{
	unsigned s = *(unsigned *)user;

	for (int i = 0; i < N; i++) {
		s = s * 1664525u + 1013904223u;
		g[0][i] += (float)(s >> 8) / (float)(1 << 23) - 1;
	}
	for (int i = 0; i < SMALL; i++)
		g[1][i] += (float)task.a->rank;
	return ACCEL_OK;
}

static accel_status
thin_matrix(void *user)
{
	(void)user;
	for (int i = 0; i < N; i++)
		g[0][i] += (float)(i / COLS + 1) * (float)(i % COLS - 7) *
		    (float)(task.a->rank + 1);
	return ACCEL_OK;
}

static accel_status
power(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 1 };
	double mean[N] = { 0 }, off = 0, size = 0, first = -1;
	float before[N];
	int world;
	accel *a;

	(void)user;
	c.compress = ACCEL_COMPRESS_POWERSGD;
	c.powersgd_rank = 2;
	c.powersgd_start = -1;
	GOOD(model(&c, &a));
	world = accel_world(a);
	task.a = a;
	memcpy(before, w[0], sizeof(before));
	GOOD(accel_backward(a, thin_matrix, NULL));
	GOOD(accel_step(a, accel_sgd, &sgd));
	for (int i = 0; i < N; i++) {
		float want = (float)(i / COLS + 1) * (float)(i % COLS - 7) *
		    (float)(world + 1) / 2;

		HOLDS(fabsf(before[i] - w[0][i] - want) < 1e-2f);
	}
	memcpy(before, w[0], sizeof(before));
	for (int s = 0; s < 60; s++) {
		/* The same each step: the error shrinks as one over them. */
		unsigned seed = (unsigned)accel_rank(a) * 77 + 5;

		GOOD(accel_backward(a, random_matrix, &seed));
		GOOD(accel_step(a, accel_sgd, &sgd));
		GOOD(accel_check_replicas(a));
		for (int r = 0; s == 0 && r < world; r++) {
			unsigned x = (unsigned)r * 77 + 5;

			for (int i = 0; i < N; i++) {
				x = x * 1664525u + 1013904223u;
				mean[i] += ((double)(x >> 8) / (1 << 23) - 1) /
				    world;
			}
		}
		off = size = 0;
		for (int i = 0; i < N; i++) {
			double got = (double)(before[i] - w[0][i]) / (s + 1);

			off += (got - mean[i]) * (got - mean[i]);
			size += mean[i] * mean[i];
		}
		if (first < 0)
			first = sqrt(off / size);
	}
	if (world == 1)
		HOLDS(first < 1e-3);	/* nothing travels */
	else
		HOLDS(first > 0.5 && sqrt(off / size) < 0.25);
	HOLDS(fabsf(w[1][0] + 60 * (float)(world - 1) / 2) < 1e-3f);
	return accel_fini(a);
}

static accel_status
power_overflow(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	accel *a;

	(void)user;
	c.compress = ACCEL_COMPRESS_POWERSGD;
	c.powersgd_start = -1;
	c.loss_scale = 1024;
	GOOD(model(&c, &a));
	GOOD(one_step(a, accel_rank(a) == 0 ? INFINITY : 1, 1, 3, &st));
	HOLDS(st == ACCEL_SKIPPED && accel_loss_scale(a) == 512);
	GOOD(one_step(a, 512 * 2, 512, 3, &st));
	GOOD(st);
	HOLDS(fabsf(w[0][9] - 7) < 1e-3f && fabsf(w[1][1]) < 1e-5f);
	return accel_fini(a);
}

/* An overflow on the last rank alone is everybody's. */
static accel_status
overflow(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	accel *a;

	c.loss_scale = 8;
	c.local_steps = *(int *)user;
	GOOD(model(&c, &a));
	GOOD(one_step(a, accel_rank(a) == accel_world(a) - 1 ? NAN : 8, 8, 3,
	    &st));
	HOLDS(st == ACCEL_SKIPPED && accel_step_was_skipped(a));
	HOLDS(accel_loss_scale(a) == 4 && w[0][2] == 2);
	GOOD(one_step(a, 8, 8, 3, &st));
	HOLDS(st == ACCEL_OK && !accel_step_was_skipped(a) && w[0][2] == 0);
	return accel_fini(a);
}

static accel_status
local_sgd(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	float own, mean;
	accel *a;

	(void)user;
	c.local_steps = 3;
	GOOD(model(&c, &a));
	mean = (float)(accel_world(a) - 1) / 2;
	own = (float)accel_rank(a);
	for (int s = 1; s <= 3; s++) {
		GOOD(one_step(a, own, own, 3, &st));
		GOOD(st);
		HOLDS(w[0][5] == 5 - (s < 3 ? (float)s * own : 3 * mean));
	}
	GOOD(accel_check_replicas(a));
	GOOD(one_step(a, own, own, 3, &st));
	if (accel_world(a) > 1) {
		HOLDS(accel_check_replicas(a) == ACCEL_EMISMATCH);
		HOLDS(strstr(accel_errmsg(), "the values of big differ between "
		    "rank 0 and rank") != NULL);
	}
	GOOD(accel_local_sgd(a, 0));
	GOOD(accel_average_parameters(a));
	GOOD(one_step(a, own, own, 3, &st));
	GOOD(accel_check_replicas(a));
	HOLDS(fabsf(w[0][5] - (5 - 5 * mean)) < 1e-4f);
	return accel_fini(a);
}

static accel_status
buffers(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	int64_t mean[3];
	accel *a;

	(void)user;
	GOOD(accel_init(&c, &a));
	for (int i = 0; i < 3; i++)
		mean[i] = accel_rank(a) * 10 + i;
	GOOD(accel_buffer(a, "mean", mean, sizeof(mean)));
	GOOD(accel_prepare(a, 0));
	HOLDS(mean[2] == 2);
	mean[1] = accel_rank(a) == 0 ? 50 : 60;
	GOOD(accel_sync_buffers(a));
	HOLDS(mean[1] == 50);
	HOLDS(accel_buffer(a, "late", mean, 8) == ACCEL_ESTATE);
	return accel_fini(a);
}

/* The last rank asks for something else. */
static accel_status
differs(void *user)
{
	int what = *(int *)user, last, x[4] = { 0 };
	const char *want = NULL;
	accel_status st;
	accel *a;

	GOOD(accel_init(NULL, &a));
	last = accel_rank(a) == accel_world(a) - 1;
	GOOD(accel_all_reduce(a, x, 2, ACCEL_I32, ACCEL_SUM));
	switch (what) {
	case 0:
		st = accel_all_reduce(a, x, last ? 3 : 4, ACCEL_I32, ACCEL_SUM);
		want = "rank 0 calls all-reduce of 4 I32 (sum), rank 1 calls "
		    "all-reduce of 3 I32 (sum)";
		break;
	case 1:
		st = last ? accel_broadcast(a, x, 16, 0) :
		    accel_all_reduce(a, x, 4, ACCEL_I32, ACCEL_MAX);
		want = "rank 0 calls all-reduce of 4 I32 (max), rank 1 calls "
		    "broadcast of 16 bytes from rank 0";
		break;
	default:
		st = accel_broadcast(a, x, 16, last ? 1 : 0);
		want = "rank 0 calls broadcast of 16 bytes from rank 0, rank 1 "
		    "calls broadcast of 16 bytes from rank 1";
	}
	HOLDS(st == ACCEL_EBACKEND);
	HOLDS(strstr(accel_errmsg(), "ranks differ in operation 3: ") != NULL);
	HOLDS(strstr(accel_errmsg(), want) != NULL);
	return accel_fini(a);
}

/* With debug mode a step after which parameters differ is named. */
static accel_status
by_rank(void *user, const accel_range *r, int n, int64_t step)
{
	(void)n;
	(void)step;
	((float *)r[1].param)[2] += (float)*(int *)user;
	return ACCEL_OK;
}

static accel_status
drifts(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	int rank;
	accel *a;

	(void)user;
	GOOD(model(&c, &a));
	task.a = a;
	task.leave = 3;
	rank = accel_rank(a);
	GOOD(accel_backward(a, backward, NULL));
	st = accel_step(a, by_rank, &rank);
	HOLDS(st == ACCEL_EMISMATCH);
	HOLDS(strncmp(accel_errmsg(), "the values of small differ between rank "
	    "0 and rank 1 after step 1", 65) == 0);
	return accel_fini(a);
}

static void
in_debug(int world, accel_fn fn, int what, const char *says)
{
	accel_status st;

	setenv("ACCEL_DEBUG", "1", 1);
	st = spawn(world, fn, &what);
	ok(st == ACCEL_OK, "%s", says);
	if (st != ACCEL_OK)
		printf("# %s\n", accel_errmsg());
	unsetenv("ACCEL_DEBUG");
}

int
main(void)
{
	int choice;

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	choice = ACCEL_UNUSED_ZERO;
	on_worlds(unused, &choice, "unused units are updated");
	choice = ACCEL_UNUSED_SKIP;
	on_worlds(unused, &choice, "or left out if unused everywhere");
	choice = ACCEL_UNUSED_ERROR;
	on_worlds(unused, &choice, "or an error that names the unit");
	on_worlds(unused_in_half, NULL, "of half an accumulation too");
	choice = ACCEL_UNEVEN_ALL;
	on_worlds(joins, &choice, "uneven data, averaged over all ranks");
	choice = ACCEL_UNEVEN_ACTIVE;
	on_worlds(joins, &choice, "uneven data, averaged over who has some");
	choice = ACCEL_UNEVEN_ERROR;
	on_worlds(joins, &choice, "uneven data, refused");
	on_worlds(power, NULL, "PowerSGD: exact for thin, right in the long "
	    "run");
	on_worlds(power_overflow, NULL, "PowerSGD outlives an overflow");
	choice = 0;
	on_worlds(overflow, &choice, "one rank's overflow is everybody's");
	choice = 5;
	on_worlds(overflow, &choice, "with local SGD too");
	on_worlds(local_sgd, NULL, "local SGD averages each third step");
	on_worlds(buffers, NULL, "buffers are rank 0's");
	in_debug(2, differs, 0, "debug mode: another size is named");
	in_debug(2, differs, 1, "debug mode: another call is named");
	in_debug(2, differs, 2, "debug mode: another root is named");
	in_debug(2, drifts, 0, "debug mode: replicas that drift are named");
	return tap_done();
}
