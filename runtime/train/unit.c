/* SPDX-License-Identifier: Apache-2.0 */
/* unit: the model's tensors, and that all ranks have the same ones. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/train/train.h"
#include "runtime/base/hash.h"

#include "runtime/base/banned.h"

#define FIRST_BUCKET (1u << 20)
#define BUCKET (25u << 20)

static void
unit_clear(struct unit *u)
{
	for (int i = 0; i < u->ntensor; i++) {
		free(u->tensor[i].name);
		for (int k = 0; k < 4; k++)
			free(u->tensor[i].state[k]);
	}
	free(u->tensor);
	free(u->name);
}

void
accel__units_free(accel *a)
{
	for (int i = 0; i < a->nunit; i++)
		unit_clear(&a->unit[i]);
	for (int i = 0; i < a->nbucket; i++)
		free(a->bucket[i].pack);
	free(a->unit);
	free(a->order);
	free(a->bucket);
	free(a->range);
	accel__groups_free(a);
}

static int
tensor_init(struct tensor *to, const accel_tensor *t)
{
	*to = (struct tensor){ .data = t->data, .grad = t->grad,
	    .dtype = t->dtype, .flags = t->flags, .ndim = t->ndim, .n = 1 };
	for (int i = 0; i < t->ndim; i++) {
		to->shape[i] = t->shape[i];
		to->n *= (size_t)t->shape[i];
	}
	to->name = strdup(t->name);
	return to->name == NULL ? -1 : 0;
}

static accel_status
check_tensor(const accel *a, const accel_tensor *t)
{
	if (t->name == NULL || t->data == NULL || t->grad == NULL)
		return accel__fail(ACCEL_EINVAL, "a tensor needs a name, data "
		    "and grad");
	if (t->dtype != ACCEL_F32 && t->dtype != ACCEL_F64)
		return accel__fail(ACCEL_EINVAL, "tensor %s: F32 or F64",
		    t->name);
	if (t->ndim < 0 || t->ndim > 8)
		return accel__fail(ACCEL_EINVAL, "tensor %s: at most 8 axes",
		    t->name);
	for (int i = 0; i < t->ndim; i++)
		if (t->shape[i] < 1)
			return accel__fail(ACCEL_EINVAL, "tensor %s: axis %d "
			    "has no elements", t->name, i);
	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++)
			if (strcmp(a->unit[u].tensor[i].name, t->name) == 0)
				return accel__fail(ACCEL_EINVAL, "two tensors "
				    "have the name %s", t->name);
	return ACCEL_OK;
}

accel_status
accel_unit(accel *a, const char *name, const accel_tensor *t, int ntensor,
    int *unit)
{
	struct unit u = { NULL, NULL, 0, false }, *more;
	accel_status st;

	if (a->prepared)
		return accel__fail(ACCEL_ESTATE, "unit %s: after "
		    "accel_prepare", name);
	if (name == NULL || ntensor < 1)
		return accel__fail(ACCEL_EINVAL, "a unit has a name and at "
		    "least one tensor");
	for (int i = 0; i < ntensor; i++)
		if ((st = check_tensor(a, &t[i])) != ACCEL_OK)
			return st;
	more = realloc(a->unit, (size_t)(a->nunit + 1) * sizeof(*more));
	if (more == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	a->unit = more;
	u.name = strdup(name);
	u.tensor = calloc((size_t)ntensor, sizeof(*u.tensor));
	if (u.name == NULL || u.tensor == NULL) {
		unit_clear(&u);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	for (int i = 0; i < ntensor; i++) {
		u.ntensor++;
		if (tensor_init(&u.tensor[i], &t[i]) != 0) {
			unit_clear(&u);
			return accel__fail(ACCEL_ENOMEM, "out of memory");
		}
	}
	a->unit[a->nunit] = u;
	if (unit != NULL)
		*unit = a->nunit;
	a->nunit++;
	return ACCEL_OK;
}

/* The layout as text, a line a tensor: what ranks compare. */
static void
describe(const accel *a, struct buf *out)
{
	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++) {
			const struct tensor *t = &a->unit[u].tensor[i];

			buf_addf(out, "%s (unit %s, type %d, shape", t->name,
			    a->unit[u].name, (int)t->dtype);
			for (int k = 0; k < t->ndim; k++)
				buf_addf(out, "%c%" PRId64, k ? 'x' : ' ',
				    t->shape[k]);
			buf_addf(out, ")\n");
		}
	for (int i = 0; i < a->ngroup; i++)
		buf_addf(out, "group %d (%s, lr_scale %.17g, weight_decay "
		    "%.17g)\n", i, a->group[i].pattern, a->group[i].lr_scale,
		    a->group[i].weight_decay);
	buf_addf(out, "settings (grad_accum %d, bucket_bytes %d, state %d%s)\n",
	    a->config.grad_accum, a->config.bucket_bytes, a->nstate,
	    a->factored ? " factored" : "");
}

/* Rank "root"'s text, on all ranks. */
static accel_status
share_text(accel *a, const struct buf *mine, int root, char **out)
{
	uint64_t n = mine->len;
	accel_status st = accel_broadcast(a, &n, sizeof(n), root);
	char *text;

	if (st != ACCEL_OK)
		return st;
	text = calloc(1, (size_t)n + 1);
	if (text == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (a->rank == root)
		memcpy(text, mine->data, (size_t)n);
	st = accel_broadcast(a, text, (size_t)n, root);
	if (st != ACCEL_OK) {
		free(text);
		return st;
	}
	*out = text;
	return ACCEL_OK;
}

/* Names the first line in which rank "other" differs from rank 0. */
static accel_status
name_difference(accel *a, const struct buf *mine, int other)
{
	char *zero = NULL, *theirs = NULL;
	accel_status st = share_text(a, mine, 0, &zero);

	if (st == ACCEL_OK)
		st = share_text(a, mine, other, &theirs);
	if (st == ACCEL_OK) {
		const char *p = zero, *q = theirs;
		size_t np, nq;

		for (;;) {
			np = strcspn(p, "\n");
			nq = strcspn(q, "\n");
			if (np != nq || memcmp(p, q, np) != 0 || *p == '\0' ||
			    *q == '\0')
				break;
			p += np + 1;
			q += nq + 1;
		}
		st = accel__fail(ACCEL_EMISMATCH, "rank 0 and rank %d differ: "
		    "rank 0 has %.*s, rank %d has %.*s", other,
		    (int)(np < 180 ? np : 180), p, other,
		    (int)(nq < 180 ? nq : 180), q);
		err_hint(accel__err(), "every rank must run the same program "
		    "with the same settings");
	}
	free(zero);
	free(theirs);
	return st;
}

static accel_status
compare(accel *a)
{
	struct buf mine = BUF_INIT;
	accel_status st;
	uint64_t hash, *all;
	int other = 1;

	describe(a, &mine);
	all = calloc((size_t)a->world, sizeof(*all));
	if (all == NULL || buf_failed(&mine)) {
		free(all);
		buf_clear(&mine);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	hash = hash_bytes(mine.data, mine.len);
	st = accel_all_gather(a, &hash, all, sizeof(hash));
	if (st == ACCEL_OK) {
		while (other < a->world && all[other] == all[0])
			other++;
		if (other < a->world)
			st = name_difference(a, &mine, other);
	}
	free(all);
	buf_clear(&mine);
	return st;
}

/* Where it is factored: as many as rows and columns of the last two axes. */
static size_t
state_size(const accel *a, const struct tensor *t)
{
	if (!a->factored || t->ndim < 2)
		return t->n;
	return t->n / (size_t)t->shape[t->ndim - 1] +
	    t->n / (size_t)t->shape[t->ndim - 2];
}

static accel_status
make_state(accel *a)
{
	int n = 0;

	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++, n++) {
			struct tensor *t = &a->unit[u].tensor[i];
			size_t size = device_size((int)t->dtype);

			memset(t->grad, 0, t->n * size);
			t->state_n = state_size(a, t);
			for (int k = 0; k < a->nstate; k++)
				if ((t->state[k] = calloc(t->state_n, size)) ==
				    NULL)
					return accel__fail(ACCEL_ENOMEM,
					    "no memory for the optimizer's "
					    "state of %s", t->name);
		}
	a->order = calloc((size_t)n + 1, sizeof(*a->order));
	a->range = calloc((size_t)n + 1, sizeof(*a->range));
	a->bucket = calloc((size_t)n + 1, sizeof(*a->bucket));
	if (a->order == NULL || a->range == NULL || a->bucket == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	for (int u = a->nunit - 1; u >= 0; u--)
		for (int i = a->unit[u].ntensor - 1; i >= 0; i--)
			a->order[a->norder++] = (struct ref){ u, i };
	return ACCEL_OK;
}

/* Small first, so that the exchange begins early; then few and large. */
static accel_status
make_buckets(accel *a)
{
	size_t most = (size_t)a->config.bucket_bytes;

	for (int i = 0; i < a->norder; i++) {
		const struct tensor *t = tensor_of(a, a->order[i]);
		size_t size = device_size((int)t->dtype);
		size_t cap = most ? most : a->nbucket < 2 ? FIRST_BUCKET :
		    BUCKET;
		struct bucket *b = a->nbucket ? &a->bucket[a->nbucket - 1] :
		    NULL;

		if (b == NULL || b->dtype != t->dtype ||
		    (b->n + t->n) * size > cap) {
			b = &a->bucket[a->nbucket++];
			b->first = i;
			b->dtype = t->dtype;
		}
		b->count++;
		b->n += t->n;
		b->last_unit = a->order[i].unit;
	}
	for (int i = 0; i < a->nbucket; i++) {
		struct bucket *b = &a->bucket[i];

		if (b->count == 1 || a->world == 1)
			continue;
		b->pack = malloc(b->n * device_size((int)b->dtype));
		if (b->pack == NULL)
			return accel__fail(ACCEL_ENOMEM, "no memory for a "
			    "bucket of %zu gradients", b->n);
	}
	return ACCEL_OK;
}

accel_status
accel_prepare(accel *a, int nstate)
{
	accel_status st;

	if (a->prepared || a->norder > 0)
		return accel__fail(ACCEL_ESTATE, "accel_prepare: once");
	a->factored = nstate == ACCEL_FACTORED;
	if (a->factored)
		nstate = 1;
	if (nstate < 0 || nstate > 4)
		return accel__fail(ACCEL_EINVAL, "accel_prepare: 0 to 4 state "
		    "arrays, or ACCEL_FACTORED");
	a->nstate = nstate;
	if ((st = compare(a)) != ACCEL_OK ||
	    (st = accel__groups_match(a)) != ACCEL_OK ||
	    (st = make_state(a)) != ACCEL_OK ||
	    (st = make_buckets(a)) != ACCEL_OK)
		return st;
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		st = accel_broadcast(a, t->data,
		    t->n * device_size((int)t->dtype), 0);
		if (st != ACCEL_OK)
			return st;
	}
	a->prepared = true;
	return ACCEL_OK;
}
