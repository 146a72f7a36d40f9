/* SPDX-License-Identifier: Apache-2.0 */
/* What gradients and parameters go through beside the plain average: unused
 * units, uneven data, hooks, PowerSGD, local SGD, buffers, debug mode. */
#include <math.h>

#include "tests/train/world.h"

enum { ROWS = 24, COLS = 20, N = ROWS * COLS, SMALL = 5 };

static float w[2][N], g[2][N];

/* Units "big" (a matrix) and "small" (a vector). */
static accel_status
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

static accel_status
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

static accel_status
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

/* The hook makes twice the sum, bucket after bucket. */
static accel_status
twice(void *user, accel_bucket *b)
{
	int *next = user;
	float *x = b->data;

	if (b->index != (*next)++ || b->dtype != ACCEL_F32 ||
	    b->last != (b->index == 1))
		return ACCEL_EINVAL;
	for (size_t i = 0; i < b->n; i++)
		x[i] *= 2;
	return accel_all_reduce(task.a, b->data, b->n, b->dtype, ACCEL_SUM);
}

static accel_status
hooks(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	int next = 0;
	accel *a;

	(void)user;
	c.bucket_bytes = 64;
	GOOD(model(&c, &a));
	GOOD(accel_set_hook(a, twice, &next));
	GOOD(one_step(a, (float)accel_rank(a) + 1, 1, 3, &st));
	GOOD(st);
	HOLDS(next == (accel_world(a) == 1 ? 0 : 2));
	HOLDS(w[1][0] == (accel_world(a) == 1 ? -1.0f : -2.0f));
	HOLDS(w[0][1] == 1 - (accel_world(a) == 1 ? 1 :
	    (float)(accel_world(a) + 1)));
	return accel_fini(a);
}

/* In three rounds: two all-reduces and an all-gather; the largest sum; what
 * comes of it.  Round by round, bucket after bucket, on all ranks alike. */
static struct talk {
	int calls;
	float sum[2][N], most[2];
	int32_t ranks[2], all[2][4];
} talk;

static accel_status
by_rounds(void *user, accel_bucket *b)
{
	struct talk *t = user;
	accel *a = task.a;
	float *x = b->data, *sum = t->sum[b->index];
	int world = accel_world(a), rank = accel_rank(a);

	HOLDS(b->count == 2 && b->index == t->calls % 2 &&
	    b->round == t->calls / 2 % 3);
	t->calls++;
	switch (b->round) {
	case 0:
		memcpy(sum, x, b->n * sizeof(*x));
		t->ranks[b->index] = 1 << rank;
		HOLDS(accel_hook_all_reduce(a, sum, b->n, b->dtype,
		    ACCEL_AVG) == ACCEL_EINVAL);
		GOOD(accel_hook_all_reduce(a, sum, b->n, b->dtype, ACCEL_SUM));
		GOOD(accel_hook_all_gather(a, &t->ranks[b->index],
		    t->all[b->index], sizeof(int32_t)));
		break;
	case 1:
		for (int r = 0; r < world; r++)
			HOLDS(t->all[b->index][r] == 1 << r);
		t->most[b->index] = sum[0] * (float)(rank + 1);
		for (int k = 0; k < ACCEL_HOOK_MOST; k++)
			GOOD(accel_hook_all_reduce(a, k == 0 ?
			    &t->most[b->index] : &sum[k], 1, b->dtype,
			    ACCEL_MAX));
		HOLDS(accel_hook_all_reduce(a, sum, 1, b->dtype, ACCEL_MAX) ==
		    ACCEL_EINVAL);
		break;
	default:
		HOLDS(t->most[b->index] == sum[0] * (float)world);
		/* A blocking one of its own does no harm. */
		t->ranks[0] = 1;
		GOOD(accel_all_reduce(a, t->ranks, 1, ACCEL_I32, ACCEL_SUM));
		HOLDS(t->ranks[0] == world);
		memcpy(x, sum, b->n * sizeof(*x));
	}
	return ACCEL_OK;
}

static accel_status
rounds(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;
	float mean, norm;
	accel *a;

	c.bucket_bytes = 64;
	(void)user;
	GOOD(model(&c, &a));
	talk.calls = 0;
	HOLDS(accel_hook_all_reduce(a, w[0], 1, ACCEL_F32, ACCEL_SUM) ==
	    ACCEL_ESTATE);
	mean = (float)(accel_world(a) + 1) / 2;
	task.a = a;
	for (int s = 1; s <= 4; s++) {
		/* Units left, or not; waited for in the step, or before. */
		GOOD(accel_set_hook(a, by_rounds, &talk));
		if (s == 2) {
			task.big = task.small = (float)accel_rank(a) + 1;
			task.leave = 0;
			GOOD(accel_backward(a, backward, NULL));
			GOOD(accel_clip_grad_norm(a, 1e9f, &norm));
			HOLDS(fabsf(norm / mean - sqrtf(N + SMALL)) < 1e-3f);
			GOOD(accel_step(a, accel_sgd, &(accel_sgd_args){
			    .lr = 1 }));
		} else {
			GOOD(one_step(a, (float)accel_rank(a) + 1,
			    (float)accel_rank(a) + 1, 3, &st));
			GOOD(st);
		}
		HOLDS(w[0][1] == 1 - (float)s * mean &&
		    w[1][2] == 2 - (float)s * mean);
		HOLDS(talk.calls == (accel_world(a) == 1 ? 0 : 6 * s));
	}
	return accel_fini(a);
}

/* The last rank's hook fails: it gets its own status, the others are told. */
static accel_status
gives_up(void *user, accel_bucket *b)
{
	if (b->round == *(int *)user && b->index == 1 &&
	    accel_rank(task.a) == accel_world(task.a) - 1)
		return accel__fail(ACCEL_EIO, "no more ideas");
	return b->round == 2 ? ACCEL_OK : accel_hook_all_reduce(task.a,
	    talk.sum[b->index], b->n, b->dtype, ACCEL_SUM);
}

static accel_status
hook_fails(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 1 };
	char want[60];
	accel_status st;
	accel *a;

	c.bucket_bytes = 64;
	/* A rank may be told before it is out of this. */
	st = model(&c, &a);
	if (st == ACCEL_OK)
		st = accel_set_hook(a, gives_up, user);
	task.a = a;
	task.leave = 3;
	if (st == ACCEL_OK)
		st = accel_backward(a, backward, NULL);
	if (st == ACCEL_OK)
		st = accel_step(a, accel_sgd, &sgd);
	if (st == ACCEL_OK)
		st = accel_barrier(a);	/* nobody waited in the last round */
	if (accel_rank(a) == accel_world(a) - 1) {
		HOLDS(st == ACCEL_EIO);
		HOLDS(strcmp(accel_errmsg(), "no more ideas") == 0);
	} else {
		snprintf(want, sizeof(want), "its hook failed at bucket 1 (big "
		    ".. big), round %d", *(int *)user);
		HOLDS(st == ACCEL_EPEER);
		HOLDS(strstr(accel_errmsg(), want) != NULL);
	}
	HOLDS(accel_backward(a, backward, NULL) != ACCEL_OK);
	accel_fini(a);
	return ACCEL_OK;
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

/* What must be set alike is set on the last rank alone. */
static accel_status
unlike(void *user)
{
	const char *name = user, *rank = getenv("RANK");
	int world = (int)strtol(getenv("WORLD_SIZE"), NULL, 10);
	char want[120];
	accel *a;

	if (strtol(rank, NULL, 10) == world - 1)
		setenv(name, strcmp(name, "ACCEL_DEBUG") == 0 ? "1" : "nccl", 1);
	HOLDS(accel_init(NULL, &a) < 0 && a == NULL);
	if (strcmp(name, "ACCEL_DEBUG") == 0)
		snprintf(want, sizeof(want), "accel_init: ACCEL_DEBUG is 0 on "
		    "rank 0 and 1 on rank %d (set it for all ranks", world - 1);
	else
		snprintf(want, sizeof(want), "ACCEL_BACKEND is mpi on rank 0 "
		    "and nccl on rank %d", world - 1);
	HOLDS(strstr(accel_errmsg(), want) != NULL);
	return ACCEL_OK;
}

/* Of the calls that change how gradients travel. */
static accel_status
unlike_calls(void *user)
{
	accel_config c = ACCEL_CONFIG_INIT;
	bool last;
	accel *a;

	(void)user;
	GOOD(model(&c, &a));
	last = accel_rank(a) == accel_world(a) - 1;
	HOLDS(accel_local_sgd(a, last ? 3 : 4) == ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "accel_local_sgd: steps is 4 on rank 0 "
	    "and 3 on rank") != NULL);
	HOLDS(accel_set_hook(a, last ? twice : NULL, NULL) ==
	    ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "accel_set_hook: a function is 0 on rank "
	    "0 and 1 on rank") != NULL);
	return accel_fini(a);
}

static void
on_3(accel_fn fn, const char *user, const char *says)
{
	accel_status st = spawn(3, fn, (void *)user);

	ok(st == ACCEL_OK, "%s", says);
	if (st != ACCEL_OK)
		printf("# %s\n", accel_errmsg());
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
	on_worlds(hooks, NULL, "a hook sees each bucket in order");
	on_worlds(rounds, NULL, "a hook's rounds come in order");
	for (choice = 0; choice < 3; choice++) {
		accel_status st = spawn(3, hook_fails, &choice);

		ok(st == ACCEL_OK, "a hook that fails in round %d tells the "
		    "others", choice);
		if (st != ACCEL_OK)
			printf("# %s\n", accel_errmsg());
	}
	on_worlds(power, NULL, "PowerSGD: exact for thin, right in the long run");
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
	on_3(unlike, "ACCEL_DEBUG", "debug mode of one rank alone is named");
	on_3(unlike, "ACCEL_BACKEND", "another backend is named");
	on_3(unlike_calls, NULL, "unlike hooks and local SGD are named");
	return tap_done();
}
