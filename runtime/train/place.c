/* SPDX-License-Identifier: Apache-2.0 */
/* place: where the tensors lie: the host's memory, or a GPU's. */
#include <stdlib.h>
#include <string.h>

#include "runtime/train/mem_host.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

accel_status
accel__mem_open(accel *a)
{
	/* A stream belongs to a GPU, so who has one has chosen. */
	int gpu = a->config.stream != NULL ? -1 : a->local_rank;

	a->host = (struct mem){ &mem_host_ops };
	a->mem = &a->host;
	if (a->config.memory == ACCEL_HOST)
		return ACCEL_OK;
	if (mem_open(&a->mem, "cuda", a->config.stream, gpu,
	    accel__err()) == 0)
		return ACCEL_OK;
	a->mem = &a->host;
	return ACCEL_EBACKEND;
}

void
accel__mem_close(accel *a)
{
	if (a->mem != &a->host)
		mem_close(a->mem);
	a->mem = &a->host;
}

bool
accel__elsewhere(const accel *a, const void *p)
{
	return a->mem != &a->host && a->mem->ops->owns(a->mem, p, NULL);
}

static accel_status
check_one(accel *a, const char *name, const char *what, const void *p)
{
	struct err why = ERR_INIT;

	if (a->mem->ops->owns(a->mem, p, &why))
		return ACCEL_OK;
	accel__fail(ACCEL_EINVAL, "%s of %s lie %s, and config.memory is %s",
	    what, name, why.text, a->mem == &a->host ? "ACCEL_HOST" :
	    "ACCEL_CUDA");
	err_hint(accel__err(), "%s", why.hint);
	return ACCEL_EINVAL;
}

accel_status
accel__mem_check(accel *a)
{
	accel_status st;

	if (a->mem != &a->host &&
	    a->config.compress == ACCEL_COMPRESS_POWERSGD) {
		accel__fail(ACCEL_EINVAL, "config.compress is "
		    "ACCEL_COMPRESS_POWERSGD, which works in the host's memory "
		    "alone, and config.memory is ACCEL_CUDA");
		err_hint(accel__err(), "take ACCEL_COMPRESS_BF16 or _F16");
		return ACCEL_EINVAL;
	}
	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++) {
			const struct tensor *t = &a->unit[u].tensor[i];

			if ((st = check_one(a, t->name, "the values",
			    t->data)) != ACCEL_OK ||
			    (st = check_one(a, t->name, "the gradients",
			    t->grad)) != ACCEL_OK)
				return st;
		}
	/* With ACCEL_CUDA buffers may lie in either. */
	for (int i = 0; i < a->nbuffer && a->mem == &a->host; i++)
		if ((st = check_one(a, a->buffer[i].name, "the bytes",
		    a->buffer[i].data)) != ACCEL_OK)
			return st;
	return ACCEL_OK;
}

accel_status
accel__settle_one(accel *a, struct bucket *b)
{
	if (!b->ordered)
		return ACCEL_OK;
	b->ordered = false;
	return device_wait(&a->dev, b->req, accel__err()) == 0 ? ACCEL_OK :
	    accel__status(a);
}

accel_status
accel__settle(accel *a)
{
	accel_status st = ACCEL_OK;

	for (int i = 0; i < a->nbucket && st == ACCEL_OK; i++)
		st = accel__settle_one(a, &a->bucket[i]);
	return st;
}

accel_status
accel__read(accel *a, void *host, const void *p, size_t bytes)
{
	accel_status st;

	if (!accel__elsewhere(a, p)) {
		memcpy(host, p, bytes);
		return ACCEL_OK;
	}
	if ((st = accel__settle(a)) != ACCEL_OK)
		return st;
	return a->mem->ops->read(a->mem, host, p, bytes, accel__err()) == 0 ?
	    ACCEL_OK : ACCEL_EBACKEND;
}

accel_status
accel__write(accel *a, void *p, const void *host, size_t bytes)
{
	accel_status st;

	if (!accel__elsewhere(a, p)) {
		memcpy(p, host, bytes);
		return ACCEL_OK;
	}
	if ((st = accel__settle(a)) != ACCEL_OK)
		return st;
	return a->mem->ops->write(a->mem, p, host, bytes, accel__err()) == 0 ?
	    ACCEL_OK : ACCEL_EBACKEND;
}

accel_status
accel__on_host(accel *a, const void *p, size_t bytes, const void **at,
    void **copy)
{
	*copy = NULL;
	*at = p;
	if (!accel__elsewhere(a, p))
		return ACCEL_OK;
	*at = *copy = malloc(bytes);
	if (*copy == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %zu bytes of "
		    "the GPU on the host", bytes);
	return accel__read(a, *copy, p, bytes);
}

accel_status
accel__move(accel *a, void *to, const void *from, size_t bytes)
{
	bool there = accel__elsewhere(a, to), here = !accel__elsewhere(a, from);

	if (here && there)
		return accel__write(a, to, from, bytes);
	if (here) {
		memmove(to, from, bytes);
		return ACCEL_OK;
	}
	if (!there)
		return accel__read(a, to, from, bytes);
	if (to != from)
		a->mem->ops->copy(a->mem, to, from, bytes);
	return accel__mem_failed(a);
}

accel_status
accel__mem_failed(accel *a)
{
	return a->mem->ops->failed(a->mem, accel__err()) == 0 ? ACCEL_OK :
	    ACCEL_EBACKEND;
}

accel_status
accel__sum_end(accel *a, struct mem_sum *s)
{
	accel_status st = accel__settle(a);

	if (st == ACCEL_OK &&
	    a->mem->ops->sum_end(a->mem, s, accel__err()) != 0)
		st = ACCEL_EBACKEND;
	return st;
}
