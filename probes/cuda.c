/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda: what CUDA's driver says of its GPUs.  Asked in a child: a broken driver
 * may hang or crash there, and nothing of it stays in this process.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
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
};

static int
driver_open(struct driver *d)
{
	static const char *const names[] = {
		"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
		"cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
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

/* One line a GPU: bus, capability, memory, name. */
static void
tell(int fd)
{
	struct driver d;
	int n = 0;

	if (driver_open(&d) || d.init(0) || d.count(&n))
		return;
	for (int i = 0; i < n; i++) {
		int device, bus = 0, slot = 0, domain = 0, major = 0, minor = 0;
		char name[128] = "";
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
		dprintf(fd, "%04x:%02x:%02x.0 %d %d %zu %s\n", (unsigned)domain,
		    (unsigned)bus, (unsigned)slot, major, minor, memory, name);
	}
}

/* The GPU at that place, or a new one: containers often hide PCI. */
static struct gpu *
gpu_at(struct machine *m, const char *pci)
{
	struct gpu *gpu;

	for (size_t i = 0; i < m->gpus; i++)
		if (m->gpu[i].pci && !strcmp(m->gpu[i].pci, pci))
			return &m->gpu[i];
	if (!(gpu = machine_add_gpu(m)))
		return NULL;
	gpu->vendor = strdup("NVIDIA");
	gpu->pci = strdup(pci);
	return gpu->vendor && gpu->pci ? gpu : NULL;
}

static int
take_line(struct machine *m, const char *line, size_t n)
{
	char text[256], pci[24];
	int major, minor, at = 0;
	unsigned long long memory;
	struct gpu *gpu;

	snprintf(text, sizeof text, "%.*s", (int)n, line);
	if (sscanf(text, "%23s %d %d %llu %n", pci, &major, &minor, &memory,
	    &at) < 4 || !at)
		return 0;
	if (!(gpu = gpu_at(m, pci)))
		return -1;
	gpu->usable = true;
	gpu->major = major;
	gpu->minor = minor;
	gpu->memory = memory;
	if (!text[at])
		return 0;
	free(gpu->model);
	gpu->model = strdup(text + at);
	return gpu->model ? 0 : -1;
}

int
probe_cuda(struct machine *m, struct err *err)
{
	struct buf out = BUF_INIT;
	int pipes[2], status = 0;
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC))
		return 0;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		close(pipes[0]);
		close(pipes[1]);
		return 0;
	}
	if (!child) {
		int null = open("/dev/null", O_RDWR);

		setpgid(0, 0);
		if (null >= 0) {	/* drivers talk */
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
		}
		tell(pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	probe_collect(child, pipes[0], LIMIT_MS, &out);
	for (const char *at = buf_text(&out), *end; !status &&
	    (end = strchr(at, '\n')); at = end + 1)
		status = take_line(m, at, (size_t)(end - at));
	buf_clear(&out);
	return status ? err_nomem(err) : 0;
}
