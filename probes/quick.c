/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/quick.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/devices.h"
#include "runtime/base/err.h"
#include "runtime/base/banned.h"

/* GPUs with Intel's driver for those; i915 is in every laptop as well. */
static long
xe_count(const char *root)
{
	char	 path[PATH_MAX], target[PATH_MAX];
	long	 count = 0;

	snprintf(path, sizeof(path), "%s/sys/class/drm", root);
	if (access(path, F_OK) < 0)
		return 0;
	for (int node = 128; node < 192; node++) {
		char	*last;
		ssize_t	 n;

		snprintf(path, sizeof(path),
		    "%s/sys/class/drm/renderD%d/device/driver", root, node);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		last = strrchr(target, '/');
		count += !strcmp(last ? last + 1 : target, "xe");
	}
	return count;
}

static bool
has_tpu(const char *root)
{
	char	path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/accel0", root);
	return access(path, F_OK) == 0;
}

/* Where there are several kinds, the one that PyTorch would more probably
 * use. */
static void
device_of(const char *root, struct env_facts *facts)
{
	static const struct { enum device_kind probe; enum env_device env; }
	    kinds[] = {
		{ DEVICE_NVIDIA, ENV_CUDA }, { DEVICE_AMD, ENV_CUDA },
		{ DEVICE_MLU, ENV_MLU }, { DEVICE_MUSA, ENV_MUSA },
		{ DEVICE_NPU, ENV_NPU }, { DEVICE_HPU, ENV_HPU },
		{ DEVICE_NEURON, ENV_NEURON },
	};

	size_t	found[DEVICE_KINDS];

	devices_count(found, root);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		facts->device = kinds[i].env;
		facts->devices = (long)found[kinds[i].probe];
		if (facts->devices)
			return;
	}
	facts->device = has_tpu(root) ? ENV_TPU : ENV_XPU;
	facts->devices = has_tpu(root) ? 1 : xe_count(root);
	if (!facts->devices)
		facts->device = ENV_NONE;
}

/* The first line of a file that begins with "head", or "". */
static void
line_of(const char *path, const char *head, char *line, size_t room)
{
	FILE	*f = fopen(path, "re");

	while (f && fgets(line, (int)room, f))
		if (!strncmp(line, head, strlen(head))) {
			line[strcspn(line, "\n")] = '\0';
			fclose(f);
			return;
		}
	line[0] = '\0';
	if (f)
		fclose(f);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue ...": the
 * first word of digits and points. */
static void
driver_of(const char *root, char *out, size_t room)
{
	char	 path[PATH_MAX], line[256], *rest = line, *word;

	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/version", root);
	line_of(path, "NVRM version:", line, sizeof(line));
	while ((word = strsep(&rest, " \t")))
		if (isdigit((unsigned char)*word) && strchr(word, '.') &&
		    !word[strspn(word, "0123456789.")]) {
			snprintf(out, room, "%s", word);
			return;
		}
}

static int
models_of(const char *root, struct strv *out)
{
	char	path[PATH_MAX], line[256], *model;
	glob_t	found;
	int	rc = 0;

	snprintf(path, sizeof(path),
	    "%s/proc/driver/nvidia/gpus/*/information", root);
	if (glob(path, 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && !rc; i++) {
		line_of(found.gl_pathv[i], "Model:", line, sizeof(line));
		model = line + (*line ? strlen("Model:") : 0);
		rc = strv_add(out, model + strspn(model, " \t"));
	}
	globfree(&found);
	return rc;
}

/* Each core is counted at the first of its threads. */
static long
cores_of(const char *root)
{
	long	 present = sysconf(_SC_NPROCESSORS_CONF), cores = 0;

	for (long i = 0; i < present; i++) {
		char	 path[PATH_MAX], first[32] = "";
		FILE	*f;

		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%ld"
		    "/topology/thread_siblings_list", root, i);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(first, sizeof(first), f))
			cores += strtol(first, NULL, 10) == i;
		fclose(f);
	}
	return cores > 0 ? cores : sysconf(_SC_NPROCESSORS_ONLN);
}

int
quick_probe(struct quick *q, const char *root, struct err *err)
{
	device_of(root, &q->facts);
	q->facts.cores = cores_of(root);
	driver_of(root, q->driver, sizeof(q->driver));
	if (models_of(root, &q->gpus)) {
		quick_clear(q);
		return err_nomem(err);
	}
	q->facts.gpu = (const char *const *)q->gpus.item;
	q->facts.gpus = q->gpus.count;
	q->facts.driver = *q->driver ? q->driver : NULL;
	return 0;
}

void
quick_clear(struct quick *q)
{
	strv_clear(&q->gpus);
	*q = (struct quick)QUICK_INIT;
}
