/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket: gradients that travel together, from the last unit to the first.
 *
 * Buckets begin in one fixed order, whatever order units become ready in, so
 * that ranks cannot wait for each other's different buckets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/half.h"
#include "runtime/train/profile.h"
#include "runtime/train/train.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

#define FIRST_BUCKET (1u << 20)
#define BUCKET (25u << 20)

static accel_dtype
wire_of(const accel *a, const struct tensor *t)
{
	if (t->dtype == ACCEL_F64)
		return ACCEL_F64;
	if (a->config.compress == ACCEL_COMPRESS_F16)
		return ACCEL_F16;
	if (a->config.compress == ACCEL_COMPRESS_BF16)
		return ACCEL_BF16;
	if (a->config.reduce == ACCEL_REDUCE_OWN && is_half(t->dtype))
		return t->dtype;
	return ACCEL_F32;
}

/* Tensors of a bucket in the order in which their values lie. */
static struct tensor *
nth(const accel *a, const struct bucket *b, int i)
{
	return tensor_of(a, a->order[b->first + b->count - 1 - i]);
}

/* The caller's gradients lie one behind the other already. */
static bool
in_one_piece(const accel *a, const struct bucket *b)
{
	size_t size = device_size((int)b->dtype);

	for (int i = 0; i < b->count; i++) {
		const struct tensor *t = nth(a, b, i);

		if (is_half(t->dtype) || (i + 1 < b->count &&
		    (char *)t->grad + t->n * size != nth(a, b, i + 1)->grad))
			return false;
	}
	return true;
}

static bool
has_half(const accel *a, const struct bucket *b)
{
	for (int i = 0; i < b->count; i++)
		if (is_half(nth(a, b, i)->dtype))
			return true;
	return false;
}

static accel_status
bucket_room(accel *a, struct bucket *b)
{
	size_t size = device_size((int)b->dtype);
	char *at;

	if (a->world > 1 && in_one_piece(a, b)) {
		b->values = nth(a, b, 0)->grad;
	} else if (a->world > 1 || has_half(a, b)) {
		b->values = calloc(b->n, size);
		b->own = true;
		if (b->values == NULL)
			return accel__fail(ACCEL_ENOMEM, "no memory for %s of "
			    "%zu gradients", b->label, b->n);
	}
	at = b->values;
	for (int i = 0; i < b->count; i++) {
		struct tensor *t = nth(a, b, i);

		if (is_half(t->dtype))
			t->full = (void *)at;
		if (at != NULL)
			at += t->n * size;
	}
	if (a->world > 1 && b->wire != b->dtype) {
		b->half = malloc(b->n * sizeof(*b->half));
		if (b->half == NULL)
			return accel__fail(ACCEL_ENOMEM, "no memory for %s of "
			    "%zu rounded gradients", b->label, b->n);
	}
	if (a->world > 1 && a->config.compress == ACCEL_COMPRESS_POWERSGD &&
	    b->dtype == ACCEL_F32)
		return accel__low_new(a, b);
	return ACCEL_OK;
}

/* Small first, so that the exchange begins early; then few and large. */
accel_status
accel__buckets_make(accel *a)
{
	size_t most = a->config.bucket_bytes > 0 ?
	    (size_t)a->config.bucket_bytes : BUCKET;
	size_t least = a->config.first_bucket_bytes > 0 ?
	    (size_t)a->config.first_bucket_bytes :
	    most < FIRST_BUCKET ? most : FIRST_BUCKET;
	struct bucket *b = NULL;
	accel_status st;

	a->bucket = calloc((size_t)a->norder + 1, sizeof(*a->bucket));
	if (a->bucket == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);
		accel_dtype wire = wire_of(a, t);
		size_t cap = a->nbucket < 2 ? least : most;

		if (b == NULL || b->wire != wire ||
		    (b->n + t->n) * device_size((int)wire) > cap) {
			b = &a->bucket[a->nbucket++];
			b->first = i;
			b->wire = wire;
			b->dtype = t->dtype == ACCEL_F64 ? ACCEL_F64 :
			    ACCEL_F32;
		}
		b->count++;
		b->n += t->n;
		b->last_unit = a->order[i].unit;
		t->bucket = a->nbucket - 1;
	}
	for (int i = 0; i < a->nbucket; i++) {
		b = &a->bucket[i];
		snprintf(b->label, sizeof(b->label), "bucket %d (%.30s .. "
		    "%.30s)", i, tensor_of(a, a->order[b->first])->name,
		    nth(a, b, 0)->name);
		if ((st = bucket_room(a, b)) != ACCEL_OK)
			return st;
	}
	return ACCEL_OK;
}

void
accel__buckets_free(accel *a)
{
	for (int i = 0; i < a->nbucket; i++) {
		struct bucket *b = &a->bucket[i];

		if (b->own)
			free(b->values);
		free(b->half);
		accel__low_free(b->low);
	}
	free(a->bucket);
	a->bucket = NULL;
	a->nbucket = 0;
}

void
accel__fold(struct tensor *t)
{
	void (*widen)(float *, const uint16_t *, size_t) =
	    t->dtype == ACCEL_F16 ? f16_to_f32 : bf16_to_f32;
	float part[1024];

	if (!t->folded) {
		widen(t->full, t->grad, t->n);
		t->folded = true;
		return;
	}
	for (size_t i = 0, k; i < t->n; i += k) {
		k = t->n - i < 1024 ? t->n - i : 1024;
		widen(part, (uint16_t *)t->grad + i, k);
		vec_add(t->full + i, part, k);
	}
}

/* Brings the gradients together in "values". */
static void
bucket_fill(const accel *a, const struct bucket *b)
{
	char *at = b->values;

	for (int i = 0; b->own && i < b->count; i++) {
		struct tensor *t = nth(a, b, i);
		size_t bytes = t->n * device_size((int)b->dtype);

		if (is_half(t->dtype))
			accel__fold(t);
		else if (a->world > 1)
			memcpy(at, t->grad, bytes);
		at += bytes;
	}
}

static void
bucket_empty(const accel *a, const struct bucket *b)
{
	const char *at = b->values;

	for (int i = 0; b->own && i < b->count; i++) {
		struct tensor *t = nth(a, b, i);
		size_t bytes = t->n * device_size((int)b->dtype);

		if (!is_half(t->dtype))
			memcpy(t->grad, at, bytes);
		at += bytes;
	}
}

/* Rounds to what travels.  F16 ends at 65504, so its sums are kept small by a
 * power of two, which loses nothing but at the other end. */
static void
bucket_round(const accel *a, struct bucket *b)
{
	int shift = 0;

	if (b->wire == ACCEL_BF16) {
		bf16_from_f32(b->half, b->values, b->n);
		return;
	}
	while (ldexp(1, shift) < a->weight)
		shift++;
	vec_scale(b->values, b->n, (float)ldexp(1, -shift));
	f16_from_f32(b->half, b->values, b->n);
	b->factor = ldexp(b->factor, shift);
}

static accel_status
call_hook(accel *a, struct bucket *b)
{
	accel_bucket lent = { .index = (int)(b - a->bucket), .data = b->values,
	    .n = b->n, .dtype = b->dtype,
	    .last = b == &a->bucket[a->nbucket - 1] };
	accel_status st;

	a->in_hook = true;
	st = a->hook(a->hook_user, &lent);
	a->in_hook = false;
	bucket_empty(a, b);
	b->done = true;
	return st;
}

static accel_status
bucket_begin(accel *a, struct bucket *b)
{
	bool half = b->half != NULL;
	accel_status st = ACCEL_OK;

	b->factor = 1 / a->weight;
	b->unscaled = false;
	b->done = a->world == 1 || a->local_steps > 0;
	bucket_fill(a, b);
	if (b->done) {
		bucket_empty(a, b);
		return ACCEL_OK;
	}
	device_label(&a->dev, b->label);
	profile_exchange(a, (int)(b - a->bucket),
	    b->n * device_size((int)b->wire));
	if (a->hook != NULL) {
		st = call_hook(a, b);
	} else if (b->low != NULL && !accel__low_waits(a)) {
		st = accel__low_begin(a, b);
	} else {
		if (half)
			bucket_round(a, b);
		if (a->dev.ops->all_reduce(a->dev.state,
		    half ? b->half : b->values, b->n, (int)b->wire,
		    DEVICE_SUM, &b->req, accel__err()) != 0)
			st = accel__status(a);
	}
	device_label(&a->dev, NULL);
	if (b->done)
		profile_exchanged(a, (int)(b - a->bucket));
	if (st == ACCEL_OK && !b->done)
		device_afloat(&a->dev, 1);
	return st;
}

static void
bucket_end(accel *a, struct bucket *b)
{
	device_afloat(&a->dev, -1);
	profile_exchanged(a, (int)(b - a->bucket));
	if (b->half != NULL)
		(b->wire == ACCEL_F16 ? f16_to_f32 : bf16_to_f32)(b->values,
		    b->half, b->n);
	bucket_empty(a, b);
	b->done = true;
}

static bool
bucket_ready(const accel *a, const struct bucket *b)
{
	for (int u = a->nunit - 1; u >= b->last_unit; u--)
		if (!a->unit[u].ready)
			return false;
	return true;
}

/* Two more exchanges a bucket, each after all of those before have begun, so
 * that their order is the same on all ranks. */
static accel_status
low_finish(accel *a)
{
	accel_status st = ACCEL_OK;

	for (int i = 0; i < a->nbucket && st == ACCEL_OK; i++)
		if (a->bucket[i].low != NULL && !a->bucket[i].done)
			st = accel__low_middle(a, &a->bucket[i]);
	for (int i = 0; i < a->nbucket && st == ACCEL_OK; i++)
		if (a->bucket[i].low != NULL && !a->bucket[i].done) {
			st = accel__low_end(a, &a->bucket[i]);
			bucket_end(a, &a->bucket[i]);
		}
	return st;
}

accel_status
accel__reduce(accel *a, bool wait)
{
	bool low = !accel__low_waits(a);
	accel_status st;

	while (a->begun < a->nbucket &&
	    bucket_ready(a, &a->bucket[a->begun]))
		if ((st = bucket_begin(a, &a->bucket[a->begun++])) != ACCEL_OK)
			return st;
	for (int i = 0; i < a->begun; i++) {
		struct bucket *b = &a->bucket[i];
		int rc = 1;

		if (b->done || (b->low != NULL && low))
			continue;
		if (wait)
			rc = device_wait(&a->dev, b->req, accel__err()) == 0 ?
			    1 : -1;
		else
			rc = device_test(&a->dev, b->req, accel__err());
		if (rc < 0)
			return accel__status(a);
		if (rc > 0)
			bucket_end(a, b);
	}
	return wait && low ? low_finish(a) : ACCEL_OK;
}
