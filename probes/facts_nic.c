/* SPDX-License-Identifier: Apache-2.0 */
/* facts of network cards: speed, driver, and the RDMA device that is one. */
#include "probes/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/sysfile.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

static const char net[] = "/sys/class/net", rdma[] = "/sys/class/infiniband";

static int
add_nic(const char *root, const char *name, struct strv *facts)
{
	struct strv		all = STRV_INIT;
	char			text[64];
	unsigned long long	speed = sysfile_number(0, root, "%s/%s/speed",
				    net, name);
	int			ret = 0;

	/* A card without a cable says -1, or the largest number. */
	if (speed && speed < 0xffffffff)
		ret = strv_addf(facts, "nic.%s.speed=%llu", name, speed);
	if (!ret && sysfile_link(text, sizeof text, root,
	    "%s/%s/device/driver", net, name))
		ret = strv_addf(facts, "nic.%s.driver=%s", name, text);
	if (!ret && sysfile_line(text, sizeof text, root, "%s/%s/operstate",
	    net, name))
		ret = strv_addf(facts, "nic.%s.up=%s", name,
		    strcmp(text, "up") ? "false" : "true");
	if (!ret && sysfile_link(text, sizeof text, root, "%s/%s/device", net,
	    name) && strchr(text, ':'))	/* not "virtio2" */
		ret = strv_addf(facts, "nic.%s.pci=%s", name, text);
	if (!ret)
		ret = sysfile_names(&all, root, "%s/%s/device/infiniband", net,
		    name);
	if (!ret && all.count)
		ret = strv_addf(facts, "nic.%s.rdma=%s", name, all.item[0]);
	strv_clear(&all);
	return ret;
}

/* An RDMA device without an interface of IP is told of by itself. */
static int
add_hca(const char *root, const char *name, struct strv *facts)
{
	struct strv	all = STRV_INIT;
	char		text[64];
	int		ret = sysfile_names(&all, root, "%s/%s/device/net", rdma,
			    name);

	if (!ret && !all.count) {
		ret = strv_addf(facts, "nic.%s.rdma=%s", name, name);
		/* "200 Gb/sec (4X HDR)" */
		if (!ret && sysfile_line(text, sizeof text, root,
		    "%s/%s/ports/1/rate", rdma, name))
			ret = strv_addf(facts, "nic.%s.speed=%.0f", name,
			    strtod(text, NULL) * 1e3);
		if (!ret && sysfile_line(text, sizeof text, root,
		    "%s/%s/ports/1/state", rdma, name))
			ret = strv_addf(facts, "nic.%s.up=%s", name,
			    strstr(text, "ACTIVE") ? "true" : "false");
		if (!ret && sysfile_link(text, sizeof text, root,
		    "%s/%s/device/driver", rdma, name))
			ret = strv_addf(facts, "nic.%s.driver=%s", name, text);
		if (!ret && sysfile_link(text, sizeof text, root,
		    "%s/%s/device", rdma, name))
			ret = strv_addf(facts, "nic.%s.pci=%s", name, text);
	}
	strv_clear(&all);
	return ret;
}

int
facts_nics(const char *root, struct strv *facts)
{
	size_t	n = facts->count;
	int	ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		char name[64];

		if (sscanf(facts->item[i], "nic=%63s", name) == 1)
			ret = add_nic(root, name, facts);
		else if (sscanf(facts->item[i], "hca=%63s", name) == 1)
			ret = add_hca(root, name, facts);
	}
	return ret;
}
