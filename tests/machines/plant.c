/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/machines/plant.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/strv.h"

struct planting {
	const char	*root;
	struct strv	*facts;
	unsigned	 cpus, nodes, per_node;
};

static int
folder_of(char *path)
{
	char	*slash = strrchr(path, '/');
	int	 status;

	*slash = '\0';
	status = file_mkdirs(path, 0755, NULL);
	*slash = '/';
	return status;
}

static int file(const struct planting *p, const char *text, const char *path,
    ...) __attribute__((format(printf, 3, 4)));
static int
file(const struct planting *p, const char *text, const char *path, ...)
{
	char	 full[PATH_MAX];
	int	 n = snprintf(full, sizeof full, "%s", p->root);
	va_list	 ap;
	FILE	*f;

	va_start(ap, path);
	vsnprintf(full + n, sizeof full - (size_t)n, path, ap);
	va_end(ap);
	if (!(f = fopen(full, "w")) && (folder_of(full) ||
	    !(f = fopen(full, "w"))))
		return -1;
	for (; *text; text++) {
		if (text[0] == '\\' && text[1] == 'n')
			fputc('\n', f), text++;
		else if (text[0] == '\\' && text[1] == 't')
			fputc('\t', f), text++;
		else
			fputc(*text, f);
	}
	fputc('\n', f);
	return fclose(f);
}

static int to(const struct planting *p, const char *target, const char *path,
    ...) __attribute__((format(printf, 3, 4)));
static int
to(const struct planting *p, const char *target, const char *path, ...)
{
	char	full[PATH_MAX];
	int	n = snprintf(full, sizeof full, "%s", p->root);
	va_list	ap;

	va_start(ap, path);
	vsnprintf(full + n, sizeof full - (size_t)n, path, ap);
	va_end(ap);
	return folder_of(full) ? -1 : symlink(target, full);
}

static int
add_cpus(struct planting *p, const char *args)
{
	unsigned	packages, cores, threads, nodes;
	char		text[200], list[200];
	int		status = 0;

	if (sscanf(args, "%u %u %u %u", &packages, &cores, &threads,
	    &nodes) != 4)
		return -1;
	p->nodes = packages * nodes;
	p->cpus = packages * cores;	/* first threads */
	p->per_node = p->cpus / p->nodes;
	for (unsigned i = 0; i < p->cpus * threads && !status; i++) {
		unsigned core = i % p->cpus;

		snprintf(text, sizeof text, threads > 1 ? "%u,%u" : "%u", core,
		    core + p->cpus);
		status = file(p, text, "/sys/devices/system/cpu/cpu%u/topology/"
		    "thread_siblings_list", i);
		snprintf(text, sizeof text, "%u", core / cores);
		status = status || file(p, text, "/sys/devices/system/cpu/cpu%u/"
		    "topology/physical_package_id", i);
	}
	snprintf(text, sizeof text, "0-%u", p->cpus * threads - 1);
	status = status || file(p, text, "/sys/devices/system/cpu/online");
	for (unsigned i = 0; i < p->nodes && !status; i++) {
		unsigned first = i * p->per_node;
		int n = snprintf(list, sizeof list, "%u-%u", first,
		    first + p->per_node - 1);

		if (threads > 1)
			snprintf(list + n, sizeof list - (size_t)n, ",%u-%u",
			    first + p->cpus, first + p->cpus + p->per_node - 1);
		status = file(p, list, "/sys/devices/system/node/node%u/cpulist",
		    i);
	}
	return status;
}

static int
add_memory(const struct planting *p, const char *args)
{
	unsigned long long	kib = strtoull(args, NULL, 10) << 20;
	char			text[300];
	int			status;

	snprintf(text, sizeof text, "MemTotal: %llu kB\\nMemFree: %llu kB\\n"
	    "MemAvailable: %llu kB\\nSwapTotal: 0 kB", kib, kib / 2, kib / 8 * 7);
	status = file(p, text, "/proc/meminfo");
	for (unsigned i = 0; i < p->nodes && !status; i++) {
		snprintf(text, sizeof text, "Node %u MemTotal: %llu kB", i,
		    kib / p->nodes);
		status = file(p, text, "/sys/devices/system/node/node%u/meminfo",
		    i);
	}
	return status;
}

static int
add_pci(const struct planting *p, const char *args)
{
	char	 way[256], class[16], vendor[16], device[16], numa[8], speed[16],
		 lanes[8], driver[32], text[400], name[16];
	int	 status;

	if (sscanf(args, "%255s %15s %15s %15s %7s %15s %7s %31s", way, class,
	    vendor, device, numa, speed, lanes, driver) != 8)
		return -1;
	snprintf(name, sizeof name, "%.15s", strrchr(way, '/') + 1);
	snprintf(text, sizeof text, "../../../devices/%s", way);
	status = to(p, text, "/sys/bus/pci/devices/%s", name) ||
	    file(p, class, "/sys/devices/%s/class", way) ||
	    file(p, vendor, "/sys/devices/%s/vendor", way) ||
	    file(p, device, "/sys/devices/%s/device", way) ||
	    file(p, numa, "/sys/devices/%s/numa_node", way) ||
	    file(p, lanes, "/sys/devices/%s/max_link_width", way);
	snprintf(text, sizeof text, "%s GT/s PCIe", speed);
	status = status || file(p, text, "/sys/devices/%s/max_link_speed", way);
	/* Its slot is as good. */
	status = status || file(p, text, "/sys/devices/%s/../max_link_speed",
	    way) || file(p, lanes, "/sys/devices/%s/../max_link_width", way);
	snprintf(text, sizeof text, "/nowhere/drivers/%s", driver);
	if (!status && strcmp(driver, "-"))
		status = to(p, text, "/sys/devices/%s/driver", way);
	return status;
}

static int
add_nic(const struct planting *p, const char *args)
{
	char	name[32], pci[16], speed[16], rdma[32], text[100];
	int	status;

	if (sscanf(args, "%31s %15s %15s %31s", name, pci, speed, rdma) != 4)
		return -1;
	snprintf(text, sizeof text, "../../../bus/pci/devices/%s", pci);
	status = file(p, speed, "/sys/class/net/%s/speed", name) ||
	    file(p, "up", "/sys/class/net/%s/operstate", name) ||
	    to(p, text, "/sys/class/net/%s/device", name);
	if (status || !strcmp(rdma, "-"))
		return status;
	return file(p, "", "/sys/bus/pci/devices/%s/infiniband/%s/node_type",
	    pci, rdma) || file(p, "", "/sys/bus/pci/devices/%s/net/%s/uevent",
	    pci, name) || to(p, text, "/sys/class/infiniband/%s/device", rdma);
}

static int
add_hca(const struct planting *p, const char *args)
{
	char	name[32], pci[16], rate[16], text[100];

	if (sscanf(args, "%31s %15s %15s", name, pci, rate) != 3)
		return -1;
	snprintf(text, sizeof text, "%s Gb/sec (4X NDR)", rate);
	if (file(p, text, "/sys/class/infiniband/%s/ports/1/rate", name) ||
	    file(p, "4: ACTIVE", "/sys/class/infiniband/%s/ports/1/state", name))
		return -1;
	snprintf(text, sizeof text, "../../../bus/pci/devices/%s", pci);
	return to(p, text, "/sys/class/infiniband/%s/device", name);
}

static int
add_nvidia(const struct planting *p, const char *args)
{
	char		pci[16], text[200];
	unsigned	minor;
	int		at = 0;

	if (sscanf(args, "%15s %u %n", pci, &minor, &at) != 2 || !at)
		return -1;
	snprintf(text, sizeof text, "Model: \t\t %s\\nDevice Minor: \t %u",
	    args + at, minor);
	return file(p, text, "/proc/driver/nvidia/gpus/%s/information", pci);
}

static int
add_kfd(const struct planting *p, const char *args)
{
	unsigned	node, domain, bus, device, function, gfx, gib;
	char		text[300];

	if (sscanf(args, "%u %x:%x:%x.%x %u %u", &node, &domain, &bus, &device,
	    &function, &gfx, &gib) != 7)
		return -1;
	snprintf(text, sizeof text, "simd_count 1216\\nlocation_id %u\\ndomain "
	    "%u\\ngfx_target_version %u", bus << 8 | device << 3 | function,
	    domain, gfx);
	if (file(p, "4711", "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id",
	    node) || file(p, text,
	    "/sys/class/kfd/kfd/topology/nodes/%u/properties", node))
		return -1;
	snprintf(text, sizeof text, "heap_type 1\\nsize_in_bytes %llu",
	    (unsigned long long)gib << 30);
	return file(p, text, "/sys/class/kfd/kfd/topology/nodes/%u/mem_banks/0/"
	    "properties", node);
}

static int
add_xgmi(const struct planting *p, const char *args)
{
	unsigned	a, b, mbs;
	char		text[200];
	int		status = 0;

	if (sscanf(args, "%u %u %u", &a, &b, &mbs) != 3)
		return -1;
	for (int k = 0; k < 2 && !status; k++) {
		unsigned from = k ? b : a, end = k ? a : b;

		snprintf(text, sizeof text, "type 11\\nnode_from %u\\nnode_to "
		    "%u\\nmax_bandwidth %u", from, end, mbs);
		status = file(p, text, "/sys/class/kfd/kfd/topology/nodes/%u/"
		    "io_links/%u/properties", from, end);
	}
	return status;
}

static int
line(struct planting *p, char *text)
{
	static const struct {
		const char	*word;
		int		(*add)(const struct planting *p,
				    const char *args);
	} words[] = {
		{ "@memory ", add_memory }, { "@pci ", add_pci },
		{ "@nic ", add_nic }, { "@hca ", add_hca },
		{ "@nvidia ", add_nvidia }, { "@kfd ", add_kfd },
		{ "@xgmi ", add_xgmi },
	};
	char *equals = strstr(text, " = "), *arrow = strstr(text, " -> ");

	if (*text == '#' || !*text)
		return 0;
	if (*text == '+')
		return strv_add(p->facts, text + 2);
	if (!strncmp(text, "@cpus ", 6))
		return add_cpus(p, text + 6);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strncmp(text, words[i].word, strlen(words[i].word)))
			return words[i].add(p, text + strlen(words[i].word));
	if (*text != '/' || (!equals && !arrow))
		return -1;
	if (arrow) {
		*arrow = '\0';
		return to(p, arrow + 4, "%s", text);
	}
	*equals = '\0';
	return file(p, equals + 3, "%s", text);
}

int
plant(const char *description, const char *root, struct strv *facts)
{
	struct planting	 p = { root, facts, 0, 1, 0 };
	FILE		*f = fopen(description, "r");
	char		 text[4096];
	int		 number = 0, status = f ? 0 : -1;

	while (f && !status && fgets(text, sizeof text, f)) {
		text[strcspn(text, "\n")] = '\0';
		number++;
		status = line(&p, text);
	}
	if (f)
		fclose(f);
	if (status)
		fprintf(stderr, "%s:%d: cannot be planted\n", description,
		    number);
	return status ? -1 : 0;
}
