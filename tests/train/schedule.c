/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning rates are those of transformers, torch and Accelerate:
 * tests/data/schedule.txt.
 *
 *	schedule	the curves, in one process
 *	schedule rank	one of two ranks: how many counts a step is
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/train/accel.h"
#include "tests/tap.h"

static float w, dw, next_gradient = 1;

static accel_status
backward(void *user)
{
	(void)user;
	dw += next_gradient;
	return ACCEL_OK;
}

static accel *
start(int grad_accum, float loss_scale)
{
	accel_config config = ACCEL_CONFIG_INIT;
	accel_tensor t = { "w", &w, &dw, ACCEL_F32, 0, 1, { 1 } };
	accel *a = NULL;

	config.grad_accum = grad_accum;
	config.loss_scale = loss_scale;
	if (accel_init(&config, &a) != ACCEL_OK ||
	    accel_unit(a, "w", &t, 1, NULL) != ACCEL_OK ||
	    accel_prepare(a, 0) != ACCEL_OK) {
		printf("Bail out! %s\n", accel_errmsg());
		exit(1);
	}
	return a;
}

static FILE *
open_data(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/data/schedule.txt",
	    top != NULL ? top : ".");
	return fopen(path, "r");
}

static char *
next(char **at)
{
	char *word;

	do
		word = strsep(at, " \n");
	while (word != NULL && *word == '\0');
	return word;
}

static double
number(char **at)
{
	char *word = next(at);

	return word != NULL ? strtod(word, NULL) : (double)NAN;
}

static bool
same(double x, double y)
{
	return fabs(x - y) <= 1e-15 + 1e-12 * fabs(y);
}

static accel_lr_kind
kind(const char *name)
{
	static const char *const names[] = { "constant", "linear", "cosine",
	    "restarts", "polynomial", "inverse_sqrt", "step", "milestones" };

	for (int i = 0; i < 8; i++)
		if (strcmp(name, names[i]) == 0)
			return (accel_lr_kind)i;
	return (accel_lr_kind)-1;
}

/* One "schedule" line, after that word. */
static void
curve(accel *a, char *at)
{
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_sgd_args sgd = { 0, 0, 0, 0, 0 };
	accel_scheduler *s;
	int64_t milestone[8];
	char title[200], *word;
	bool good = true;
	int n = 0;

	snprintf(title, sizeof(title), "%.*s",
	    (int)(strstr(at, " rates") - at), at);
	how.kind = kind(next(&at));
	sgd.lr = number(&at);
	how.warmup = (int64_t)number(&at);
	how.total = (int64_t)number(&at);
	how.end = number(&at);
	how.cycles = number(&at);
	how.power = number(&at);
	how.gamma = number(&at);
	how.every = (int64_t)number(&at);
	next(&at);
	while ((word = next(&at)) != NULL && strcmp(word, "rates") != 0)
		milestone[how.nmilestone++] = strtol(word, NULL, 10);
	how.milestone = milestone;
	if (accel_scheduler_new(a, &sgd.lr, &how, &s) != ACCEL_OK) {
		ok(0, "%s: %s", title, accel_errmsg());
		return;
	}
	memset(milestone, -1, sizeof(milestone));
	for (; (word = next(&at)) != NULL; n++) {
		double want = strtod(word, NULL);

		if (good && !same(sgd.lr, want)) {
			printf("# at %d: %.17g, not %.17g\n", n, sgd.lr, want);
			good = false;
		}
		if (accel_backward(a, backward, NULL) != ACCEL_OK ||
		    accel_step(a, accel_sgd, &sgd) != ACCEL_OK ||
		    accel_scheduler_step(s) != ACCEL_OK)
			good = false;
	}
	ok(good && n == 18, "%s", title);
	accel_scheduler_free(s);
}

static void
curves(void)
{
	FILE *file = open_data();
	accel *a = start(1, 0);
	char line[2000];
	int n = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "schedule ", 9) == 0) {
			curve(a, line + 9);
			n++;
		}
	ok(n >= 19, "there is a curve of each kind");
	if (file != NULL)
		fclose(file);
	accel_fini(a);
}

static double
twice(void *user, int64_t count)
{
	(void)user;
	return 1 + 2 * (double)count;
}

static void
steps(void)
{
	accel *a = start(2, 0);
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_sgd_args sgd = { 0.5, 0, 0, 0, 0 };
	accel_scheduler_state state;
	accel_scheduler *s, *t;

	how.kind = ACCEL_LR_FN;
	how.fn = twice;
	ok(accel_scheduler_new(a, &sgd.lr, &how, &s) == ACCEL_OK,
	    "one's own function is taken");
	accel_backward(a, backward, NULL);
	ok(accel_step(a, accel_sgd, &sgd) == ACCEL_SKIPPED &&
	    accel_scheduler_step(s) == ACCEL_SKIPPED && sgd.lr == 0.5,
	    "while accumulating the rate stays");
	accel_backward(a, backward, NULL);
	ok(accel_step(a, accel_sgd, &sgd) == ACCEL_OK &&
	    accel_scheduler_step(s) == ACCEL_OK && sgd.lr == 1.5,
	    "after a step it moves");
	ok(accel_scheduler_step(s) == ACCEL_SKIPPED && sgd.lr == 1.5,
	    "once for each step");
	accel_scheduler_get(s, &state);
	ok(state.count == 1 && state.base == 0.5, "the state can be read");

	sgd.lr = 7;
	ok(accel_scheduler_new(a, &sgd.lr, &how, &t) == ACCEL_OK,
	    "another begins at another rate");
	ok(accel_scheduler_set(t, &state) == ACCEL_OK && sgd.lr == 1.5,
	    "and goes on where the first was");
	ok(accel_scheduler_step(t) == ACCEL_SKIPPED,
	    "the step before is not counted again");
	state.count = -1;
	ok(accel_scheduler_set(t, &state) == ACCEL_EINVAL,
	    "a negative count is refused");
	accel_scheduler_free(s);
	accel_scheduler_free(t);
	accel_scheduler_free(NULL);
	accel_fini(a);
}

/* Inside Accelerate a scheduler asks its optimizer whether it was skipped. */
static void
overflow(void)
{
	accel *a = start(1, 1024);
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_sgd_args sgd = { 1, 0, 0, 0, 0 };
	accel_scheduler *s;
	int moved[3];

	how.kind = ACCEL_LR_LINEAR;
	how.total = 10;
	accel_scheduler_new(a, &sgd.lr, &how, &s);
	for (int i = 0; i < 3; i++) {
		next_gradient = i == 1 ? INFINITY : 1;
		accel_backward(a, backward, NULL);
		accel_step(a, accel_sgd, &sgd);
		moved[i] = accel_scheduler_step(s) == ACCEL_OK;
	}
	next_gradient = 1;
	ok(moved[0] && !moved[1] && moved[2] && same(sgd.lr, 0.8),
	    "a step skipped for an overflow does not move the rate");
	accel_scheduler_free(s);
	accel_fini(a);
}

static void
refusals(void)
{
	accel *a = start(1, 0);
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	int64_t down[] = { 5, 4 };
	double lr = 0.1;
	accel_scheduler *s;

	how.kind = ACCEL_LR_LINEAR;
	how.warmup = 5;
	how.total = 4;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL,
	    "a total shorter than the warm-up is refused");
	is(accel_errmsg(), "accel_schedule: a total of 4 with a warm-up of 5: "
	    "count both, at least one", "with both numbers");
	how.kind = ACCEL_LR_POLYNOMIAL;
	how.total = 10;
	how.end = 0.2;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL,
	    "an end above lr is refused");
	how.kind = ACCEL_LR_STEP;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL,
	    "steps of no length are refused");
	how.kind = ACCEL_LR_MILESTONES;
	how.milestone = down;
	how.nmilestone = 2;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL,
	    "milestones out of order are refused");
	how.kind = (accel_lr_kind)9;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL,
	    "an unknown kind is refused");
	how.kind = ACCEL_LR_CONSTANT;
	lr = (double)NAN;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL,
	    "a rate that is none is refused");
	how.size = 0;
	ok(accel_scheduler_new(a, &lr, &how, &s) == ACCEL_EINVAL && s == NULL,
	    "a schedule without ACCEL_SCHEDULE_INIT is refused");
	accel_fini(a);
}

/* ---- two ranks, against Accelerate --------------------------------------- */

/* Two epochs of three batches a rank, accumulation 2, a fall over 12. */
static bool
as_accelerate(accel *a, char *at)
{
	int world = (int)number(&at), split = (int)number(&at);
	int linked = (int)number(&at), rows;
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_sgd_args sgd = { 1, 0, 0, 0, 0 };
	accel_scheduler *s;
	accel_loader *l = NULL;
	int64_t index[4];
	accel_status st;
	bool good;

	how.kind = ACCEL_LR_LINEAR;
	how.total = 12;
	how.flags = (split ? ACCEL_LR_ONCE : 0u) |
	    (linked ? 0u : ACCEL_LR_EACH_CALL);
	st = accel_scheduler_new(a, &sgd.lr, &how, &s);
	if (st == ACCEL_OK)
		st = accel_loader_new(a, 6, split ? 2 : 1,
		    split ? ACCEL_SPLIT : 0, 0, &l);
	good = st == ACCEL_OK && world == accel_world(a);
	for (int epoch = 0; epoch < 2 && good; epoch++)
		while (good && (st = accel_next(l, index, &rows)) ==
		    ACCEL_OK) {
			int sync = (int)number(&at);
			double want = number(&at);

			st = accel_backward(a, backward, NULL);
			if (st >= 0)
				st = accel_step(a, accel_sgd, &sgd);
			if (st >= 0)
				st = accel_scheduler_step(s);
			good = st >= 0 && sync == accel_syncing(a) &&
			    same(sgd.lr, want);
			if (!good)
				printf("split %d, linked %d: sync %d for %d, "
				    "lr %.17g for %.17g (%s)\n", split, linked,
				    accel_syncing(a), sync, sgd.lr, want,
				    accel_errmsg());
		}
	good = good && next(&at) == NULL;
	accel_loader_free(l);
	accel_scheduler_free(s);
	return good;
}

static int
rank(void)
{
	FILE *file = open_data();
	accel *a = start(2, 0);
	char line[2000];
	int n = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "accelerate ", 11) == 0) {
			if (!as_accelerate(a, line + 11))
				break;
			n++;
		}
	if (file != NULL)
		fclose(file);
	printf("%d as Accelerate\n", n);
	return accel_fini(a) != ACCEL_OK;
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "rank") == 0)
		return rank();
	curves();
	steps();
	overflow();
	refusals();
	return tap_done();
}
