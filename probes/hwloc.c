/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hwloc: cores, NUMA nodes and memory of this machine; and all that a file
 * says of another, HWLOC_XMLFILE.  Devices of this machine come from /sys, with
 * more about them: facts.h.
 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

static const struct {
	unsigned	 id;
	const char	*name;
	bool		 compute;	/* else a server's console */
} vendors[] = {
	{ 0x10de, "NVIDIA",	true },
	{ 0x1002, "AMD",	true },
	{ 0x8086, "Intel",	true },
	{ 0x1a03, "ASPEED",	false },
	{ 0x102b, "Matrox",	false },
	{ 0x1234, "QEMU",	false },
	{ 0x1af4, "virtio",	false },
	{ 0x1013, "Cirrus",	false },
	{ 0x15ad, "VMware",	false },
};

/* "pci0000:17/0000:17:01.0/0000:18:00.0", as /sys has it. */
static int
set_way(char **way, hwloc_obj_t pci)
{
	struct buf	out = BUF_INIT;
	hwloc_obj_t	above[32], at;
	size_t		n = 0;

	for (at = pci; at && n < 32 && (at->type == HWLOC_OBJ_PCI_DEVICE ||
	    at->type == HWLOC_OBJ_BRIDGE); at = at->parent)
		above[n++] = at;
	while (n--) {
		const union hwloc_obj_attr_u *a = above[n]->attr;
		const struct hwloc_pcidev_attr_s *p = &a->pcidev;

		if (above[n]->type == HWLOC_OBJ_BRIDGE &&
		    a->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
			buf_addf(&out, "pci%04x:%02x",
			    (unsigned)a->bridge.downstream.pci.domain,
			    a->bridge.downstream.pci.secondary_bus);
			continue;
		}
		if (above[n]->type == HWLOC_OBJ_BRIDGE)
			p = &a->bridge.upstream.pci;
		buf_addf(&out, "%s%04x:%02x:%02x.%x", out.len ? "/" : "",
		    (unsigned)p->domain, p->bus, p->dev, p->func);
	}
	*way = buf_detach(&out);
	return *way ? 0 : -1;
}

/* The NUMA node that it is near to, where that is one. */
static int
numa_of(hwloc_topology_t t, hwloc_obj_t device)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(t, device);

	if (!near || !near->nodeset || hwloc_bitmap_weight(near->nodeset) != 1)
		return -1;
	return hwloc_bitmap_first(near->nodeset);
}

/* A file tells what CUDA's driver or ROCm's library said when it was made. */
static int
take_software(struct gpu *g, hwloc_obj_t pci)
{
	hwloc_obj_t	 os = NULL;
	const char	*text = hwloc_obj_get_info_by_name(pci, "CUDACapability");
	double		 value;

	for (os = pci->io_first_child; os; os = os->next_sibling) {
		static const char *const sizes[] = { "CUDAGlobalMemorySize",
			"OpenCLGlobalMemorySize", "LevelZeroHBMSize",
			"LevelZeroDDRSize" };
		const char	*major, *minor, *model;
		long		 n, kib;

		if (os->type != HWLOC_OBJ_OS_DEVICE)
			continue;
		for (size_t i = 0; i < 4 && !g->memory; i++)
			if ((model = hwloc_obj_get_info_by_name(os, sizes[i])) &&
			    !num_parse(model, 1, 1L << 40, &kib))
				g->memory = (uint64_t)kib << 10;
		if (os->subtype && !strcmp(os->subtype, "RSMI"))
			g->usable = true;
		if (!(major = hwloc_obj_get_info_by_name(os,
		    "CUDAComputeCapabilityMajor")) &&
		    (model = hwloc_obj_get_info_by_name(os, "GPUModel")) &&
		    !g->model && !(g->model = strdup(model)))
			return -1;
		minor = hwloc_obj_get_info_by_name(os,
		    "CUDAComputeCapabilityMinor");
		if (major && !num_parse(major, 1, 99, &n))
			g->major = (int)n;
		if (major && minor && !num_parse(minor, 0, 9, &n))
			g->minor = (int)n;
	}
	if (text && !num_parse_real(text, 1, 99, &value)) {
		g->major = (int)(value * 10 + 0.5) / 10;
		g->minor = (int)(value * 10 + 0.5) % 10;
	}
	return 0;
}

/* One display controller.  Consoles are no GPUs to train on. */
static int
take_gpu(struct machine *m, hwloc_topology_t t, hwloc_obj_t pci)
{
	const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;
	const char *vendor = NULL, *model;
	char number[16], bus[48];
	struct gpu *gpu;

	if (at->class_id >> 8 != 0x03 && at->class_id != 0x1200)
		return 0;
	for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
		if (vendors[i].id != at->vendor_id)
			continue;
		if (!vendors[i].compute)
			return 0;
		vendor = vendors[i].name;
	}
	if (!vendor) {
		snprintf(number, sizeof number, "%04x", at->vendor_id);
		vendor = number;
	}
	snprintf(bus, sizeof bus, "%04x:%02x:%02x.%x", (unsigned)at->domain,
	    at->bus, at->dev, at->func);
	if (!(gpu = machine_add_gpu(m)))
		return -1;
	model = hwloc_obj_get_info_by_name(pci, "PCIDevice");
	gpu->vendor = strdup(vendor);
	gpu->pci = strdup(bus);
	gpu->model = model ? strdup(model) : NULL;
	gpu->numa = numa_of(t, pci);
	gpu->usable = at->vendor_id == 0x10de;
	if (!gpu->vendor || !gpu->pci || (model && !gpu->model) ||
	    set_way(&gpu->way, pci))
		return -1;
	return take_software(gpu, pci);
}

/* Cards and RDMA devices are OS devices below a PCI device; two below one are
 * one card. */
static int
take_card(struct machine *m, hwloc_topology_t t, hwloc_obj_t os)
{
	bool		 rdma = os->attr->osdev.type ==
			    HWLOC_OBJ_OSDEV_OPENFABRICS;
	hwloc_obj_t	 pci = os->parent;
	struct iface	*i = NULL;
	char		 bus[48];

	if ((!rdma && os->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK) ||
	    !os->name || !pci || pci->type != HWLOC_OBJ_PCI_DEVICE)
		return 0;
	snprintf(bus, sizeof bus, "%04x:%02x:%02x.%x",
	    (unsigned)pci->attr->pcidev.domain, pci->attr->pcidev.bus,
	    pci->attr->pcidev.dev, pci->attr->pcidev.func);
	for (size_t k = 0; rdma && k < m->ifaces && !i; k++)
		if (m->iface[k].pci && !strcmp(m->iface[k].pci, bus) &&
		    !m->iface[k].rdma)
			i = &m->iface[k];
	if (i)
		return (i->rdma = strdup(os->name)) ? 0 : -1;
	if (!(i = machine_add_iface(m)) || !(i->name = strdup(os->name)))
		return -1;
	i->numa = numa_of(t, os);
	i->up = true;		/* nobody said that it is not */
	if (rdma && !(i->rdma = strdup(os->name)))
		return -1;
	return (i->pci = strdup(bus)) && !set_way(&i->way, pci) ? 0 : -1;
}

static int
gpu_of(const struct machine *m, hwloc_obj_t os)
{
	char		 bus[48];
	hwloc_obj_t	 pci = os;

	while (pci && pci->type != HWLOC_OBJ_PCI_DEVICE)
		pci = pci->parent;
	if (!pci)
		return -1;
	snprintf(bus, sizeof bus, "%04x:%02x:%02x.%x",
	    (unsigned)pci->attr->pcidev.domain, pci->attr->pcidev.bus,
	    pci->attr->pcidev.dev, pci->attr->pcidev.func);
	for (size_t i = 0; i < m->gpus; i++)
		if (m->gpu[i].pci && !strcmp(m->gpu[i].pci, bus))
			return (int)i;
	return -1;
}

/* A matrix of MB/s each way between GPUs, and switches and CPUs: through
 * hwloc(3)'s "Distances". */
static int
take_fabric(struct machine *m, hwloc_topology_t t, const char *name,
    enum link_kind kind)
{
	struct hwloc_distances_s *d;
	unsigned	n = 1;
	int		status = 0;

	if (hwloc_distances_get_by_name(t, name, &n, &d, 0) || !n)
		return 0;
	for (unsigned i = 0; i < d->nbobjs && !status; i++)
		for (unsigned k = i + 1; k < d->nbobjs && !status; k++) {
			int a = gpu_of(m, d->objs[i]);
			int b = gpu_of(m, d->objs[k]);
			double mbs = (double)d->values[i * d->nbobjs + k];
			struct link *l;

			if (a < 0 || b < 0 || a == b || mbs <= 0)
				continue;
			if (!(l = machine_add_link(m))) {
				status = -1;
				break;
			}
			l->a = (unsigned)(a < b ? a : b);
			l->b = (unsigned)(a < b ? b : a);
			l->kind = kind;
			l->gbs = mbs / 1e3;
		}
	hwloc_distances_release(t, d);
	return status;
}

static unsigned
count(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);

	return n > 0 ? (unsigned)n : 0;
}

static int
take_nodes(struct machine *m, hwloc_topology_t t)
{
	hwloc_obj_t o = NULL;

	while ((o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, o))) {
		struct numa	*n = machine_add_numa(m);
		char		*cpus = NULL;

		if (!n || hwloc_bitmap_list_asprintf(&cpus, o->cpuset) < 0)
			return -1;
		n->id = o->os_index;
		n->cpus = cpus;
		n->memory = o->attr->numanode.local_memory;
	}
	return 0;
}

static int
copy_info(char **to, hwloc_obj_t from, const char *name)
{
	const char *text = from ? hwloc_obj_get_info_by_name(from, name) : NULL;

	return text && *text && !*to && !(*to = strdup(text)) ? -1 : 0;
}

static int
take_described(struct machine *m, hwloc_topology_t t)
{
	hwloc_obj_t root = hwloc_get_root_obj(t), o = NULL;

	if (copy_info(&m->hostname, root, "HostName") ||
	    copy_info(&m->arch, root, "Architecture") ||
	    copy_info(&m->kernel, root, "OSRelease") ||
	    copy_info(&m->cpu, root, "CPUModel") ||
	    copy_info(&m->cpu, hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0),
	    "CPUModel"))
		return -1;
	while ((o = hwloc_get_next_pcidev(t, o)))
		if (take_gpu(m, t, o))
			return -1;
	/* Interfaces first: an RDMA device joins its own. */
	for (int rdma = 0; rdma < 2; rdma++)
		for (o = NULL; (o = hwloc_get_next_osdev(t, o));)
			if ((o->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
			    == rdma && take_card(m, t, o))
				return -1;
	return take_fabric(m, t, "NVLinkBandwidth", LINK_NVLINK) ||
	    take_fabric(m, t, "XGMIBandwidth", LINK_XGMI) ? -1 : 0;
}

static int
take_topology(struct machine *m, hwloc_topology_t t)
{
	m->here = hwloc_topology_is_thissystem(t);
	m->cpus = count(t, HWLOC_OBJ_PU);
	m->cores = count(t, HWLOC_OBJ_CORE);
	m->numa = count(t, HWLOC_OBJ_NUMANODE);
	m->packages = count(t, HWLOC_OBJ_PACKAGE);
	m->memory = hwloc_get_root_obj(t)->total_memory;
	if (!m->cores)		/* some virtual machines hide them */
		m->cores = m->cpus;
	if (take_nodes(m, t))
		return -1;
	return m->here ? 0 : take_described(m, t);
}

/* hwloc asks drivers for these, which may hang; what we ask ourselves has a
 * time limit. */
static const char *const left_out[] = {
	"opencl", "cuda", "nvml", "gl", "rsmi", "levelzero", "pci",
};

int
probe_topology(struct machine *m)
{
	const char *file = getenv("HWLOC_XMLFILE");
	hwloc_topology_t t;
	int status = 0;

	m->here = true;
	if (hwloc_topology_init(&t))
		return 0;
	if ((file && *file) || getenv("HWLOC_FSROOT"))
		hwloc_topology_set_io_types_filter(t,
		    HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
		hwloc_topology_set_components(t,
		    HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, left_out[i]);
	if (!hwloc_topology_load(t))
		status = take_topology(m, t);
	hwloc_topology_destroy(t);
	return status;
}
