/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks: a program's own exchange of gradients, that waits or goes on in rounds;
 * one that fails; and ranks that differ in what changes the exchanges. */
#include <math.h>

#include "tests/train/two.h"

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

/* What must be set alike is set on the last rank alone. */
static accel_status
unlike(void *user)
{
	const char *name = user, *rank = getenv("RANK");
	int world = (int)strtol(getenv("WORLD_SIZE"), NULL, 10);
	char want[120];
	accel *a;

	if (strtol(rank, NULL, 10) == world - 1)
		setenv(name, strcmp(name, "ACCEL_DEBUG") == 0 ? "1" : "nccl",
		    1);
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

int
main(void)
{
	int choice;

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	on_worlds(hooks, NULL, "a hook sees each bucket in order");
	on_worlds(rounds, NULL, "a hook's rounds come in order");
	for (choice = 0; choice < 3; choice++) {
		accel_status st = spawn(3, hook_fails, &choice);

		ok(st == ACCEL_OK, "a hook that fails in round %d tells the "
		    "others", choice);
		if (st != ACCEL_OK)
			printf("# %s\n", accel_errmsg());
	}
	on_3(unlike, "ACCEL_DEBUG", "debug mode of one rank alone is named");
	on_3(unlike, "ACCEL_BACKEND", "another backend is named");
	on_3(unlike_calls, NULL, "unlike hooks and local SGD are named");
	return tap_done();
}
