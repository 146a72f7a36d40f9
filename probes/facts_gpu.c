/* SPDX-License-Identifier: Apache-2.0 */
/* facts of GPUs: what the kernel's drivers tell in /sys and /proc. */
#include "probes/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/sysfile.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

static const char devices[] = "/sys/bus/pci/devices";
static const char kfd[] = "/sys/class/kfd/kfd/topology/nodes";

enum { ADDRESS = 16 };

/* A line of the list of names that distributions have (pciutils): a vendor at
 * the margin, its devices behind a tab. */
static bool
name_of(char *name, size_t room, const char *root, unsigned vendor,
    unsigned device)
{
	static const char *const paths[] = {
		"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids",
	};
	char	 line[512], path[600];
	FILE	*f = NULL;
	bool	 ours = false, found = false;

	for (size_t i = 0; !f && i < sizeof paths / sizeof *paths; i++) {
		snprintf(path, sizeof path, "%s%s", root, paths[i]);
		f = fopen(path, "re");
	}
	while (f && !found && fgets(line, sizeof line, f)) {
		bool	 below = *line == '\t';
		char	*end;
		unsigned long n;

		if (*line == '#' || *line == '\n' || !strncmp(line, "\t\t", 2))
			continue;
		if (below && !ours)
			continue;
		n = strtoul(line + below, &end, 16);
		if (end != line + below + 4)
			continue;
		if (!below && ours)
			break;
		ours = ours || n == vendor;
		found = below && n == device;
		if (found)
			snprintf(name, room, "%.*s", (int)strcspn(
			    end + strspn(end, " "), "\n"),
			    end + strspn(end, " "));
	}
	if (f)
		fclose(f);
	return found;
}

/* GB/s each way of a link of that speed and width; coding as PCI Express Base
 * Specification has it: 8b/10b, then 128b/130b. */
static double
link_gbs(const char *root, const char *pci, const char *up)
{
	char	text[64];
	double	gts = 0;
	unsigned long long lanes = sysfile_number(0, root,
	    "%s/%s%s/max_link_width", devices, pci, up);

	if (sysfile_line(text, sizeof text, root, "%s/%s%s/max_link_speed",
	    devices, pci, up))
		gts = strtod(text, NULL);
	if (lanes > 32 || !(gts > 0 && gts < 1000))
		return 0;
	return gts * (double)lanes / 8 * (gts < 6 ? 0.8 : 128.0 / 130);
}

static int
add_pcie(const char *root, const char *pci, struct strv *facts)
{
	double	own = link_gbs(root, pci, ""), slot = link_gbs(root, pci, "/..");
	double	least = slot > 0 && slot < own ? slot : own;

	return least > 0 ? strv_addf(facts, "gpu.%s.pcie=%.4g", pci, least) : 0;
}

static int
add_model(const char *root, const char *pci, unsigned vendor,
    struct strv *facts)
{
	char		text[1024], name[512];
	unsigned	device = (unsigned)sysfile_number(0, root, "%s/%s/device",
			    devices, pci);

	if (sysfile_text(text, sizeof text, root,
	    "/proc/driver/nvidia/gpus/%s/information", pci) &&
	    sysfile_value(name, sizeof name, text, "Model"))
		return strv_addf(facts, "gpu.%s.model=%s", pci, name);
	if (sysfile_line(name, sizeof name, root, "%s/%s/product_name", devices,
	    pci) || name_of(name, sizeof name, root, vendor, device))
		return strv_addf(facts, "gpu.%s.model=%s", pci, name);
	return 0;
}

/* --- AMD: kfd's nodes, which are CPUs and GPUs --- */

/* A number of a file of "name number" lines. */
static unsigned long long
property(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (!strncmp(text, name, n) && text[n] == ' ')
			return strtoull(text + n, NULL, 10);
	return 0;
}

/* The PCI address of a node, which its location is: bus, device, function. */
static bool
address_of(char pci[ADDRESS], const char *root, const char *node)
{
	char			text[4096];
	unsigned long long	at;

	if (!sysfile_number(0, root, "%s/%s/gpu_id", kfd, node) ||
	    !sysfile_text(text, sizeof text, root, "%s/%s/properties", kfd,
	    node))
		return false;
	at = property(text, "location_id");
	snprintf(pci, ADDRESS, "%04x:%02x:%02x.%x",
	    (unsigned)(property(text, "domain") & 0xffff),
	    (unsigned)(at >> 8 & 0xff), (unsigned)(at >> 3 & 0x1f),
	    (unsigned)(at & 7));
	return true;
}

static int
add_xgmi(const char *root, const char *node, const char *pci,
    struct strv *facts)
{
	enum { XGMI = 11 };	/* CRAT_IOLINK_TYPE_XGMI of Linux's kfd_crat.h */
	struct strv	all = STRV_INIT;
	int		ret = sysfile_names(&all, root, "%s/%s/io_links", kfd,
			    node);

	for (size_t i = 0; !ret && i < all.count; i++) {
		char	text[4096], to[24], other[ADDRESS];

		if (!sysfile_text(text, sizeof text, root,
		    "%s/%s/io_links/%s/properties", kfd, node, all.item[i]) ||
		    property(text, "type") != XGMI)
			continue;
		snprintf(to, sizeof to, "%llu", property(text, "node_to"));
		if (!address_of(other, root, to))
			continue;
		ret = strv_addf(facts, "link.%s+%s.kind=xgmi", pci, other);
		if (!ret && property(text, "max_bandwidth"))	/* MB/s */
			ret = strv_addf(facts, "link.%s+%s.gbs=%.6g", pci, other,
			    (double)property(text, "max_bandwidth") / 1e3);
	}
	strv_clear(&all);
	return ret;
}

static unsigned long long
memory_of(const char *root, const char *node)
{
	struct strv		all = STRV_INIT;
	unsigned long long	bytes = 0;

	sysfile_names(&all, root, "%s/%s/mem_banks", kfd, node);
	for (size_t i = 0; i < all.count; i++) {
		char text[4096];

		sysfile_text(text, sizeof text, root,
		    "%s/%s/mem_banks/%s/properties", kfd, node, all.item[i]);
		/* Its own memory, seen by the host or not. */
		if (property(text, "heap_type") == 1 ||
		    property(text, "heap_type") == 2)
			bytes += property(text, "size_in_bytes");
	}
	strv_clear(&all);
	return bytes;
}

static int
add_amd(const char *root, const char *pci, struct strv *facts)
{
	struct strv		all = STRV_INIT;
	unsigned long long	bytes = sysfile_number(0, root,
				    "%s/%s/mem_info_vram_total", devices, pci);
	int			ret = sysfile_names(&all, root, kfd);

	for (size_t i = 0; !ret && i < all.count; i++) {
		char			at[ADDRESS], text[4096];
		unsigned long long	gfx;

		if (!address_of(at, root, all.item[i]) || strcmp(at, pci))
			continue;
		sysfile_text(text, sizeof text, root, "%s/%s/properties", kfd,
		    all.item[i]);
		gfx = property(text, "gfx_target_version");
		if (gfx)	/* 90402 is gfx942, and 90010 is gfx90a */
			ret = strv_addf(facts, "gpu.%s.arch=gfx%llu%llx%llx",
			    pci, gfx / 10000, gfx / 100 % 100, gfx % 100);
		if (!bytes)
			bytes = memory_of(root, all.item[i]);
		if (!ret && sysfile_exists(root, "/dev/kfd"))
			ret = strv_addf(facts, "gpu.%s.usable=true", pci);
		if (!ret)
			ret = add_xgmi(root, all.item[i], pci, facts);
	}
	strv_clear(&all);
	if (!ret && bytes)
		ret = strv_addf(facts, "gpu.%s.memory=%llu", pci, bytes);
	return ret;
}

/* --- Intel --- */

/* Its driver says it in newer kernels; else the largest window into it, which
 * covers all of it where a BAR may be resized. */
static unsigned long long
intel_memory(const char *root, const char *pci)
{
	unsigned long long	largest = 0;
	char			text[2048];

	for (int tile = 0; tile < 4; tile++)
		largest += sysfile_number(0, root,
		    "%s/%s/tile%d/physical_vram_size_bytes", devices, pci, tile);
	if (largest)
		return largest;
	sysfile_text(text, sizeof text, root, "%s/%s/resource", devices, pci);
	for (const char *at = text; *at; at += strcspn(at, "\n"),
	    at += *at == '\n') {
		char			*end;
		unsigned long long	 first = strtoull(at, &end, 16);
		unsigned long long	 last = strtoull(end, NULL, 16);

		if (last > first && last - first + 1 > largest)
			largest = last - first + 1;
	}
	return largest >= 1ULL << 30 ? largest : 0;
}

static int
add_intel(const char *root, const char *pci, const char *driver,
    struct strv *facts)
{
	unsigned long long bytes = intel_memory(root, pci);

	if (!bytes)		/* it draws, out of the host's memory */
		return 0;
	return strv_addf(facts, "gpu.%s.memory=%llu", pci, bytes) < 0 ||
	    ((!strcmp(driver, "xe") || !strcmp(driver, "i915")) &&
	    strv_addf(facts, "gpu.%s.usable=true", pci) < 0) ? -1 : 0;
}

static int
add_gpu(const char *root, const char *pci, unsigned vendor, struct strv *facts)
{
	char	driver[64];
	int	ret = add_model(root, pci, vendor, facts);

	if (sysfile_link(driver, sizeof driver, root, "%s/%s/driver", devices,
	    pci) && !ret)
		ret = strv_addf(facts, "gpu.%s.driver=%s", pci, driver);
	if (!ret)
		ret = add_pcie(root, pci, facts);
	if (!ret && vendor == 0x1002)
		ret = add_amd(root, pci, facts);
	if (!ret && vendor == 0x8086)
		ret = add_intel(root, pci, driver, facts);
	if (!ret && vendor == 0x10de && sysfile_exists(root,
	    "/proc/driver/nvidia/gpus/%s/information", pci))
		ret = strv_addf(facts, "gpu.%s.usable=true", pci);
	return ret;
}

int
facts_gpus(const char *root, struct strv *facts)
{
	size_t	n = facts->count;
	int	ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		char		pci[ADDRESS];
		unsigned	vendor;

		if (sscanf(facts->item[i], "gpu=%15s %4x", pci, &vendor) == 2)
			ret = add_gpu(root, pci, vendor, facts);
	}
	return ret;
}
