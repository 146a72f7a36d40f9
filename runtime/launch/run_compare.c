/* SPDX-License-Identifier: Apache-2.0 */
/* run_compare: hosts that are well alone, and not together. */
#include "runtime/launch/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/banned.h"

static const double	CLOCK_S = 5;		/* slow links look like 2 s */
static const double	DISK = 1e9, SHM = 256e6;	/* bytes */

static const char *
fact(const struct run *run, size_t host, const char *name)
{
	return strv_getenv(&run->peer[host].facts, name);
}

static double
number(const struct run *run, size_t host, const char *name)
{
	const char *text = fact(run, host, name);

	return text ? strtod(text, NULL) : -1;
}

/* The same value wherever it is known, that of the first host being right. */
static void
same(struct run *run, const char *name, const char *what, bool fatal,
    const char *hint)
{
	const char	*want = NULL, *have;
	size_t		 first = 0;
	char		 text[400];

	for (size_t h = 0; h < hosts(run); h++) {
		have = fact(run, h, name);
		if (!have || run->peer[h].closed)
			continue;
		if (!want) {
			want = have;
			first = h;
		} else if (strcmp(have, want)) {
			snprintf(text, sizeof text, "%s is %.80s here, and %.80s "
			    "on %.100s", what, *have ? have : "not installed",
			    *want ? want : "not installed", label(run, first));
			if (fatal)
				run_problem(run, h, text, hint);
			else
				run_warning(run, h, text, hint);
		}
	}
}

static void
compare_clocks(struct run *run)
{
	size_t	first = hosts(run);
	char	text[300];

	for (size_t h = 0; h < hosts(run); h++) {
		double ahead;

		if (!fact(run, h, "time"))
			continue;
		if (first == hosts(run))
			first = h;
		ahead = run->peer[h].ahead_s - run->peer[first].ahead_s;
		if (fabs(ahead) < CLOCK_S)
			continue;
		snprintf(text, sizeof text, "its clock is %.0f s %s that of %s",
		    fabs(ahead), ahead > 0 ? "ahead of" : "behind",
		    label(run, first));
		run_warning(run, h, text, "let it follow a time server, such as "
		    "with chrony");
	}
}

static void
look_at_space(struct run *run, size_t host)
{
	double	disk = number(run, host, "disk_free");
	double	shm = number(run, host, "shm_free");
	char	text[300];

	if (disk >= 0 && disk < DISK) {
		snprintf(text, sizeof text, "the disk of the working folder has "
		    "%.0f MB left", disk / 1e6);
		run_warning(run, host, text, "a checkpoint may not fit");
	}
	if (shm >= 0 && shm < SHM) {
		snprintf(text, sizeof text, "/dev/shm has %.0f MB left",
		    shm / 1e6);
		run_warning(run, host, text, "NCCL and data loaders need it; in "
		    "a container: --shm-size, or --ipc=host");
	}
}

/* Fewer devices than ranks is wrong where ranks use devices, and they do where
 * some host has them. */
static void
compare_devices(struct run *run)
{
	bool	some = false;
	char	text[200];

	for (size_t h = 0; h < hosts(run); h++)
		some = some || number(run, h, "devices") > 0;
	for (size_t h = 0; h < hosts(run) && some && run->plan->devices; h++) {
		double	have = number(run, h, "devices");
		long	ranks = run->plan->hosts.host[h].slots;

		if (have < 0 || have >= (double)ranks)
			continue;
		snprintf(text, sizeof text, "%ld ranks and %.0f GPU%s", ranks,
		    have, have == 1 ? "" : "s");
		run_problem(run, h, text, have > 0 ? "give it fewer slots" :
		    "is its driver loaded? --cpu trains without");
	}
}

void
run_compare(struct run *run)
{
	if (run->plan->python) {
		same(run, "torch", "torch", true, "all ranks must have the same: "
		    "pip install torch==VERSION, or --activate an environment "
		    "that is the same everywhere");
		same(run, "accelerate", "accelerate", true, "all ranks must have "
		    "the same: pip install accelerate==VERSION");
		same(run, "python_version", "Python", false, "pickled objects and "
		    "compiled packages may not be the same");
	}
	if (run->plan->devices)
		same(run, "driver", "the NVIDIA driver", false,
		    "NCCL prefers one version everywhere");
	compare_devices(run);
	compare_clocks(run);
	/* One machine without GPUs may well be as small as it is. */
	if (!run->options->check && !run->plan->devices && hosts(run) == 1)
		return;
	for (size_t h = 0; h < hosts(run); h++)
		if (!run->peer[h].closed)
			look_at_space(run, h);
}
