/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chars: a small transformer learns to continue a text, letter by letter.
 *
 *	chars [options] FILE
 *
 * One process, one thread, plain C: the model, its derivatives by hand, AdamW,
 * a check of the derivatives, a file to keep the weights in, and a sample of
 * what was learnt.  chars.patch makes it train on many ranks: that is the
 * example, see libaccel(3).
 *
 * The model (sizes are options): T letters at once, each a vector of D numbers;
 * L layers of attention with H heads and of a hidden layer of 4 D, each behind
 * a normalisation and beside a residual; then a normalisation and a guess at
 * the next letter.  All arrays are row-major, rows are positions of the batch.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_LAYERS = 16, MAX_VOCAB = 256 };
#define ADAMW 0.9, 0.99, 1e-8, 0.1	/* betas, epsilon, weight decay */

/* ---- small things -------------------------------------------------------- */

static _Noreturn void
die(const char *what, const char *why)
{
	fprintf(stderr, "chars: %s: %s\n", what, why);
	exit(1);
}

static float *
floats(size_t n)
{
	float *p = calloc(n, sizeof(*p));

	if (p == NULL)
		die("memory", strerror(errno));
	return p;
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* splitmix64: a number from a number, so that batch k is always the same. */
static uint64_t
mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* From 0 up to 1. */
static double
uniform(uint64_t *state)
{
	return (double)(mix((*state)++) >> 11) / 9007199254740992.0;
}

/* The sum of twelve is nearly normal: mean 0, deviation 1. */
static float
normal(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(state);
	return (float)sum;
}

/* ---- the text ------------------------------------------------------------ */

/* Letters are numbered in the order in which they are met.  The last tenth is
 * held out: nobody trains on it. */
struct text {
	uint8_t		*id;		/* of each letter */
	long		 n, train;	/* letters; of them to train on */
	int		 vocab;
	unsigned char	 letter[MAX_VOCAB];
};

static void
text_read(struct text *t, const char *path, int window)
{
	int number[MAX_VOCAB];
	FILE *f = fopen(path, "rb");
	long room = 0;
	int c;

	memset(t, 0, sizeof(*t));
	if (f == NULL)
		die(path, strerror(errno));
	for (int i = 0; i < MAX_VOCAB; i++)
		number[i] = -1;
	while ((c = getc(f)) != EOF) {
		if (t->n == room) {
			room = room ? 2 * room : 65536;
			t->id = realloc(t->id, (size_t)room);
			if (t->id == NULL)
				die("memory", strerror(errno));
		}
		if (number[c] < 0) {
			number[c] = t->vocab;
			t->letter[t->vocab++] = (unsigned char)c;
		}
		t->id[t->n++] = (uint8_t)number[c];
	}
	if (ferror(f))
		die(path, strerror(errno));
	fclose(f);
	t->train = t->n - t->n / 10;
	if (t->n - t->train <= window + 1)
		die(path, "the text is too short for the window");
}

/* ---- the model ----------------------------------------------------------- */

/* The arrays of a layer; the same struct points to weights, and to their
 * gradients. */
struct layer {
	float *norm1, *shift1;		/* D */
	float *qkv, *qkv_bias;		/* D x 3 D */
	float *out, *out_bias;		/* D x D */
	float *norm2, *shift2;		/* D */
	float *up, *up_bias;		/* D x 4 D */
	float *down, *down_bias;	/* 4 D x D */
};

/* And those at both ends. */
struct ends {
	float *letter;			/* vocab x D */
	float *place;			/* T x D */
	float *norm, *shift;		/* D */
	float *head;			/* D x vocab */
};

/* What forward keeps of a layer for backward; rows x ... */
struct kept {
	float *in;			/* D: its input */
	float *mean1, *scale1, *n1;	/* 1, 1, D */
	float *qkv;			/* 3 D */
	float *weight;			/* H x T: of attention */
	float *mixed;			/* D */
	float *middle;			/* D: with the first residual */
	float *mean2, *scale2, *n2;
	float *up, *act;		/* 4 D: before and after GELU */
};

struct model {
	int		 T, D, H, L, vocab;
	int		 rows;			/* windows of a batch */

	/* All weights lie in one array, all gradients in another.  Block 0 is
	 * the input's, 1 to L the layers', L + 1 the output's. */
	float		*w, *g;
	long		 n, begin[MAX_LAYERS + 3];
	char		 name[MAX_LAYERS + 2][16];
	struct ends	 we, ge;
	struct layer	 wl[MAX_LAYERS], gl[MAX_LAYERS];
	float		*moment1, *moment2;	/* of AdamW */

	uint8_t		*input, *target;	/* rows * T letters */
	struct kept	 kept[MAX_LAYERS];
	float		*last, *mean, *scale, *normed, *guess;
	float		*dx, *dnorm, *dwide, *dmixed;
	double		 loss;			/* mean of the batch */
};

/* Takes the next n numbers of both arrays. */
static void
carve(float **w, float **g, float **to_w, float **to_g, long n)
{
	*to_w = *w;
	*to_g = *g;
	*w += n;
	*g += n;
}

static long
block_size(const struct model *m, int b)
{
	long d = m->D;

	if (b == 0)
		return (m->vocab + m->T) * d;
	return b <= m->L ? 12 * d * d + 13 * d : 2 * d + d * m->vocab;
}

/* Gives block b its part of the arrays. */
static void
block_place(struct model *m, int b, const char *s)
{
	float *w = m->w + m->begin[b], *g = m->g + m->begin[b];
	long d = m->D, n = block_size(m, b);
	struct layer *p, *q;

	m->begin[b + 1] = m->begin[b] + n;
	snprintf(m->name[b], sizeof(m->name[b]), "%s", s);
	if (b == 0) {
		carve(&w, &g, &m->we.letter, &m->ge.letter, m->vocab * d);
		carve(&w, &g, &m->we.place, &m->ge.place, m->T * d);
		return;
	}
	if (b > m->L) {
		carve(&w, &g, &m->we.norm, &m->ge.norm, d);
		carve(&w, &g, &m->we.shift, &m->ge.shift, d);
		carve(&w, &g, &m->we.head, &m->ge.head, d * m->vocab);
		return;
	}
	p = &m->wl[b - 1];
	q = &m->gl[b - 1];
	carve(&w, &g, &p->norm1, &q->norm1, d);
	carve(&w, &g, &p->shift1, &q->shift1, d);
	carve(&w, &g, &p->qkv, &q->qkv, 3 * d * d);
	carve(&w, &g, &p->qkv_bias, &q->qkv_bias, 3 * d);
	carve(&w, &g, &p->out, &q->out, d * d);
	carve(&w, &g, &p->out_bias, &q->out_bias, d);
	carve(&w, &g, &p->norm2, &q->norm2, d);
	carve(&w, &g, &p->shift2, &q->shift2, d);
	carve(&w, &g, &p->up, &q->up, 4 * d * d);
	carve(&w, &g, &p->up_bias, &q->up_bias, 4 * d);
	carve(&w, &g, &p->down, &q->down, 4 * d * d);
	carve(&w, &g, &p->down_bias, &q->down_bias, d);
}

static void
fill_normal(float *x, long n, double deviation, uint64_t *random)
{
	for (long i = 0; i < n; i++)
		x[i] = (float)deviation * normal(random);
}

static void
fill_ones(float *x, long n)
{
	for (long i = 0; i < n; i++)
		x[i] = 1;
}

/* As GPT-2: 0.02, and less where residuals add up; shifts and biases are 0. */
static void
model_start(struct model *m, uint64_t seed)
{
	uint64_t random = mix(seed);
	double less = 0.02 / sqrt(2.0 * m->L);
	long d = m->D;

	fill_normal(m->we.letter, m->vocab * d, 0.02, &random);
	fill_normal(m->we.place, m->T * d, 0.02, &random);
	for (int l = 0; l < m->L; l++) {
		struct layer *p = &m->wl[l];

		fill_ones(p->norm1, d);
		fill_normal(p->qkv, 3 * d * d, 0.02, &random);
		fill_normal(p->out, d * d, less, &random);
		fill_ones(p->norm2, d);
		fill_normal(p->up, 4 * d * d, 0.02, &random);
		fill_normal(p->down, 4 * d * d, less, &random);
	}
	fill_ones(m->we.norm, d);
	fill_normal(m->we.head, d * m->vocab, 0.02, &random);
}

static void
kept_new(const struct model *m, struct kept *k)
{
	size_t rows = (size_t)m->rows * (size_t)m->T, d = (size_t)m->D;

	k->in = floats(rows * d);
	k->mean1 = floats(rows);
	k->scale1 = floats(rows);
	k->n1 = floats(rows * d);
	k->qkv = floats(rows * 3 * d);
	k->weight = floats(rows * (size_t)m->H * (size_t)m->T);
	k->mixed = floats(rows * d);
	k->middle = floats(rows * d);
	k->mean2 = floats(rows);
	k->scale2 = floats(rows);
	k->n2 = floats(rows * d);
	k->up = floats(rows * 4 * d);
	k->act = floats(rows * 4 * d);
}

static void
kept_free(struct kept *k)
{
	free(k->in);
	free(k->mean1);
	free(k->scale1);
	free(k->n1);
	free(k->qkv);
	free(k->weight);
	free(k->mixed);
	free(k->middle);
	free(k->mean2);
	free(k->scale2);
	free(k->n2);
	free(k->up);
	free(k->act);
}

/* Sizes are set; the rest is made here. */
static void
model_new(struct model *m)
{
	size_t rows = (size_t)m->rows * (size_t)m->T, d = (size_t)m->D;
	char s[16];

	for (int b = 0; b < m->L + 2; b++)
		m->n += block_size(m, b);
	m->w = floats((size_t)m->n);
	m->g = floats((size_t)m->n);
	m->moment1 = floats((size_t)m->n);
	m->moment2 = floats((size_t)m->n);
	for (int b = 0; b < m->L + 2; b++) {
		snprintf(s, sizeof(s), b == 0 ? "input" : b > m->L ?
		    "output" : "layer.%d", b - 1);
		block_place(m, b, s);
	}
	m->input = calloc(rows, 1);
	m->target = calloc(rows, 1);
	if (m->input == NULL || m->target == NULL)
		die("memory", strerror(errno));
	for (int l = 0; l < m->L; l++)
		kept_new(m, &m->kept[l]);
	m->last = floats(rows * d);
	m->mean = floats(rows);
	m->scale = floats(rows);
	m->normed = floats(rows * d);
	m->guess = floats(rows * (size_t)m->vocab);
	m->dx = floats(rows * d);
	m->dnorm = floats(rows * d);
	m->dwide = floats(rows * 4 * d);
	m->dmixed = floats(rows * d);
}

static void
model_free(struct model *m)
{
	for (int l = 0; l < m->L; l++)
		kept_free(&m->kept[l]);
	free(m->w);
	free(m->g);
	free(m->moment1);
	free(m->moment2);
	free(m->input);
	free(m->target);
	free(m->last);
	free(m->mean);
	free(m->scale);
	free(m->normed);
	free(m->guess);
	free(m->dx);
	free(m->dnorm);
	free(m->dwide);
	free(m->dmixed);
}

/* ---- parts of it, there and back ----------------------------------------- */

/* y = x w + bias, or with "add" y += ...; x is rows x in, w is in x out. */
static void
product(const float *x, const float *w, const float *bias, float *y, int rows,
    int in, int out, bool add)
{
	for (int r = 0; r < rows; r++, x += in, y += out) {
		for (int j = 0; j < out; j++)
			y[j] = (add ? y[j] : 0) + (bias != NULL ? bias[j] : 0);
		for (int i = 0; i < in; i++)
			for (int j = 0; j < out; j++)
				y[j] += x[i] * w[(long)i * out + j];
	}
}

/* From dy: dw += x^T dy, dbias += sums of dy, and dx = dy w^T. */
static void
product_back(const float *x, const float *w, const float *dy, float *dw,
    float *dbias, float *dx, int rows, int in, int out)
{
	for (int r = 0; r < rows; r++, x += in, dy += out, dx += in) {
		for (int j = 0; dbias != NULL && j < out; j++)
			dbias[j] += dy[j];
		for (int i = 0; i < in; i++) {
			const float *wi = w + (long)i * out;
			float *dwi = dw + (long)i * out, sum = 0;

			for (int j = 0; j < out; j++) {
				dwi[j] += x[i] * dy[j];
				sum += wi[j] * dy[j];
			}
			dx[i] = sum;
		}
	}
}

/* y = (x - mean) / deviation * gain + shift, a row at a time. */
static void
normalise(const float *x, const float *gain, const float *shift, float *mean,
    float *scale, float *y, int rows, int d)
{
	for (int r = 0; r < rows; r++, x += d, y += d) {
		float sum = 0, square = 0;

		for (int i = 0; i < d; i++)
			sum += x[i];
		mean[r] = sum / (float)d;
		for (int i = 0; i < d; i++)
			square += (x[i] - mean[r]) * (x[i] - mean[r]);
		scale[r] = 1 / sqrtf(square / (float)d + 1e-5f);
		for (int i = 0; i < d; i++)
			y[i] = (x[i] - mean[r]) * scale[r] * gain[i] +
			    shift[i];
	}
}

/* Adds to dx. */
static void
normalise_back(const float *x, const float *gain, const float *mean,
    const float *scale, const float *dy, float *dgain, float *dshift,
    float *dx, int rows, int d)
{
	for (int r = 0; r < rows; r++, x += d, dy += d, dx += d) {
		float sum = 0, along = 0;

		for (int i = 0; i < d; i++) {
			float unit = (x[i] - mean[r]) * scale[r];

			dgain[i] += dy[i] * unit;
			dshift[i] += dy[i];
			sum += dy[i] * gain[i];
			along += dy[i] * gain[i] * unit;
		}
		sum /= (float)d;
		along /= (float)d;
		for (int i = 0; i < d; i++) {
			float unit = (x[i] - mean[r]) * scale[r];

			dx[i] += (dy[i] * gain[i] - sum - unit * along) *
			    scale[r];
		}
	}
}

/* x Phi(x), by the usual tanh. */
static float
gelu(float x)
{
	return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x *
	    x)));
}

static float
gelu_slope(float x)
{
	float t = tanhf(0.79788456f * (x + 0.044715f * x * x * x));

	return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f *
	    (1 + 3 * 0.044715f * x * x);
}

/* One head at one position looks at those before it and at itself. */
struct look {
	const float	*q, *k, *v;	/* k and v: of the window's begin */
	float		*weight;
	int		 at, size, step;
};

static struct look
look_at(const struct model *m, const struct kept *c, int row, int h)
{
	int size = m->D / m->H, at = row % m->T;
	const float *q = c->qkv + (long)row * 3 * m->D + h * size;
	const float *k = c->qkv + (long)(row - at) * 3 * m->D + m->D +
	    h * size;

	return (struct look){ q, k, k + m->D, c->weight + ((long)row * m->H +
	    h) * m->T, at, size, 3 * m->D };
}

static void
attend(const struct model *m, struct kept *c, int rows)
{
	for (int r = 0; r < rows; r++)
		for (int h = 0; h < m->H; h++) {
			struct look k = look_at(m, c, r, h);
			float *y = c->mixed + (long)r * m->D + h * k.size;
			float by = 1 / sqrtf((float)k.size), most = -1e30f;
			float sum = 0;

			for (int j = 0; j <= k.at; j++) {
				float dot = 0;

				for (int i = 0; i < k.size; i++)
					dot += k.q[i] *
					    k.k[(long)j * k.step + i];
				k.weight[j] = by * dot;
				if (k.weight[j] > most)
					most = k.weight[j];
			}
			for (int j = 0; j <= k.at; j++)
				sum += k.weight[j] =
				    expf(k.weight[j] - most);
			memset(y, 0, (size_t)k.size * sizeof(*y));
			for (int j = 0; j <= k.at; j++) {
				k.weight[j] /= sum;
				for (int i = 0; i < k.size; i++)
					y[i] += k.weight[j] *
					    k.v[(long)j * k.step + i];
			}
		}
}

/* dqkv is set, from dy. */
static void
attend_back(const struct model *m, const struct kept *c, const float *dmixed,
    float *dqkv, int rows)
{
	float slope[1024];		/* T is no more */

	memset(dqkv, 0, (size_t)rows * 3 * (size_t)m->D * sizeof(*dqkv));
	for (int r = 0; r < rows; r++)
		for (int h = 0; h < m->H; h++) {
			struct look k = look_at(m, c, r, h);
			const float *dy = dmixed + (long)r * m->D +
			    h * k.size;
			float *dq = dqkv + (k.q - c->qkv);
			float *dk = dqkv + (k.k - c->qkv), *dv = dk + m->D;
			float by = 1 / sqrtf((float)k.size), mean = 0;

			for (int j = 0; j <= k.at; j++) {
				long o = (long)j * k.step;

				slope[j] = 0;
				for (int i = 0; i < k.size; i++) {
					slope[j] += dy[i] * k.v[o + i];
					dv[o + i] += k.weight[j] * dy[i];
				}
				mean += slope[j] * k.weight[j];
			}
			for (int j = 0; j <= k.at; j++) {
				long o = (long)j * k.step;
				float d = by * k.weight[j] * (slope[j] - mean);

				for (int i = 0; i < k.size; i++) {
					dq[i] += d * k.k[o + i];
					dk[o + i] += d * k.q[i];
				}
			}
		}
}

/* ---- the whole of it, there and back ------------------------------------- */

/* From "input" to "guess", the logarithms of odds; with a target also the loss,
 * in nats a letter, and "guess" becomes its derivative. */
static void
forward(struct model *m, int windows, bool with_target)
{
	int rows = windows * m->T, d = m->D;
	size_t bytes = (size_t)rows * (size_t)d * sizeof(float);
	float *x = m->L > 0 ? m->kept[0].in : m->last;

	for (int r = 0; r < rows; r++)
		for (int i = 0; i < d; i++)
			x[r * d + i] = m->we.letter[m->input[r] * d + i] +
			    m->we.place[r % m->T * d + i];
	for (int l = 0; l < m->L; l++) {
		const struct layer *p = &m->wl[l];
		struct kept *c = &m->kept[l];

		normalise(c->in, p->norm1, p->shift1, c->mean1, c->scale1,
		    c->n1, rows, d);
		product(c->n1, p->qkv, p->qkv_bias, c->qkv, rows, d, 3 * d,
		    false);
		attend(m, c, rows);
		memcpy(c->middle, c->in, bytes);
		product(c->mixed, p->out, p->out_bias, c->middle, rows, d, d,
		    true);
		normalise(c->middle, p->norm2, p->shift2, c->mean2, c->scale2,
		    c->n2, rows, d);
		product(c->n2, p->up, p->up_bias, c->up, rows, d, 4 * d,
		    false);
		for (long i = 0; i < (long)rows * 4 * d; i++)
			c->act[i] = gelu(c->up[i]);
		x = l + 1 < m->L ? m->kept[l + 1].in : m->last;
		memcpy(x, c->middle, bytes);
		product(c->act, p->down, p->down_bias, x, rows, 4 * d, d,
		    true);
	}
	normalise(m->last, m->we.norm, m->we.shift, m->mean, m->scale,
	    m->normed, rows, d);
	product(m->normed, m->we.head, NULL, m->guess, rows, d, m->vocab,
	    false);
	m->loss = 0;
	for (int r = 0; with_target && r < rows; r++) {
		float *z = m->guess + (long)r * m->vocab, most = z[0];
		double sum = 0;

		for (int k = 1; k < m->vocab; k++)
			most = z[k] > most ? z[k] : most;
		for (int k = 0; k < m->vocab; k++)
			sum += exp((double)(z[k] - most));
		m->loss += (log(sum) + (double)(most - z[m->target[r]])) /
		    rows;
		for (int k = 0; k < m->vocab; k++)
			z[k] = (float)((exp((double)(z[k] - most)) / sum -
			    (k == m->target[r])) / rows);
	}
}

static void
back_output(struct model *m, int rows)
{
	product_back(m->normed, m->we.head, m->guess, m->ge.head, NULL,
	    m->dnorm, rows, m->D, m->vocab);
	memset(m->dx, 0, (size_t)rows * (size_t)m->D * sizeof(float));
	normalise_back(m->last, m->we.norm, m->mean, m->scale, m->dnorm,
	    m->ge.norm, m->ge.shift, m->dx, rows, m->D);
}

/* dx is that of the layer's output, and then of its input. */
static void
back_layer(struct model *m, int l, int rows)
{
	const struct layer *p = &m->wl[l], *q = &m->gl[l];
	const struct kept *c = &m->kept[l];
	int d = m->D;

	product_back(c->act, p->down, m->dx, q->down, q->down_bias, m->dwide,
	    rows, 4 * d, d);
	for (long i = 0; i < (long)rows * 4 * d; i++)
		m->dwide[i] *= gelu_slope(c->up[i]);
	product_back(c->n2, p->up, m->dwide, q->up, q->up_bias, m->dnorm,
	    rows, d, 4 * d);
	normalise_back(c->middle, p->norm2, c->mean2, c->scale2, m->dnorm,
	    q->norm2, q->shift2, m->dx, rows, d);
	product_back(c->mixed, p->out, m->dx, q->out, q->out_bias, m->dmixed,
	    rows, d, d);
	attend_back(m, c, m->dmixed, m->dwide, rows);
	product_back(c->n1, p->qkv, m->dwide, q->qkv, q->qkv_bias, m->dnorm,
	    rows, d, 3 * d);
	normalise_back(c->in, p->norm1, c->mean1, c->scale1, m->dnorm,
	    q->norm1, q->shift1, m->dx, rows, d);
}

static void
back_input(struct model *m, int rows)
{
	int d = m->D;

	for (int r = 0; r < rows; r++)
		for (int i = 0; i < d; i++) {
			m->ge.letter[m->input[r] * d + i] += m->dx[r * d + i];
			m->ge.place[r % m->T * d + i] += m->dx[r * d + i];
		}
}

/* The gradients of the batch, added to those that are there. */
static int
backward(void *model)
{
	struct model *m = model;
	int rows = m->rows * m->T;

	forward(m, m->rows, true);
	for (int b = m->L + 1; b >= 0; b--) {
		if (b == m->L + 1)
			back_output(m, rows);
		else if (b > 0)
			back_layer(m, b - 1, rows);
		else
			back_input(m, rows);
	}
	return 0;
}

/* ---- learning ------------------------------------------------------------ */

/* Batch number k: windows from anywhere in the text, always the same ones. */
static void
draw(struct model *m, const struct text *t, long k)
{
	for (int r = 0; r < m->rows; r++) {
		uint64_t dice = mix((uint64_t)(k * m->rows + r));
		long at = (long)(dice % (uint64_t)(t->train - m->T - 1));

		memcpy(m->input + r * m->T, t->id + at, (size_t)m->T);
		memcpy(m->target + r * m->T, t->id + at + 1, (size_t)m->T);
	}
}

/* arXiv:1711.05101; clears the gradients.  Not 0 where they were no numbers. */
static int
adamw(struct model *m, long step, double lr, double beta1, double beta2,
    double epsilon, double decay)
{
	double fix1 = 1 - pow(beta1, (double)step);
	double fix2 = 1 - pow(beta2, (double)step);
	float b1 = (float)beta1, b2 = (float)beta2;

	for (long i = 0; i < m->n; i++) {
		float *p = &m->moment1[i], *q = &m->moment2[i], g = m->g[i];

		*p = b1 * *p + (1 - b1) * g;
		*q = b2 * *q + (1 - b2) * g * g;
		m->w[i] -= (float)(lr * decay) * m->w[i] + (float)(lr / fix1) *
		    *p / (sqrtf(*q / (float)fix2) + (float)epsilon);
		m->g[i] = 0;
	}
	return !isfinite(m->loss);
}

/* Up in the first tenth, then down along a cosine to a tenth. */
static double
rate(double most, long step, long steps)
{
	double up = (double)steps / 10, t;

	if ((double)step < up)
		return most * (double)step / up;
	t = ((double)step - up) / ((double)steps - up);
	return most * (0.55 + 0.45 * cos(3.14159265358979 * t));
}

/* Step number "step", from 1. */
static int
learn(struct model *m, const struct text *t, long step, double lr)
{
	draw(m, t, step);
	backward(m);
	return adamw(m, step, lr, ADAMW);
}

/* The mean loss over the text that is held out, in at most "most" windows. */
static double
evaluate(struct model *m, const struct text *t, int most)
{
	long at = t->train;
	double sum = 0;
	int windows = 0;

	while (windows < most && at + m->T + 1 <= t->n) {
		memcpy(m->input, t->id + at, (size_t)m->T);
		memcpy(m->target, t->id + at + 1, (size_t)m->T);
		forward(m, 1, true);
		sum += m->loss;
		at += m->T;
		windows++;
	}
	return windows > 0 ? sum / windows : 0;
}

/* ---- a check of the derivatives ------------------------------------------ */

/* Moves single weights a little and looks whether the loss does what the
 * gradient says.  Returns the worst relative difference. */
static double
check(struct model *m, const struct text *t)
{
	double worst = 0;
	uint64_t random = 7;

	draw(m, t, 0);
	backward(m);
	for (int b = 0; b < m->L + 2; b++)
		for (int k = 0; k < 12; k++) {
			long i = m->begin[b] + (long)(uniform(&random) *
			    (double)(m->begin[b + 1] - m->begin[b]));
			float keep = m->w[i], by = 1e-2f;
			double up, down, slope, gradient = (double)m->g[i];
			double apart;

			m->w[i] = keep + by;
			forward(m, m->rows, true);
			up = m->loss;
			m->w[i] = keep - by;
			forward(m, m->rows, true);
			down = m->loss;
			m->w[i] = keep;
			slope = (up - down) / (2 * (double)by);
			apart = fabs(slope - gradient) / (fabs(slope) +
			    fabs(gradient) + 1e-3);
			if (apart > worst)
				worst = apart;
		}
	memset(m->g, 0, (size_t)m->n * sizeof(*m->g));
	return worst;
}

/* ---- weights in a file --------------------------------------------------- */

/* The sizes, and then all weights. */
static void
weights_save(const struct model *m, const char *path)
{
	int32_t head[6] = { 0x52414843, m->T, m->D, m->H, m->L, m->vocab };
	FILE *f = fopen(path, "wb");
	bool fine;

	if (f == NULL)
		die(path, strerror(errno));
	fine = fwrite(head, sizeof(head), 1, f) == 1 &&
	    fwrite(m->w, sizeof(*m->w), (size_t)m->n, f) == (size_t)m->n;
	if (fclose(f) != 0 || !fine)
		die(path, strerror(errno));
}

static void
weights_load(struct model *m, const char *path)
{
	int32_t want[6] = { 0x52414843, m->T, m->D, m->H, m->L, m->vocab };
	int32_t head[6];
	FILE *f = fopen(path, "rb");

	if (f == NULL)
		die(path, strerror(errno));
	if (fread(head, sizeof(head), 1, f) != 1 ||
	    memcmp(head, want, sizeof(head)) != 0)
		die(path, "weights of another model");
	if (fread(m->w, sizeof(*m->w), (size_t)m->n, f) != (size_t)m->n)
		die(path, "the file is cut off");
	fclose(f);
}

/* ---- what was learnt ----------------------------------------------------- */

/* Writes n letters that could follow a line's end. */
static void
sample(struct model *m, const struct text *t, int n, double heat,
    uint64_t random)
{
	int have = 1;

	memset(m->input, 0, (size_t)m->T);
	for (int k = 0; k < t->vocab; k++)
		if (t->letter[k] == '\n')
			m->input[0] = (uint8_t)k;
	while (n-- > 0) {
		const float *z = m->guess + (long)(have - 1) * m->vocab;
		double sum = 0, dice;
		int pick = 0;

		forward(m, 1, false);
		for (int k = 0; k < m->vocab; k++)
			sum += exp((double)z[k] / heat);
		dice = uniform(&random) * sum;
		for (int k = 0; k < m->vocab; k++) {
			dice -= exp((double)z[k] / heat);
			pick = k;
			if (dice < 0)
				break;
		}
		putchar(t->letter[pick]);
		if (have == m->T)
			memmove(m->input, m->input + 1, (size_t)--have);
		m->input[have++] = (uint8_t)pick;
	}
	putchar('\n');
}

/* ---- the program --------------------------------------------------------- */

struct options {
	long		 steps, batch, every, seed, sample, windows;
	long		 T, D, H, L;
	double		 lr;
	const char	*load, *save, *file;
	bool		 check;
};

static const char usage[] =
"usage: chars [options] FILE\n"
"  --steps N    batches to learn from (300)\n"
"  --batch N    windows of a batch (8)\n"
"  --window N   letters of a window (32)\n"
"  --size N     numbers a letter (48)     --layers N  (2)\n"
"  --heads N    of attention (4)          --lr X      the highest rate (3e-3)\n"
"  --every N    steps between two lines (50)\n"
"  --held N     windows to judge by (40)\n"
"  --seed N     of the first weights (1)\n"
"  --load FILE  begin with these weights  --save FILE keep the last ones\n"
"  --sample N   write N letters at the end\n"
"  --check      compare derivatives with differences, and end\n";

static long
number(const char *name, const char *text, long low, long high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || *text == '\0' || *end != '\0' || value < low ||
	    value > high) {
		fprintf(stderr, "chars: %s takes a number from %ld to %ld\n",
		    name, low, high);
		exit(2);
	}
	return value;
}

static void
read_options(struct options *o, int argc, char **argv)
{
	struct {
		const char *name;
		long *to, low, high;
	} row[] = {
		{ "--steps", &o->steps, 0, 100000000 },
		{ "--batch", &o->batch, 1, 4096 },
		{ "--window", &o->T, 2, 1024 },
		{ "--size", &o->D, 4, 4096 },
		{ "--layers", &o->L, 0, MAX_LAYERS },
		{ "--heads", &o->H, 1, 64 },
		{ "--every", &o->every, 1, 100000000 },
		{ "--held", &o->windows, 1, 1000000 },
		{ "--seed", &o->seed, 0, 1000000000 },
		{ "--sample", &o->sample, 0, 1000000 },
	};
	const int rows = sizeof(row) / sizeof(*row);

	for (int i = 1; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : "";
		int k = 0;

		while (k < rows && strcmp(argv[i], row[k].name) != 0)
			k++;
		if (k < rows) {
			*row[k].to = number(argv[i], next, row[k].low,
			    row[k].high);
			i++;
		} else if (strcmp(argv[i], "--lr") == 0) {
			o->lr = strtod(next, NULL);
			i++;
		} else if (strcmp(argv[i], "--load") == 0) {
			o->load = argv[++i];
		} else if (strcmp(argv[i], "--save") == 0) {
			o->save = argv[++i];
		} else if (strcmp(argv[i], "--check") == 0) {
			o->check = true;
		} else if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			exit(0);
		} else if (argv[i][0] == '-' || o->file != NULL) {
			fputs(usage, stderr);
			exit(2);
		} else {
			o->file = argv[i];
		}
	}
	if (o->file == NULL || o->D % o->H != 0 || !(o->lr > 0)) {
		fputs(o->file == NULL ? usage : "chars: the size is a multiple "
		    "of the heads, and the rate above 0\n", stderr);
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	struct options o = { .steps = 300, .batch = 8, .every = 50, .seed = 1,
	    .windows = 40, .T = 32, .D = 48, .H = 4, .L = 2, .lr = 3e-3 };
	struct model m = { 0 };
	struct text t;
	double begin, worst;

	read_options(&o, argc, argv);
	text_read(&t, o.file, (int)o.T);
	m.T = (int)o.T;
	m.D = (int)o.D;
	m.H = (int)o.H;
	m.L = (int)o.L;
	m.vocab = t.vocab;
	m.rows = (int)o.batch;
	model_new(&m);
	model_start(&m, (uint64_t)o.seed);
	if (o.load != NULL)
		weights_load(&m, o.load);
	if (o.check) {
		worst = check(&m, &t);
		printf("%ld weights, worst difference %.1e\n", m.n, worst);
		return worst > 2e-2;
	}
	begin = seconds();
	for (long step = 1; step <= o.steps; step++) {
		if (learn(&m, &t, step, rate(o.lr, step, o.steps)) != 0)
			die("learning", "a step failed");
		if (step % o.every == 0 || step == o.steps)
			printf("step %ld held-out loss %.4f\n", step,
			    evaluate(&m, &t, (int)o.windows));
	}
	fprintf(stderr, "%.1f s\n", seconds() - begin);
	if (o.save != NULL)
		weights_save(&m, o.save);
	if (o.sample > 0)
		sample(&m, &t, (int)o.sample, 0.8, (uint64_t)o.seed);
	model_free(&m);
	free(t.id);
	return 0;
}
