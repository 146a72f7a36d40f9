/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each optimizer goes on from a checkpoint as if it had never stopped, bit for
 * bit: with 16-bit weights and their masters, factored state, groups, a rate
 * that falls in steps, and the amax history of an 8-bit cast.
 */
#include <stdbool.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "tests/tap.h"
#include "tests/train/folder.h"

#define ROWS 6
#define COLS 70
#define N (ROWS * COLS)

static uint16_t w[N], dw[N];
static float b[COLS], db[COLS], history[6];
static accel_fp8 fp8;
static int64_t done;

static accel_adamw_args adamw = ACCEL_ADAMW_INIT;
static accel_adam_args adam = ACCEL_ADAM_INIT;
static accel_sgd_args sgd = { 0.1, 0.9, 0.01, 0.2, 0 };
static accel_lion_args lion = ACCEL_LION_INIT;
static accel_adafactor_args adafactor = ACCEL_ADAFACTOR_INIT;

static const struct {
	const char	*name;
	accel_update_fn	 fn;
	void		*args;
	double		*lr;
	int		 nstate;
} kind[] = {
	{ "AdamW", accel_adamw, &adamw, &adamw.lr, 2 },
	{ "Adam", accel_adam, &adam, &adam.lr, 2 },
	{ "SGD", accel_sgd, &sgd, &sgd.lr, 1 },
	{ "Lion", accel_lion, &lion, &lion.lr, 1 },
	{ "Adafactor", accel_adafactor, &adafactor, &adafactor.lr,
	  ACCEL_FACTORED },
};

static float
gradient(int i)
{
	return (float)((i * 7 + (int)done * 13) % 29 - 14) / 16;
}

static accel_status
backward(void *user)
{
	uint8_t codes[COLS];

	(void)user;
	for (int i = 0; i < N; i++)
		dw[i] = bf16_of(gradient(i));
	for (int i = 0; i < COLS; i++)
		db[i] += gradient(i + 3) * (float)(7 - done);
	accel_fp8_cast(&fp8, db, COLS, codes);
	return ACCEL_OK;
}

/* Steps from "from" to "to"; from a checkpoint where from is not 0. */
static accel_status
run(int k, int64_t from, int64_t to)
{
	accel_tensor t[] = {
		{ "w", w, dw, ACCEL_BF16, 0, 2, { ROWS, COLS } },
		{ "b", b, db, ACCEL_F32, 0, 1, { COLS } },
	};
	accel_group group[] = { { "b", 0.5, 0 } };
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_scheduler *s = NULL;
	accel_fp8 *list = &fp8;
	double base = *kind[k].lr;
	accel *a = NULL;
	accel_status st;

	how.kind = ACCEL_LR_STEP;
	how.every = 2;
	how.gamma = 0.5;
	done = 0;
	for (int i = 0; i < N; i++)
		w[i] = from > 0 ? 0 : bf16_of((float)(i % 11 - 5) / 4);
	for (int i = 0; i < COLS; i++)
		b[i] = from > 0 ? 0 : (float)(i % 7 - 3);
	if ((st = accel_init(NULL, &a)) == ACCEL_OK &&
	    (st = accel_unit(a, "u", t, 2, NULL)) == ACCEL_OK &&
	    (st = accel_groups(a, group, 1)) == ACCEL_OK &&
	    (st = accel_prepare(a, kind[k].nstate)) == ACCEL_OK &&
	    (st = accel_fp8_init(&fp8, ACCEL_E5M2, history, 6)) == ACCEL_OK &&
	    (st = accel_register(a, "step", &done, sizeof(done), 0)) ==
	    ACCEL_OK &&
	    (st = accel_register(a, "fp8", history, sizeof(history), 0)) ==
	    ACCEL_OK &&
	    (st = accel_register(a, "fp8.scale", &fp8.scale,
	    sizeof(fp8.scale), 0)) == ACCEL_OK)
		st = accel_scheduler_new(a, kind[k].lr, &how, &s);
	if (st == ACCEL_OK && from > 0)
		st = accel_load_state(a, in_folder(kind[k].name));
	while (st == ACCEL_OK && done < to) {
		st = accel_backward(a, backward, NULL);
		if (st == ACCEL_OK)
			st = accel_step(a, kind[k].fn, kind[k].args);
		if (st == ACCEL_OK)
			st = accel_scheduler_step(s);
		if (st == ACCEL_OK)
			st = accel_fp8_update(a, &list, 1);
		done++;
	}
	if (st == ACCEL_OK && from == 0 && to == 3)
		st = accel_save_state(a, in_folder(kind[k].name), NULL);
	if (st != ACCEL_OK)
		printf("# %s\n", accel_errmsg());
	accel_scheduler_free(s);
	accel_fini(a);
	*kind[k].lr = base;
	return st;
}

int
main(void)
{
	static uint16_t w6[N];
	float b6[COLS], h6[6], scale;

	ok(folder_make() == 0, "a folder");
	for (int k = 0; k < 5; k++) {
		bool good = run(k, 0, 6) == ACCEL_OK;

		memcpy(w6, w, sizeof(w));
		memcpy(b6, b, sizeof(b));
		memcpy(h6, history, sizeof(history));
		scale = fp8.scale;
		good = good && run(k, 0, 3) == ACCEL_OK &&
		    memcmp(w6, w, sizeof(w)) != 0 &&
		    run(k, 3, 6) == ACCEL_OK && done == 6;
		ok(good && memcmp(w6, w, sizeof(w)) == 0 &&
		    memcmp(b6, b, sizeof(b)) == 0 &&
		    memcmp(h6, history, sizeof(h6)) == 0 &&
		    scale == fp8.scale,
		    "%s: 3 steps, a checkpoint, 3 more: as 6", kind[k].name);
	}
	folder_remove();
	return tap_done();
}
