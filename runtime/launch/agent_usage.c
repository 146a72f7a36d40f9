/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_usage: what this host and its ranks use, when the launcher asks.
 *
 * A rank's are the processes of its session, and those that descend from them.
 * Memory is what is resident; what a process shares with others counts for the
 * rank's first process alone, so that workers that were forked are not counted
 * again and again.
 */
#include "runtime/launch/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"

#include "runtime/base/banned.h"

enum { PROCESSES_MAX = 1 << 17, ANCESTORS_MAX = 64 };

struct process {
	pid_t	 pid, parent, session;
	uint64_t ticks;		/* its own, and of children that it waited for */
};

struct tally {			/* of a rank */
	uint64_t ticks, kib, gpu_mib;
	uint32_t processes;
	bool	 on_gpu;
};

/* Text of a file below /proc; false where there is none. */
static bool
read_proc(const char *path, char *text, size_t room)
{
	int	fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t	n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool
read_process(const char *name, struct process *p)
{
	char		 path[300], text[1024], *paren;
	unsigned long long user, system, users, systems;
	int		 parent, session;

	snprintf(path, sizeof path, "/proc/%s/stat", name);
	if (!read_proc(path, text, sizeof text) ||
	    !(paren = strrchr(text, ')')))	/* names hold anything */
		return false;
	if (sscanf(paren + 1, " %*c %d %*d %d %*d %*d %*u %*u %*u %*u %*u "
	    "%llu %llu %llu %llu", &parent, &session, &user, &system, &users,
	    &systems) != 6)
		return false;
	*p = (struct process){ (pid_t)strtol(name, NULL, 10), (pid_t)parent,
	    (pid_t)session, user + system + users + systems };
	return true;
}

static int
by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* All that there are now, in the order of their numbers.  Gives them. */
static struct process *
all_processes(size_t *count)
{
	DIR		*proc = opendir("/proc");
	struct dirent	*entry;
	struct process	*all = NULL;
	size_t		 room = 0;

	*count = 0;
	while (proc && (entry = readdir(proc)) && *count < PROCESSES_MAX) {
		if (*entry->d_name < '1' || *entry->d_name > '9')
			continue;
		if (*count == room) {
			size_t		 more = room ? 2 * room : 256;
			struct process	*grown = realloc(all,
					    more * sizeof *all);

			if (!grown)
				break;
			all = grown;
			room = more;
		}
		*count += read_process(entry->d_name, &all[*count]);
	}
	if (proc)
		closedir(proc);
	if (all)
		qsort(all, *count, sizeof *all, by_pid);
	return all;
}

/* Which of our ranks a process is of; rank_count where it is of none. */
static size_t
rank_of(const struct agent *a, const struct process *all, size_t count,
    const struct process *p)
{
	for (int i = 0; p && i < ANCESTORS_MAX; i++) {
		struct process key = { .pid = p->parent };

		for (size_t r = 0; r < a->rank_count; r++)
			if (a->rank[r].pid > 0 && (p->pid == a->rank[r].pid ||
			    p->session == a->rank[r].pid))
				return r;
		p = p->parent > 1 ? bsearch(&key, all, count, sizeof *all,
		    by_pid) : NULL;
	}
	return a->rank_count;
}

static uint64_t
memory_kib(pid_t pid, bool first)
{
	char		   path[64], text[200];
	unsigned long long resident, shared;

	snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
	if (!read_proc(path, text, sizeof text) ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
		return 0;
	if (!first)
		resident -= shared < resident ? shared : resident;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void
count_ranks(const struct agent *a, struct tally *tally)
{
	size_t		 count;
	struct process	*all = all_processes(&count);

	for (size_t i = 0; i < count; i++) {
		size_t		 r = rank_of(a, all, count, &all[i]);
		struct tally	*t = &tally[r];

		if (r == a->rank_count)
			continue;
		t->ticks += all[i].ticks;
		t->kib += memory_kib(all[i].pid, all[i].pid == a->rank[r].pid);
		t->processes++;
		for (size_t g = 0; g < a->gpus.processes; g++)
			if (a->gpus.process[g].pid == all[i].pid) {
				t->gpu_mib += a->gpus.process[g].mib;
				t->on_gpu = true;
			}
	}
	free(all);
}

static uint32_t
ticks_ms(uint64_t ticks)
{
	return (uint32_t)(ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint32_t
bounded(uint64_t n)
{
	return n < WIRE_UNKNOWN ? (uint32_t)n : WIRE_UNKNOWN - 1;
}

static void
put_host(struct buf *out)
{
	char		   text[4096], *total, *left;
	unsigned long long t[8] = { 0 }, all = 0, free_ = 0;
	long		   cpus = sysconf(_SC_NPROCESSORS_ONLN);

	wire_put(out, (uint32_t)clock_ms());
	wire_put(out, cpus > 0 ? (uint32_t)cpus : WIRE_UNKNOWN);
	/* user nice system idle iowait irq softirq steal */
	if (read_proc("/proc/stat", text, sizeof text) && sscanf(text,
	    "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
	    &t[3], &t[4], &t[5], &t[6], &t[7]) == 8)
		wire_put(out, ticks_ms(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]));
	else
		wire_put(out, WIRE_UNKNOWN);
	if (read_proc("/proc/meminfo", text, sizeof text) &&
	    (total = strstr(text, "MemTotal:")) &&
	    (left = strstr(text, "MemAvailable:")) &&
	    sscanf(total, "MemTotal: %llu", &all) == 1 &&
	    sscanf(left, "MemAvailable: %llu", &free_) == 1 && free_ <= all) {
		wire_put(out, bounded((all - free_) / 1024));
		wire_put(out, bounded(all / 1024));
	} else {
		wire_put(out, WIRE_UNKNOWN);
		wire_put(out, WIRE_UNKNOWN);
	}
}

void
agent_usage(struct agent *a)
{
	const char	*root = getenv("ACCEL_DEVICES");
	struct tally	*tally = calloc(a->rank_count + 1, sizeof *tally);
	size_t		 frame;
	uint32_t	 alive = 0;

	if (!tally)
		return;		/* the next answer may have room */
	agent_gpus_ask(&a->gpus, root ? root : "");
	count_ranks(a, tally);
	frame = wire_begin(&a->out, WIRE_USAGE);
	put_host(&a->out);
	wire_put(&a->out, (uint32_t)a->gpus.count);
	for (size_t g = 0; g < a->gpus.count; g++) {
		wire_put(&a->out, a->gpus.gpu[g].index);
		wire_put(&a->out, a->gpus.gpu[g].busy);
		wire_put(&a->out, a->gpus.gpu[g].used_mib);
		wire_put(&a->out, a->gpus.gpu[g].total_mib);
	}
	for (size_t i = 0; i < a->rank_count; i++)
		alive += tally[i].processes > 0;
	wire_put(&a->out, alive);
	for (size_t i = 0; i < a->rank_count; i++) {
		const struct tally *t = &tally[i];

		if (!t->processes)
			continue;
		wire_put(&a->out, a->rank[i].rank);
		wire_put(&a->out, ticks_ms(t->ticks));
		wire_put(&a->out, bounded(t->kib));
		wire_put(&a->out, t->on_gpu ? bounded(t->gpu_mib) :
		    WIRE_UNKNOWN);
		wire_put(&a->out, t->processes);
	}
	wire_end(&a->out, frame);
	free(tally);
}
