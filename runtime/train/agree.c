/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree: before a collective of users moves data, all ranks compare what they
 * were called with.  One small exchange buys that a mistake is an error that
 * names rank and argument, on every rank, and no hang.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/train.h"

#include "runtime/base/banned.h"

struct said {
	char	call[40];
	char	fault[96];
	int64_t	value[AGREE_MAX];
};

static accel_status
differ(const char *call, const char *what, int64_t ours, int64_t theirs,
    const bool *who, int world)
{
	char ranks[100];

	accel__name_ranks(who, world, ranks, sizeof(ranks));
	accel__fail(ACCEL_EMISMATCH, "%s: %s is %lld on rank 0 and %lld on %s",
	    call, what, (long long)ours, (long long)theirs, ranks);
	err_hint(accel__err(), "every rank makes the same call with the same");
	return ACCEL_EMISMATCH;
}

/* Another call, or one that is wrong in itself. */
static accel_status
compare_calls(const accel *a, const struct said *all)
{
	for (int r = 1; r < a->world; r++) {
		if (strcmp(all[r].call, all[0].call) == 0)
			continue;
		accel__fail(ACCEL_EMISMATCH, "rank 0 calls %s, and rank %d "
		    "calls %s", all[0].call, r, all[r].call);
		err_hint(accel__err(), "every rank makes the same calls in the "
		    "same order");
		return ACCEL_EMISMATCH;
	}
	if (all[a->rank].fault[0] != '\0')
		return accel__fail(ACCEL_EINVAL, "%s: rank %d: %s",
		    all[0].call, a->rank, all[a->rank].fault);
	for (int r = 0; r < a->world; r++)
		if (all[r].fault[0] != '\0')
			return accel__fail(ACCEL_EMISMATCH, "%s: rank %d: %s",
			    all[0].call, r, all[r].fault);
	return ACCEL_OK;
}

static accel_status
compare(const accel *a, const struct said *all, const struct arg *arg, int n,
    bool *who)
{
	accel_status st = compare_calls(a, all);

	for (int i = 0; i < n && st == ACCEL_OK; i++) {
		int64_t	ours = all[0].value[i], theirs = ours;

		for (int r = 1; r < a->world && arg[i].same; r++) {
			if (theirs == ours)
				theirs = all[r].value[i];
			who[r] = theirs != ours && all[r].value[i] == theirs;
		}
		if (theirs != ours)
			st = differ(all[0].call, arg[i].name, ours, theirs,
			    who, a->world);
	}
	return st;
}

accel_status
accel__agree(accel *a, const char *call, const char *fault, struct arg *arg,
    int n, int64_t *each)
{
	struct said	 mine = { "", "", { 0 } }, *all = NULL;
	bool		*who = NULL;
	accel_status	 st;

	if (a->world == 1) {
		if (fault != NULL)
			return accel__fail(ACCEL_EINVAL, "%s: %s", call,
			    fault);
		for (int i = 0; i < n && each != NULL; i++)
			each[i] = arg[i].value;
		return ACCEL_OK;
	}
	snprintf(mine.call, sizeof(mine.call), "%s", call);
	snprintf(mine.fault, sizeof(mine.fault), "%s", fault ? fault : "");
	for (int i = 0; i < n; i++)
		mine.value[i] = arg[i].value;
	all = calloc((size_t)a->world, sizeof(*all));
	who = calloc((size_t)a->world, sizeof(*who));
	if (all == NULL || who == NULL)
		st = accel__fail(ACCEL_ENOMEM, "out of memory");
	else
		st = accel_all_gather(a, &mine, all, sizeof(mine));
	if (st == ACCEL_OK)
		st = compare(a, all, arg, n, who);
	for (int i = 0; i < n && st == ACCEL_OK; i++) {
		arg[i].value = all[0].value[i];
		for (int r = 0; r < a->world && each != NULL; r++)
			each[r * n + i] = all[r].value[i];
	}
	free(all);
	free(who);
	return st;
}
