/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops compiled for this processor give the bits of those for any, at all
 * lengths; and norms are right where F32 would overflow.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/train/vec.h"
#include "tests/tap.h"

#define N 1100			/* more than two of any loop's blocks */

#define PLAIN(name) extern __typeof__(vec_##name) plain_##name
PLAIN(adam);
PLAIN(sgd_momentum);
PLAIN(lion);
PLAIN(scale);
PLAIN(clamp);
PLAIN(add);
PLAIN(sumsq);
PLAIN(scale_sumsq);
PLAIN(fp8);
PLAIN(add_squares);
PLAIN(lerp_squares);
PLAIN(factored_sumsq);
PLAIN(factored);
PLAIN(sgd);

/* What a loop may read and write; all of it is compared. */
struct arrays {
	float	 p[N], g[N], m[N], v[N];
	double	 d[N], result;
	uint8_t	 code[N];
};

static struct arrays start, here, plain;

static void
run(int which, struct arrays *x, size_t n, bool any)
{
	struct vec_adam adam = { 0.1f, 0.999f, 0.001f, 1.7f, 0.03f, 1e-8f,
	    0.99f, 0.01f };
	struct vec_sgd sgd = { 0.1f, 0.01f, 0.9f, 0.7f, 1 };
	struct vec_lion lion = { 0.01f, 0.99f, 0.9f, 0.1f, 0.99f, 0.01f };

#define RUN(name, ...) (any ? plain_##name(__VA_ARGS__) : \
    vec_##name(__VA_ARGS__))
	switch (which) {
	case 0:
		RUN(adam, x->p, x->g, x->m, x->v, n, &adam);
		break;
	case 1:
		RUN(sgd, x->p, x->g, n, 0.1f, 0.01f);
		break;
	case 2:
		RUN(sgd_momentum, x->p, x->g, x->m, n, &sgd);
		break;
	case 3:
		RUN(lion, x->p, x->g, x->m, n, &lion);
		break;
	case 4:
		RUN(scale, x->g, n, 1 / 3.0f);
		break;
	case 5:
		RUN(clamp, x->g, n, 1e-4f);
		break;
	case 6:
		x->result = RUN(sumsq, x->g, n);
		break;
	case 7:
		x->result = RUN(scale_sumsq, x->g, n, 1 / 3.0f);
		break;
	case 8:
		x->result = (double)RUN(fp8, x->code, x->g, n, 900, 0);
		break;
	case 9:
		x->result = (double)RUN(fp8, x->code, x->g, n, 1e5f, 1);
		break;
	case 10:
		x->result = RUN(add_squares, x->d, x->g, n);
		break;
	case 11:
		RUN(lerp_squares, x->v, x->g, n, 0.1f);
		break;
	case 12:
		x->result = RUN(factored_sumsq, x->g, x->v, n, 3, 1e-6f);
		break;
	case 13:
		RUN(factored, x->p, x->g, x->v, n, 3, 1e-6f, 0.99f, 0.1f);
		break;
	case 14:
		RUN(add, x->p, x->g, n);
		break;
	}
}

static const char *const name[] = { "Adam", "SGD", "SGD with momentum",
    "Lion", "scale", "clamp", "sum of squares", "scale and sum of squares",
    "E4M3", "E5M2", "sums of columns", "mean of squares",
    "Adafactor's norm", "Adafactor's update", "add" };

static void
same_bits(int which)
{
	size_t wrong = 0;

	for (size_t n = 0; n <= N; n = n < 70 ? n + 1 : n + 103) {
		here = plain = start;
		run(which, &here, n, false);
		run(which, &plain, n, true);
		wrong += memcmp(&here, &plain, sizeof(here)) != 0;
		if (n > 0 && memcmp(&here, &start, sizeof(here)) == 0)
			wrong++;		/* it did nothing */
	}
	ok(wrong == 0, "%s: the same bits on any processor", name[which]);
}

static void
norms(void)
{
	static float x[50];
	double want = 0, got;

	for (int i = 0; i < 50; i++) {
		x[i] = 3e38f;
		want += (double)x[i] * (double)x[i];
	}
	got = vec_sumsq(x, 50);
	ok(isfinite(got) && fabs(got / want - 1) < 1e-12,
	    "the largest floats have a norm");
	for (int i = 0; i < 50; i++) {
		float was = x[i];

		x[i] = i % 2 ? INFINITY : NAN;
		if (isfinite(vec_sumsq(x, 50)) ||
		    isfinite(vec_scale_sumsq(x, 50, 0.5f)))
			break;
		for (int k = 0; k < 50; k++)
			x[k] = was;
		if (i == 49)
			ok(1, "an infinity or NaN at any place shows");
	}
}

int
main(void)
{
	uint32_t s = 3;

	for (size_t i = 0; i < N; i++) {
		float x[4];

		for (int k = 0; k < 4; k++) {
			s = s * 1664525u + 1013904223u;
			x[k] = ((float)(s >> 8) - 0x1p23f) / 0x1p23f;
		}
		start.p[i] = x[0];
		start.g[i] = x[1];
		start.m[i] = x[2];
		start.v[i] = x[3] * x[3];
		start.d[i] = (double)x[0] / 3;
	}
	for (int k = 0; k < 15; k++)
		same_bits(k);
	norms();
	return tap_done();
}
