/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_usage: what this host and its ranks use, when the launcher asks.
 *
 * A rank's are the processes of its session, and those that descend from them;
 * they are found from us downward, as those whose parent ended are ours.  Where
 * the kernel does not list children, all processes of the host are looked at.
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

enum { PROCESSES_MAX = 1 << 17, ANCESTORS_MAX = 64, NAME = 32,
	REST = 50 };	/* times as long as it took: 2 % of a core */

struct process {
	pid_t	 pid, parent, session;
	uint64_t ticks;		/* its own, and of children that it waited for */
};

struct tally {			/* of a rank */
	uint64_t ticks, kib, gpu_mib;
	uint32_t processes;
	bool	 on_gpu;
};

static bool
read_process(const char *name, struct process *p)
{
	char		 path[300], text[1024], *paren;
	unsigned long long user, system, users, systems;
	int		 parent, session;

	snprintf(path, sizeof path, "/proc/%s/stat", name);
	if (!agent_read(path, text, sizeof text) ||
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
	if (!agent_read(path, text, sizeof text) ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
		return 0;
	if (!first)
		resident -= shared < resident ? shared : resident;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void
count_one(const struct agent *a, const struct process *p, size_t rank,
    struct tally *t)
{
	t->ticks += p->ticks;
	t->kib += memory_kib(p->pid, p->pid == a->rank[rank].pid);
	t->processes++;
	for (size_t g = 0; g < a->gpus.processes; g++)
		if (a->gpus.process[g].pid == p->pid) {
			t->gpu_mib += a->gpus.process[g].mib;
			t->on_gpu = true;
		}
}

static void
count_all(const struct agent *a, struct tally *tally)
{
	size_t		 count;
	struct process	*all = all_processes(&count);

	for (size_t i = 0; i < count; i++) {
		size_t r = rank_of(a, all, count, &all[i]);

		if (r < a->rank_count)
			count_one(a, &all[i], r, &tally[r]);
	}
	free(all);
}

struct found {			/* a process, and whose child it is */
	pid_t	pid;
	size_t	rank;		/* its parent's; rank_count: ours */
};

struct family {			/* those still to look at */
	struct found	*todo;
	size_t		 count, room;
};

static bool
family_add(struct family *f, pid_t pid, size_t rank)
{
	if (f->count == f->room) {
		size_t		 room = f->room ? 2 * f->room : 64;
		struct found	*grown = realloc(f->todo, room * sizeof *grown);

		if (!grown || room > PROCESSES_MAX)
			return false;
		f->todo = grown;
		f->room = room;
	}
	f->todo[f->count++] = (struct found){ pid, rank };
	return true;
}

/* The children of one thread.  -1 where the kernel has no such list. */
static int
add_children(struct family *f, pid_t pid, const char *thread, size_t rank)
{
	char	 path[300], text[8192 + 1];
	int	 fd;
	ssize_t	 n;
	size_t	 kept = 0;

	snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid,
	    thread);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return -1;
	while ((n = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
		char *at = text, *end;

		text[kept + (size_t)n] = '\0';
		while ((end = strchr(at, ' '))) {	/* each ends in one */
			family_add(f, (pid_t)strtol(at, NULL, 10), rank);
			at = end + 1;
		}
		kept = strlen(at);
		if (kept >= NAME)		/* that is no number */
			break;
		memmove(text, at, kept);
	}
	close(fd);
	return 0;
}

/* Those of all its threads. */
static int
add_family(struct family *f, pid_t pid, size_t rank)
{
	char		 path[64];
	DIR		*tasks;
	struct dirent	*entry;
	int		 got = 0;

	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	if (!(tasks = opendir(path)))
		return 0;		/* it has ended */
	while ((entry = readdir(tasks)))
		if (*entry->d_name != '.' &&
		    add_children(f, pid, entry->d_name, rank) < 0)
			got = -1;
	closedir(tasks);
	return got;
}

static void
count_ranks(const struct agent *a, struct tally *tally)
{
	struct family f = { NULL, 0, 0 };

	if (add_family(&f, getpid(), a->rank_count) < 0) {
		free(f.todo);
		count_all(a, tally);
		return;
	}
	while (f.count) {
		struct found	one = f.todo[--f.count];
		struct process	p;
		char		name[NAME];
		size_t		rank = one.rank;

		snprintf(name, sizeof name, "%ld", (long)one.pid);
		if (!read_process(name, &p))
			continue;
		for (size_t r = 0; r < a->rank_count &&
		    rank == a->rank_count; r++)
			if (a->rank[r].pid > 0 && (p.pid == a->rank[r].pid ||
			    p.session == a->rank[r].pid))
				rank = r;
		if (rank < a->rank_count)
			count_one(a, &p, rank, &tally[rank]);
		/* A thread may end between two looks: one list less. */
		(void)add_family(&f, p.pid, rank);
	}
	free(f.todo);
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
	if (agent_read("/proc/stat", text, sizeof text) && sscanf(text,
	    "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
	    &t[3], &t[4], &t[5], &t[6], &t[7]) == 8)
		wire_put(out, ticks_ms(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]));
	else
		wire_put(out, WIRE_UNKNOWN);
	if (agent_read("/proc/meminfo", text, sizeof text) &&
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
	int64_t		 began = clock_ms();
	struct tally	*tally = NULL;
	size_t		 frame;
	uint32_t	 alive = 0;

	/* No answer where that would cost more than it is worth, or without
	 * memory: what was said last holds. */
	if (began < a->usage_due ||
	    !(tally = calloc(a->rank_count + 1, sizeof *tally)))
		return;
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
	a->usage_due = clock_ms() + (clock_ms() - began) * REST;
}
