/* SPDX-License-Identifier: Apache-2.0 */
/* fp8: casts and their scaling state. */
#include "runtime/train/fp8.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/train/train.h"
#include "runtime/train/vec.h"

#include "runtime/base/banned.h"

static struct fp8_params
params(accel_fp8_format format)
{
	return format == ACCEL_E5M2 ? FP8_E5M2 : FP8_E4M3;
}

float
accel_fp8_value(accel_fp8_format format, uint8_t code)
{
	return fp8_value(params(format), code);
}

uint8_t
accel_fp8_code(accel_fp8_format format, float x, int saturate)
{
	return (uint8_t)fp8_code(params(format), x, saturate);
}

accel_status
accel_fp8_init(accel_fp8 *s, accel_fp8_format format, float *history,
    int length)
{
	if (format != ACCEL_E4M3 && format != ACCEL_E5M2)
		return accel__fail(ACCEL_EINVAL, "accel_fp8_init: no format "
		    "%d", (int)format);
	if (length < 1 || history == NULL)
		return accel__fail(ACCEL_EINVAL, "accel_fp8_init: a history "
		    "has at least one element");
	*s = (accel_fp8){ .format = format, .length = length,
	    .history = history, .scale = 1, .scale_inv = 1 };
	for (int i = 0; i < length; i++)
		history[i] = 0;
	return ACCEL_OK;
}

void
accel_fp8_cast(accel_fp8 *s, const float *x, size_t n, uint8_t *codes)
{
	float most = vec_fp8(codes, x, n, s->scale, s->format == ACCEL_E5M2);

	s->history[0] = fmaxf(s->history[0], most);
}

void
accel_fp8_expand(const accel_fp8 *s, const uint8_t *codes, size_t n, float *x)
{
	float value[256];

	for (uint32_t k = 0; k < 256; k++)
		value[k] = fp8_value(params(s->format), k) * s->scale_inv;
	for (size_t i = 0; i < n; i++)
		x[i] = value[codes[i]];
}

/* _default_sf_compute and _update_amax_history of Transformer Engine's
 * pytorch/quantization.py. */
static void
advance(accel_fp8 *s)
{
	float now = s->history[0], most = now, scale;

	if (!s->most_recent)
		for (int i = 1; i < s->length; i++)
			most = fmaxf(most, s->history[i]);
	memmove(s->history, s->history + 1,
	    (size_t)(s->length - 1) * sizeof(*s->history));
	s->history[s->length - 1] = now;
	s->history[0] = 0;
	if (most > 0 && isfinite(most)) {
		scale = ldexpf(fp8_value(params(s->format),
		    params(s->format).most) / most, -s->margin);
		s->scale = isinf(scale) ? FLT_MAX : scale;
	}
	s->scale_inv = 1 / s->scale;
}

accel_status
accel_fp8_update(accel *a, accel_fp8 *const *s, int n)
{
	accel_status st;
	float *most;

	if (n < 1)
		return ACCEL_OK;
	most = malloc((size_t)n * sizeof(*most));
	if (most == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	for (int i = 0; i < n; i++)
		most[i] = s[i]->history[0];
	st = accel_all_reduce(a, most, (size_t)n, ACCEL_F32, ACCEL_MAX);
	for (int i = 0; i < n && st == ACCEL_OK; i++) {
		s[i]->history[0] = most[i];
		advance(s[i]);
	}
	free(most);
	return st;
}
