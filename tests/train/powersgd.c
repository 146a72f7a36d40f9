/* SPDX-License-Identifier: Apache-2.0 */
/*
 * powersgd: one rank whose gradients go through PowerSGD, for
 * tests/python/powersgd.py, which has the same tensors and the same gradients.
 *	powersgd DIR RANK START KIND
 * RANK is the approximation's, START the steps without it, KIND "f32", "tiny"
 * (times 2^-60), "bf16" or "own" (that, with ACCEL_REDUCE_OWN).  DIR/state is a
 * checkpoint from behind step START: it has the first Q.  Rank 0 writes the
 * averaged gradients of all steps to DIR/ours, and a line of tensors for each
 * bucket to DIR/buckets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/half.h"
#include "runtime/train/train.h"

enum { STEPS = 10, MOST = 1400 };

static const accel_tensor shape[] = {
	{ "in", 0, 0, 0, 0, 2, { 24, 20 } },
	{ "in.bias", 0, 0, 0, 0, 1, { 24 } },
	{ "conv", 0, 0, 0, 0, 4, { 12, 6, 3, 2 } },
	{ "tiny", 0, 0, 0, 0, 2, { 3, 3 } },
	{ "same", 0, 0, 0, 0, 2, { 24, 20 } },
	{ "tall", 0, 0, 0, 0, 2, { 60, 16 } },
	{ "low", 0, 0, 0, 0, 2, { 10, 12 } },	/* not worth it for rank 4 */
	{ "out", 0, 0, 0, 0, 2, { 40, 33 } },
	{ "out.bias", 0, 0, 0, 0, 1, { 37 } },
};
enum { NTENSOR = sizeof(shape) / sizeof(*shape) };

static float data[NTENSOR][MOST], grad[NTENSOR][MOST];
static uint16_t half[NTENSOR][2 * MOST];
static accel_tensor tensor[NTENSOR];
static accel *a;
static int step;
static float size = 1;
static FILE *out;

static int
fail(const char *what)
{
	fprintf(stderr, "powersgd: %s: %s\n", what, accel_errmsg());
	return 1;
}

static size_t
count(const accel_tensor *t)
{
	size_t n = 1;

	for (int k = 0; k < t->ndim; k++)
		n *= (size_t)t->shape[k];
	return n;
}

/* As in tests/python/optim.py: multiples of 2^-23 in [-1, 1). */
static accel_status
backward(void *user)
{
	(void)user;
	for (int t = 0; t < NTENSOR; t++) {
		uint32_t seed = (uint32_t)(1000 * step + 100 * accel_rank(a) +
		    t), x = seed * 2654435761u + 12345u;
		size_t n = count(&tensor[t]);

		for (size_t i = 0; i < n; i++) {
			x = x * 1664525u + 1013904223u;
			grad[t][i] = size * ((float)(x >> 8) / (1 << 23) - 1);
		}
		if (tensor[t].dtype == ACCEL_BF16)
			bf16_from_f32(tensor[t].grad, grad[t], n);
	}
	return ACCEL_OK;
}

static accel_status
update(void *user, const accel_range *r, int n, int64_t number)
{
	(void)user;
	(void)number;
	for (int i = 0; i < n && out != NULL; i++)
		if (fwrite(r[i].grad, sizeof(float), r[i].n, out) != r[i].n)
			return ACCEL_EIO;
	return ACCEL_OK;
}

static int
write_buckets(const char *path)
{
	FILE *file = fopen(path, "w");

	if (file == NULL)
		return -1;
	for (int i = 0; i < a->nbucket; i++) {
		const struct bucket *b = &a->bucket[i];

		for (int k = b->count - 1; k >= 0; k--)
			fprintf(file, "%s%c", tensor_of(a, a->order[b->first +
			    k])->name, k > 0 ? ' ' : '\n');
	}
	return fclose(file);
}

int
main(int argc, char **argv)
{
	accel_config c = ACCEL_CONFIG_INIT;
	char path[3][1000];
	int wide;

	if (argc != 5)
		return 2;
	c.reduce = strcmp(argv[4], "own") == 0 ? ACCEL_REDUCE_OWN :
	    ACCEL_REDUCE_F32;
	wide = strcmp(argv[4], "bf16") != 0 && c.reduce == ACCEL_REDUCE_F32;
	size = strcmp(argv[4], "tiny") == 0 ? ldexpf(1, -60) : 1;
	snprintf(path[0], sizeof(path[0]), "%s/ours", argv[1]);
	snprintf(path[1], sizeof(path[1]), "%s/state", argv[1]);
	snprintf(path[2], sizeof(path[2]), "%s/buckets", argv[1]);
	c.compress = ACCEL_COMPRESS_POWERSGD;
	c.powersgd_rank = (int)strtol(argv[2], NULL, 10);
	c.powersgd_start = (int)strtol(argv[3], NULL, 10);
	c.bucket_bytes = 4096;
	if (accel_init(&c, &a) != ACCEL_OK)
		return fail("init");
	for (int t = 0; t < NTENSOR; t++) {
		tensor[t] = shape[t];
		tensor[t].dtype = wide ? ACCEL_F32 : ACCEL_BF16;
		tensor[t].data = wide ? (void *)data[t] : half[t];
		tensor[t].grad = wide ? (void *)grad[t] : half[t] + MOST;
		if (accel_unit(a, tensor[t].name, &tensor[t], 1, NULL) !=
		    ACCEL_OK)
			return fail("unit");
	}
	if (accel_prepare(a, 0) != ACCEL_OK)
		return fail("prepare");
	if (accel_rank(a) == 0) {
		if (write_buckets(path[2]) != 0 ||
		    (out = fopen(path[0], "wb")) == NULL)
			return fail(argv[1]);
	}
	for (step = 0; step < STEPS; step++) {
		if (accel_backward(a, backward, NULL) != ACCEL_OK ||
		    accel_step(a, update, NULL) != ACCEL_OK)
			return fail("step");
		if (step + 1 == c.powersgd_start &&
		    accel_save_state(a, path[1], NULL) != ACCEL_OK)
			return fail("save");
	}
	if (out != NULL && fclose(out) != 0)
		return fail(path[0]);
	return accel_fini(a) != ACCEL_OK;
}
