/* SPDX-License-Identifier: Apache-2.0 */
/* coll: collectives that wait. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/half.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

_Static_assert((int)ACCEL_F64 == DEVICE_F64 && (int)ACCEL_U8 == DEVICE_U8 &&
    (int)ACCEL_F16 == DEVICE_F16 && (int)ACCEL_BF16 == DEVICE_BF16 &&
    (int)ACCEL_MIN == DEVICE_MIN, "accel.h and device.h use one numbering");

accel_status
accel__finish(accel *a, int rc, void **req)
{
	if (rc != 0 || device_wait(&a->dev, *req, accel__err()) != 0)
		return accel__status(a);
	return ACCEL_OK;
}

/* May an operation start here and now? */
static accel_status
may_start(accel *a)
{
	if (a->in_backward && a->sync && !a->in_hook)
		return accel__fail(ACCEL_ESTATE, "no collective inside "
		    "accel_backward: the gradients are under way, and ranks "
		    "may be at different units");
	return ACCEL_OK;
}

/* May the backend not have it where it is? */
static bool
by_host(const accel *a, const void *buf, accel_dtype t, accel_op op)
{
	return a->mem != &a->host && (a->staged ||
	    (is_half(t) && op != ACCEL_SUM)) && accel__elsewhere(a, buf);
}

static accel_status
reduce_by_host(accel *a, void *buf, size_t n, accel_dtype t, accel_op op)
{
	size_t bytes = n * device_size((int)t);
	const void *at;
	void *copy;
	accel_status st = accel__on_host(a, buf, bytes, &at, &copy);

	if (st == ACCEL_OK)
		st = accel_all_reduce(a, copy, n, t, op);
	if (st == ACCEL_OK)
		st = accel__write(a, buf, copy, bytes);
	free(copy);
	return st;
}

/* A mean or an extreme of 16-bit numbers, in F32: rounded once, or not at
 * all. */
static accel_status
reduce_wide(accel *a, uint16_t *buf, size_t n, accel_dtype t, accel_op op)
{
	float *wide = reallocarray(NULL, n, sizeof(*wide));
	accel_status st;

	if (wide == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %zu floats",
		    n);
	if (t == ACCEL_F16)
		f16_to_f32(wide, buf, n);
	else
		bf16_to_f32(wide, buf, n);
	st = accel_all_reduce(a, wide, n, ACCEL_F32, op);
	if (st == ACCEL_OK && t == ACCEL_F16)
		f16_from_f32(buf, wide, n);
	else if (st == ACCEL_OK)
		bf16_from_f32(buf, wide, n);
	free(wide);
	return st;
}

accel_status
accel_all_reduce(accel *a, void *buf, size_t n, accel_dtype t, accel_op op)
{
	accel_op base = op == ACCEL_AVG ? ACCEL_SUM : op;
	accel_status st;
	struct mem *m;
	void *req;

	if (device_size((int)t) == 0 || op < ACCEL_SUM || op > ACCEL_MIN)
		return accel__fail(ACCEL_EINVAL, "accel_all_reduce: unknown "
		    "type or operation");
	if (op == ACCEL_AVG && (t == ACCEL_I32 || t == ACCEL_I64 ||
	    t == ACCEL_U8))
		return accel__fail(ACCEL_EINVAL, "accel_all_reduce: an average "
		    "is of floats");
	if (a->world == 1 || n == 0)
		return ACCEL_OK;
	if (by_host(a, buf, t, op))
		return reduce_by_host(a, buf, n, t, op);
	if (is_half(t) && op != ACCEL_SUM)
		return reduce_wide(a, buf, n, t, op);
	if ((st = may_start(a)) != ACCEL_OK)
		return st;
	st = accel__finish(a, a->dev.ops->all_reduce(a->dev.state, buf, n,
	    (int)t, (int)base, &req, accel__err()), &req);
	if (st != ACCEL_OK || op != ACCEL_AVG)
		return st;
	m = accel__elsewhere(a, buf) ? a->mem : &a->host;
	m->ops->divide(m, buf, n, (int)t, a->world);
	return ACCEL_OK;
}

accel_status
accel_broadcast(accel *a, void *buf, size_t bytes, int root)
{
	accel_status st;
	void *req, *copy;
	const void *at;

	if (root < 0 || root >= a->world)
		return accel__fail(ACCEL_EINVAL, "accel_broadcast: no rank %d "
		    "among %d", root, a->world);
	if (a->world == 1 || bytes == 0)
		return ACCEL_OK;
	if (by_host(a, buf, ACCEL_U8, ACCEL_SUM)) {
		st = accel__on_host(a, buf, bytes, &at, &copy);
		if (st == ACCEL_OK)
			st = accel_broadcast(a, copy, bytes, root);
		if (st == ACCEL_OK)
			st = accel__write(a, buf, copy, bytes);
		free(copy);
		return st;
	}
	if ((st = may_start(a)) != ACCEL_OK)
		return st;
	return accel__finish(a, a->dev.ops->broadcast(a->dev.state, buf,
	    bytes, root, &req, accel__err()), &req);
}

static accel_status
gather_by_host(accel *a, const void *in, void *out, size_t bytes)
{
	size_t all = bytes * (size_t)a->world;
	char *copy = malloc(bytes + all);
	accel_status st;

	if (copy == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %zu bytes of "
		    "the GPU on the host", bytes + all);
	st = accel__read(a, copy, in, bytes);
	if (st == ACCEL_OK)
		st = accel_all_gather(a, copy, copy + bytes, bytes);
	if (st == ACCEL_OK)
		st = accel__write(a, out, copy + bytes, all);
	free(copy);
	return st;
}

accel_status
accel_all_gather(accel *a, const void *in, void *out, size_t bytes)
{
	accel_status st;
	void *req;

	if (bytes == 0)
		return ACCEL_OK;
	if (a->world == 1)
		return accel__move(a, out, in, bytes);
	if (by_host(a, in, ACCEL_U8, ACCEL_SUM) ||
	    by_host(a, out, ACCEL_U8, ACCEL_SUM))
		return gather_by_host(a, in, out, bytes);
	if ((st = may_start(a)) != ACCEL_OK)
		return st;
	return accel__finish(a, a->dev.ops->all_gather(a->dev.state, in, out,
	    bytes, &req, accel__err()), &req);
}

accel_status
accel_barrier(accel *a)
{
	int32_t one = 1;

	return accel_all_reduce(a, &one, 1, ACCEL_I32, ACCEL_SUM);
}
