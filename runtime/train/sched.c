/* SPDX-License-Identifier: Apache-2.0 */
/* sched: learning rates over the steps of a run. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/state.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static const double pi = 3.14159265358979323846;

static double
real(int64_t x)
{
	return (double)x;
}

static int64_t
at_least_1(int64_t x)
{
	return x > 1 ? x : 1;
}

static double
cosine(const accel_schedule *h, double t, double end)
{
	double cycles = h->cycles != 0 ? h->cycles : 0.5;
	double f = 0.5 * (1 + cos(pi * cycles * 2 * t));

	return fmax(0, f * (1 - end) + end);
}

static double
restarts(const accel_schedule *h, double t)
{
	double cycles = h->cycles != 0 ? h->cycles : 1;

	if (t >= 1)
		return 0;
	return fmax(0, 0.5 * (1 + cos(pi * fmod(cycles * t, 1))));
}

static double
inverse_sqrt(const accel_schedule *h, int64_t after)
{
	int64_t scale = h->every;

	if (scale == 0)
		scale = h->warmup > 0 ? h->warmup : 10000;
	return 1 / sqrt(real(after + scale) / real(scale));
}

static int
milestones_until(const accel_schedule *h, int64_t after)
{
	int n = 0;

	while (n < h->nmilestone && h->milestone[n] <= after)
		n++;
	return n;
}

/* The factor of the base rate. */
static double
factor(const accel_scheduler *s)
{
	const accel_schedule *h = &s->how;
	int64_t after = s->count - h->warmup;
	double t = real(after) / real(at_least_1(h->total - h->warmup));
	double end = s->base != 0 ? h->end / s->base : 0;

	if (after < 0)
		return real(s->count) / real(at_least_1(h->warmup));
	switch (h->kind) {
	case ACCEL_LR_CONSTANT:
		return 1;
	case ACCEL_LR_LINEAR:
		return fmax(0, real(h->total - s->count) /
		    real(at_least_1(h->total - h->warmup)));
	case ACCEL_LR_COSINE:
		return cosine(h, t, end);
	case ACCEL_LR_RESTARTS:
		return restarts(h, t);
	case ACCEL_LR_POLYNOMIAL:
		return t > 1 ? end : (1 - end) * pow(1 - t, h->power) + end;
	case ACCEL_LR_INVERSE_SQRT:
		return inverse_sqrt(h, after);
	case ACCEL_LR_STEP:
		return pow(h->gamma, real(after / h->every));
	case ACCEL_LR_MILESTONES:
		return pow(h->gamma, milestones_until(h, after));
	case ACCEL_LR_FN:
		return h->fn(h->user, s->count);
	}
	return 1;
}

static accel_status
check(const accel_schedule *h, double base)
{
	bool falls = h->kind >= ACCEL_LR_LINEAR &&
	    h->kind <= ACCEL_LR_POLYNOMIAL;

	if (h->size != sizeof(*h))
		return accel__fail(ACCEL_EINVAL, "accel_schedule: begin with "
		    "ACCEL_SCHEDULE_INIT");
	if ((int)h->kind < ACCEL_LR_CONSTANT || h->kind > ACCEL_LR_FN)
		return accel__fail(ACCEL_EINVAL, "accel_schedule: no kind %d",
		    (int)h->kind);
	if (h->warmup < 0 || h->every < 0 || h->nmilestone < 0)
		return accel__fail(ACCEL_EINVAL, "accel_schedule: warmup %"
		    PRId64 ", every %" PRId64 ", nmilestone %d: none is "
		    "negative", h->warmup, h->every, h->nmilestone);
	if (falls && (h->total < 1 || h->total < h->warmup))
		return accel__fail(ACCEL_EINVAL, "accel_schedule: a total of %"
		    PRId64 " with a warm-up of %" PRId64 ": count both, at "
		    "least one", h->total, h->warmup);
	if (!isfinite(base) || base < 0)
		return accel__fail(ACCEL_EINVAL, "accel_scheduler_new: lr is "
		    "%g: set it first", base);
	if ((h->kind == ACCEL_LR_COSINE || h->kind == ACCEL_LR_POLYNOMIAL) &&
	    !(h->end >= 0 && h->end <= base))
		return accel__fail(ACCEL_EINVAL, "accel_schedule: end is a "
		    "rate from 0 to lr, which is %g, not %g", base, h->end);
	if (h->kind == ACCEL_LR_STEP && h->every < 1)
		return accel__fail(ACCEL_EINVAL, "accel_schedule: "
		    "ACCEL_LR_STEP wants \"every\", the counts from one step "
		    "to the next");
	for (int i = 1; i < h->nmilestone; i++)
		if (h->milestone[i] < h->milestone[i - 1])
			return accel__fail(ACCEL_EINVAL, "accel_schedule: "
			    "milestone %" PRId64 " after %" PRId64,
			    h->milestone[i], h->milestone[i - 1]);
	if (h->kind == ACCEL_LR_FN && h->fn == NULL)
		return accel__fail(ACCEL_EINVAL, "accel_schedule: ACCEL_LR_FN "
		    "wants \"fn\"");
	return ACCEL_OK;
}

/* For checkpoints. */
static size_t
saved_size(void *user)
{
	(void)user;
	return sizeof(accel_scheduler_state);
}

static accel_status
saved_get(void *user, void *out, size_t bytes)
{
	accel_scheduler_state state;

	accel_scheduler_get(user, &state);
	memcpy(out, &state, bytes);
	return ACCEL_OK;
}

static accel_status
saved_set(void *user, const void *data, size_t bytes)
{
	accel_scheduler_state state;

	if (bytes != sizeof(state))
		return accel__fail(ACCEL_EMISMATCH, "%zu bytes, not %zu",
		    bytes, sizeof(state));
	memcpy(&state, data, bytes);
	return accel_scheduler_set(user, &state);
}

accel_status
accel_scheduler_new(accel *a, double *lr, const accel_schedule *how,
    accel_scheduler **out)
{
	static const accel_object saved = { saved_size, saved_get, saved_set };
	accel_status st = check(how, *lr);
	accel_scheduler *s;
	int64_t *list;
	size_t n;

	*out = NULL;
	if (st != ACCEL_OK)
		return st;
	n = (size_t)how->nmilestone;
	s = calloc(1, sizeof(*s));
	list = calloc(n + 1, sizeof(*list));
	if (s == NULL || list == NULL) {
		free(s);
		free(list);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	if (n > 0)
		memcpy(list, how->milestone, n * sizeof(*list));
	s->a = a;
	s->how = *how;
	s->how.milestone = list;
	s->lr = lr;
	s->base = *lr;
	s->seen = a->step;
	s->next = a->scheduler;
	a->scheduler = s;
	st = accel__register_next(a, "scheduler", &saved, s, &s->number);
	if (st != ACCEL_OK) {
		accel_scheduler_free(s);
		return st;
	}
	*lr = s->base * factor(s);
	*out = s;
	return ACCEL_OK;
}

void
accel_scheduler_free(accel_scheduler *s)
{
	accel_scheduler **at;

	if (s == NULL)
		return;
	for (at = &s->a->scheduler; *at != NULL; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	accel__unregister_number(s->a, "scheduler", s->number);
	free((int64_t *)s->how.milestone);
	free(s);
}

accel_status
accel_scheduler_step(accel_scheduler *s)
{
	if (s->how.flags & ACCEL_LR_EACH_CALL)
		s->count++;
	else if (s->a->step == s->seen)
		return ACCEL_SKIPPED;
	else
		s->count += s->how.flags & ACCEL_LR_ONCE ? 1 : s->a->world;
	s->seen = s->a->step;
	*s->lr = s->base * factor(s);
	return ACCEL_OK;
}

void
accel_scheduler_get(const accel_scheduler *s, accel_scheduler_state *state)
{
	*state = (accel_scheduler_state){ s->count, s->base };
}

accel_status
accel_scheduler_set(accel_scheduler *s, const accel_scheduler_state *state)
{
	if (state->count < 0 || !isfinite(state->base) || state->base < 0)
		return accel__fail(ACCEL_EINVAL, "accel_scheduler_set: a count "
		    "of %" PRId64 " and a rate of %g", state->count,
		    state->base);
	s->count = state->count;
	s->base = state->base;
	s->seen = s->a->step;
	*s->lr = s->base * factor(s);
	return ACCEL_OK;
}
