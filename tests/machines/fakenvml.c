/* SPDX-License-Identifier: Apache-2.0 */
/* fakenvml: NVIDIA's management library for the two GPUs of fakecuda, at bus f0
 * and f1.  FAKE_NVML says how they are linked: "direct" by four NVLinks,
 * "switch" by 18 through switches, or "apart", where they cannot copy to each
 * other; or "crash". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pci { char legacy[16]; unsigned domain, bus, device, id, sub;
    char address[32]; };
struct field { unsigned id, scope; long long time, latency; int type, status;
    union { unsigned number; double real; } value; };

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *text, unsigned room);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *info);
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
    struct pci *info);
int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *kind);
int nvmlDeviceGetFieldValues(void *device, int n, struct field *field);
int nvmlDeviceGetP2PStatus(void *a, void *b, int what, int *status);

static int
is(const char *how)
{
	const char *said = getenv("FAKE_NVML");

	return said && !strcmp(said, how);
}

int
nvmlInit_v2(void)
{
	puts("a library that talks");
	if (is("crash"))
		abort();
	return 0;
}

int
nvmlSystemGetDriverVersion(char *text, unsigned room)
{
	snprintf(text, room, "550.54.15");
	return 0;
}

int
nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int
nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	static char handles[2];

	*device = &handles[i];
	return 0;
}

static unsigned
index_of(void *device)
{
	void *first;

	nvmlDeviceGetHandleByIndex_v2(0, &first);
	return (unsigned)((char *)device - (char *)first);
}

int
nvmlDeviceGetPciInfo_v3(void *device, struct pci *info)
{
	info->bus = 0xf0 + index_of(device);
	return 0;
}

int
nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active)
{
	(void)device;
	if (link >= 18)
		return 2;
	*active = is("switch") || (is("direct") && link < 4);
	return 0;
}

int
nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
    struct pci *info)
{
	(void)link;
	info->bus = 0xf1 - index_of(device);
	return 0;
}

int
nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *kind)
{
	(void)device, (void)link;
	*kind = is("switch") ? 2 : 0;
	return 0;
}

int
nvmlDeviceGetFieldValues(void *device, int n, struct field *field)
{
	(void)device;
	for (int i = 0; i < n; i++)
		if (field[i].id == 90)
			field[i].value.number = 25000;
	return 0;
}

int
nvmlDeviceGetP2PStatus(void *a, void *b, int what, int *status)
{
	(void)a, (void)b, (void)what;
	*status = is("apart");
	return 0;
}
