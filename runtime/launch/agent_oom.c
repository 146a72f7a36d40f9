/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_oom: was a rank killed for want of memory?
 *
 * The kernel's log tells it by pid, where this user may read it.  Else the
 * kills that our cgroup counts do, which the ranks are in as well: more of them
 * than before, and a rank that SIGKILL ended without our doing.
 */
#include "runtime/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"

#include "runtime/base/banned.h"

/* Version 2 of cgroups, version 1, and 2 beside 1. */
static const struct {
	const char	*line;		/* how /proc/self/cgroup begins it */
	const char	*mount, *counts, *limit;
} kinds[] = {
	{ "0::", "/sys/fs/cgroup", "memory.events", "memory.max" },
	{ ":memory:", "/sys/fs/cgroup/memory", "memory.oom_control",
	    "memory.limit_in_bytes" },
	{ "0::", "/sys/fs/cgroup/unified", "memory.events", "memory.max" },
};

/* The number behind "name " in a file of a cgroup, or -1. */
static long
count_of(const char *folder, const char *file, const char *name)
{
	char	path[700], text[1024], *at;
	size_t	n = strlen(name);

	snprintf(path, sizeof path, "%s/%s", folder, file);
	if (!agent_read(path, text, sizeof text))
		return -1;
	for (at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, name, n) && at[n] == ' ')
			return strtol(at + n, NULL, 10);
	return -1;
}

void
agent_oom_begin(struct agent_oom *o)
{
	char text[4096];

	*o = (struct agent_oom){ .kind = -1, .began_ms = clock_ms() };
	if (!agent_read("/proc/self/cgroup", text, sizeof text))
		return;
	for (int k = 0; k < (int)(sizeof kinds / sizeof *kinds); k++) {
		const char	*at = strstr(text, kinds[k].line);
		int		 n;

		if (!at)
			continue;
		at += strlen(kinds[k].line);
		n = (int)strcspn(at, "\n");
		snprintf(o->folder, sizeof o->folder, "%s%.*s", kinds[k].mount,
		    n < 400 ? n : 400, at);
		o->kills = count_of(o->folder, kinds[k].counts, "oom_kill");
		if (o->kills < 0) {	/* in a container: its root is ours */
			snprintf(o->folder, sizeof o->folder, "%s",
			    kinds[k].mount);
			o->kills = count_of(o->folder, kinds[k].counts,
			    "oom_kill");
		}
		if (o->kills >= 0) {
			o->kind = k;
			return;
		}
	}
}

/* "6,541,2841000000,-;Out of memory: Killed process 7 (python)": when a record
 * of the kernel's log was written, in ms of clock_ms() to about a second. */
static int64_t
written_ms(const char *record)
{
	unsigned long long us;

	return sscanf(record, "%*u,%*u,%llu", &us) == 1 ?
	    (int64_t)(us / 1000) : -1;
}

/* Is the pid among those killed since we began?  Before, it was another's. */
static bool
in_log(const struct agent_oom *o, pid_t pid, bool *limited)
{
	int	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char	record[8192], wanted[40];
	bool	found = false;
	ssize_t	n;

	snprintf(wanted, sizeof wanted, "illed process %ld (", (long)pid);
	while (log >= 0 && ((n = read(log, record, sizeof record - 1)) > 0 ||
	    errno == EPIPE)) {		/* EPIPE: some were overwritten */
		record[n > 0 ? n : 0] = '\0';
		if (strstr(record, wanted) &&
		    written_ms(record) >= o->began_ms - 1000) {
			found = true;
			*limited = strstr(record, "cgroup out of memory");
		}
	}
	if (log >= 0)
		close(log);
	return found;
}

void
agent_oom_why(struct agent_oom *o, pid_t pid, char *why, size_t size)
{
	bool	limited = false, found = in_log(o, pid, &limited);
	char	path[700], text[64] = "", *end;
	double	bytes = 0;
	long	kills = o->kind < 0 ? -1 : count_of(o->folder,
		    kinds[o->kind].counts, "oom_kill");

	*why = '\0';
	if (!found && kills <= o->kills)
		return;
	if (kills >= 0)
		o->kills++;		/* this one's; there may be more */
	if (o->kind >= 0) {
		snprintf(path, sizeof path, "%s/%s", o->folder,
		    kinds[o->kind].limit);
		agent_read(path, text, sizeof text);
		bytes = strtod(text, &end);
	}
	/* Without a limit, version 1 says one of more bytes than there are. */
	if ((limited || !found) && bytes > 0 && bytes < 1e18)
		snprintf(why, size, "out of memory: its cgroup may have %.0f "
		    "MiB", bytes / (1 << 20));
	else if (limited)
		snprintf(why, size, "out of memory: its cgroup has a limit");
	else
		snprintf(why, size, "out of memory");
}
