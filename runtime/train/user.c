/* SPDX-License-Identifier: Apache-2.0 */
/* user: who does what among ranks that all run the same program. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/train.h"

#include "runtime/base/banned.h"

int
accel_on_main(const accel *a)
{
	return a->rank == 0;
}

int
accel_on_local_main(const accel *a)
{
	return a->local_rank == 0;
}

int
accel_on_last(const accel *a)
{
	return a->rank == a->world - 1;
}

void
accel_print(const accel *a, const char *fmt, ...)
{
	char	*text;
	va_list	 ap;
	int	 n;

	if (a->rank != 0)
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	fwrite(text, 1, (size_t)n, stdout);
	fflush(stdout);
	free(text);
}

void
accel_split_between(const accel *a, int64_t n, int64_t *begin, int64_t *count,
    int64_t *pad)
{
	int64_t each = n > 0 ? n / a->world : 0;
	int64_t more = n > 0 ? n % a->world : 0;
	int64_t rank = a->rank;

	*begin = rank * each + (rank < more ? rank : more);
	*count = each + (rank < more);
	if (pad != NULL)
		*pad = each + (more > 0) - *count;
}

void
accel_set_trigger(accel *a)
{
	a->trigger = true;
}

accel_status
accel_check_trigger(accel *a, int *set)
{
	struct arg	 mine = { "the trigger", a->trigger, false };
	int64_t		*each = calloc((size_t)a->world, sizeof(*each));
	accel_status	 st;

	*set = 0;
	if (each == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	st = accel__agree(a, "accel_check_trigger", NULL, &mine, 1, each);
	for (int r = 0; r < a->world && st == ACCEL_OK; r++)
		*set |= each[r] != 0;
	if (st == ACCEL_OK)
		a->trigger = false;
	free(each);
	return st;
}

accel_status
accel_reduce(accel *a, void *buf, size_t n, accel_dtype t, accel_op op,
    int root)
{
	struct arg arg[] = {
		{ "n", (int64_t)n, true }, { "the type", (int64_t)t, true },
		{ "the operation", (int64_t)op, true }, { "root", root, true },
	};
	size_t		 bytes = n * device_size((int)t);
	const char	*fault = NULL;
	accel_status	 st;
	void		*sum;

	if (root < 0 || root >= a->world)
		fault = "root is no rank";
	else if (bytes == 0 && n > 0)
		fault = "unknown type";
	st = accel__agree(a, "accel_reduce", fault, arg, 4, NULL);
	if (st != ACCEL_OK || n == 0)
		return st;
	if (a->rank == root)
		return accel_all_reduce(a, buf, n, t, op);
	sum = malloc(bytes);
	if (sum == NULL)
		return accel__fail(ACCEL_ENOMEM, "no memory for %zu bytes",
		    bytes);
	st = accel__read(a, sum, buf, bytes);
	if (st == ACCEL_OK)
		st = accel_all_reduce(a, sum, n, t, op);
	free(sum);
	return st;
}

/* ---- one first ----------------------------------------------------------- */

struct went {
	int32_t		first, status;
	char		why[240];
};

static accel_status
first(accel *a, const char *call, bool mine, accel_fn fn, void *user)
{
	struct went	 me = { mine, ACCEL_OK, "" }, *all;
	accel_status	 st;
	struct arg	 none = { "", 0, true };

	/* Before fn: who makes another call must not wait for it in vain. */
	st = accel__agree(a, call, NULL, &none, 1, NULL);
	if (st != ACCEL_OK)
		return st;
	all = calloc((size_t)a->world, sizeof(*all));
	if (all == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (mine) {
		*accel__err() = (struct err)ERR_INIT;
		me.status = (int32_t)fn(user);
		if (me.status < 0)
			snprintf(me.why, sizeof(me.why), "%s",
			    accel_errmsg());
	}
	st = accel_all_gather(a, &me, all, sizeof(me));
	for (int r = 0; r < a->world && st == ACCEL_OK; r++)
		if (all[r].first && all[r].status < 0)
			st = accel__fail((accel_status)all[r].status,
			    "%s: rank %d went first and returned %d%s%s", call,
			    r, (int)all[r].status, all[r].why[0] ? ": " : "",
			    all[r].why);
	free(all);
	if (st != ACCEL_OK)
		return st;
	return mine ? (accel_status)me.status : fn(user);
}

accel_status
accel_main_first(accel *a, accel_fn fn, void *user)
{
	return first(a, "accel_main_first", a->rank == 0, fn, user);
}

accel_status
accel_local_main_first(accel *a, accel_fn fn, void *user)
{
	return first(a, "accel_local_main_first", a->local_rank == 0, fn,
	    user);
}
