/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/devices.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/banned.h"

/* A node is a name and a number: /dev/nvidia0.  Several kinds share /dev/accel
 * and /dev/dri; there the PCI vendor in /sys tells them apart. */
static const struct nodes {
	const char	*folder, *name;
	const char	*sys;		/* folder of <name><n>/device/vendor */
	const char	*vendor;	/* "0x1da3" */
} nodes[DEVICE_KINDS][2] = {
	[DEVICE_MUSA] = { { "/dev", "mtgpu.", NULL, NULL } },
	[DEVICE_HPU] = { { "/dev/accel", "accel", "/sys/class/accel",
	    "0x1da3" }, { "/dev", "hl", NULL, NULL } },
	[DEVICE_NVIDIA] = { { "/dev", "nvidia", NULL, NULL } },
	[DEVICE_AMD] = { { "/dev/dri", "renderD", "/sys/class/drm",
	    "0x1002" } },
	[DEVICE_NPU] = { { "/dev", "davinci", NULL, NULL } },
	[DEVICE_NEURON] = { { "/dev", "neuron", NULL, NULL } },
	[DEVICE_MLU] = { { "/dev", "cambricon_dev", NULL, NULL } },
};

static bool
made_by(const struct nodes *n, const char *root, const char *node)
{
	char	 path[512], vendor[16] = "";
	FILE	*f;

	snprintf(path, sizeof path, "%s%s/%s/device/vendor", root, n->sys,
	    node);
	if (!(f = fopen(path, "re")))
		return false;
	if (!fgets(vendor, sizeof vendor, f))
		vendor[0] = '\0';
	fclose(f);
	vendor[strcspn(vendor, "\n")] = '\0';
	return !strcmp(vendor, n->vendor);
}

static bool
numbered(const char *node, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(node, name, n) || !isdigit((unsigned char)node[n]))
		return false;
	return !node[n + strspn(node + n, "0123456789")];
}

static size_t
count(const struct nodes *n, const char *root)
{
	char		 path[512];
	struct dirent	*entry;
	size_t		 found = 0;
	DIR		*dir;

	snprintf(path, sizeof path, "%s%s", root, n->folder);
	if (!(dir = opendir(path)))
		return 0;
	while ((entry = readdir(dir)))
		if (numbered(entry->d_name, n->name) &&
		    (!n->sys || made_by(n, root, entry->d_name)))
			found++;
	closedir(dir);
	return found;
}

/* What is in /dev itself, by one walk: there are hundreds of other nodes. */
static void
count_plain(size_t found[DEVICE_KINDS], const char *root)
{
	char		 path[512];
	struct dirent	*entry;
	DIR		*dir;

	snprintf(path, sizeof path, "%s/dev", root);
	if (!(dir = opendir(path)))
		return;
	while ((entry = readdir(dir)))
		for (int kind = 0; kind < DEVICE_KINDS; kind++)
			for (int i = 0; i < 2; i++)
				if (nodes[kind][i].name &&
				    !nodes[kind][i].sys &&
				    numbered(entry->d_name,
				    nodes[kind][i].name))
					found[kind]++;
	closedir(dir);
}

void
devices_count(size_t found[DEVICE_KINDS], const char *root)
{
	char	kfd[512];
	size_t	n;

	memset(found, 0, DEVICE_KINDS * sizeof *found);
	count_plain(found, root);
	for (int kind = 0; kind < DEVICE_KINDS; kind++)
		for (int i = 0; i < 2; i++)
			if (nodes[kind][i].sys &&
			    (n = count(&nodes[kind][i], root)))
				found[kind] = n;
	/* A GPU that only draws has a render node too; ROCm needs this one. */
	snprintf(kfd, sizeof kfd, "%s/dev/kfd", root);
	if (access(kfd, R_OK | W_OK) < 0)
		found[DEVICE_AMD] = 0;
}
