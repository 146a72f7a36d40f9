/* SPDX-License-Identifier: Apache-2.0 */
/* One process: the loss scale after what torch's GradScaler was recorded to do
 * (tests/data/gradscaler.tsv), and clipping behind it. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "tests/tap.h"

static float w[3], g[3];
static float add[3];
static accel *a;

static accel_status
backward(void *user)
{
	(void)user;
	for (int i = 0; i < 3; i++)
		g[i] += add[i];
	return ACCEL_OK;
}

static accel_status
start(const accel_config *c)
{
	accel_tensor t = { "w", w, g, ACCEL_F32, 0, 1, { 3 } };
	accel_status st = accel_init(c, &a);

	if (st == ACCEL_OK)
		st = accel_unit(a, "w", &t, 1, NULL);
	return st == ACCEL_OK ? accel_prepare(a, 0) : st;
}

/* One row; how many words it has, or minus the first that differs. */
static int
replay(char *line)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 0.1 };
	char *save = NULL, *word;
	int k = 0, steps = 0;

	c.loss_scale = strtof(strtok_r(line, "\t", &save), NULL);
	c.scale_growth = strtod(strtok_r(NULL, "\t", &save), NULL);
	c.scale_backoff = strtod(strtok_r(NULL, "\t", &save), NULL);
	c.scale_interval = (int)strtol(strtok_r(NULL, "\t", &save), NULL, 10);
	if (start(&c) != ACCEL_OK)
		return -1;
	while ((word = strtok_r(NULL, "\t\n", &save)) != NULL) {
		static const float bad[] = { INFINITY, NAN, -INFINITY };
		char *end;
		bool overflow = strtol(word, &end, 10) != 0;
		float scale = strtof(end + 1, &end);
		long want = strtol(end + 1, NULL, 10);
		accel_status st;

		for (int i = 0; i < 3; i++)
			add[i] = accel_loss_scale(a);
		if (overflow)
			add[k % 3] = bad[k % 3];
		k++;
		if (accel_backward(a, backward, NULL) != ACCEL_OK)
			return -k;
		st = accel_step(a, accel_sgd, &sgd);
		steps += st == ACCEL_OK;
		if (accel_step_was_skipped(a) != (st == ACCEL_SKIPPED) ||
		    accel_loss_scale(a) != scale || steps != want)
			return -k;
	}
	accel_fini(a);
	return k;
}

static void
golden(const char *top)
{
	char path[4096], line[16384];
	int rows = 0, got;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/gradscaler.tsv", top);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (line[0] == '#')
			continue;
		rows++;
		got = replay(line);
		ok(got >= 9, "row %d: scale and steps are torch's in each step "
		    "(%d)", rows, got);
	}
	ok(rows == 9, "all rows are there");
	if (f != NULL)
		fclose(f);
}

static void
clip(void)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_sgd_args sgd = { .lr = 1 };
	const accel_range *r;
	float norm, before;
	int n;

	c.loss_scale = 1024;
	ok(start(&c) == ACCEL_OK, "scale 1024");
	add[0] = 3 * 1024;
	add[1] = 4 * 1024;
	add[2] = 0;
	memset(w, 0, sizeof(w));
	accel_backward(a, backward, NULL);
	ok(accel_clip_grad_norm(a, 1, &norm) == ACCEL_OK && norm == 5,
	    "the norm is that of unscaled gradients (%g)", (double)norm);
	ok(fabsf(g[0] - 0.6f) < 1e-6f && fabsf(g[1] - 0.8f) < 1e-6f,
	    "which are cut to length 1");
	accel_clip_grad_norm(a, 2, &norm);
	ok(fabsf(norm - 1) < 1e-6f && fabsf(g[0] - 0.6f) < 1e-6f,
	    "a shorter one is left alone");
	ok(accel_clip_grad_value(a, 0.7f) == ACCEL_OK && g[1] == 0.7f &&
	    fabsf(g[0] - 0.6f) < 1e-6f, "then each element to 0.7");
	ok(accel_gradients(a, &r, &n) == ACCEL_OK && n == 1 && r->grad == g &&
	    r->n == 3, "the gradients can be looked at");
	accel_step(a, accel_sgd, &sgd);
	ok(w[1] == -0.7f && g[1] == 0, "the step takes them and clears them");

	add[2] = INFINITY;
	before = accel_loss_scale(a);
	accel_backward(a, backward, NULL);
	ok(accel_clip_grad_norm(a, 1, &norm) == ACCEL_OK && !isfinite(norm),
	    "an infinite norm is said");
	ok(accel_step(a, accel_sgd, &sgd) == ACCEL_SKIPPED && w[1] == -0.7f &&
	    accel_loss_scale(a) == before / 2, "and its step skipped");
	ok(accel_gradients(a, &r, &n) == ACCEL_OK && n == 0,
	    "behind a step there are no gradients");
	accel_fini(a);
}

/* Underflow is what scaling is for: 2^-30 is nothing in f16. */
static uint16_t hw[4], hg[4];

static accel_status
tiny(void *user)
{
	(void)user;
	for (int i = 0; i < 4; i++)
		hg[i] = f16_of(0x1p-30f * accel_loss_scale(a));
	return ACCEL_OK;
}

static accel_status
see(void *user, const accel_range *r, int n, int64_t step)
{
	float *out = user;

	(void)n;
	(void)step;
	*out = ((float *)r->grad)[3];
	return r->master != NULL && r->dtype == ACCEL_F16 ? ACCEL_OK :
	    ACCEL_EINVAL;
}

static void
underflow(float scale, float want)
{
	accel_config c = ACCEL_CONFIG_INIT;
	accel_tensor t = { "h", hw, hg, ACCEL_F16, 0, 1, { 4 } };
	float got = -1;

	c.loss_scale = scale;
	if (accel_init(&c, &a) != ACCEL_OK ||
	    accel_unit(a, "h", &t, 1, NULL) != ACCEL_OK ||
	    accel_prepare(a, 0) != ACCEL_OK ||
	    accel_backward(a, tiny, NULL) != ACCEL_OK)
		return;
	ok(accel_step(a, see, &got) == ACCEL_OK && got == want,
	    "scale %g: the optimizer reads %g", (double)scale, (double)got);
	accel_fini(a);
}

int
main(void)
{
	const char *top = getenv("top_srcdir");

	golden(top != NULL ? top : ".");
	clip();
	underflow(0, 0);
	underflow(65536, 0x1p-30f);
	return tap_done();
}
