/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train: what libaccel costs and hides; train.py runs it beside its peers.
 *
 *	train overhead		one rank: a step of about 1 ms with and without
 *	train reduce [MAX]	all-reduce by libaccel and by MPI itself, in turns
 *	train poll		what the thread takes from who computes
 *	train model [STEPS [ROWS]]	12.2M parameters: with exchange, without, and
 *				the exchange alone, and by hooks that wait and
 *				that do not
 */
#include <cblas.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/train/accel.h"

enum { LAYERS = 6, C = 384, F = 4 * C, V = 4096, PER_LAYER = 4,
	PARAMS = C * V + LAYERS * (4 * C * C + 2 * C * F) };

static accel *a;

static double
seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
now(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

static void
must(accel_status st)
{
	if (st < 0) {
		fprintf(stderr, "train: %s\n", accel_errmsg());
		exit(1);
	}
}

static int
by_size(const void *x, const void *y)
{
	double d = *(const double *)x - *(const double *)y;

	return (d > 0) - (d < 0);
}

static double
median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), by_size);
	return x[n / 2];
}

/* The tenth part that took least: what a busy machine disturbs less. */
static double
decile(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), by_size);
	return x[n / 10];
}

static float *
floats(size_t n)
{
	float *p = malloc(n * sizeof(*p));

	for (size_t i = 0; p != NULL && i < n; i++)
		p[i] = (float)(i % 7) * 0.01f;
	if (p == NULL)
		exit(1);
	return p;
}

/* ---- overhead ------------------------------------------------------------- */

enum { UNITS = 12, PART = 1024, STEP_FLOATS = UNITS * PART };

static float part_w[STEP_FLOATS], part_g[STEP_FLOATS];
static long work;			/* rounds of a unit's computation */

static void
compute(int u)
{
	float *x = part_g + u * PART;

	for (long k = 0; k < work; k++)
		for (int i = 0; i < PART; i++)
			x[i] += 1e-3f * part_w[(size_t)u * PART + (size_t)i];
}

static accel_status
small_backward(void *user)
{
	accel_status st = ACCEL_OK;

	(void)user;
	for (int u = UNITS - 1; u >= 0 && st == ACCEL_OK; u--) {
		compute(u);
		st = accel_leave(a, u);
	}
	return st;
}

static accel_status
nothing(void *user, const accel_range *r, int n, int64_t step)
{
	(void)user;
	(void)r;
	(void)n;
	(void)step;
	return ACCEL_OK;
}

static void
overhead(void)
{
	enum { ROUNDS = 4001 };
	static double with[ROUNDS], without[ROUNDS];
	accel_config c = ACCEL_CONFIG_INIT;
	double t, x, y;

	must(accel_init(&c, &a));
	for (int u = 0; u < UNITS; u++) {
		char name[8];
		accel_tensor tensor = { name, part_w + u * PART,
		    part_g + u * PART, ACCEL_F32, 0, 1, { PART } };

		snprintf(name, sizeof(name), "%d", u);
		must(accel_unit(a, name, &tensor, 1, NULL));
	}
	must(accel_prepare(a, 0));
	for (work = 1;; work *= 2) {		/* about 1 ms, warm */
		for (int i = 0; i < 100; i++) {
			t = now();
			for (int u = 0; u < UNITS; u++)
				compute(u);
			without[i] = now() - t;
		}
		if (median(without, 100) > 0.6e-3)
			break;
	}
	for (int i = 0; i < ROUNDS; i++) {
		t = now();
		for (int u = UNITS - 1; u >= 0; u--)
			compute(u);
		memset(part_g, 0, sizeof(part_g));
		without[i] = now() - t;
		t = now();
		must(accel_backward(a, small_backward, NULL));
		must(accel_step(a, nothing, NULL));
		with[i] = now() - t;
	}
	x = median(without, ROUNDS);
	y = median(with, ROUNDS);
	printf("overhead\t%.1f us a step, %.1f us with libaccel: %.2f %%\n",
	    x * 1e6, y * 1e6, 100 * (y - x) / x);
	must(accel_fini(a));
}

/* ---- reduce ----------------------------------------------------------------- */

static void
reduce(size_t most)
{
	float *x = floats(most / 4);
	int flag;

	must(accel_init(NULL, &a));
	for (size_t bytes = 1024; bytes <= most; bytes *= 4) {
		int n = bytes <= 65536 ? 2001 : bytes <= 4u << 20 ? 201 : 21;
		double *t1 = malloc((size_t)n * sizeof(*t1));
		double *t2 = malloc((size_t)n * sizeof(*t2));
		double *t3 = malloc((size_t)n * sizeof(*t3)), t;

		for (int i = 0; i < n; i++) {
			MPI_Request r;

			t = now();
			must(accel_all_reduce(a, x, bytes / 4, ACCEL_F32,
			    ACCEL_SUM));
			t1[i] = now() - t;
			t = now();
			MPI_Iallreduce(MPI_IN_PLACE, x, (int)(bytes / 4),
			    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &r);
			for (flag = 0; !flag;) {
				MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
				if (!flag)
					sched_yield();
			}
			t2[i] = now() - t;
			t = now();
			MPI_Allreduce(MPI_IN_PLACE, x, (int)(bytes / 4),
			    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
			t3[i] = now() - t;
		}
		if (accel_rank(a) == 0)
			printf("reduce\t%zu\t%.2f\t%.2f\t%.2f\n", bytes,
			    decile(t1, n) * 1e6, decile(t2, n) * 1e6,
			    decile(t3, n) * 1e6);
		fflush(stdout);
		free(t1);
		free(t2);
		free(t3);
	}
	must(accel_fini(a));
	free(x);
}

/* ---- model ------------------------------------------------------------------ */

struct par {
	float *w, *g;
	int rows, cols, unit;
};
static struct par par[LAYERS * PER_LAYER + 1];
static float *act[2], *wide[2];
static int rows = 1536;		/* a step takes thrice its exchange */

/* What keeps a product over n of floats() as large as its other factor: numbers
 * that shrink from layer to layer end as subnormal ones, which are slow. */
static float
even(int n)
{
	return 1 / (0.03f * (float)n);
}

static void
mul_back(struct par *p, const float *x, const float *dy, float *dx)
{
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p->rows, p->cols,
	    rows, 1 / (float)rows, x, p->rows, dy, p->cols, 1, p->g, p->cols);
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, p->rows,
	    p->cols, even(p->cols), dy, p->cols, p->w, p->cols, 0, dx,
	    p->rows);
}

static void
mul(const struct par *p, const float *x, float *y)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, p->cols,
	    p->rows, even(p->rows), x, p->rows, p->w, p->cols, 0, y, p->cols);
}

static void
left(const struct par *p, bool leave)
{
	if (leave)
		must(accel_leave(a, p->unit));
}

/* Forward and backward of the matrices of a transformer; the embedding comes
 * first in forward, is tied to the head, and so is final last. */
static accel_status
backward(void *user)
{
	bool leave = user != NULL;
	struct par *head = &par[LAYERS * PER_LAYER];

	for (int l = 0; l < LAYERS; l++) {
		mul(&par[l * PER_LAYER], act[0], wide[0]);
		mul(&par[l * PER_LAYER + 1], act[0], act[1]);
		mul(&par[l * PER_LAYER + 2], act[1], wide[0]);
		mul(&par[l * PER_LAYER + 3], wide[0], act[1]);
	}
	mul(head, act[0], wide[1]);
	mul_back(head, act[0], wide[1], act[1]);
	for (int l = LAYERS - 1; l >= 0; l--) {
		struct par *p = &par[l * PER_LAYER];

		mul_back(&p[3], wide[0], act[0], wide[1]);
		left(&p[3], leave);
		mul_back(&p[2], act[0], wide[1], act[1]);
		left(&p[2], leave);
		mul_back(&p[1], act[0], act[1], act[1]);
		left(&p[1], leave);
		mul_back(&p[0], act[0], wide[0], act[1]);
		left(&p[0], leave);
	}
	left(head, leave);
	return ACCEL_OK;
}

static void
model_new(void)
{
	static const int in[] = { C, C, C, F }, out[] = { 3 * C, C, F, C };
	float *w = floats(PARAMS), *g = floats(PARAMS);

	/* The embedding is the first unit; then a unit a matrix. */
	for (int u = 0; u <= LAYERS * PER_LAYER; u++) {
		int i = u == 0 ? LAYERS * PER_LAYER : u - 1;
		struct par *p = &par[i];
		char name[16];
		accel_tensor t = { name, NULL, NULL, ACCEL_F32, 0, 2, { 0 } };

		p->rows = u == 0 ? C : in[i % PER_LAYER];
		p->cols = u == 0 ? V : out[i % PER_LAYER];
		t.data = p->w = w;
		t.grad = p->g = g;
		w += p->rows * p->cols;
		g += p->rows * p->cols;
		t.shape[0] = p->rows;
		t.shape[1] = p->cols;
		snprintf(name, sizeof(name), "%d", i);
		must(accel_unit(a, name, &t, 1, &p->unit));
	}
	act[0] = floats((size_t)rows * F);
	act[1] = floats((size_t)rows * F);
	wide[0] = floats((size_t)rows * V);
	wide[1] = floats((size_t)rows * V);
}

/* Seconds, and processor time of all threads, of one step. */
struct cost {
	double wall, cpu;
};

static struct cost
step(bool leave)
{
	accel_sgd_args sgd = { .lr = 1e-6 };
	struct cost c;

	must(accel_barrier(a));
	c.wall = now();
	c.cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	must(accel_backward(a, backward, leave ? &leave : NULL));
	c.cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - c.cpu;
	must(accel_step(a, accel_sgd, &sgd));
	must(accel_barrier(a));
	c.wall = now() - c.wall;
	return c;
}

static accel_status
no_backward(void *user)
{
	(void)user;
	return ACCEL_OK;
}

static double
exchange(int n)
{
	double *t = calloc((size_t)n, sizeof(*t)), out;

	for (int s = 0; s < n; s++) {
		must(accel_barrier(a));
		t[s] = now();
		must(accel_backward(a, no_backward, NULL));
		must(accel_clip_grad_norm(a, 1e30f, NULL));
		t[s] = now() - t[s];
		must(accel_step(a, nothing, NULL));
	}
	out = median(t, n);
	free(t);
	return out;
}

/* Exchanges as a program's own: at once, or in two rounds. */
static accel_status
waits(void *user, accel_bucket *b)
{
	(void)user;
	return accel_all_reduce(a, b->data, b->n, b->dtype, ACCEL_SUM);
}

static accel_status
goes_on(void *user, accel_bucket *b)
{
	(void)user;
	return b->round > 0 ? ACCEL_OK : accel_hook_all_reduce(a, b->data,
	    b->n, b->dtype, ACCEL_SUM);
}

enum { NONE, OVERLAPPED, AFTER, WAITS, IN_ROUNDS, WAYS };

static struct cost
step_by(int way)
{
	must(accel_local_sgd(a, way == NONE ? 1 << 30 : 0));
	must(accel_set_hook(a, way == WAITS ? waits :
	    way == IN_ROUNDS ? goes_on : NULL, NULL));
	return step(way != AFTER);
}

/* In turns, as what else the machine does would be in one of them alone. */
static void
model(int n)
{
	const char *bucket = getenv("BUCKET");
	accel_config c = ACCEL_CONFIG_INIT;
	double *wall[WAYS], *cpu[WAYS], ms[WAYS], busy[WAYS], alone;

	if (bucket != NULL)
		c.bucket_bytes = (int)strtol(bucket, NULL, 10);
	must(accel_init(&c, &a));
	model_new();
	must(accel_prepare(a, 0));
	for (int k = 0; k < WAYS; k++) {
		wall[k] = calloc((size_t)n, sizeof(**wall));
		cpu[k] = calloc((size_t)n, sizeof(**cpu));
		(void)step_by(k);
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < WAYS; k++) {
			struct cost one = step_by(k);

			wall[k][i] = one.wall;
			cpu[k][i] = one.cpu;
		}
	must(accel_set_hook(a, NULL, NULL));
	alone = exchange(n) * 1e3;
	for (int k = 0; k < WAYS; k++) {
		ms[k] = median(wall[k], n) * 1e3;
		busy[k] = median(cpu[k], n) * 1e3;
		free(wall[k]);
		free(cpu[k]);
	}
	if (accel_rank(a) == 0) {
		printf("model\tms a step: none %.0f, overlapped %.0f, after "
		    "backward %.0f, exchange alone %.0f: hidden %.0f %%\n",
		    ms[NONE], ms[OVERLAPPED], ms[AFTER], alone,
		    100 * (1 - (ms[OVERLAPPED] - ms[NONE]) / alone));
		printf("\tof %.0f ms not hidden the processor worked %.0f, "
		    "beside backward\n", ms[OVERLAPPED] - ms[NONE],
		    busy[OVERLAPPED] - busy[NONE]);
		printf("hook\tms a step: one that waits %.0f, in rounds %.0f: "
		    "hidden %.0f %%\n", ms[WAITS], ms[IN_ROUNDS],
		    100 * (1 - (ms[IN_ROUNDS] - ms[NONE]) / alone));
	}
	must(accel_fini(a));
}

/* ---- poll ------------------------------------------------------------------- */

/* Seconds of CPU that threads other than this one took since before[]. */
static double
others(double before[2], bool begin)
{
	double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	double own = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	if (begin) {
		before[0] = all;
		before[1] = own;
	}
	return all - before[0] - (own - before[1]);
}

static double
compute_beside(void)
{
	double cpu[2], t = now();

	others(cpu, true);
	while (now() - t < 0.5)
		compute(0);
	return others(cpu, false) / (now() - t);
}

/* Computes while an exchange is under way that another rank holds up. */
static accel_status
hold(void *user)
{
	must(accel_leave(a, 1));
	*(double *)user = compute_beside();
	return accel_leave(a, 0);
}

static void
poll_cost(void)
{
	enum { ROUNDS = 5 };
	const struct timespec nap = { 1, 200000000 };
	double with[ROUNDS], without[ROUNDS];
	accel_config c = ACCEL_CONFIG_INIT;

	c.bucket_bytes = 4;
	must(accel_init(&c, &a));
	for (int u = 0; u < 2; u++) {
		accel_tensor tensor = { u ? "1" : "0", part_w + u * PART,
		    part_g + u * PART, ACCEL_F32, 0, 1, { PART } };

		must(accel_unit(a, u ? "1" : "0", &tensor, 1, NULL));
	}
	must(accel_prepare(a, 0));
	work = 10;
	for (int i = 0; i < ROUNDS; i++) {
		must(accel_barrier(a));
		if (accel_rank(a) == 0) {
			without[i] = compute_beside();
			must(accel_backward(a, hold, &with[i]));
		} else {
			nanosleep(&nap, NULL);
			must(accel_backward(a, no_backward, NULL));
		}
		must(accel_step(a, nothing, NULL));
	}
	if (accel_rank(a) == 0)
		printf("poll\tlibaccel's threads take %.2f %% of a core, %.2f %% "
		    "beside an exchange\n", 100 * median(without, ROUNDS),
		    100 * median(with, ROUNDS));
	must(accel_fini(a));
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "overhead") == 0)
		overhead();
	else if (strcmp(what, "reduce") == 0)
		reduce(argc > 2 ? strtoul(argv[2], NULL, 10) : 64u << 20);
	else if (strcmp(what, "poll") == 0)
		poll_cost();
	else if (strcmp(what, "model") == 0) {
		if (argc > 3)
			rows = (int)strtol(argv[3], NULL, 10);
		model(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 9);
	} else {
		fprintf(stderr, "usage: train overhead|reduce|poll|model\n");
		return 2;
	}
	return 0;
}
