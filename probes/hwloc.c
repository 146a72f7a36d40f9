/* SPDX-License-Identifier: Apache-2.0 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
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

/* One display controller.  Consoles are no GPUs to train on. */
static int
take_gpu(struct machine *m, hwloc_obj_t pci)
{
	const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;
	const char *vendor = NULL, *model, *capability;
	char number[16], bus[48];
	struct gpu *gpu;
	double value;

	if (at->class_id >> 8 != 0x03)
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
	if (!gpu->vendor || !gpu->pci || (model && !gpu->model))
		return -1;
	if (m->here)
		return 0;
	/* Of another machine the file tells all that there is to know. */
	gpu->usable = at->vendor_id == 0x10de;
	capability = hwloc_obj_get_info_by_name(pci, "CUDACapability");
	if (capability && !num_parse_real(capability, 1, 99, &value)) {
		int tenths = (int)(value * 10 + 0.5);

		gpu->major = tenths / 10;
		gpu->minor = tenths % 10;
	}
	return 0;
}

static unsigned
count(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);

	return n > 0 ? (unsigned)n : 0;
}

static int
take_topology(struct machine *m, hwloc_topology_t t)
{
	hwloc_obj_t root = hwloc_get_root_obj(t), pci = NULL;
	const char *name = hwloc_obj_get_info_by_name(root, "HostName");

	m->here = hwloc_topology_is_thissystem(t);
	m->cpus = count(t, HWLOC_OBJ_PU);
	m->cores = count(t, HWLOC_OBJ_CORE);
	m->numa = count(t, HWLOC_OBJ_NUMANODE);
	m->packages = count(t, HWLOC_OBJ_PACKAGE);
	m->memory = root->total_memory;
	if (!m->cores)		/* some virtual machines hide them */
		m->cores = m->cpus;
	if (!m->here && name && !(m->hostname = strdup(name)))
		return -1;
	while ((pci = hwloc_get_next_pcidev(t, pci)))
		if (take_gpu(m, pci))
			return -1;
	return 0;
}

int
probe_topology(struct machine *m)
{
	hwloc_topology_t t;
	int status = 0;

	m->here = true;
	if (hwloc_topology_init(&t))
		return 0;
	hwloc_topology_set_io_types_filter(t,
	    HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	/* These ask drivers, which may hang; probe_cuda() has a time limit. */
	hwloc_topology_set_components(t,
	    HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "opencl");
	hwloc_topology_set_components(t,
	    HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "cuda");
	hwloc_topology_set_components(t,
	    HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "nvml");
	hwloc_topology_set_components(t,
	    HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "gl");
	if (!hwloc_topology_load(t))
		status = take_topology(m, t);
	hwloc_topology_destroy(t);
	return status;
}

static int
probe_fallbacks(struct machine *m)
{
	char host[256] = "localhost";
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (!m->cpus)
		m->cpus = n > 0 ? (unsigned)n : 1;
	if (!m->cores)
		m->cores = m->cpus;
	if (!m->numa)
		m->numa = 1;
	if (!m->packages)
		m->packages = 1;
	if (!m->memory && m->here && pages > 0 && page > 0)
		m->memory = (uint64_t)pages * (uint64_t)page;
	if (m->hostname)
		return 0;
	if (m->here)
		gethostname(host, sizeof host - 1);
	m->hostname = strdup(m->here ? host : "described");
	return m->hostname ? 0 : -1;
}

int
machine_probe_quickly(struct machine *m, struct err *err)
{
	memset(m, 0, sizeof *m);
	if (probe_topology(m) || probe_fallbacks(m)) {
		machine_clear(m);
		return err_nomem(err);
	}
	if (m->here && (probe_cuda(m, err) || probe_net(m, err))) {
		machine_clear(m);
		return -1;
	}
	return 0;
}

int
machine_probe(struct machine *m, struct err *err)
{
	if (machine_probe_quickly(m, err))
		return -1;
	if (m->here && probe_python(m, err)) {
		machine_clear(m);
		return -1;
	}
	return 0;
}
