/* SPDX-License-Identifier: Apache-2.0 */
/* unit: the model's tensors, its buffers, and what is made for them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static void
unit_clear(const accel *a, struct unit *u)
{
	struct mem *m = a->mem;

	for (int i = 0; i < u->ntensor; i++) {
		free(u->tensor[i].name);
		m->ops->free(m, u->tensor[i].master);
		for (int k = 0; k < 4; k++)
			m->ops->free(m, u->tensor[i].state[k]);
	}
	free(u->tensor);
	free(u->name);
}

void
accel__units_free(accel *a)
{
	for (int i = 0; i < a->nunit; i++)
		unit_clear(a, &a->unit[i]);
	for (int i = 0; i < a->nbuffer; i++)
		free(a->buffer[i].name);
	accel__buckets_free(a);
	free(a->unit);
	free(a->order);
	free(a->range);
	free(a->buffer);
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
	if (t->dtype != ACCEL_F32 && t->dtype != ACCEL_F64 &&
	    !is_half(t->dtype))
		return accel__fail(ACCEL_EINVAL, "tensor %s: F32, F64, F16 or "
		    "BF16", t->name);
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
	struct unit u = { .name = NULL }, *more;
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
		unit_clear(a, &u);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	for (int i = 0; i < ntensor; i++) {
		u.ntensor++;
		if (tensor_init(&u.tensor[i], &t[i]) != 0) {
			unit_clear(a, &u);
			return accel__fail(ACCEL_ENOMEM, "out of memory");
		}
	}
	a->unit[a->nunit] = u;
	if (unit != NULL)
		*unit = a->nunit;
	a->nunit++;
	return ACCEL_OK;
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
	struct mem *m = a->mem;
	int n = 0;

	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++, n++) {
			struct tensor *t = &a->unit[u].tensor[i];
			size_t size = is_half(t->dtype) ? sizeof(float) :
			    device_size((int)t->dtype);

			m->ops->zero(m, t->grad,
			    t->n * device_size((int)t->dtype));
			if (is_half(t->dtype) && (t->master =
			    m->ops->alloc(m, t->n * sizeof(float))) == NULL)
				return accel__fail(ACCEL_ENOMEM, "no memory "
				    "for the F32 values of %s", t->name);
			t->state_n = state_size(a, t);
			for (int k = 0; k < a->nstate; k++)
				if ((t->state[k] = m->ops->alloc(m,
				    t->state_n * size)) == NULL)
					return accel__fail(ACCEL_ENOMEM,
					    "no memory for the optimizer's "
					    "state of %s", t->name);
		}
	a->order = calloc((size_t)n + 1, sizeof(*a->order));
	a->range = calloc((size_t)n + 1, sizeof(*a->range));
	if (a->order == NULL || a->range == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	for (int u = a->nunit - 1; u >= 0; u--)
		for (int i = a->unit[u].ntensor - 1; i >= 0; i--)
			a->order[a->norder++] = (struct ref){ u, i };
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
	if ((st = accel__mem_check(a)) != ACCEL_OK ||
	    (st = accel__compare(a)) != ACCEL_OK ||
	    (st = accel__groups_match(a)) != ACCEL_OK ||
	    (st = make_state(a)) != ACCEL_OK ||
	    (st = accel__buckets_make(a)) != ACCEL_OK)
		return st;
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		device_label(&a->dev, t->name);
		st = accel_broadcast(a, t->data,
		    t->n * device_size((int)t->dtype), 0);
		device_label(&a->dev, NULL);
		if (st != ACCEL_OK)
			return st;
	}
	accel__data_to_masters(a);
	if ((st = accel_sync_buffers(a)) != ACCEL_OK)
		return st;
	a->prepared = true;
	return accel__mem_failed(a);
}

accel_status
accel_buffer(accel *a, const char *name, void *data, size_t bytes)
{
	struct buffer *more;
	char *copy;

	if (a->prepared)
		return accel__fail(ACCEL_ESTATE, "accel_buffer: after "
		    "accel_prepare");
	if (name == NULL || data == NULL || bytes == 0)
		return accel__fail(ACCEL_EINVAL, "a buffer needs a name, data "
		    "and bytes");
	more = realloc(a->buffer, (size_t)(a->nbuffer + 1) * sizeof(*more));
	if (more != NULL)
		a->buffer = more;
	copy = strdup(name);
	if (more == NULL || copy == NULL) {
		free(copy);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	a->buffer[a->nbuffer++] = (struct buffer){ copy, data, bytes };
	return ACCEL_OK;
}

accel_status
accel_sync_buffers(accel *a)
{
	accel_status st = ACCEL_OK;

	for (int i = 0; i < a->nbuffer && st == ACCEL_OK; i++) {
		device_label(&a->dev, a->buffer[i].name);
		st = accel_broadcast(a, a->buffer[i].data, a->buffer[i].bytes,
		    0);
	}
	device_label(&a->dev, NULL);
	return st;
}
