/* SPDX-License-Identifier: Apache-2.0 */
/* fakecuda: a driver with two GPUs, or, with FAKE_CUDA=crash, one that dies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int room, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int which, int device);
int cuDriverGetVersion(int *version);

int
cuInit(unsigned flags)
{
	const char *how = getenv("FAKE_CUDA");

	puts("a driver that talks");
	if (how && !strcmp(how, "crash"))
		_exit(9);
	return flags ? 1 : 0;
}

int
cuDeviceGetCount(int *n)
{
	*n = 2;
	return 0;
}

int
cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

int
cuDeviceGetName(char *name, int room, int device)
{
	snprintf(name, (size_t)room, "NVIDIA Pretend %d", device);
	return 0;
}

int
cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = (size_t)80 << 30;
	return 0;
}

int
cuDeviceGetAttribute(int *value, int which, int device)
{
	*value = which == 33 ? 0xf0 + device : which == 75 ? 7 :
	    which == 76 ? 5 : 0;
	return 0;
}

int
cuDriverGetVersion(int *version)
{
	*version = 12040;
	return 0;
}
