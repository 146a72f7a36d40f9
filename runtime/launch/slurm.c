/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/slurm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/launch/hosts.h"

#include "runtime/base/banned.h"

enum {
	NODES_MAX = 65536,
	DIGITS_MAX = 9,		/* of a number in brackets: fits a long */
	TASKS_MAX = 65536
};

/* A number at the front of *at, and how many digits it had. */
static bool
take_number(const char **at, long *value, int *digits)
{
	*value = 0;
	for (*digits = 0; isdigit((unsigned char)**at); ++*digits, ++*at) {
		if (*digits == DIGITS_MAX)
			return false;
		*value = *value * 10 + (**at - '0');
	}
	return *digits > 0;
}

/* Adds "head" and all that "rest" (up to "end") can be.  Brackets multiply, so
 * a name of several is expanded from the left. */
static int
expand(const char *head, const char *rest, const char *end, struct strv *names)
{
	const char	*open = memchr(rest, '[', (size_t)(end - rest));
	const char	*at, *close;

	if (!open)
		return memchr(rest, ']', (size_t)(end - rest)) ||
		    names->count == NODES_MAX ? -1 : strv_addf(names, "%s%.*s",
		    head, (int)(end - rest), rest);
	close = memchr(open, ']', (size_t)(end - open));
	if (!close)
		return -1;
	for (at = open + 1; at < close; at += *at == ',') {
		long	first, last;
		int	width, digits;

		if (!take_number(&at, &first, &width))
			return -1;
		last = first;
		if (*at == '-' && (at++, !take_number(&at, &last, &digits)))
			return -1;
		if (last < first || last - first >= NODES_MAX ||
		    (*at != ',' && at != close) ||
		    (*at == ',' && at + 1 == close))
			return -1;
		for (; first <= last; first++) {
			struct buf	longer = BUF_INIT;
			int		ret;

			buf_addf(&longer, "%s%.*s%0*ld", head,
			    (int)(open - rest), rest, width, first);
			ret = buf_failed(&longer) ? -1 : expand(
			    buf_text(&longer), close + 1, end, names);
			buf_clear(&longer);
			if (ret < 0)
				return -1;
		}
	}
	return close == open + 1 ? -1 : 0;
}

/* The end of a name of the list: a comma outside brackets. */
static const char *
name_end(const char *at)
{
	for (bool inside = false; *at && (inside || *at != ','); at++)
		inside = *at == '[' || (inside && *at != ']');
	return at;
}

int
slurm_expand(const char *list, struct strv *names, struct err *err)
{
	const char	*at = list, *end;
	struct strv	 new = STRV_INIT;
	int		 ret = 0;

	do {
		end = name_end(at);
		if (end - at > 4096 || end == at)
			ret = -1;
		else
			ret = expand("", at, end, &new);
		at = end + 1;
	} while (ret == 0 && *end);
	for (size_t i = 0; ret == 0 && i < new.count; i++)
		if (strv_add(names, new.item[i]) < 0)
			ret = -1;
	strv_clear(&new);
	if (ret == 0)
		return 0;
	err_set(err, "\"%.200s\" is not a list of nodes", list);
	return err_hint(err, "Slurm writes n[1-3,7]; name the hosts yourself "
	    "with --hosts");
}

int
slurm_counts(const char *text, long *count, size_t n)
{
	size_t	done = 0;
	int	digits;

	for (;; text++) {
		long	value, times = 1;

		if (!take_number(&text, &value, &digits) || value > TASKS_MAX)
			return -1;
		if (!strncmp(text, "(x", 2)) {
			text += 2;
			if (!take_number(&text, &times, &digits) ||
			    *text++ != ')')
				return -1;
		}
		if (times < 1 || (size_t)times > n - done)
			return -1;
		while (times-- > 0)
			count[done++] = value;
		if (*text != ',')
			return *text || done != n ? -1 : 0;
	}
}

/* "4", "a100:4", "a100:2,h100:2": their sum, or 0. */
static long
gpus_in(const char *text)
{
	long sum = 0;

	while (text && *text) {
		size_t	 n = strcspn(text, ",");
		char	*item = strndup(text, n), *colon;
		long	 value = 0;

		colon = item ? strrchr(item, ':') : NULL;
		if (!item || num_parse(colon ? colon + 1 : item, 0, 1024,
		    &value) < 0)
			value = 0;
		free(item);
		sum += value;
		text += n + (text[n] == ',');
	}
	return sum;
}

static const char *
node_list(void)
{
	const char *list = getenv("SLURM_JOB_NODELIST");

	return list ? list : getenv("SLURM_NODELIST");
}

bool
slurm_inside(void)
{
	return getenv("SLURM_JOB_ID") && node_list();
}

/* Where we are one of several equal processes, each would start all ranks. */
static int
check_alone(struct err *err)
{
	const char	*tasks = getenv("SLURM_STEP_NUM_TASKS");
	long		 n;

	if (getenv("SLURM_HET_SIZE")) {
		err_set(err, "this Slurm job has several components");
		return err_hint(err, "name the hosts with --hosts and choose "
		    "--transport ssh");
	}
	if (!tasks || num_parse(tasks, 2, NODES_MAX, &n) < 0)
		return 0;
	err_set(err, "srun started %ld of these launchers, and one is enough "
	    "for all nodes", n);
	return err_hint(err, "start it without srun, in the batch script or "
	    "behind salloc; or give --hosts localhost, for this node alone");
}

int
slurm_hosts(struct hosts *hosts, bool devices, struct err *err)
{
	struct strv	 names = STRV_INIT;
	const char	*tasks = getenv("SLURM_TASKS_PER_NODE");
	long		*count = NULL, gpus = 0;
	size_t		 before = hosts->count;
	bool		 several = false;
	int		 ret = -1;

	if (check_alone(err) < 0)
		return -1;
	if (slurm_expand(node_list(), &names, err) < 0)
		return err_at(err, "SLURM_JOB_NODELIST");
	count = calloc(names.count, sizeof *count);
	if (!count) {
		err_nomem(err);
		goto out;
	}
	/* In a step of the job, as a shell of "srun --pty", the counts are the
	 * step's, and the job's nodes have others. */
	if (!tasks || slurm_counts(tasks, count, names.count) < 0)
		memset(count, 0, names.count * sizeof *count);
	for (size_t i = 0; i < names.count; i++)
		several = several || count[i] > 1;
	if (devices)
		gpus = gpus_in(getenv("SLURM_GPUS_PER_NODE"));
	if (devices && !gpus)
		gpus = gpus_in(getenv("SLURM_GPUS_ON_NODE"));
	ret = 0;
	for (size_t i = 0; ret == 0 && i < names.count; i++) {
		ret = hosts_add(hosts, names.item[i], err);
		if (ret == 0)
			hosts->host[hosts->count - 1].slots =
			    several ? count[i] : gpus;
	}
	while (ret < 0 && hosts->count > before)
		free(hosts->host[--hosts->count].name);
out:
	free(count);
	strv_clear(&names);
	return ret;
}

int
slurm_choose(const char *transport, struct hosts *hosts, bool devices,
    bool *srun, struct err *err)
{
	bool	inside = slurm_inside(), given = hosts->count > 0;

	*srun = transport && !strcmp(transport, "srun");
	if (transport && !*srun && strcmp(transport, "ssh")) {
		err_set(err, "--transport %s: no such transport", transport);
		return err_hint(err, "it is ssh or srun");
	}
	if (*srun && !inside) {
		err_set(err, "--transport srun: this is no Slurm allocation");
		return err_hint(err, "get one with salloc, or put the command "
		    "in a script for sbatch");
	}
	if (given || !inside)
		return 0;
	*srun = !transport || *srun;
	return slurm_hosts(hosts, devices, err);
}
