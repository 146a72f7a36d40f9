/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel-selftest: a rank of "accel test".
 *
 * Checks every value that collectives give, and then that a small model learns
 * and ends as the same bits on all ranks.  Rank 0 says "accel-selftest: PASS
 * what" of each part that is right on every rank; a rank that sees something
 * wrong says so itself.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/train/accel.h"

#include "runtime/base/banned.h"

enum { MOST = 1 << 18, IN = 8, OUT = 4, SAMPLES = 240, BATCH = 24,
	STEPS = 60 };

static accel	*a;
static int	 rank, world;

static void
check(accel_status st, const char *what)
{
	if (st >= 0)
		return;
	fprintf(stderr, "accel-selftest: rank %d: %s: %s\n", rank, what,
	    accel_errmsg());
	accel_fini(a);
	exit(1);
}

/* True where all ranks found the part right. */
static bool
all_right(bool right, const char *what)
{
	int32_t wrong = !right;

	if (!right)
		fprintf(stderr, "accel-selftest: rank %d: %s gave a wrong "
		    "value\n", rank, what);
	check(accel_all_reduce(a, &wrong, 1, ACCEL_I32, ACCEL_MAX), what);
	return !wrong;
}

static void
say(bool right, const char *what)
{
	if (rank == 0) {
		printf("accel-selftest: %s %s\n", right ? "PASS" : "FAIL",
		    what);
		fflush(stdout);
	}
}

/* ---- collectives --------------------------------------------------------- */

static bool
reduce(size_t n)
{
	int64_t	*sum = malloc(n * sizeof *sum), ranks = world;
	float	*mean = malloc(n * sizeof *mean);
	double	*most = malloc(n * sizeof *most);
	bool	 right = sum && mean && most;

	for (size_t i = 0; right && i < n; i++) {
		sum[i] = (int64_t)i * (rank + 1);
		mean[i] = (float)(rank * 2 + (int)(i % 7));
		most[i] = (double)((rank + (int)(i % 1000)) % world);
	}
	if (right) {
		check(accel_all_reduce(a, sum, n, ACCEL_I64, ACCEL_SUM),
		    "all-reduce");
		check(accel_all_reduce(a, mean, n, ACCEL_F32, ACCEL_AVG),
		    "all-reduce");
		check(accel_all_reduce(a, most, n, ACCEL_F64, ACCEL_MAX),
		    "all-reduce");
	}
	/* All of them are exact: small whole numbers, and halves of such. */
	for (size_t i = 0; right && i < n; i++)
		right = sum[i] == (int64_t)i * (ranks * (ranks + 1) / 2) &&
		    mean[i] == (float)(world - 1) + (float)(i % 7) &&
		    most[i] == (double)(world - 1);
	free(sum);
	free(mean);
	free(most);
	return right;
}

static bool
broadcast(void)
{
	bool right = true;

	for (int root = 0; root < world; root++) {
		unsigned char text[1000];

		for (size_t i = 0; i < sizeof text; i++)
			text[i] = (unsigned char)(i * 3 + (size_t)rank + 1);
		check(accel_broadcast(a, text, sizeof text, root),
		    "broadcast");
		for (size_t i = 0; i < sizeof text; i++)
			right = right && text[i] ==
			    (unsigned char)(i * 3 + (size_t)root + 1);
	}
	return right;
}

static bool
gather(void)
{
	int64_t	 mine[3] = { rank, rank * 10, -rank };
	int64_t	*all = calloc((size_t)world, sizeof mine);
	bool	 right = all != NULL;

	if (!all)
		return false;
	check(accel_all_gather(a, mine, all, sizeof mine), "all-gather");
	for (int r = 0; r < world; r++)
		right = right && all[3 * r] == r && all[3 * r + 1] == r * 10 &&
		    all[3 * r + 2] == -r;
	free(all);
	return right;
}

/* ---- training ------------------------------------------------------------ */

static float	weight[OUT * IN], grad[OUT * IN], loss;
static int64_t	batch[BATCH];
static int	rows;

static float
input(int64_t sample, int k)
{
	return (float)((sample * 7 + k * 13 + sample * k) % 11 - 5) / 5;
}

/* y = W x for the W that is to be learned: W[o][k] = (o - k) / 4. */
static accel_status
backward(void *user)
{
	float by = 2.0f / (float)(rows * OUT);

	(void)user;
	loss = 0;
	for (int r = 0; r < rows; r++)
		for (int o = 0; o < OUT; o++) {
			float wrong = 0;

			for (int k = 0; k < IN; k++)
				wrong += (weight[o * IN + k] -
				    (float)(o - k) / 4) * input(batch[r], k);
			loss += wrong * wrong / (float)(rows * OUT);
			for (int k = 0; k < IN; k++)
				grad[o * IN + k] += by * wrong *
				    input(batch[r], k);
		}
	return accel_leave(a, 0);
}

static bool
train(void)
{
	accel_tensor	 tensor = { "weight", weight, grad, ACCEL_F32, 0, 2,
	    { OUT, IN } };
	accel_sgd_args	 sgd = { 0.5, 0.5, 0, 0, 0 };
	accel_loader	*loader;
	accel_status	 st;
	uint64_t	 hash, *hashes;
	float		 first = 0;
	bool		 right;
	char		 what[160];

	for (int i = 0; i < OUT * IN; i++)	/* rank 0's are for all */
		weight[i] = (float)rank;
	check(accel_unit(a, "layer", &tensor, 1, NULL), "unit");
	check(accel_prepare(a, 1), "prepare");
	check(accel_loader_new(a, SAMPLES, (BATCH + world - 1) / world,
	    ACCEL_SHUFFLE, 1, &loader), "loader");
	for (int step = 0; step < STEPS;) {
		check(st = accel_next(loader, batch, &rows), "next batch");
		if (st == ACCEL_END)
			continue;
		check(accel_backward(a, backward, NULL), "backward");
		check(accel_step(a, accel_sgd, &sgd), "step");
		check(accel_all_reduce(a, &loss, 1, ACCEL_F32, ACCEL_AVG),
		    "loss");
		if (step++ == 0)
			first = loss;
	}
	accel_loader_free(loader);
	right = all_right(loss < first / 100, "training (the loss)");
	snprintf(what, sizeof what, "training: the loss falls from %.3g to "
	    "%.1e in %d steps", (double)first, (double)loss, STEPS);
	say(right, what);

	hash = hash_bytes(weight, sizeof weight);
	hashes = calloc((size_t)world, sizeof hash);
	if (!hashes)
		return false;
	check(accel_all_gather(a, &hash, hashes, sizeof hash), "all-gather");
	first = 1;
	for (int r = 0; r < world; r++)
		if (hashes[r] != hash)
			first = 0;
	free(hashes);
	snprintf(what, sizeof what, "training: the parameters are the same "
	    "bits on all ranks (%016" PRIx64 ")", hash);
	st = all_right(first != 0, "training (the parameters)");
	say(st, what);
	return right && st;
}

int
main(void)
{
	static const size_t	sizes[] = { 1, 1000, MOST };
	const char		*backend = getenv("ACCEL_BACKEND");
	bool			 right = true, part;
	char			 what[160];

	if (accel_init(NULL, &a) != ACCEL_OK) {
		fprintf(stderr, "accel-selftest: %s\n", accel_errmsg());
		return 1;
	}
	rank = accel_rank(a);
	world = accel_world(a);
	snprintf(what, sizeof what, "start: %d rank%s met%s%s", world,
	    world == 1 ? "" : "s", world == 1 ? "" : ", over ",
	    world == 1 ? "" : backend && *backend ? backend : "mpi");
	say(true, what);
	part = true;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		part = reduce(sizes[i]) && part;
	right = part = all_right(part, "all-reduce");
	say(part, "all-reduce: sum, mean and maximum of up to 2^18 elements");
	part = all_right(broadcast(), "broadcast");
	say(part, "broadcast: from each rank");
	right = right && part;
	part = all_right(gather(), "all-gather");
	say(part, "all-gather: in the order of the ranks");
	right = right && part;
	right = train() && right;
	return accel_fini(a) != ACCEL_OK || !right;
}
