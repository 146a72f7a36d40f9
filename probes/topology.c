/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/topology.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/strv.h"

#include "runtime/base/banned.h"

enum {
	SETS = 8, CPUS = SETS * CPU_SETSIZE,
	NAME = 64, LIST = 2048		/* bytes */
};

struct spot {			/* of a device */
	char	node[16], cpus[LIST], way[1024];
};

/* The first line of a small file; "" where there is none. */
static bool
read_line(char *text, size_t room, const char *root, const char *folder,
    const char *name, const char *file)
{
	char	path[PATH_MAX];
	int	fd;
	ssize_t	n = -1;

	snprintf(path, sizeof path, "%s%s/%s/%s", root, folder, name, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, room - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return *text != '\0';
}

static int
by_number(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* PCI addresses are hexadecimal, all of one length: to strverscmp(), 9d comes
 * before 43. */
static int
by_letter(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, in order. */
static int
names(struct strv *to, const char *root, const char *folder)
{
	char		 path[PATH_MAX];
	DIR		*dir;
	struct dirent	*entry;
	int		 ret = 0;

	snprintf(path, sizeof path, "%s%s", root, folder);
	if (!(dir = opendir(path)))
		return 0;
	while (!ret && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < NAME)
			ret = strv_add(to, entry->d_name);
	closedir(dir);
	if (to->count)
		qsort(to->item, to->count, sizeof *to->item, by_number);
	return ret;
}

/* "0-3,8": true for its CPUs.  What is no list ends it. */
static void
read_list(const char *text, bool *cpu)
{
	while (isdigit((unsigned char)*text)) {
		char		*end;
		unsigned long	 first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS; first++)
			cpu[first] = true;
		text = *end == ',' ? end + 1 : end;
	}
}

static void
write_list(const bool *cpu, char *out, size_t room)
{
	size_t n = 0;

	*out = '\0';
	for (size_t first = 0; first < CPUS && n + 24 < room; first++) {
		size_t last = first;

		if (!cpu[first])
			continue;
		while (last + 1 < CPUS && cpu[last + 1])
			last++;
		n += (size_t)snprintf(out + n, room - n, "%s%zu",
		    n ? "," : "", first);
		if (last > first)
			n += (size_t)snprintf(out + n, room - n, "-%zu", last);
		first = last;
	}
}

static void
read_allowed(const char *root, bool *allowed)
{
	cpu_set_t	set[SETS];
	char		text[LIST];

	if (*root) {
		read_line(text, sizeof text, root, "/sys/devices/system", "cpu",
		    "online");
		read_list(text, allowed);
		return;
	}
	memset(set, 0, sizeof set);
	if (sched_getaffinity(0, sizeof set, set) < 0)
		return;
	for (size_t i = 0; i < CPUS; i++)
		allowed[i] = CPU_ISSET_S(i, sizeof set, set);
}

static int
add_nodes(const char *root, struct strv *facts)
{
	static const char	 folder[] = "/sys/devices/system/node";
	struct strv		 all = STRV_INIT;
	char			 cpus[LIST];
	int			 ret = names(&all, root, folder);

	for (size_t i = 0; !ret && i < all.count; i++)
		if (!strncmp(all.item[i], "node", 4) &&
		    isdigit((unsigned char)all.item[i][4]) &&
		    read_line(cpus, sizeof cpus, root, folder, all.item[i],
		    "cpulist"))
			ret = strv_addf(facts, "node=%s %s", all.item[i] + 4,
			    cpus);
	strv_clear(&all);
	return ret;
}

/* Cores by the threads that are in them, and sockets. */
static int
add_cores(const char *root, const bool *allowed, struct strv *facts)
{
	static const char	 folder[] = "/sys/devices/system/cpu";
	static bool		 seen[CPUS], package[CPUS];
	long			 id[CPUS];
	char			 name[32], text[LIST];
	int			 ret = 0;

	memset(seen, 0, sizeof seen);
	for (size_t i = 0; i < CPUS; i++) {
		id[i] = -1;
		snprintf(name, sizeof name, "cpu%zu/topology", i);
		if (!allowed[i])
			continue;
		if (read_line(text, sizeof text, root, folder, name,
		    "physical_package_id"))
			id[i] = strtol(text, NULL, 10);
		if (seen[i] || ret || !read_line(text, sizeof text, root, folder,
		    name, "thread_siblings_list"))
			continue;
		ret = strv_addf(facts, "core=%s", text);
		read_list(text, seen);
	}
	for (size_t i = 0; !ret && i < CPUS; i++) {
		long this = id[i];

		if (this < 0)
			continue;
		memset(package, 0, sizeof package);
		for (size_t k = i; k < CPUS; k++)
			if (id[k] == this) {
				package[k] = true;
				id[k] = -1;
			}
		write_list(package, text, sizeof text);
		ret = strv_addf(facts, "package=%ld %s", this, text);
	}
	return ret;
}

/* Where a device is; "name" may be a link to it or its folder. */
static void
locate(const char *root, const char *folder, const char *name,
    struct spot *at)
{
	char	 path[PATH_MAX], real[PATH_MAX];
	char	*way;

	if (!read_line(at->node, sizeof at->node, root, folder, name,
	    "numa_node"))
		snprintf(at->node, sizeof at->node, "-1");
	if (!read_line(at->cpus, sizeof at->cpus, root, folder, name,
	    "local_cpulist"))
		snprintf(at->cpus, sizeof at->cpus, "-");
	snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
	way = realpath(path, real) ? strstr(real, "/devices/") : NULL;
	snprintf(at->way, sizeof at->way, "%.*s", (int)sizeof at->way - 1,
	    way ? way + 9 : "-");
	if (strchr(at->way, ' '))
		snprintf(at->way, sizeof at->way, "-");
}

/* In a container, the kernel tells of NVIDIA GPUs whose node is not there. */
static bool
is_withheld(const char *root, const char *pci)
{
	char		 path[PATH_MAX], line[200];
	FILE		*file;
	unsigned	 minor;
	bool		 withheld = false;

	snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus/%s/information",
	    root, pci);
	if (!(file = fopen(path, "re")))
		return false;
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "Device Minor: %u", &minor) == 1) {
			snprintf(path, sizeof path, "%s/dev/nvidia%u", root,
			    minor);
			withheld = access(path, F_OK) < 0;
		}
	fclose(file);
	return withheld;
}

/* VGA, 3D and other display controllers, and processing accelerators, of those
 * who make any to compute with. */
static int
add_gpus(const char *root, struct strv *facts)
{
	static const char	 folder[] = "/sys/bus/pci/devices";
	static const char *const classes[] = { "0x0300", "0x0302", "0x0380",
				    "0x1200" };
	static const char *const vendors[] = { "0x10de", "0x1002", "0x8086" };
	struct strv		 all = STRV_INIT;
	struct spot		 at;
	char			 class[16], vendor[16];
	int			 ret = names(&all, root, folder);

	if (all.count)
		qsort(all.item, all.count, sizeof *all.item, by_letter);
	for (size_t i = 0; !ret && i < all.count; i++) {
		const char	*pci = all.item[i];
		bool		 compute = false, known = false;

		read_line(class, sizeof class, root, folder, pci, "class");
		read_line(vendor, sizeof vendor, root, folder, pci, "vendor");
		for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
			compute = compute || !strncmp(class, classes[k], 6);
		for (size_t k = 0; k < sizeof vendors / sizeof *vendors; k++)
			known = known || !strcmp(vendor, vendors[k]);
		if (!compute || !known || is_withheld(root, pci))
			continue;
		locate(root, folder, pci, &at);
		ret = strv_addf(facts, "gpu=%s %s %s %s %s", pci, vendor + 2,
		    at.node, at.cpus, at.way);
	}
	strv_clear(&all);
	return ret;
}

/* Those behind which there is hardware. */
static int
add_cards(const char *root, const char *folder, const char *fact,
    struct strv *facts)
{
	struct strv	all = STRV_INIT;
	struct spot	at;
	char		name[NAME + 16], path[PATH_MAX];
	int		ret = names(&all, root, folder);

	for (size_t i = 0; !ret && i < all.count; i++) {
		snprintf(name, sizeof name, "%s/device", all.item[i]);
		snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
		if (access(path, F_OK) < 0 || strpbrk(all.item[i], " ="))
			continue;
		locate(root, folder, name, &at);
		ret = strv_addf(facts, "%s=%s %s %s %s", fact, all.item[i],
		    at.node, at.cpus, at.way);
	}
	strv_clear(&all);
	return ret;
}

int
topology_facts(const char *root, struct strv *facts)
{
	bool	allowed[CPUS] = { false };
	char	text[LIST];

	read_allowed(root, allowed);
	write_list(allowed, text, sizeof text);
	return strv_addf(facts, "cpus_allowed=%s", text) < 0 ||
	    add_nodes(root, facts) < 0 ||
	    add_cores(root, allowed, facts) < 0 ||
	    add_gpus(root, facts) < 0 ||
	    add_cards(root, "/sys/class/infiniband", "hca", facts) < 0 ||
	    add_cards(root, "/sys/class/net", "nic", facts) < 0 ? -1 : 0;
}
