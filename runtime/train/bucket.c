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

#include "runtime/train/profile.h"
#include "runtime/train/train.h"

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
		b->values = a->mem->ops->alloc(a->mem, b->n * size);
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
		b->half = a->mem->ops->alloc(a->mem, b->n * sizeof(*b->half));
		if (b->half == NULL)
			return accel__fail(ACCEL_ENOMEM, "no memory for %s of "
			    "%zu rounded gradients", b->label, b->n);
	}
	if (a->staged && (b->stage = malloc(b->n * size)) == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %s of %zu "
		    "gradients on the host", b->label, b->n);
	if (a->world > 1 && a->config.compress == ACCEL_COMPRESS_POWERSGD &&
	    b->dtype == ACCEL_F32)
		return accel__low_new(a, b);
	return ACCEL_OK;
}

/* A sixteenth of what travels: the last bucket hides under no computation. */
static size_t
bucket_size(const accel *a)
{
	size_t all = 0;

	if (a->config.bucket_bytes > 0)
		return (size_t)a->config.bucket_bytes;
	for (int i = 0; i < a->norder; i++) {
		const struct tensor *t = tensor_of(a, a->order[i]);

		all += t->n * device_size((int)wire_of(a, t));
	}
	all /= 16;
	return all < FIRST_BUCKET ? FIRST_BUCKET : all > BUCKET ? BUCKET : all;
}

/* Small first, so that the exchange begins early; then few and large. */
accel_status
accel__buckets_make(accel *a)
{
	size_t most = bucket_size(a);
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
			a->mem->ops->free(a->mem, b->values);
		a->mem->ops->free(a->mem, b->half);
		free(b->stage);
		accel__low_free(b->low);
	}
	free(a->bucket);
	a->bucket = NULL;
	a->nbucket = 0;
}

void
accel__fold(const accel *a, struct tensor *t)
{
	if (t->folded)
		a->mem->ops->fold(a->mem, t->full, t->grad, t->n,
		    (int)t->dtype);
	else
		a->mem->ops->widen(a->mem, t->full, t->grad, t->n,
		    (int)t->dtype);
	t->folded = true;
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
			accel__fold(a, t);
		else if (a->world > 1)
			a->mem->ops->copy(a->mem, at, t->grad, bytes);
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
			a->mem->ops->copy(a->mem, t->grad, at, bytes);
		at += bytes;
	}
}

/* Rounds to what travels.  F16 ends at 65504, so its sums are kept small by a
 * power of two, which loses nothing but at the other end. */
static void
bucket_round(const accel *a, struct bucket *b)
{
	int shift = 0;

	while (b->wire == ACCEL_F16 && ldexp(1, shift) < a->weight)
		shift++;
	if (shift > 0)
		a->mem->ops->scale(a->mem, b->values, b->n, DEVICE_F32,
		    ldexp(1, -shift));
	a->mem->ops->narrow(a->mem, b->half, b->values, b->n, (int)b->wire);
	b->factor = ldexp(b->factor, shift);
}

/* What the backend gets: where the values are, or a copy on the host. */
static accel_status
bucket_send(accel *a, struct bucket *b)
{
	void *values = b->half != NULL ? b->half : b->values;
	accel_status st;

	if (b->stage != NULL) {
		st = accel__read(a, b->stage, values,
		    b->n * device_size((int)b->wire));
		if (st != ACCEL_OK)
			return st;
		values = b->stage;
	}
	return a->dev.ops->all_reduce(a->dev.state, values, b->n,
	    (int)b->wire, DEVICE_SUM, &b->req, accel__err()) == 0 ? ACCEL_OK :
	    accel__status(a);
}

static accel_status
bucket_begin(accel *a, struct bucket *b)
{
	accel_status st = accel__settle_one(a, b);

	if (st != ACCEL_OK)
		return st;
	b->factor = 1 / a->weight;
	b->unscaled = false;
	b->done = a->world == 1 || a->local_steps > 0;
	b->rounds = a->hook != NULL ? accel__hook_round :
	    b->low != NULL && !accel__low_waits(a) ? accel__low_round : NULL;
	b->round = 0;
	bucket_fill(a, b);
	if (b->done) {
		bucket_empty(a, b);
		return ACCEL_OK;
	}
	device_label(&a->dev, b->label);
	profile_exchange(a, (int)(b - a->bucket),
	    b->n * device_size((int)b->wire));
	if (b->rounds != NULL) {
		st = accel__round(a, b);
	} else {
		if (b->half != NULL)
			bucket_round(a, b);
		st = bucket_send(a, b);
	}
	device_label(&a->dev, NULL);
	if (st != ACCEL_OK)
		return st;
	device_afloat(&a->dev, 1);
	return b->rounds != NULL && b->nasked == 0 ? accel__bucket_end(a, b) :
	    ACCEL_OK;
}

accel_status
accel__bucket_end(accel *a, struct bucket *b)
{
	accel_status st = ACCEL_OK;

	device_afloat(&a->dev, -1);
	profile_exchanged(a, (int)(b - a->bucket));
	if (b->rounds == NULL && b->stage != NULL)
		st = accel__write(a, b->half != NULL ? b->half : b->values,
		    b->stage, b->n * device_size((int)b->wire));
	if (b->rounds == NULL && b->half != NULL)
		a->mem->ops->widen(a->mem, b->values, b->half, b->n,
		    (int)b->wire);
	bucket_empty(a, b);
	b->done = true;
	return st;
}

/* 1 over, 0 not yet, -1 failed.  On a stream the exchange is over for what
 * comes behind it there; the host does not wait, and sees to the request in
 * accel__settle, before this bucket's next exchange at the latest. */
static int
bucket_over(accel *a, struct bucket *b, bool wait)
{
	if (!a->dev.orders)
		return !wait ? device_test(&a->dev, b->req, accel__err()) :
		    device_wait(&a->dev, b->req, accel__err()) == 0 ? 1 : -1;
	if (!wait)
		return 0;
	if (device_order(&a->dev, b->req, accel__err()) != 0)
		return -1;
	b->ordered = true;
	return 1;
}

static bool
bucket_ready(const accel *a, const struct bucket *b)
{
	for (int u = a->nunit - 1; u >= b->last_unit; u--)
		if (!a->unit[u].ready)
			return false;
	return true;
}

accel_status
accel__reduce(accel *a, bool wait)
{
	accel_status st;

	while (a->begun < a->nbucket &&
	    bucket_ready(a, &a->bucket[a->begun]))
		if ((st = bucket_begin(a, &a->bucket[a->begun++])) != ACCEL_OK)
			return st;
	for (int i = 0; i < a->begun; i++) {
		struct bucket *b = &a->bucket[i];
		int rc;

		if (b->done || b->rounds != NULL)
			continue;
		rc = bucket_over(a, b, wait);
		if (rc < 0)
			return accel__status(a);
		if (rc > 0 && (st = accel__bucket_end(a, b)) != ACCEL_OK)
			return st;
	}
	return wait ? accel__rounds_finish(a) : ACCEL_OK;
}
