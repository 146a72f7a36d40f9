/* SPDX-License-Identifier: Apache-2.0 */
/* pad: one axis as long on every rank as on the one where it is longest. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/half.h"
#include "runtime/device/device.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

enum { MAX_DIM = 8, NDIM = 0, DIM, TYPE, FRONT, SHAPE, ARGS = SHAPE + MAX_DIM };

static const char *
shape_fault(const int64_t *shape, int ndim, int dim, accel_dtype t)
{
	uint64_t n = 1;

	if (ndim < 1 || ndim > MAX_DIM)
		return "ndim is not 1 to 8";
	if (dim < 0 || dim >= ndim)
		return "dim is none of the dimensions";
	if (device_size((int)t) == 0)
		return "unknown type";
	for (int i = 0; i < ndim; i++) {
		if (shape[i] < 0 || (shape[i] > 0 &&
		    n > (uint64_t)INT64_MAX / 16 / (uint64_t)shape[i]))
			return "shape is of no tensor";
		n *= shape[i] > 0 ? (uint64_t)shape[i] : 1;
	}
	return NULL;
}

/* One element of that value; returns its size. */
static size_t
element(void *out, double value, accel_dtype t)
{
	float	 f32 = (float)value;
	int32_t	 i32 = (int32_t)value;
	int64_t	 i64 = (int64_t)value;
	uint8_t	 u8 = (uint8_t)value;
	uint16_t half = t == ACCEL_F16 ? f16_of(f32) : bf16_of(f32);
	size_t	 size = device_size((int)t);
	const void *from = t == ACCEL_F64 ? (const void *)&value :
	    t == ACCEL_I32 ? (const void *)&i32 :
	    t == ACCEL_I64 ? (const void *)&i64 :
	    t == ACCEL_U8 ? (const void *)&u8 :
	    t == ACCEL_F32 ? (const void *)&f32 : (const void *)&half;

	memcpy(out, from, size);
	return size;
}

static void
fill(char *out, size_t bytes, const char *one, size_t size)
{
	for (size_t i = 0; i < bytes; i += size)
		memcpy(out + i, one, size);
}

accel_status
accel_pad_across(accel *a, const void *in, const int64_t *shape, int ndim,
    int dim, accel_dtype t, double value, int front, void *out, size_t room,
    int64_t *out_shape)
{
	static const char *const name[ARGS] = { "ndim", "dim", "the type",
	    "front", "shape[0]", "shape[1]", "shape[2]", "shape[3]",
	    "shape[4]", "shape[5]", "shape[6]", "shape[7]" };
	const char	*fault = shape_fault(shape, ndim, dim, t);
	struct arg	 arg[ARGS] = { { 0 } };
	int64_t		*each, most = 0;
	size_t		 size, outer = 1, inner, own, all;
	char		 one[8];
	accel_status	 st;

	for (int i = 0; i < ARGS; i++)
		arg[i] = (struct arg){ name[i], 0, i != SHAPE + dim };
	arg[NDIM].value = ndim;
	arg[DIM].value = dim;
	arg[TYPE].value = (int64_t)t;
	arg[FRONT].value = front != 0;
	for (int i = 0; i < ndim && i < MAX_DIM; i++)
		arg[SHAPE + i].value = shape[i];
	each = calloc((size_t)a->world, ARGS * sizeof(*each));
	if (each == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	st = accel__agree(a, "accel_pad_across", fault, arg, ARGS, each);
	for (int r = 0; r < a->world && st == ACCEL_OK; r++)
		if (each[r * ARGS + SHAPE + dim] > most)
			most = each[r * ARGS + SHAPE + dim];
	free(each);
	if (st != ACCEL_OK)
		return st;
	size = inner = element(one, value, t);
	for (int i = 0; i < ndim; i++) {
		if (i < dim)
			outer *= (size_t)shape[i];
		else if (i > dim)
			inner *= (size_t)shape[i];
		out_shape[i] = i == dim ? most : shape[i];
	}
	if (out == NULL)
		return ACCEL_OK;
	own = (size_t)shape[dim] * inner;
	all = (size_t)most * inner;
	if (outer > 0 && all > room / outer)
		return accel__fail(ACCEL_EINVAL, "accel_pad_across: %zu bytes "
		    "are no room for %zu times %zu", room, outer, all);
	for (size_t i = 0; i < outer; i++) {
		char *to = (char *)out + i * all;

		if (own > 0)
			memcpy(to + (front ? all - own : 0),
			    (const char *)in + i * own, own);
		fill(to + (front ? 0 : own), all - own, one, size);
	}
	return ACCEL_OK;
}
