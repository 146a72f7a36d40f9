/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ladder: how exactly n ranks train what one does.  The program is its own
 * launcher: it forks 1, 2, 3 and 4 ranks, which go through all cases, and
 * compares what they leave in shared memory.
 *
 *	integer gradients	the same bits for any world, accumulation,
 *				bucket, precision, compression, uneven data
 *	real gradients		world 2: the same bits for any bucket, order
 *				and overlap; worlds 3 and 4: near one rank's;
 *				a run again gives the same bits
 *	always			the same bits on all ranks at each step
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "tests/tap.h"
#include "tests/train/port.h"
#include "tests/train/precision.h"

enum { WORLDS = 4, STEPS = 4, NTENSOR = 6, NUNIT = 4, TOTAL = 3634,
	CASES = 400 };

static const struct {
	int unit, n;
} shape[NTENSOR] = { { 0, 7 }, { 0, 1000 }, { 1, 3 }, { 1, 60 }, { 2, 2500 },
	{ 3, 64 } };

enum how { INTEGER, REAL, UNEVEN_ACTIVE, UNEVEN_ALL, NEAR, AGAIN };
enum order { BACKWARDS, FORWARDS, NONE };

struct run {
	enum how how;
	const struct precision *p;
	int batches;		/* in a step, over all ranks */
	int as;			/* the world whose data are dealt out */
	int bucket, progress;
	enum order order;
	bool flat;
};

struct result {
	bool ran;
	char error[300];
	uint64_t hash[STEPS];
	float norm[STEPS];
	double w[TOTAL];
};

static struct run all[CASES];
static int nrun;
static struct result *results;	/* [world][rank][run] */

static struct result *
result_of(int world, int rank, int run)
{
	return &results[((size_t)(world - 1) * WORLDS + (size_t)rank) * CASES +
	    (size_t)run];
}

/* ---- one rank ------------------------------------------------------------ */

static accel *a;
static struct run now;
static int step, micro;
static char data[TOTAL * 8 + NTENSOR * 64], grad[sizeof(data)];
static char *at[NTENSOR], *gat[NTENSOR];
static double master[TOTAL];
static int first_of[NTENSOR];

static double
value(int sample, int t, int i)
{
	uint64_t x = (uint64_t)sample * 1000003 + (uint64_t)t * 10007 +
	    (uint64_t)i * 31 + (uint64_t)step * 7919;

	if (now.how != REAL && now.how != NEAR && now.how != AGAIN)
		return (double)(x % 17) - 8;
	x *= 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9u;
	return (double)((float)(x >> 40) / (1 << 23) - 1.0f) * (1 + i % 5);
}

static size_t
width(void)
{
	return now.p->dtype == ACCEL_F64 ? 8 : now.p->dtype == ACCEL_F32 ? 4 :
	    2;
}

static void
add(int t, int i, double v)
{
	uint16_t *h = (uint16_t *)(void *)gat[t] + i;
	float *f = (float *)(void *)gat[t] + i;
	double *d = (double *)(void *)gat[t] + i;

	switch (now.p->dtype) {
	case ACCEL_F16:
		*h = f16_of(f16_value(*h) + (float)v);
		break;
	case ACCEL_BF16:
		*h = bf16_of(bf16_value(*h) + (float)v);
		break;
	case ACCEL_F64:
		*d += v;
		break;
	default:
		*f += (float)v;
	}
}

static accel_status
backward(void *user)
{
	int sample = *(int *)user;
	double scale = (double)accel_loss_scale(a);
	accel_status st = ACCEL_OK;

	for (int k = 0; k < NUNIT && st == ACCEL_OK; k++) {
		int u = now.order == FORWARDS ? k : NUNIT - 1 - k;

		for (int t = 0; t < NTENSOR; t++)
			for (int i = 0; shape[t].unit == u && i < shape[t].n;
			    i++)
				add(t, i, scale * value(sample, t, i));
		if (now.order != NONE)
			st = accel_leave(a, u);
	}
	return st;
}

/* SGD with momentum on whatever it is given, and a look at the masters. */
static accel_status
update(void *user, const accel_range *r, int n, int64_t count)
{
	(void)user;
	(void)count;
	for (; n > 0; n--, r++) {
		int t = 0;

		while (r->param != (void *)at[t])
			t++;
		for (size_t i = 0; i < r->n; i++) {
			double *keep = &master[first_of[t] + (int)i];

			if (r->dtype == ACCEL_F64) {
				double *p = r->param, *m = r->state[0];

				m[i] = 0.5 * m[i] + ((double *)r->grad)[i];
				*keep = p[i] -= 0.125 * m[i];
				continue;
			}
			float *m = r->state[0], *p = r->master != NULL ?
			    r->master : r->param;

			m[i] = 0.5f * m[i] + ((float *)r->grad)[i];
			*keep = (double)(p[i] -= 0.125f * m[i]);
			if (r->dtype == ACCEL_F16)
				((uint16_t *)r->param)[i] = f16_of(p[i]);
			if (r->dtype == ACCEL_BF16)
				((uint16_t *)r->param)[i] = bf16_of(p[i]);
		}
	}
	return ACCEL_OK;
}

static uint64_t
hash(const void *p, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u;
	return h;
}

/* Tensors one behind the other, or with gaps; rank 0 begins with numbers that
 * the others have to be sent. */
static accel_status
model(void)
{
	static const char *const name[] = { "a", "b", "c", "d", "e", "f" };
	size_t size = width(), off = 0;
	accel_tensor t[NTENSOR];
	accel_status st = ACCEL_OK;

	memset(master, 0, sizeof(master));
	memset(data, 0, sizeof(data));
	memset(grad, 0x55, sizeof(grad));
	for (int i = 0, sum = 0; i < NTENSOR; i++) {
		at[i] = data + off;
		gat[i] = grad + off;
		first_of[i] = sum;
		t[i] = (accel_tensor){ name[i], at[i], gat[i], now.p->dtype, 0,
		    1, { shape[i].n } };
		off += (size_t)shape[i].n * size + (now.flat ? 0 : 64);
		off = (off + 7) / 8 * 8;
		if (now.flat)
			off = (size_t)(at[i] - data) +
			    (size_t)shape[i].n * size;
		sum += shape[i].n;
		memset(at[i], accel_rank(a), (size_t)shape[i].n * size);
	}
	for (int u = 0, i = 0; u < NUNIT && st == ACCEL_OK; u++) {
		int n = 0;

		while (i + n < NTENSOR && shape[i + n].unit == u)
			n++;
		st = accel_unit(a, name[i], &t[i], n, NULL);
		i += n;
	}
	return st == ACCEL_OK ? accel_prepare(a, 1) : st;
}

/* In uneven runs rank r has batches for r + 1 steps. */
static bool
has_batch(int rank)
{
	return (now.how != UNEVEN_ACTIVE && now.how != UNEVEN_ALL) ||
	    step <= rank;
}

static accel_status
one_step(struct result *out)
{
	int world = accel_world(a), count = now.batches / world, active;
	accel_status st = ACCEL_OK;

	for (micro = 0; micro < count && st == ACCEL_OK; micro++) {
		int sample = accel_rank(a) + world * micro;
		bool have = has_batch(sample % now.as);

		if (now.how == UNEVEN_ACTIVE || now.how == UNEVEN_ALL) {
			st = accel_join(a, have, &active);
			if (micro == count - 1)
				accel_sync_next(a);
		}
		if (st == ACCEL_OK)
			st = accel_backward(a, have ? backward : NULL, &sample);
	}
	if (st == ACCEL_OK && now.how != NEAR)
		st = accel_clip_grad_norm(a, 1e30f, &out->norm[step]);
	if (st == ACCEL_OK)
		st = accel_step(a, update, NULL);
	out->hash[step] = hash(master, sizeof(master), 1469598103934665603u);
	for (int t = 0; t < NTENSOR; t++)
		out->hash[step] = hash(at[t], (size_t)shape[t].n * width(),
		    out->hash[step]);
	return st;
}

static void
run_one(int index, struct result *out)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_status st;

	now = all[index];
	c.reduce = now.p->reduce;
	c.compress = now.p->compress;
	c.loss_scale = now.p->scale;
	c.bucket_bytes = now.bucket;
	c.progress = now.progress;
	c.uneven = now.how == UNEVEN_ACTIVE ? ACCEL_UNEVEN_ACTIVE :
	    ACCEL_UNEVEN_ALL;
	/* Otherwise accel_sync_next ends the accumulation. */
	c.grad_accum = now.how == UNEVEN_ACTIVE ? 1000 : now.batches /
	    accel_world(a);
	accel *base = a;
	st = accel_init(&c, &a);
	if (st == ACCEL_OK)
		st = model();
	for (step = 0; step < STEPS && st == ACCEL_OK; step++)
		st = one_step(out);
	if (st == ACCEL_OK)
		st = accel_check_replicas(a);
	if (st != ACCEL_OK)
		snprintf(out->error, sizeof(out->error), "%d: %s", (int)st,
		    accel_errmsg());
	for (int i = 0; i < TOTAL; i++)
		out->w[i] = master[i];
	out->ran = true;
	accel_fini(a);
	a = base;
}

static bool
fits(const struct run *r, int world)
{
	if (r->how == UNEVEN_ACTIVE || r->how == UNEVEN_ALL)
		return world == 1 || world == r->as;
	return r->batches % world == 0 && (r->how != REAL || world == 2);
}

static void
set_number(const char *name, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	setenv(name, text, 1);
}

/* A first accel keeps MPI up while others come and go. */
static int
rank_main(int rank, int world, int port)
{
	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank);
	set_number("WORLD_SIZE", world);
	set_number("MASTER_PORT", port);
	alarm(300);
	if (accel_init(NULL, &a) != ACCEL_OK) {
		snprintf(result_of(world, rank, 0)->error, 300, "%s",
		    accel_errmsg());
		return 1;
	}
	for (int i = 0, k = 0; i < nrun; i++)
		if (fits(&all[i], world)) {
			/* The one before may not be free yet. */
			set_number("MASTER_PORT", port + 1 + k++ % 15);
			run_one(i, result_of(world, rank, i));
		}
	accel_fini(a);
	return 0;
}

/* ---- all of them ---------------------------------------------------------- */

static void
cases(void)
{
	static const int bucket[] = { 4, 8000, 0 };
	static const int batches[] = { 2, 3, 4, 6, 12 };

	for (int p = 0; p < PRECISIONS; p++) {
		for (int b = 0; b < 3; b++) {
			for (int k = 0; k < 5; k++)
				all[nrun++] = (struct run){ INTEGER,
				    &precision[p], batches[k], 1, bucket[b],
				    0, (enum order)(k % 3), (k + b) % 2 };
			for (int w = 2; w <= WORLDS; w++)
				all[nrun++] = (struct run){ (w + b) % 2 ?
				    UNEVEN_ACTIVE : UNEVEN_ALL, &precision[p],
				    w, w, bucket[b], 0, BACKWARDS, b & 1 };
		}
		for (int k = 0; k < 6; k++)
			all[nrun++] = (struct run){ REAL, &precision[p], 4, 1,
			    bucket[k % 3], k & 1, (enum order)(k % 3),
			    k & 1 };
		/* Each twice, one behind the other. */
		for (int k = 0; k < 6; k++)
			all[nrun++] = (struct run){ AGAIN, &precision[p], 12,
			    1, bucket[k / 2], 0, BACKWARDS, k / 2 & 1 };
	}
	all[nrun++] = (struct run){ NEAR, &precision[0], 12, 1, 0, 0,
	    BACKWARDS, true };
}

static void
launch(int world)
{
	int port = free_ports(16), status, bad = 0;

	for (int r = 0; r < world; r++)
		if (fork() == 0)
			_exit(rank_main(r, world, port));
	while (wait(&status) > 0)
		bad += status != 0;
	ok(bad == 0, "%d ranks run to their end", world);
	for (int r = 0; r < world; r++)
		for (int i = 0; i < nrun; i++)
			if (result_of(world, r, i)->error[0] != '\0') {
				ok(0, "rank %d of %d, case %d: %s", r, world,
				    i, result_of(world, r, i)->error);
				return;
			}
}

/* How many steps of case i do two ranks of two worlds end with other bits? */
static int
apart(int i, int w1, int r1, int j, int w2, int r2)
{
	const struct result *x = result_of(w1, r1, i);
	const struct result *y = result_of(w2, r2, j);
	int n = !x->ran || !y->ran;

	for (int s = 0; s < STEPS; s++)
		n += x->hash[s] != y->hash[s] || x->hash[s] == 0;
	return n;
}

static void
compare(int world)
{
	for (int p = 0; p < PRECISIONS; p++) {
		int replicas = 0, exact = 0, real = 0, seen = 0, norms = 0;
		int first = -1, again = 0, other = 0;

		for (int i = 0; i < nrun; i++) {
			const struct run *r = &all[i];

			if (r->p != &precision[p] || !fits(r, world))
				continue;
			for (int k = 1; k < world; k++)
				replicas += apart(i, world, 0, i, world, k);
			seen++;
			if (r->how == REAL) {
				if (first < 0)
					first = i;
				real += apart(i, 2, 0, first, 2, 0);
			} else if (r->how == AGAIN) {
				if (all[i + 1].how == AGAIN && again++ % 2 == 0)
					other += apart(i, world, 0, i + 1,
					    world, 0);
			} else if (r->how != NEAR) {
				if (apart(i, world, 0, i, 1, 0) != 0) {
					exact++;
					printf("# case %d: %d batches, bucket "
					    "%d, order %d, how %d\n", i,
					    r->batches, r->bucket, r->order,
					    r->how);
				}
				for (int s = 0; s < STEPS; s++)
					norms += result_of(world, 0, i)->
					    norm[s] != result_of(1, 0, i)->
					    norm[s];
			}
		}
		ok(seen > 8 && replicas == 0, "world %d, %s: the same bits on "
		    "all ranks at each step of %d cases", world,
		    precision[p].name, seen);
		ok(exact == 0 && norms == 0, "world %d, %s: integer gradients "
		    "give one rank's bits", world, precision[p].name);
		ok(again > 0 && other == 0, "world %d, %s: real gradients give "
		    "the same bits again", world, precision[p].name);
		if (world == 2)
			ok(real == 0, "world 2, %s: real gradients give the "
			    "same bits for any bucket, order and overlap",
			    precision[p].name);
	}
}

static void
near(int world)
{
	const struct result *one = result_of(1, 0, nrun - 1);
	const struct result *x = result_of(world, 0, nrun - 1);
	double off = 0, way = 0;

	for (int i = 0; i < TOTAL; i++) {
		off += (x->w[i] - one->w[i]) * (x->w[i] - one->w[i]);
		way += one->w[i] * one->w[i];
	}
	ok(way > 1 && sqrt(off / way) < 1e-6, "world %d: real gradients come "
	    "within 1e-6 of one rank's (%.1e)", world, sqrt(off / way));
}

int
main(void)
{
	const char *top = getenv("top_builddir");
	size_t bytes = sizeof(struct result) * WORLDS * WORLDS * CASES;
	char plugin[4096];

	snprintf(plugin, sizeof(plugin), "%s/.libs/libaccel-mpi.so",
	    top != NULL ? top : ".");
	if (access(plugin, R_OK) != 0) {
		skip("built without MPICH");
		return tap_done();
	}
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("ACCEL_PEER_TIMEOUT", "30", 1);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	results = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (results == MAP_FAILED)
		return 1;
	cases();
	for (int w = 1; w <= WORLDS; w++)
		launch(w);
	for (int w = 2; w <= WORLDS; w++) {
		compare(w);
		near(w);
	}
	return tap_done();
}
