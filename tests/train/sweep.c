/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep: every combination of precision and compression, accumulation, bucket
 * size and uneven data, on 1 to 4 ranks; with each some of what else there is,
 * drawn by a fixed seed: units that are not used, local SGD, an overflow on one
 * rank alone, hooks, orders of accel_leave, who moves exchanges on.
 *
 * Each rank computes beside what the parameters must be, in F64 and without
 * libaccel, and compares after each step.  All is done twice: the same bits.
 * (ladder.c has the same bits on any number of ranks, with other gradients.)
 *
 *	sweep [SEED [CASE]]	another draw; one case of it
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/half.h"
#include "runtime/base/hash.h"
#include "tests/train/port.h"
#include "tests/train/world.h"

enum { WORLDS = 4, STEPS = 4, NTENSOR = 4, NUNIT = 3, TOTAL = 24 * 20 + 7 +
	33 + 3, ROOM = TOTAL + 64, CASES = 300 };

/* Gradients are this times -1, 0, 1 or 2: their means over 1 to 4 ranks and 1
 * to 3 batches are exact in every type. */
enum { GRAIN = 72 };
#define LR 0.125
#define DRIFT 0.25		/* each update of a tensor subtracts it too */

static const struct {
	int unit, n, ndim, rows, cols;
} shape[NTENSOR] = { { 0, 480, 2, 24, 20 }, { 0, 7, 1, 7, 1 },
	{ 1, 33, 1, 33, 1 }, { 2, 3, 1, 3, 1 } };

static const struct precision {
	const char *name;
	accel_dtype dtype;
	int reduce, compress, start;
} precision[] = {
	{ "f32", ACCEL_F32, 0, 0, 0 },
	{ "f64", ACCEL_F64, 0, 0, 0 },
	{ "bf16", ACCEL_BF16, 0, 0, 0 },
	{ "bf16 as it is", ACCEL_BF16, ACCEL_REDUCE_OWN, 0, 0 },
	{ "f16", ACCEL_F16, 0, 0, 0 },
	{ "f16 as it is", ACCEL_F16, ACCEL_REDUCE_OWN, 0, 0 },
	{ "f32 sent as f16", ACCEL_F32, 0, ACCEL_COMPRESS_F16, 0 },
	{ "f32 sent as bf16", ACCEL_F32, 0, ACCEL_COMPRESS_BF16, 0 },
	{ "f32 by PowerSGD", ACCEL_F32, 0, ACCEL_COMPRESS_POWERSGD, -1 },
	{ "bf16 by PowerSGD from step 2", ACCEL_BF16, ACCEL_REDUCE_OWN,
	    ACCEL_COMPRESS_POWERSGD, 2 },
};
enum { PRECISIONS = sizeof(precision) / sizeof(*precision) };

enum uneven { EVEN, ALL, ACTIVE };
enum hook { NO_HOOK, WAITS, ROUNDS };
enum order { BACKWARDS, FORWARDS, NONE };

static struct run {
	const struct precision *p;
	int accum, bucket, progress, local;
	enum uneven uneven;
	enum hook hook;
	enum order order;
	bool skip_unused, overflow, flat;
} all[CASES];
static int nrun;

struct result {
	char error[300];
	uint64_t hash[2];	/* of all that the parameters were */
};
static struct result *results;		/* [world][rank][run] */

static struct result *
result_of(int world, int rank, int run)
{
	return &results[((world - 1) * WORLDS + rank) * CASES + run];
}

/* ---- what must come out -------------------------------------------------- */

static struct run now;
static int world, rank, step, micro;
static double want[WORLDS][TOTAL];	/* of each rank */
static float scale;
static int since_average;

static uint32_t
mixed(int a, int b, int c, int d)
{
	uint32_t x = (uint32_t)(a * 7919 + b * 104729 + c * 1299709 + d * 31);

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return x ^ x >> 15;
}

static bool
has_data(int r, int s, int m)
{
	return now.uneven == EVEN || r == world - 1 ||
	    s * now.accum + m <= 2 * r;
}

/* With unused units: rank 0 alone has unit 1 in step 1, nobody in step 2. */
static bool
uses(int r, int s, int unit)
{
	return !now.skip_unused || unit != 1 || s == 0 || s == 3 ||
	    (s == 1 && r == 0);
}

/* A matrix is a product of two vectors, so that rank 1 has all of it. */
static double
element(int r, int s, int m, int t, int i)
{
	int row = i / shape[t].cols, col = i % shape[t].cols;

	return GRAIN * ((int)(mixed(r, s, m, t) & 3) - 1) *
	    (row % 3 - 1 == 0 ? 2 : 1) * (col % 2 ? -1.0 : 1.0);
}

static bool
overflows(int s)
{
	return now.overflow && s == 1;
}

static bool
idle(int s, int unit)
{
	bool used = now.order == NONE;

	for (int r = 0; r < world; r++)
		for (int m = 0; m < now.accum; m++)
			used |= has_data(r, s, m) && uses(r, s, unit);
	return now.skip_unused && !used;
}

static double
weight_of(int s)
{
	int batches = 0;

	for (int r = 0; r < world; r++)
		for (int m = 0; m < now.accum; m++)
			batches += has_data(r, s, m);
	return now.local > 0 ? now.accum : now.uneven == ACTIVE ? batches :
	    world * now.accum;
}

/* Moves want[] on by one step. */
static void
expect_step(int s)
{
	if (overflows(s)) {
		scale /= 2;
		return;
	}
	for (int t = 0, at = 0; t < NTENSOR; at += shape[t++].n) {
		if (idle(s, shape[t].unit))
			continue;
		for (int i = 0; i < shape[t].n; i++) {
			double own[WORLDS] = { 0 }, sum = 0;

			for (int r = 0; r < world; r++) {
				for (int m = 0; m < now.accum; m++)
					if (has_data(r, s, m) &&
					    uses(r, s, shape[t].unit))
						own[r] += element(r, s, m, t,
						    i);
				sum += own[r];
			}
			for (int r = 0; r < world; r++)
				want[r][at + i] -= LR * (now.local > 0 ?
				    own[r] : sum) / weight_of(s) + DRIFT;
		}
	}
	if (now.local == 0 || ++since_average < now.local)
		return;
	since_average = 0;
	for (int i = 0; i < TOTAL; i++) {
		double mean = 0;

		for (int r = 0; r < world; r++)
			mean += want[r][i] / world;
		for (int r = 0; r < world; r++)
			want[r][i] = mean;
	}
}

/* ---- the training ---------------------------------------------------------- */

static accel *a;
static char data[ROOM * 8], grad[ROOM * 8];
static char *at[NTENSOR], *gat[NTENSOR];
static double got[TOTAL];
static int where[NTENSOR];

static void
add(int t, int i, double v)
{
	uint16_t *h = (uint16_t *)(void *)gat[t] + i;

	switch (now.p->dtype) {
	case ACCEL_F16:
		*h = f16_of(f16_value(*h) + (float)v);
		break;
	case ACCEL_BF16:
		*h = bf16_of(bf16_value(*h) + (float)v);
		break;
	case ACCEL_F64:
		((double *)(void *)gat[t])[i] += v;
		break;
	default:
		((float *)(void *)gat[t])[i] += (float)v;
	}
}

/* Have 16-bit gradients been cleared, left or not? */
static bool
cleared(void)
{
	for (int t = 0; t < NTENSOR; t++)
		for (int i = 0; i < 2 * shape[t].n; i++)
			if (gat[t][i] != 0)
				return false;
	return true;
}

static accel_status
backward(void *user)
{
	(void)user;
	HOLDS(!is_half(now.p->dtype) || now.p->reduce == ACCEL_REDUCE_OWN ||
	    cleared());
	for (int k = 0; k < NUNIT; k++) {
		int u = now.order == FORWARDS ? k : NUNIT - 1 - k;

		if (!uses(rank, step, u))
			continue;
		for (int t = 0; t < NTENSOR; t++)
			for (int i = 0; shape[t].unit == u && i < shape[t].n;
			    i++)
				add(t, i, (double)accel_loss_scale(a) *
				    element(rank, step, micro, t, i));
		/* The last rank has data to the end. */
		if (u == 0 && overflows(step) && rank == world - 1 &&
		    micro == now.accum - 1)
			add(0, 5, INFINITY);
		if (now.order != NONE)
			GOOD(accel_leave(a, u));
	}
	return ACCEL_OK;
}

static accel_status
hook(void *user, accel_bucket *b)
{
	(void)user;
	if (now.hook == WAITS)
		return accel_all_reduce(a, b->data, b->n, b->dtype, ACCEL_SUM);
	return b->round > 0 ? ACCEL_OK : accel_hook_all_reduce(a, b->data,
	    b->n, b->dtype, ACCEL_SUM);
}

static accel_status
update(void *user, const accel_range *r, int n, int64_t count)
{
	(void)user;
	(void)count;
	for (; n > 0; n--, r++) {
		float *p = r->master != NULL ? r->master : r->param;

		for (size_t i = 0; i < r->n; i++) {
			if (r->dtype == ACCEL_F64)
				((double *)r->param)[i] -= LR *
				    ((double *)r->grad)[i] + DRIFT;
			else
				p[i] -= (float)LR * ((float *)r->grad)[i] +
				    (float)DRIFT;
			if (r->dtype == ACCEL_F16)
				((uint16_t *)r->param)[i] = f16_of(p[i]);
			if (r->dtype == ACCEL_BF16)
				((uint16_t *)r->param)[i] = bf16_of(p[i]);
		}
	}
	return ACCEL_OK;
}

/* Parameters as numbers, whatever they are. */
static void
look(void)
{
	for (int t = 0; t < NTENSOR; t++)
		for (int i = 0; i < shape[t].n; i++) {
			const struct tensor *x = NULL;

			for (int k = 0; k < a->norder; k++)
				if (tensor_of(a, a->order[k])->data == at[t])
					x = tensor_of(a, a->order[k]);
			got[where[t] + i] = x->dtype == ACCEL_F64 ?
			    ((double *)x->data)[i] : (double)(x->master !=
			    NULL ? x->master : (float *)x->data)[i];
		}
}

static accel_status
model(void)
{
	static const char *const name[] = { "m", "b", "v", "w" };
	size_t size = now.p->dtype == ACCEL_F64 ? 8 :
	    now.p->dtype == ACCEL_F32 ? 4 : 2, off = 0;
	accel_tensor t[NTENSOR];

	memset(data, 0, sizeof(data));
	memset(grad, 0x55, sizeof(grad));
	for (int i = 0, sum = 0; i < NTENSOR; sum += shape[i++].n) {
		at[i] = data + off;
		gat[i] = grad + off;
		where[i] = sum;
		t[i] = (accel_tensor){ name[i], at[i], gat[i], now.p->dtype,
		    0, shape[i].ndim, { shape[i].rows, shape[i].cols } };
		off += (size_t)shape[i].n * size;
		if (!now.flat)
			off = (off + 16 + 7) / 8 * 8;
	}
	GOOD(accel_unit(a, "first", t, 2, NULL));
	GOOD(accel_unit(a, "second", t + 2, 1, NULL));
	GOOD(accel_unit(a, "third", t + 3, 1, NULL));
	return accel_prepare(a, 0);
}

static accel_status
one_step(uint64_t *hash)
{
	double limit = now.p->compress == ACCEL_COMPRESS_POWERSGD ? 1e-4 :
	    1e-6;
	accel_status st;
	int active;

	for (micro = 0; micro < now.accum; micro++) {
		bool have = has_data(rank, step, micro);

		if (now.uneven != EVEN)
			GOOD(accel_join(a, have, &active));
		GOOD(accel_backward(a, have ? backward : NULL, NULL));
		HOLDS(accel_syncing(a) == (micro == now.accum - 1));
	}
	if (step % 2)
		GOOD(accel_clip_grad_norm(a, 1e30f, NULL));
	st = accel_step(a, update, NULL);
	HOLDS(st == (overflows(step) ? ACCEL_SKIPPED : ACCEL_OK));
	expect_step(step);
	HOLDS(accel_loss_scale(a) == scale);
	look();
	for (int i = 0; i < TOTAL; i++)
		if (!(fabs(got[i] - want[rank][i]) <= limit * (GRAIN +
		    fabs(want[rank][i]))))
			return accel__fail(ACCEL_EINVAL, "step %d: element %d "
			    "is %.9g, not %.9g", step, i, got[i],
			    want[rank][i]);
	*hash = *hash * 31 ^ hash_bytes(got, sizeof(got));
	if (now.local == 0 || since_average == 0)
		GOOD(accel_check_replicas(a));
	return ACCEL_OK;
}

static accel_status
train(uint64_t *hash)
{
	accel_config c = ACCEL_CONFIG_INIT;

	c.reduce = now.p->reduce;
	c.compress = now.p->compress;
	c.powersgd_start = now.p->start;
	c.powersgd_rank = 2;
	c.bucket_bytes = now.bucket;
	c.progress = now.progress;
	c.grad_accum = now.accum;
	c.local_steps = now.local;
	c.loss_scale = now.overflow ? 8 : 0;
	c.unused = now.skip_unused ? ACCEL_UNUSED_SKIP : ACCEL_UNUSED_ZERO;
	c.uneven = now.uneven == ACTIVE ? ACCEL_UNEVEN_ACTIVE :
	    ACCEL_UNEVEN_ALL;
	GOOD(accel_init(&c, &a));
	GOOD(model());
	if (now.hook != NO_HOOK)
		GOOD(accel_set_hook(a, hook, NULL));
	memset(want, 0, sizeof(want));
	scale = now.overflow ? 8 : 1;
	since_average = 0;
	*hash = 1;
	for (step = 0; step < STEPS; step++)
		GOOD(one_step(hash));
	return accel_fini(a);
}

/* All cases, twice.  A first accel keeps MPI up while others come and go. */
static accel_status
be_rank(void *user)
{
	int only = *(int *)user, port;
	char text[16];
	accel *base;

	GOOD(accel_init(NULL, &base));
	world = accel_world(base);
	rank = accel_rank(base);
	for (int i = 0; i < nrun; i++)
		for (int again = 0; again < 2; again++) {
			struct result *r = result_of(world, rank, i);

			if (only >= 0 && i != only)
				continue;
			/* Asked for at once before its use: other tests run
			 * beside this one for a minute. */
			port = rank == 0 ? free_ports(1) : 0;
			GOOD(accel_broadcast(base, &port, sizeof(port), 0));
			snprintf(text, sizeof(text), "%d", port);
			setenv("MASTER_PORT", text, 1);
			now = all[i];
			if (train(&r->hash[again]) != ACCEL_OK) {
				snprintf(r->error, sizeof(r->error), "%s",
				    accel_errmsg());
				return ACCEL_EINVAL;
			}
		}
	return accel_fini(base);
}

/* ---- all of them ------------------------------------------------------- */

static void
cases(unsigned seed)
{
	static const int bucket[] = { 4, 600, 0 };

	for (int k = 0; k < PRECISIONS * 3 * 3 * 3; k++) {
		int draw = (int)(mixed((int)seed, k, 1, 2) & 0xfffff);

		all[nrun++] = (struct run){ .p = &precision[k / 27],
		    .accum = 1 + k % 3, .bucket = bucket[k / 3 % 3],
		    .uneven = (enum uneven)(k / 9 % 3),
		    .order = (enum order)(draw % 3),
		    .hook = draw / 3 % 4 == 1 ? WAITS : draw / 3 % 4 == 2 ?
		    ROUNDS : NO_HOOK,
		    .skip_unused = draw & 1 << 8 && draw % 3 != NONE,
		    .local = draw & 1 << 9 && draw & 1 << 10 ? 2 : 0,
		    .overflow = (draw & 1 << 11) != 0,
		    .flat = (draw & 1 << 12) != 0,
		    .progress = (draw & 1 << 13) != 0 };
	}
}

static void
say(int i)
{
	const struct run *r = &all[i];

	printf("# case %d: %s, %d batches a step, bucket %d, uneven %d, hook "
	    "%d, order %d, local %d%s%s%s%s\n", i, r->p->name, r->accum,
	    r->bucket, r->uneven, r->hook, r->order, r->local,
	    r->skip_unused ? ", unused" : "", r->overflow ? ", overflow" : "",
	    r->flat ? ", flat" : "", r->progress ? ", no thread" : "");
}

static void
judge(int n, accel_status st, int only)
{
	for (int p = 0; p < PRECISIONS; p++) {
		int bad = 0, apart = 0, seen = 0;

		for (int i = 27 * p; i < 27 * p + 27; i++) {
			bool wrong = false;

			for (int r = 0; r < n; r++) {
				const struct result *x = result_of(n, r, i);

				if (x->error[0] != '\0')
					printf("# rank %d: %s\n", r, x->error);
				wrong |= x->error[0] != '\0';
				apart += x->hash[0] != x->hash[1];
				seen += x->hash[0] != 0 && x->hash[1] != 0;
			}
			if (wrong)
				say(i);
			bad += wrong;
		}
		if (only >= 0 && p != only / 27)
			continue;
		ok(bad == 0 && seen == (only >= 0 ? n : 27 * n), "%d rank%s, "
		    "%s: parameters are what they must be", n, n > 1 ? "s" :
		    "", precision[p].name);
		ok(apart == 0 && seen > 0, "%d rank%s, %s: twice the same "
		    "bits", n, n > 1 ? "s" : "", precision[p].name);
	}
	ok(st == ACCEL_OK, "%d rank%s end well", n, n > 1 ? "s" : "");
	if (st != ACCEL_OK)
		printf("# %s\n", accel_errmsg());
}

int
main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
	int only = argc > 2 ? (int)strtol(argv[2], NULL, 10) : -1;

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	results = mmap(NULL, sizeof(*results) * WORLDS * WORLDS * CASES,
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		return 1;
	cases(seed);
	for (int n = 1; n <= WORLDS; n++) {
		judge(n, spawn(n, be_rank, &only), only);
	}
	return tap_done();
}
