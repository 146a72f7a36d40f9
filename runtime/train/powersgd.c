/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powersgd: gradients as products of two thin matrices (arXiv:1905.13727),
 * with error feedback and warm start, as torch's powerSGD_hook does it.
 *
 * A tensor of n rows and m columns (all axes but the first) travels as P
 * (n x rank) and then Q (m x rank) where that is at most half as much; what is
 * smaller travels whole, beside P.  Factors are kept column by column.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/state.h"
#include "runtime/train/train.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

struct low_rank {
	int	 rank;
	size_t	 np, nq, nrest;		/* elements */
	float	*rest;			/* tensors that travel whole, then P */
	float	*p, *q;
	float	*error;			/* what earlier steps left, n */
	uint64_t random;
	bool	 broken;		/* not finite: left alone */
};

static float
next_normal(uint64_t *s)
{
	double sum = 0;

	/* Twelve uniforms: near enough to a normal. */
	for (int i = 0; i < 12; i++) {
		*s = *s * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*s >> 40) / (1 << 24);
	}
	return (float)(sum - 6);
}

static struct tensor *
nth(const accel *a, const struct bucket *b, int i)
{
	return tensor_of(a, a->order[b->first + b->count - 1 - i]);
}

/* Rows and columns; false: it travels whole. */
static bool
is_low(const struct tensor *t, int rank, size_t *rows, size_t *cols)
{
	*rows = t->ndim > 0 ? (size_t)t->shape[0] : 1;
	*cols = t->n / *rows;
	return t->ndim > 1 && 2 * (*rows + *cols) * (size_t)rank < t->n;
}

/* A new Q, the same on all ranks. */
static void
draw(struct low_rank *l)
{
	for (size_t i = 0; i < l->nq; i++)
		l->q[i] = next_normal(&l->random);
}

accel_status
accel__low_new(accel *a, struct bucket *b)
{
	struct low_rank *l = calloc(1, sizeof(*l));
	size_t rows, cols;

	b->low = l;
	if (l == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	l->rank = a->config.powersgd_rank;
	l->random = 0x9e3779b97f4a7c15u + (uint64_t)(b - a->bucket);
	for (int i = 0; i < b->count; i++) {
		const struct tensor *t = nth(a, b, i);

		if (is_low(t, l->rank, &rows, &cols)) {
			l->np += rows * (size_t)l->rank;
			l->nq += cols * (size_t)l->rank;
		} else {
			l->nrest += t->n;
		}
	}
	l->rest = malloc((l->nrest + l->np + 1) * sizeof(float));
	l->q = calloc(l->nq + 1, sizeof(float));
	l->error = calloc(b->n, sizeof(float));
	if (l->rest == NULL || l->q == NULL || l->error == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %s in "
		    "PowerSGD", b->label);
	l->p = l->rest + l->nrest;
	draw(l);
	return ACCEL_OK;
}

void
accel__low_free(struct low_rank *l)
{
	if (l == NULL)
		return;
	free(l->rest);
	free(l->q);
	free(l->error);
	free(l);
}

bool
accel__low_waits(const accel *a)
{
	return a->config.compress != ACCEL_COMPRESS_POWERSGD ||
	    a->step < a->config.powersgd_start;
}

static double
dot(const float *x, const float *y, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += (double)x[i] * (double)y[i];
	return s;
}

/* Makes the columns orthonormal; one that vanishes begins anew. */
static void
orthonormal(float *m, size_t rows, int rank, uint64_t *random)
{
	for (int k = 0; k < rank; k++) {
		float *x = m + (size_t)k * rows;
		double length;

		for (int again = 0; again < 2; again++) {
			double before = sqrt(dot(x, x, rows));

			for (int j = 0; j < k; j++) {
				const float *y = m + (size_t)j * rows;
				double by = dot(x, y, rows);

				for (size_t i = 0; i < rows; i++)
					x[i] -= (float)(by * (double)y[i]);
			}
			length = sqrt(dot(x, x, rows));
			if (length > 1e-6 * before)
				break;
			for (size_t i = 0; i < rows; i++)
				x[i] = next_normal(random);
		}
		length = sqrt(dot(x, x, rows));
		for (size_t i = 0; length > 0 && i < rows; i++)
			x[i] = (float)((double)x[i] / length);
	}
}

/* P = M Q, or with "back" Q = M^T P. */
static void
multiply(const float *m, size_t rows, size_t cols, int rank, float *p,
    float *q, bool back)
{
	for (int k = 0; k < rank; k++) {
		float *x = p + (size_t)k * rows, *y = q + (size_t)k * cols;

		if (back)
			memset(y, 0, cols * sizeof(*y));
		for (size_t i = 0; i < rows; i++) {
			const float *row = m + i * cols;

			if (!back) {
				x[i] = (float)dot(row, y, cols);
				continue;
			}
			for (size_t j = 0; j < cols; j++)
				y[j] += x[i] * row[j];
		}
	}
}

static void
product(float *m, size_t rows, size_t cols, int rank, const float *p,
    const float *q)
{
	for (size_t i = 0; i < rows; i++) {
		float *row = m + i * cols;

		memset(row, 0, cols * sizeof(*row));
		for (int k = 0; k < rank; k++) {
			float by = p[(size_t)k * rows + i];
			const float *y = q + (size_t)k * cols;

			for (size_t j = 0; j < cols; j++)
				row[j] += by * y[j];
		}
	}
}

/* P = M Q, with what earlier steps left. */
static accel_status
begin(accel *a, struct bucket *b)
{
	struct low_rank *l = b->low;
	float *values = b->values, *error = l->error;
	float *p = l->p, *q = l->q, *rest = l->rest;
	double scale = a->scaling ? (double)a->scale : 1;
	size_t rows, cols;

	/* What is left of earlier steps is in true units: the loss scale
	 * changes from step to step. */
	vec_scale(values, b->n, (float)(a->world / (a->weight * scale)));
	b->factor = 1;
	b->unscaled = true;
	for (int i = 0; i < b->count; i++) {
		const struct tensor *t = nth(a, b, i);

		if (is_low(t, l->rank, &rows, &cols)) {
			vec_add(values, error, t->n);
			orthonormal(q, cols, l->rank, &l->random);
			multiply(values, rows, cols, l->rank, p, q, false);
			p += rows * (size_t)l->rank;
			q += cols * (size_t)l->rank;
		} else {
			memcpy(rest, values, t->n * sizeof(*rest));
			rest += t->n;
		}
		values += t->n;
		error += t->n;
	}
	return accel__ask(a, b, l->rest, l->nrest + l->np, ACCEL_F32,
	    ACCEL_SUM);
}

/* Q = M^T P, where P is the same on all ranks. */
static void
middle(accel *a, struct bucket *b)
{
	struct low_rank *l = b->low;
	const float *values = b->values;
	float *p = l->p, *q = l->q;
	size_t rows, cols;

	/* An overflow anywhere is in P of all ranks. */
	l->broken = !isfinite(vec_sumsq(l->rest, l->nrest + l->np));
	for (int i = 0; i < b->count && !l->broken; i++) {
		const struct tensor *t = nth(a, b, i);

		if (is_low(t, l->rank, &rows, &cols)) {
			orthonormal(p, rows, l->rank, &l->random);
			multiply(values, rows, cols, l->rank, p, q, true);
			p += rows * (size_t)l->rank;
			q += cols * (size_t)l->rank;
		}
		values += t->n;
	}
}

/* M = P Q^T. */
static void
end(accel *a, struct bucket *b)
{
	struct low_rank *l = b->low;
	float *values = b->values, *error = l->error;
	const float *p = l->p, *q = l->q, *rest = l->rest;
	size_t rows, cols;

	if (l->broken)
		draw(l);
	else
		vec_scale(l->q, l->nq, 1 / (float)a->world);
	for (int i = 0; i < b->count; i++) {
		const struct tensor *t = nth(a, b, i);

		if (l->broken) {
			for (size_t k = 0; k < t->n; k++)
				values[k] = NAN;
		} else if (is_low(t, l->rank, &rows, &cols)) {
			memcpy(error, values, t->n * sizeof(*error));
			product(values, rows, cols, l->rank, p, q);
			for (size_t k = 0; k < t->n; k++)
				error[k] -= values[k];
			p += rows * (size_t)l->rank;
			q += cols * (size_t)l->rank;
		} else {
			for (size_t k = 0; k < t->n; k++)
				values[k] = rest[k] / (float)a->world;
			rest += t->n;
		}
		values += t->n;
		error += t->n;
	}
}

accel_status
accel__low_round(accel *a, struct bucket *b)
{
	if (b->round == 0)
		return begin(a, b);
	if (b->round == 1) {
		middle(a, b);
		if (b->low->nq > 0)
			return accel__ask(a, b, b->low->q, b->low->nq,
			    ACCEL_F32, ACCEL_SUM);
	}
	end(a, b);
	return ACCEL_OK;
}

/* ---- checkpoints: of each bucket Q, the error, and where random stands ---- */

static size_t
saved_size(void *user)
{
	const struct accel *a = user;
	size_t n = 0;

	for (int i = 0; i < a->nbucket; i++)
		if (a->bucket[i].low != NULL)
			n += (a->bucket[i].low->nq + a->bucket[i].n) *
			    sizeof(float) + sizeof(uint64_t);
	return n;
}

/* Copies all of it out, or in. */
static void
saved_copy(struct accel *a, char *at, bool in)
{
	for (int i = 0; i < a->nbucket; i++) {
		struct low_rank *l = a->bucket[i].low;

		if (l == NULL)
			continue;
		struct { void *data; size_t n; } part[] = {
			{ l->q, l->nq * sizeof(float) },
			{ l->error, a->bucket[i].n * sizeof(float) },
			{ &l->random, sizeof(l->random) },
		};

		for (int k = 0; k < 3; at += part[k++].n) {
			if (in)
				memcpy(part[k].data, at, part[k].n);
			else
				memcpy(at, part[k].data, part[k].n);
		}
	}
}

static accel_status
saved_get(void *user, void *out, size_t bytes)
{
	(void)bytes;
	saved_copy(user, out, false);
	return ACCEL_OK;
}

static accel_status
saved_set(void *user, const void *data, size_t bytes)
{
	if (bytes != saved_size(user))
		return accel__fail(ACCEL_EMISMATCH, "%zu bytes, not %zu: the "
		    "buckets are others", bytes, saved_size(user));
	saved_copy(user, (char *)data, true);
	return ACCEL_OK;
}

accel_status
accel__low_register(accel *a)
{
	static const accel_object saved = { saved_size, saved_get, saved_set };

	return accel__register(a, "accel.powersgd", &saved, a,
	    ACCEL_PER_RANK);
}
