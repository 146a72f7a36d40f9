/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml: what NVIDIA's management library knows beyond CUDA: the driver's
 * version, NVLinks, and which GPUs cannot copy to each other.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "probes/probe.h"
#include "runtime/base/banned.h"

enum { LIMIT_MS = 5000, GPUS = 64, LINKS = 18 };

/* As nvml.h has them. */
enum { REMOTE_SWITCH = 2, FIELD_NVLINK_SPEED = 90, P2P_READ = 0 };

struct pci_info {		/* nvmlPciInfo_t */
	char		legacy[16];
	unsigned	domain, bus, device, id, subsystem;
	char		address[32];
};

struct field {			/* nvmlFieldValue_t */
	unsigned	id, scope;
	long long	time, latency;
	int		type, status;
	union { unsigned number; double real; unsigned long long large; } value;
};

struct library {
	int (*init)(void);
	int (*driver)(char *text, unsigned room);
	int (*count)(unsigned *n);
	int (*get)(unsigned i, void **device);
	int (*pci)(void *device, struct pci_info *info);
	int (*state)(void *device, unsigned link, unsigned *active);
	int (*remote)(void *device, unsigned link, struct pci_info *info);
	int (*kind)(void *device, unsigned link, int *kind);
	int (*fields)(void *device, int n, struct field *field);
	int (*peer)(void *a, void *b, int what, int *status);
};

static int
library_open(struct library *l)
{
	static const char *const names[] = {
		"nvmlInit_v2", "nvmlSystemGetDriverVersion",
		"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
		"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetNvLinkState",
		"nvmlDeviceGetNvLinkRemotePciInfo_v2",
		"nvmlDeviceGetNvLinkRemoteDeviceType",
		"nvmlDeviceGetFieldValues", "nvmlDeviceGetP2PStatus",
	};
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	void *symbol[sizeof names / sizeof *names];

	/* All are in every driver since 450, of 2020. */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!lib || !(symbol[i] = dlsym(lib, names[i])))
			return -1;
	_Static_assert(sizeof *l == sizeof symbol, "one pointer a name");
	memcpy(l, symbol, sizeof *l);
	return 0;
}

struct device {
	void		*handle;
	char		 pci[24];
	unsigned	 at[3];		/* domain, bus, device */
	unsigned	 to[GPUS];	/* NVLinks to each */
	unsigned	 switched;	/* and to switches */
	unsigned	 mbs;		/* of one */
};

static void
read_links(const struct library *l, struct device *d, unsigned i, unsigned n)
{
	struct field speed = { .id = FIELD_NVLINK_SPEED };

	for (unsigned k = 0; k < LINKS; k++) {
		struct pci_info	to;
		unsigned	active = 0;
		int		kind = -1;

		if (l->state(d[i].handle, k, &active) || !active)
			continue;
		if (!l->kind(d[i].handle, k, &kind) && kind == REMOTE_SWITCH) {
			d[i].switched++;
			continue;
		}
		memset(&to, 0, sizeof to);
		if (l->remote(d[i].handle, k, &to))
			continue;
		for (unsigned j = 0; j < n; j++)
			if (j != i && d[j].at[0] == to.domain &&
			    d[j].at[1] == to.bus && d[j].at[2] == to.device)
				d[i].to[j]++;
	}
	if (!l->fields(d[i].handle, 1, &speed) && !speed.status)
		d[i].mbs = speed.value.number;
}

static void
tell_pair(const struct library *l, const struct device *d, unsigned i,
    unsigned j, int fd)
{
	unsigned	direct = d[i].to[j];
	unsigned	through = d[i].switched < d[j].switched ?
			    d[i].switched : d[j].switched;
	unsigned	links = direct + through;
	int		status = 0;

	if (links)
		dprintf(fd, "link.%s+%s.kind=nvlink\nlink.%s+%s.count=%u\n",
		    d[i].pci, d[j].pci, d[i].pci, d[j].pci, links);
	if (links && d[i].mbs)
		dprintf(fd, "link.%s+%s.gbs=%.6g\n", d[i].pci, d[j].pci,
		    (double)links * d[i].mbs / 1e3);
	if (!l->peer(d[i].handle, d[j].handle, P2P_READ, &status) && status)
		dprintf(fd, "link.%s+%s.no_peer=true\n", d[i].pci, d[j].pci);
}

static void
tell(int fd)
{
	static struct device	d[GPUS];
	struct library		l;
	char			text[96] = "";
	unsigned		n = 0;

	if (library_open(&l) || l.init())
		return;
	if (!l.driver(text, sizeof text - 1))
		dprintf(fd, "driver=%s\n", text);
	if (l.count(&n))
		return;
	n = n < GPUS ? n : GPUS;
	for (unsigned i = 0; i < n; i++) {
		struct pci_info info;

		memset(&info, 0, sizeof info);
		if (l.get(i, &d[i].handle) || l.pci(d[i].handle, &info))
			return;
		d[i].at[0] = info.domain;
		d[i].at[1] = info.bus;
		d[i].at[2] = info.device;
		snprintf(d[i].pci, sizeof d[i].pci, "%04x:%02x:%02x.0",
		    info.domain & 0xffff, info.bus & 0xff, info.device & 0x1f);
	}
	for (unsigned i = 0; i < n; i++)
		read_links(&l, d, i, n);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i + 1; j < n; j++)
			tell_pair(&l, d, i, j, fd);
}

int
probe_nvml(struct machine *m, struct err *err)
{
	size_t nvidia = 0;

	for (size_t i = 0; i < m->gpus; i++)
		nvidia += !strcmp(m->gpu[i].vendor, "NVIDIA");
	return nvidia ? probe_ask(m, tell, LIMIT_MS, err) : 0;
}
