/* SPDX-License-Identifier: Apache-2.0 */
/* average: parameters over ranks: their mean for local SGD (arXiv:1805.09767),
 * and whether they are the same. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

void
accel__masters_to_data(accel *a)
{
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		if (t->master != NULL)
			a->mem->ops->narrow(a->mem, t->data, t->master, t->n,
			    (int)t->dtype);
	}
}

void
accel__data_to_masters(accel *a)
{
	for (int i = 0; i < a->norder; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		if (t->master != NULL)
			a->mem->ops->widen(a->mem, t->master, t->data, t->n,
			    (int)t->dtype);
	}
}

accel_status
accel_average_parameters(accel *a)
{
	accel_status st = ACCEL_OK;

	if (!a->prepared)
		return accel__fail(ACCEL_ESTATE, "accel_average_parameters: "
		    "before accel_prepare");
	for (int i = 0; i < a->norder && st == ACCEL_OK; i++) {
		struct tensor *t = tensor_of(a, a->order[i]);

		device_label(&a->dev, t->name);
		st = t->dtype == ACCEL_F64 ?
		    accel_all_reduce(a, t->data, t->n, ACCEL_F64, ACCEL_AVG) :
		    accel_all_reduce(a, t->master != NULL ?
		    (void *)t->master : t->data, t->n, ACCEL_F32, ACCEL_AVG);
	}
	device_label(&a->dev, NULL);
	accel__masters_to_data(a);
	a->since_average = 0;
	return st;
}

accel_status
accel_local_sgd(accel *a, int steps)
{
	struct arg arg[] = { { "steps", steps, true } };
	accel_status st = accel__agree(a, "accel_local_sgd", steps < 0 ?
	    "0 or more steps" : a->in_backward || a->reduced ?
	    "between accel_step and accel_backward" : NULL, arg, 1, NULL);

	if (st != ACCEL_OK)
		return st;
	a->local_steps = steps;
	a->since_average = 0;
	return ACCEL_OK;
}

static accel_status
hash_tensor(accel *a, const struct tensor *t, uint64_t *hash)
{
	const void *p = t->master != NULL ? t->master : t->data;
	size_t bytes = t->n * (t->master != NULL ? sizeof(float) :
	    device_size((int)t->dtype));
	const void *at;
	void *copy;
	accel_status st = accel__on_host(a, p, bytes, &at, &copy);

	if (st == ACCEL_OK)
		*hash = hash_bytes(at, bytes);
	free(copy);
	return st;
}

accel_status
accel_check_replicas(accel *a)
{
	size_t world = (size_t)a->world, n = (size_t)a->norder;
	uint64_t *mine = calloc(n + 1, sizeof(*mine));
	uint64_t *all = calloc(world * (n + 1), sizeof(*all));
	bool *differs = calloc(world, sizeof(*differs));
	accel_status st = ACCEL_OK;
	char who[100];

	if (mine == NULL || all == NULL || differs == NULL) {
		st = accel__fail(ACCEL_ENOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < n && st == ACCEL_OK; i++) {
		const struct tensor *t = tensor_of(a, a->order[n - 1 - i]);

		st = hash_tensor(a, t, &mine[i]);
	}
	if (st != ACCEL_OK)
		goto out;
	device_label(&a->dev, "accel_check_replicas");
	st = accel_all_gather(a, mine, all, n * sizeof(*mine));
	device_label(&a->dev, NULL);
	for (size_t i = 0; i < n && st == ACCEL_OK; i++) {
		bool any = false;

		for (size_t r = 0; r < world; r++) {
			differs[r] = all[r * n + i] != all[i];
			any |= differs[r];
		}
		if (!any)
			continue;
		accel__name_ranks(differs, a->world, who, sizeof(who));
		st = accel__fail(ACCEL_EMISMATCH, "the values of %s differ "
		    "between rank 0 and %s after step %lld",
		    tensor_of(a, a->order[n - 1 - i])->name, who,
		    (long long)a->step);
		err_hint(accel__err(), "an update must depend on nothing but "
		    "its ranges, the same on all ranks");
	}
out:
	free(mine);
	free(all);
	free(differs);
	return st;
}
