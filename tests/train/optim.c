/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizers give what torch.optim gives: tests/data/optim.txt.
 *
 *	optim		all of that, in one process
 *	optim groups	one of some ranks, each with a decay of its own: fails
 *	optim fp8	one of some ranks: prints the scale that they agree on
 */
#include <math.h>
#include <stdlib.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "tests/tap.h"

#define MOST 2000		/* elements of one case */
#define TOLERANCE 1e-6		/* of the largest parameter; as accel.h says */

struct golden {
	char	 kind[16], title[200];
	double	 number[6];
	int	 nnumber, ndim;
	int64_t	 shape[4];
	size_t	 n;
	long	 steps;
	float	 want[MOST];
};

/* The formula of tests/python/optim.py. */
static void
noise(float *out, size_t n, uint32_t seed, float by)
{
	uint32_t x = seed * 2654435761u + 12345u;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		out[i] = ((float)(x >> 8) - 0x1p23f) / 0x1p23f * by;
	}
}

static int
parse(char *line, struct golden *c)
{
	char *word, *save = NULL;
	int where = 0;

	memset(c, 0, sizeof(*c));
	snprintf(c->title, sizeof(c->title), "%.*s",
	    (int)(strstr(line, " after ") - line), line);
	c->n = 1;
	for (word = strtok_r(line, " \n", &save); word != NULL;
	    word = strtok_r(NULL, " \n", &save)) {
		if (c->kind[0] == '\0')
			snprintf(c->kind, sizeof(c->kind), "%s", word);
		else if (strcmp(word, "shape") == 0 ||
		    strcmp(word, "after") == 0)
			where++;
		else if (where == 0 && c->nnumber < 6)
			c->number[c->nnumber++] = strtod(word, NULL);
		else if (where == 1 && c->ndim < 4) {
			c->shape[c->ndim] = strtol(word, NULL, 10);
			c->n *= (size_t)c->shape[c->ndim++];
		} else if (where == 2) {
			c->steps = strtol(word, NULL, 10);
			where++;
			if (c->n > MOST)
				return -1;
			for (size_t i = 0; i < c->n; i++) {
				word = strtok_r(NULL, " \n", &save);
				if (word == NULL)
					return -1;
				c->want[i] = strtof(word, NULL);
			}
		} else
			return -1;
	}
	return where == 3 ? 0 : -1;
}

static accel_status
update(const struct golden *c, const accel_range *r, int64_t step)
{
	const double *x = c->number;

	if (strncmp(c->kind, "adam", 4) == 0) {
		accel_adamw_args o = { x[0], x[1], x[2], x[3], x[4] };

		return strcmp(c->kind, "adam") == 0 ?
		    accel_adam(&o, r, 1, step) : accel_adamw(&o, r, 1, step);
	}
	if (strcmp(c->kind, "sgd") == 0) {
		accel_sgd_args o = { x[0], x[1], x[2], x[3], x[4] != 0 };

		return accel_sgd(&o, r, 1, step);
	}
	if (strcmp(c->kind, "lion") == 0) {
		accel_lion_args o = { x[0], x[1], x[2], x[3] };

		return accel_lion(&o, r, 1, step);
	}
	if (strcmp(c->kind, "adafactor") == 0) {
		accel_adafactor_args o = { x[0], x[1], x[2], x[3], x[4],
		    x[5] };

		return accel_adafactor(&o, r, 1, step);
	}
	return ACCEL_EINVAL;
}

/* Runs all steps; "p" are the values in F32, "half" the 16-bit ones. */
static accel_status
train(const struct golden *c, accel_dtype dtype, float *p, uint16_t *half)
{
	static float g[MOST], state[2][MOST];
	accel_range r = { .n = c->n, .param = p, .grad = g,
	    .state = { state[0], state[1] }, .dtype = dtype, .name = "w",
	    .ndim = c->ndim, .shape = c->shape };
	accel_status st = ACCEL_OK;

	if (dtype != ACCEL_F32) {
		r.param = half;
		r.master = p;
	}
	memset(state, 0, sizeof(state));
	noise(p, c->n, 1, 1);
	for (long step = 1; step <= c->steps && st == ACCEL_OK; step++) {
		noise(g, c->n, (uint32_t)step + 1, step % 5 ? 0.5f : 2);
		st = update(c, &r, step);
	}
	return st;
}

static void
compare(const struct golden *c)
{
	static float p[MOST], master[MOST];
	static uint16_t half[MOST + 1];
	double largest = 0, off = 0;
	accel_status st = train(c, ACCEL_F32, p, NULL);
	int wrong = 0;

	for (size_t i = 0; i < c->n; i++) {
		largest = fmax(largest, fabs((double)c->want[i]));
		off = fmax(off, fabs((double)p[i] - (double)c->want[i]));
	}
	ok(st == ACCEL_OK && off <= TOLERANCE * largest, "%s", c->title);
	printf("# off by %.1e of the largest\n", off / largest);

	for (accel_dtype t = ACCEL_F16; t <= ACCEL_BF16; t++) {
		half[c->n] = 0xabcd;
		st = train(c, t, master, half);
		wrong += st != ACCEL_OK || half[c->n] != 0xabcd ||
		    memcmp(master, p, c->n * sizeof(*p)) != 0;
		for (size_t i = 0; i < c->n; i++)
			wrong += half[i] != (t == ACCEL_F16 ?
			    f16_of(p[i]) : bf16_of(p[i]));
	}
	ok(wrong == 0, "and 16 bits are these, rounded");
}

static void
goldens(void)
{
	const char *top = getenv("top_srcdir");
	static char path[4096], line[MOST * 20];
	static struct golden c;
	FILE *file;
	int n = 0;

	snprintf(path, sizeof(path), "%s/tests/data/optim.txt",
	    top != NULL ? top : ".");
	file = fopen(path, "r");
	ok(file != NULL, "%s is there", path);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (parse(line, &c) != 0) {
			ok(0, "line %d can be read", n + 1);
			break;
		}
		compare(&c);
		n++;
	}
	ok(n >= 16, "all optimizers had their turn");
	if (file != NULL)
		fclose(file);
}

static void
refusals(void)
{
	float p[6] = { 0 }, g[6] = { 0 }, m[6] = { 0 };
	int64_t shape[2] = { 2, 3 };
	accel_range r = { .n = 6, .param = p, .grad = g, .state = { m },
	    .dtype = ACCEL_F32, .name = "h.0.w", .ndim = 2, .shape = shape };
	accel_adamw_args adam = ACCEL_ADAMW_INIT;
	accel_lion_args lion = ACCEL_LION_INIT;
	accel_sgd_args sgd = { 0.1, 0, 0, 0, 1 };
	accel_adafactor_args ada = ACCEL_ADAFACTOR_INIT;

	ok(accel_adamw(&adam, &r, 1, 1) == ACCEL_EINVAL,
	    "AdamW with one state array is refused");
	is(accel_errmsg(), "accel_adamw: h.0.w has 1 of 2 state arrays: "
	    "accel_prepare makes them", "and the tensor named");
	ok(accel_sgd(&sgd, &r, 1, 1) == ACCEL_EINVAL,
	    "Nesterov without momentum is refused");
	r.n = 3;
	ok(accel_adafactor(&ada, &r, 1, 1) == ACCEL_EINVAL,
	    "Adafactor of a part of a tensor is refused");
	is(accel_errmsg(), "accel_adafactor: the range is 3 of the 6 elements "
	    "of h.0.w, and its sums go over all", "and the tensor named");
	r.n = 6;
	r.dtype = ACCEL_F64;
	ok(accel_lion(&lion, &r, 1, 1) == ACCEL_EINVAL,
	    "F64 is refused");
	r.dtype = ACCEL_BF16;
	ok(accel_lion(&lion, &r, 1, 1) == ACCEL_EINVAL,
	    "16 bits without values in F32 are refused");
}

/* ---- groups, through accel_step ------------------------------------------ */

static float w[3][4], dw[3][4];

static accel_status
ones(void *user)
{
	(void)user;
	for (int t = 0; t < 3; t++)
		for (int i = 0; i < 4; i++)
			dw[t][i] = 1;
	return ACCEL_OK;
}

static accel *
model(uint32_t flags)
{
	static const char *const name[] = { "h.0.w", "h.0.bias", "ln_f.w" };
	accel_tensor t[3];
	accel *a = NULL;

	for (int k = 0; k < 3; k++) {
		t[k] = (accel_tensor){ name[k], w[k], dw[k], ACCEL_F32,
		    k == 0 ? flags : 0, 1, { 4 } };
		for (int i = 0; i < 4; i++)
			w[k][i] = 2;
	}
	if (accel_init(NULL, &a) != ACCEL_OK ||
	    accel_unit(a, "h", t, 3, NULL) != ACCEL_OK)
		printf("# %s\n", accel_errmsg());
	return a;
}

static void
step(accel *a)
{
	accel_sgd_args sgd = { 0.5, 0, 0.25, 0, 0 };

	if (accel_prepare(a, 0) != ACCEL_OK ||
	    accel_backward(a, ones, NULL) != ACCEL_OK ||
	    accel_step(a, accel_sgd, &sgd) != ACCEL_OK)
		printf("# %s\n", accel_errmsg());
}

/* An optimizer of the program's own sees names and groups. */
static accel_status
own(void *user, const accel_range *r, int nrange, int64_t step)
{
	int *seen = user;

	for (int k = 0; k < nrange; k++)
		if (step == 1 && strcmp(r[k].name, "h.0.bias") == 0 &&
		    r[k].group != NULL && r[k].group->lr_scale == 0.5 &&
		    r[k].ndim == 1 && r[k].shape[0] == 4 && r[k].n == 4)
			++*seen;
		else if (r[k].group == NULL)
			*seen += 10;
	return ACCEL_OK;
}

static void
own_optimizer(void)
{
	accel_group half[] = { { "*.bias", 0.5, -1 } };
	accel *a = model(0);
	int seen = 0;

	ok(accel_groups(a, half, 1) == ACCEL_OK &&
	    accel_prepare(a, 0) == ACCEL_OK &&
	    accel_backward(a, ones, NULL) == ACCEL_OK &&
	    accel_step(a, own, &seen) == ACCEL_OK && seen == 21,
	    "an own optimizer sees each tensor's name, shape and group");
	accel_fini(a);
}

/* p - 0.5 * scale * (1 + decay * p), p = 2. */
static void
groups(void)
{
	accel_group first[] = {
		{ "*.bias", 1, 0 }, { "*", 2, -1 }, { "ln_*", 9, 9 },
	};
	accel_group second[] = { { "h.*", 0, 1 } };
	accel_group wrong[] = { { "h.*", 1, 0 }, { "*.biass", 1, 0 } };
	accel *a = model(0);

	ok(accel_groups(a, first, 3) == ACCEL_OK, "three groups are taken");
	step(a);
	ok(w[1][0] == 1.5f, "*.bias has no decay");
	ok(w[0][0] == 0.5f, "the others twice the rate and the usual decay");
	ok(w[2][3] == 0.5f, "the first that matches wins");
	ok(accel_groups(a, first, 1) == ACCEL_ESTATE,
	    "after accel_prepare it is too late");
	accel_fini(a);

	a = model(0);
	ok(accel_groups(a, first, 3) == ACCEL_OK &&
	    accel_groups(a, second, 1) == ACCEL_OK, "a second call replaces");
	step(a);
	ok(w[0][0] == 2 && w[1][0] == 2, "a rate of 0 leaves h.* alone");
	ok(w[2][0] == 1.25f, "what no group has is as without groups");
	accel_fini(a);

	a = model(ACCEL_NO_DECAY);
	step(a);
	ok(w[0][0] == 1.5f && w[1][0] == 1.25f,
	    "ACCEL_NO_DECAY is a tensor's own");
	accel_fini(a);

	a = model(0);
	ok(accel_groups(a, wrong, 2) == ACCEL_OK &&
	    accel_prepare(a, 0) == ACCEL_EINVAL,
	    "a pattern that matches nothing is refused");
	is(accel_errmsg(), "accel_groups: no tensor's name matches "
	    "\"*.biass\" (names are such as h.0.w; * stands for any letters)",
	    "and named");
	wrong[0].pattern = "";
	ok(accel_groups(a, wrong, 2) == ACCEL_EINVAL,
	    "an empty pattern is refused");
	wrong[0] = (accel_group){ "*", -1, 0 };
	ok(accel_groups(a, wrong, 1) == ACCEL_EINVAL,
	    "a negative rate is refused");
	accel_fini(a);
}

/* ---- Adafactor's state, as accel_prepare makes it ------------------------- */

static float fw[6 * 10], fg[6 * 10], bias[10], bg[10];

static accel_status
some(void *user)
{
	noise(fg, 60, *(uint32_t *)user, 1);
	noise(bg, 10, *(uint32_t *)user, 1);
	return ACCEL_OK;
}

/* Both sides: the same numbers with state of one's own, longer than needed. */
static void
factored(void)
{
	accel_tensor t[2] = {
		{ "w", fw, fg, ACCEL_F32, 0, 3, { 2, 3, 10 } },
		{ "b", bias, bg, ACCEL_F32, 0, 1, { 10 } },
	};
	static float w2[60], b2[10], g2[60], s2[60], s3[10];
	accel_range r[2] = {
		{ .n = 60, .param = w2, .grad = g2, .state = { s2 },
		  .name = "w", .ndim = 3, .shape = t[0].shape },
		{ .n = 10, .param = b2, .grad = g2, .state = { s3 },
		  .name = "b", .ndim = 1, .shape = t[1].shape },
	};
	accel_adafactor_args o = ACCEL_ADAFACTOR_INIT;
	accel_status st;
	accel *a = NULL;

	noise(fw, 60, 77, 1);
	noise(bias, 10, 78, 1);
	memcpy(w2, fw, sizeof(w2));
	memcpy(b2, bias, sizeof(b2));
	st = accel_init(NULL, &a);
	if (st == ACCEL_OK)
		st = accel_unit(a, "u", t, 2, NULL);
	if (st == ACCEL_OK)
		st = accel_prepare(a, ACCEL_FACTORED);
	for (uint32_t seed = 1; seed <= 3 && st == ACCEL_OK; seed++) {
		st = accel_backward(a, some, &seed);
		if (st == ACCEL_OK)
			st = accel_step(a, accel_adafactor, &o);
		noise(g2, 60, seed, 1);
		accel_adafactor(&o, r, 2, seed);
	}
	ok(st == ACCEL_OK && memcmp(w2, fw, sizeof(w2)) == 0 &&
	    memcmp(b2, bias, sizeof(b2)) == 0,
	    "ACCEL_FACTORED is enough for Adafactor");
	/* Rows and columns of two matrices of 3 by 10. */
	ok(s2[25] != 0 && s2[26] == 0, "26 numbers for 60");
	accel_fini(a);
}

/* ---- one of some ranks ---------------------------------------------------- */

static accel_status
one_scale(accel *a)
{
	float history[2][4], x[] = { 1, (float)(accel_rank(a) + 2) };
	accel_fp8 s[2], *list[] = { &s[0], &s[1] };
	uint8_t c[2];
	accel_status st;

	for (int k = 0; k < 2; k++) {
		accel_fp8_init(&s[k], ACCEL_E4M3, history[k], 4);
		accel_fp8_cast(&s[k], &x[k], 1, c);
	}
	st = accel_fp8_update(a, list, 2);
	printf("scales %g %g\n", (double)s[0].scale, (double)s[1].scale);
	return st;
}

static int
rank(const char *what)
{
	accel *a = model(0);
	accel_group g[] = { { "*.bias", 1, 0.25 * accel_rank(a) } };
	accel_status st;

	if (strcmp(what, "fp8") == 0)
		st = one_scale(a);
	else if ((st = accel_groups(a, g, 1)) == ACCEL_OK)
		st = accel_prepare(a, 0);
	if (st != ACCEL_OK)
		printf("status %d: %s\n", (int)st, accel_errmsg());
	accel_fini(a);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return rank(argv[1]);
	goldens();
	refusals();
	groups();
	own_optimizer();
	factored();
	return tap_done();
}
