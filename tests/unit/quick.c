/* SPDX-License-Identifier: Apache-2.0 */
/* What the launcher learns of a machine, from folders that look like one. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/quick.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "tests/tap.h"

static char	root[] = "/tmp/accel-quick-XXXXXX";
static int	machines;

/* An empty machine. */
static const char *
machine(void)
{
	static char	path[64];

	snprintf(path, sizeof(path), "%s/%d", root, machines++);
	if (mkdir(path, 0700))
		exit(99);
	return path;
}

/* Makes the file "name" below a machine, and the folders that it is in. */
static void
put(const char *on, const char *name, const char *text)
{
	char	 path[PATH_MAX];
	FILE	*f;

	snprintf(path, sizeof(path), "%s%s", on, name);
	for (char *s = path + strlen(on) + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		mkdir(path, 0700);
	}
	if (!(f = fopen(path, "w")) || fputs(text, f) < 0 || fclose(f))
		exit(99);
}

static void
driver_link(const char *on, const char *folder, const char *driver)
{
	char	path[PATH_MAX], target[64];

	snprintf(path, sizeof(path), "%s/there", folder);
	put(on, path, "");
	snprintf(path, sizeof(path), "%s%s/driver", on, folder);
	snprintf(target, sizeof(target), "../../../bus/pci/drivers/%s", driver);
	if (symlink(target, path))
		exit(99);
}

static enum env_device
device(const char *on)
{
	struct quick		q = QUICK_INIT;
	enum env_device		found;

	if (quick_probe(&q, on, NULL))
		return ENV_COUNT;
	found = q.facts.device;
	quick_clear(&q);
	return found;
}

static long
devices(const char *on)
{
	struct quick	q = QUICK_INIT;
	long		found;

	if (quick_probe(&q, on, NULL))
		return -1;
	found = q.facts.devices;
	quick_clear(&q);
	return found;
}

static void
test_devices(void)
{
	static const struct { const char *node; enum env_device device; }
	    nodes[] = {
		{ "/dev/nvidia0", ENV_CUDA }, { "/dev/davinci0", ENV_NPU },
		{ "/dev/hl0", ENV_HPU }, { "/dev/neuron0", ENV_NEURON },
		{ "/dev/cambricon_dev0", ENV_MLU },
		{ "/dev/mtgpu.0", ENV_MUSA }, { "/dev/accel0", ENV_TPU },
	};
	const char	*on = machine();

	ok(device(on) == ENV_NONE, "an empty machine has no device");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		on = machine();
		put(on, nodes[i].node, "");
		ok(device(on) == nodes[i].device, "%s says which", nodes[i].node);
	}
	put(on, "/dev/nvidia0", "");
	put(on, "/dev/nvidia1", "");
	ok(devices(on) == 2, "two nodes are two GPUs");
	ok(device(on) == ENV_CUDA, "of two, NVIDIA's is meant");
	on = machine();
	driver_link(on, "/sys/class/drm/renderD128/device", "xe");
	ok(device(on) == ENV_XPU, "Intel's own driver of GPUs");
	driver_link(on, "/sys/class/drm/renderD130/device", "xe");
	ok(devices(on) == 2, "two of them are two");
	on = machine();
	driver_link(on, "/sys/class/drm/renderD128/device", "i915");
	ok(device(on) == ENV_NONE, "and not that of each laptop");
}

static void
test_nvidia(void)
{
	struct quick	 q = QUICK_INIT;
	const char	*on = machine();

	put(on, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  "
	    "Tue Jun  6 22:20:39 UTC 2023\nGCC version:  gcc version 12.2.0\n");
	put(on, "/proc/driver/nvidia/gpus/0000:01:00.0/information",
	    "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ:   \t\t 64\n");
	put(on, "/proc/driver/nvidia/gpus/0000:02:00.0/information",
	    "IRQ:   \t\t 65\n");
	ok(!quick_probe(&q, on, NULL) && q.facts.gpus == 2, "two GPUs");
	is(q.facts.gpu[0], "NVIDIA GeForce RTX 4090", "the model of one");
	is(q.facts.gpu[1], "", "the other does not say");
	is(q.facts.driver, "535.54.03", "the driver's version");
	quick_clear(&q);
	ok(!q.facts.gpus && !q.facts.driver, "cleared, nothing is left");

	on = machine();
	put(on, "/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15"
	    "  Release Build  (dvs-builder)  Tue Mar  5 22:23:56 UTC 2024\n");
	ok(!quick_probe(&q, on, NULL) && !q.facts.gpus, "a driver, no GPU");
	is(q.facts.driver, "550.54.15", "the open driver's version");
	quick_clear(&q);
	on = machine();
	put(on, "/proc/driver/nvidia/version", "NVRM version:");
	ok(!quick_probe(&q, on, NULL) && !q.facts.driver, "a file cut short");
	quick_clear(&q);
}

static void
test_cores(void)
{
	struct quick	 q = QUICK_INIT;
	const char	*on = machine();

	put(on, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
	    "0-1\n");
	if (sysconf(_SC_NPROCESSORS_CONF) < 2) {
		skip("one CPU here");
		return;
	}
	put(on, "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
	    "0-1\n");
	ok(!quick_probe(&q, on, NULL) && q.facts.cores == 1,
	    "two threads are one core");
	quick_clear(&q);
	ok(!quick_probe(&q, "", NULL) && q.facts.cores >= 1 &&
	    q.facts.cores <= sysconf(_SC_NPROCESSORS_CONF), "this machine's");
	quick_clear(&q);
}

int
main(void)
{
	char	clean[64];

	if (!mkdtemp(root))
		return 99;
	test_devices();
	test_nvidia();
	test_cores();
	snprintf(clean, sizeof(clean), "rm -r %s; exit %d", root, tap_done());
	fflush(stdout);
	execl("/bin/sh", "sh", "-c", clean, (char *)NULL);
	return 99;
}
