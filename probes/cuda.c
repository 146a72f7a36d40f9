/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda: what CUDA's driver says of its GPUs.  Asked in a child: a broken driver
 * may hang or crash there, and nothing of it stays in this process.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "probes/probe.h"
#include "runtime/base/banned.h"

enum { LIMIT_MS = 5000 };

/* CUdevice_attribute, as cuda.h has them; they never change. */
enum {
	ATTRIBUTE_BUS = 33, ATTRIBUTE_DEVICE = 34, ATTRIBUTE_DOMAIN = 50,
	ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76,
};

struct driver {
	int (*init)(unsigned flags);
	int (*count)(int *n);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int room, int device);
	int (*memory)(size_t *bytes, int device);
	int (*attribute)(int *value, int which, int device);
	int (*version)(int *version);
};

static int
driver_open(struct driver *d)
{
	static const char *const names[] = {
		"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
		"cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
		"cuDriverGetVersion",
	};
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *symbol[sizeof names / sizeof *names];

	if (!lib)
		return -1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!(symbol[i] = dlsym(lib, names[i])))
			return -1;
	/* Object to function pointer: what POSIX promises for dlsym(). */
	_Static_assert(sizeof *d == sizeof symbol, "one pointer a name");
	memcpy(d, symbol, sizeof *d);
	return 0;
}

static void
tell(int fd)
{
	struct driver d;
	int n = 0, version = 0;

	if (driver_open(&d) || d.init(0))
		return;
	if (!d.version(&version) && version >= 1000)
		dprintf(fd, "cuda=%d.%d\n", version / 1000, version % 1000 / 10);
	if (d.count(&n))
		return;
	for (int i = 0; i < n; i++) {
		int device, bus = 0, slot = 0, domain = 0, major = 0, minor = 0;
		char name[128] = "", pci[24];
		size_t memory = 0;

		if (d.get(&device, i))
			continue;
		d.name(name, sizeof name - 1, device);
		d.memory(&memory, device);
		d.attribute(&bus, ATTRIBUTE_BUS, device);
		d.attribute(&slot, ATTRIBUTE_DEVICE, device);
		d.attribute(&domain, ATTRIBUTE_DOMAIN, device);
		d.attribute(&major, ATTRIBUTE_MAJOR, device);
		d.attribute(&minor, ATTRIBUTE_MINOR, device);
		snprintf(pci, sizeof pci, "%04x:%02x:%02x.0",
		    (unsigned)domain & 0xffff, (unsigned)bus & 0xff,
		    (unsigned)slot & 0x1f);
		/* Containers and WSL hide PCI: this adds it where it is new. */
		dprintf(fd, "gpu=%s 10de ? - -\ngpu.%s.usable=true\n"
		    "gpu.%s.memory=%zu\ngpu.%s.capability=%d.%d\n", pci, pci,
		    pci, memory, pci, major, minor);
		if (*name)
			dprintf(fd, "gpu.%s.model=%s\n", pci, name);
	}
}

int
probe_cuda(struct machine *m, struct err *err)
{
	return probe_ask(m, tell, LIMIT_MS, err);
}
