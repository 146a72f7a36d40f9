/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adder: a small transformer learns to add two numbers of two digits.
 *
 *	accel launch adder [--steps N] [--batch N] [--seed N]
 *	    [--save-params FILE]
 *
 * It reads "a1 a0 b1 b0 =" and says the sum, last digit first.  The batch
 * counts all ranks' rows, so that any number of ranks learns the same.
 * Lines marked "accel:" are all that several processes need.
 */
#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/train/accel.h"

enum { T = 7, V = 11, D = 64, H = 4, HD = D / H, F = 4 * D, L = 2,
	MAXB = 1024, ANSWER = 4, PAIRS = 10000, HELD = 1000 };

/* One weight and its gradient. */
struct par {
	float *w, *g;
	int rows, cols;
};
enum { LN1, QKV, OUT, LN2, UP, DOWN, PER_LAYER };
static struct par tok, pos, layer[L][PER_LAYER], lnf, head;

/* What forward keeps for backward, a layer; rows are batch * T. */
static struct act {
	float *x, *n1, *r1, *qkv, *att, *mix, *x2, *n2, *r2, *up;
} act[L];
static float *xl, *nf, *rf, *logit, *dx, *dn, *dbig, *dmix;
static int input[MAXB * T], target[MAXB * T], nrow, unit[L + 2];
static float loss;
static accel *a;

static uint64_t seed = 1;

static float
uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (float)(seed >> 40) / (float)(1 << 24) - 0.5f;
}

static float *
floats(size_t n)
{
	float *p = calloc(n, sizeof(*p));

	if (p == NULL) {
		fprintf(stderr, "adder: out of memory\n");
		exit(1);
	}
	return p;
}

static void
die_if(accel_status st)
{
	if (st >= 0)
		return;
	fprintf(stderr, "adder: rank %d: %s\n", a ? accel_rank(a) : -1,
	    accel_errmsg());
	accel_fini(a);
	exit(1);
}

static struct par
par_new(int rows, int cols, float scale)
{
	size_t n = (size_t)rows * (size_t)cols;
	struct par p = { floats(n), floats(n), rows, cols };

	for (size_t i = 0; i < n; i++)
		p.w[i] = scale > 0 ? 2 * scale * uniform() : 1;
	return p;
}

/* y = x w (+ y), dx = dy w^T (+ dx), g += x^T dy */
static void
mul(const float *x, const struct par *p, float *y, float keep)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, nrow, p->cols,
	    p->rows, 1, x, p->rows, p->w, p->cols, keep, y, p->cols);
}

static void
mul_back(const float *x, struct par *p, const float *dy, float *out)
{
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p->rows, p->cols,
	    nrow, 1, x, p->rows, dy, p->cols, 1, p->g, p->cols);
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, nrow, p->rows,
	    p->cols, 1, dy, p->cols, p->w, p->cols, 0, out, p->rows);
}

/* RMS norm with a gain; keeps 1/rms in r. */
static void
norm(const float *x, const struct par *p, float *y, float *r)
{
	for (int i = 0; i < nrow; i++, x += D, y += D) {
		float s = cblas_sdot(D, x, 1, x, 1) / D;

		r[i] = 1 / sqrtf(s + 1e-5f);
		for (int k = 0; k < D; k++)
			y[k] = x[k] * r[i] * p->w[k];
	}
}

static void
norm_back(const float *x, struct par *p, const float *r, const float *dy,
    float *out)
{
	for (int i = 0; i < nrow; i++, x += D, dy += D, out += D) {
		float s = 0;

		for (int k = 0; k < D; k++) {
			p->g[k] += dy[k] * x[k] * r[i];
			s += dy[k] * p->w[k] * x[k];
		}
		s *= r[i] * r[i] * r[i] / D;
		for (int k = 0; k < D; k++)
			out[k] += dy[k] * p->w[k] * r[i] - x[k] * s;
	}
}

static void
attend(struct act *c, bool back)
{
	float by = 1 / sqrtf(HD), da[T];

	for (int b = 0; b < nrow / T; b++)
	for (int h = 0; h < H; h++)
	for (int i = 0; i < T; i++) {
		size_t row = (size_t)(b * T + i);
		float *q = c->qkv + row * 3 * D + h * HD;
		float *k = c->qkv + (size_t)(b * T) * 3 * D + D + h * HD;
		float *v = k + D, sum = 0;
		float *p = c->att + ((size_t)(b * H + h) * T + (size_t)i) * T;
		float *y = (back ? dmix : c->mix) + row * D + h * HD;

		if (!back) {
			for (int j = 0; j <= i; j++)
				sum += p[j] = expf(by * cblas_sdot(HD, q, 1,
				    k + j * 3 * D, 1));
			memset(y, 0, HD * sizeof(*y));
			for (int j = 0; j <= i; j++) {
				p[j] /= sum;
				cblas_saxpy(HD, p[j], v + j * 3 * D, 1, y, 1);
			}
			continue;
		}
		float *dq = dbig + (q - c->qkv), *dk = dbig + (k - c->qkv);
		float *dv = dk + D;

		for (int j = 0; j <= i; j++) {
			da[j] = cblas_sdot(HD, y, 1, v + j * 3 * D, 1);
			sum += da[j] * p[j];
			cblas_saxpy(HD, p[j], y, 1, dv + j * 3 * D, 1);
		}
		for (int j = 0; j <= i; j++) {
			float d = by * p[j] * (da[j] - sum);

			cblas_saxpy(HD, d, k + j * 3 * D, 1, dq, 1);
			cblas_saxpy(HD, d, q, 1, dk + j * 3 * D, 1);
		}
	}
}

static void
forward(void)
{
	for (int i = 0; i < nrow; i++)
		for (int k = 0; k < D; k++)
			act[0].x[i * D + k] = tok.w[input[i] * D + k] +
			    pos.w[i % T * D + k];
	for (int l = 0; l < L; l++) {
		struct act *c = &act[l];
		struct par *p = layer[l];
		float *next = l + 1 < L ? act[l + 1].x : xl;

		norm(c->x, &p[LN1], c->n1, c->r1);
		mul(c->n1, &p[QKV], c->qkv, 0);
		attend(c, false);
		memcpy(c->x2, c->x, (size_t)nrow * D * sizeof(float));
		mul(c->mix, &p[OUT], c->x2, 1);
		norm(c->x2, &p[LN2], c->n2, c->r2);
		mul(c->n2, &p[UP], c->up, 0);
		/* ReLU squared: with a kink at 0, a rounding error that carries
		 * a value over it would show in the parameters. */
		for (int i = 0; i < nrow * F; i++)
			c->up[i] = c->up[i] > 0 ? c->up[i] * c->up[i] : 0;
		memcpy(next, c->x2, (size_t)nrow * D * sizeof(float));
		mul(c->up, &p[DOWN], next, 1);
	}
	norm(xl, &lnf, nf, rf);
	mul(nf, &head, logit, 0);
}

static accel_status
backward(void *user)
{
	float rows = (float)(nrow / T * (T - ANSWER));

	(void)user;
	forward();
	loss = 0;
	for (int i = 0; i < nrow; i++) {
		float *z = logit + i * V, sum = 0;

		if (i % T < ANSWER) {
			memset(z, 0, V * sizeof(*z));
			continue;
		}
		for (int k = 0; k < V; k++)
			sum += z[k] = expf(z[k]);
		loss -= logf(z[target[i]] / sum) / rows;
		for (int k = 0; k < V; k++)
			z[k] = (z[k] / sum - (k == target[i])) / rows;
	}
	mul_back(nf, &head, logit, dn);
	memset(dx, 0, (size_t)nrow * D * sizeof(float));
	norm_back(xl, &lnf, rf, dn, dx);
	die_if(accel_leave(a, unit[L + 1]));	/* accel: the head is final */
	for (int l = L - 1; l >= 0; l--) {
		struct act *c = &act[l];
		struct par *p = layer[l];

		mul_back(c->up, &p[DOWN], dx, dbig);
		for (int i = 0; i < nrow * F; i++)
			dbig[i] *= 2 * sqrtf(c->up[i]);
		mul_back(c->n2, &p[UP], dbig, dn);
		norm_back(c->x2, &p[LN2], c->r2, dn, dx);
		mul_back(c->mix, &p[OUT], dx, dmix);
		memset(dbig, 0, (size_t)nrow * 3 * D * sizeof(float));
		attend(c, true);
		mul_back(c->n1, &p[QKV], dbig, dn);
		norm_back(c->x, &p[LN1], c->r1, dn, dx);
		die_if(accel_leave(a, unit[l + 1]));	/* accel: a layer */
	}
	for (int i = 0; i < nrow; i++)
		for (int k = 0; k < D; k++) {
			tok.g[input[i] * D + k] += dx[i * D + k];
			pos.g[i % T * D + k] += dx[i * D + k];
		}
	return accel_leave(a, unit[0]);		/* accel: the embedding */
}

/* Sample number i, spread so that held-out pairs are of every kind. */
static void
sample(int row, int64_t i)
{
	int pair = (int)(i * 7919 % PAIRS), x = pair / 100, y = pair % 100;
	int s = x + y, *in = input + row * T, *out = target + row * T;

	in[0] = x / 10; in[1] = x % 10; in[2] = y / 10; in[3] = y % 10;
	in[4] = 10;
	in[5] = out[4] = s % 10;
	in[6] = out[5] = s / 10 % 10;
	out[6] = s / 100;
}

static accel_tensor
tensor(const char *name, const struct par *p)
{
	accel_tensor t = { name, p->w, p->g, ACCEL_F32,
	    p->rows == 1 ? ACCEL_NO_DECAY : 0, 2, { p->rows, p->cols } };

	return t;
}

static void
model_new(size_t rows)
{
	static const char *const part[] = { "ln1", "qkv", "out", "ln2", "up",
	    "down" };
	static char name[PER_LAYER][32];
	accel_tensor t[PER_LAYER];
	size_t n = rows * T;

	tok = par_new(V, D, 0.1f);
	pos = par_new(T, D, 0.1f);
	lnf = par_new(1, D, 0);
	t[0] = tensor("tok", &tok);
	t[1] = tensor("pos", &pos);
	die_if(accel_unit(a, "embed", t, 2, &unit[0]));		/* accel: */
	for (int l = 0; l < L; l++) {
		struct par *p = layer[l];
		struct act *c = &act[l];

		p[LN1] = par_new(1, D, 0);
		p[QKV] = par_new(D, 3 * D, 0.15f);
		p[OUT] = par_new(D, D, 0.1f);
		p[LN2] = par_new(1, D, 0);
		p[UP] = par_new(D, F, 0.15f);
		p[DOWN] = par_new(F, D, 0.05f);
		for (int i = 0; i < PER_LAYER; i++) {
			snprintf(name[i], sizeof(name[i]), "h.%d.%s", l,
			    part[i]);
			t[i] = tensor(name[i], &p[i]);
		}
		die_if(accel_unit(a, name[0], t, PER_LAYER,
		    &unit[l + 1]));				/* accel: */
		*c = (struct act){ floats(n * D), floats(n * D), floats(n),
		    floats(n * 3 * D), floats(n * H * T), floats(n * D),
		    floats(n * D), floats(n * D), floats(n), floats(n * F) };
	}
	head = par_new(D, V, 0.1f);
	t[0] = tensor("lnf", &lnf);
	t[1] = tensor("head", &head);
	die_if(accel_unit(a, "head", t, 2, &unit[L + 1]));	/* accel: */
	xl = floats(n * D); nf = floats(n * D); rf = floats(n);
	logit = floats(n * V); dx = floats(n * D); dn = floats(n * D);
	dbig = floats(n * F); dmix = floats(n * D);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
evaluate(int batch)
{
	int64_t *index = calloc(MAXB, sizeof(*index));
	int *right = calloc(MAXB, sizeof(*right)), rows, hits = 0, seen = 0;
	int *all = calloc((size_t)batch, sizeof(*all));
	accel_loader *l;
	accel_status st;
	size_t n;

	die_if(accel_loader_new(a, HELD, batch, ACCEL_SPLIT, 0, &l));
	while ((st = accel_next(l, index, &rows)) == ACCEL_OK) {
		nrow = rows * T;
		for (int i = 0; i < rows; i++) {
			sample(i, PAIRS - HELD + index[i]);
			right[i] = 1;
		}
		/* The model reads its own digits, one after the other. */
		for (int at = ANSWER; at < T; at++) {
			forward();
			for (int i = 0; i < rows; i++) {
				int r = i * T + at;
				int best = 0;

				for (int k = 1; k < V; k++)
					if (logit[r * V + k] >
					    logit[r * V + best])
						best = k;
				right[i] &= best == target[r];
				if (at + 1 < T)
					input[r + 1] = best;
			}
		}
		die_if(accel_gather_for_metrics(l, right, sizeof(*right), all,
		    &n));				/* accel: */
		for (size_t i = 0; i < n; i++, seen++)
			hits += all[i];
	}
	die_if(st);
	if (accel_rank(a) == 0)
		printf("exact %d of %d (%.1f %%)\n", hits, seen,
		    100.0 * hits / seen);
	accel_loader_free(l);
	free(index);
	free(right);
	free(all);
}

static void
save(const char *path)
{
	FILE *f = fopen(path, "wb");
	const struct par *p[4] = { &tok, &pos, &lnf, &head };
	bool fine = f != NULL;

	for (int i = 0; fine && i < 4 + L * PER_LAYER; i++) {
		const struct par *q = i < 4 ? p[i] :
		    &layer[(i - 4) / PER_LAYER][(i - 4) % PER_LAYER];
		size_t n = (size_t)q->rows * (size_t)q->cols;

		fine = fwrite(q->w, sizeof(float), n, f) == n;
	}
	if (f == NULL || fclose(f) != 0 || !fine) {
		perror(path);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	accel_adamw_args adam = { 3e-3f, 0.9f, 0.98f, 1e-8f, 0.01f };
	long steps = 600, batch = 120, start_seed = 1;
	const char *path = NULL;
	int64_t index[MAXB];
	accel_loader *l;
	double begin;
	int rows;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--steps") == 0)
			steps = strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--batch") == 0)
			batch = strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0)
			start_seed = strtol(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--save-params") == 0)
			path = argv[i + 1];
	}
	if (steps < 1 || batch < 1 || batch > MAXB) {
		fprintf(stderr, "adder: --steps from 1, --batch 1 to %d\n",
		    MAXB);
		return 2;
	}
	seed = (uint64_t)start_seed;
	openblas_set_num_threads(1);
	die_if(accel_init(NULL, &a));				/* accel: */
	model_new((size_t)batch);
	die_if(accel_prepare(a, 2));				/* accel: */
	die_if(accel_loader_new(a, PAIRS - HELD, (int)batch, ACCEL_SPLIT |
	    ACCEL_SHUFFLE, (uint64_t)start_seed, &l));		/* accel: */
	begin = now();
	for (long step = 1; step <= steps; ) {
		accel_status st = accel_next(l, index, &rows);	/* accel: */

		die_if(st);
		if (st == ACCEL_END)
			continue;
		nrow = rows * T;
		for (int i = 0; i < rows; i++)
			sample(i, index[i]);
		adam.lr = 3e-3f * (1 - (float)step / (float)(steps + 1));
		die_if(accel_backward(a, backward, NULL));	/* accel: */
		die_if(accel_clip_grad_norm(a, 1, NULL));	/* accel: */
		die_if(accel_step(a, accel_adamw, &adam));	/* accel: */
		if (step % 100 == 0 || step == steps) {
			die_if(accel_all_reduce(a, &loss, 1, ACCEL_F32,
			    ACCEL_AVG));			/* accel: */
			if (accel_rank(a) == 0)
				printf("step %ld loss %.4f tokens/s %.0f\n",
				    step, (double)loss, (double)(step * batch *
				    T) / (now() - begin));
			fflush(stdout);
		}
		step++;
	}
	evaluate((int)batch);
	if (path != NULL && accel_rank(a) == 0)
		save(path);
	accel_loader_free(l);
	die_if(accel_fini(a));					/* accel: */
	return 0;
}
