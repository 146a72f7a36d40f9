/* SPDX-License-Identifier: Apache-2.0 */
/* Facts as lines, from here or from an agent, into a struct machine. */
#include "probes/facts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/attribute.h"
#include "probes/machine.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

enum { GPUS_MOST = 128, MOST = 4096 };	/* whatever another host says */

static int
copy(char **to, const char *from, size_t n)
{
	char *text = attribute_text(from, n);

	if (!text)
		return -1;
	free(*to);
	*to = text;
	return 0;
}

static const char *
vendor_name(const char *id)
{
	static const struct { const char *id, *name; } vendors[] = {
		{ "10de", "NVIDIA" }, { "1002", "AMD" }, { "8086", "Intel" },
	};

	for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
		if (!strcmp(vendors[i].id, id))
			return vendors[i].name;
	return id;
}

static struct gpu *
gpu_at(const struct machine *m, const char *pci, size_t n)
{
	for (size_t i = 0; i < m->gpus; i++)
		if (m->gpu[i].pci && strlen(m->gpu[i].pci) == n &&
		    !strncmp(m->gpu[i].pci, pci, n))
			return &m->gpu[i];
	return NULL;
}

/* The one of that name, or a new one; NULL without memory or where there are
 * too many. */
static struct iface *
iface_at(struct machine *m, const char *name, size_t n)
{
	struct iface *i;

	for (size_t k = 0; k < m->ifaces; k++)
		if (strlen(m->iface[k].name) == n &&
		    !strncmp(m->iface[k].name, name, n))
			return &m->iface[k];
	if (m->ifaces >= MOST || !n || !(i = machine_add_iface(m)))
		return NULL;
	if (copy(&i->name, name, n)) {
		m->ifaces--;
		return NULL;
	}
	return i;
}

static struct numa *
numa_at(struct machine *m, long id)
{
	struct numa *n;

	for (size_t i = 0; i < m->nodes; i++)
		if (m->node[i].id == (unsigned long)id)
			return &m->node[i];
	if (m->nodes >= MOST || !(n = machine_add_numa(m)))
		return NULL;
	n->id = (unsigned)id;
	return n;
}

static struct link *
link_at(struct machine *m, const char *name, size_t n)
{
	const char	*plus = memchr(name, '+', n);
	const struct gpu *one, *two;
	unsigned	 a, b;
	struct link	*l;

	if (!plus || !(one = gpu_at(m, name, (size_t)(plus - name))) ||
	    !(two = gpu_at(m, plus + 1, n - (size_t)(plus - name) - 1)) ||
	    one == two)
		return NULL;
	a = (unsigned)((one < two ? one : two) - m->gpu);
	b = (unsigned)((one < two ? two : one) - m->gpu);
	for (size_t i = 0; i < m->links; i++)
		if (m->link[i].a == a && m->link[i].b == b)
			return &m->link[i];
	if (!(l = machine_add_link(m)))
		return NULL;
	l->a = a;
	l->b = b;
	return l;
}

static int
set(const struct attribute *table, void *object, const char *key, size_t n,
    const char *value)
{
	for (const struct attribute *a = table; a->key; a++)
		if (strlen(a->key) == n && !strncmp(a->key, key, n))
			return attribute_set(a, object, value) == -2 ? -1 : 0;
	return 0;
}

/* "gpu.0000:1b:00.0.memory": kind, name, member. */
static int
take_member(struct machine *m, const char *key, size_t n, const char *value)
{
	const char	*name = memchr(key, '.', n), *last = key + n;
	size_t		 kind, length;
	const struct attribute *table;
	void		*object;
	long		 id;

	while (last > key && last[-1] != '.')
		last--;
	if (!name || last - 1 <= name)
		return 0;
	kind = (size_t)(name++ - key);
	length = (size_t)(last - 1 - name);
	if (kind == 3 && !strncmp(key, "gpu", 3)) {
		object = gpu_at(m, name, length);
		table = gpu_attributes;
	} else if (kind == 3 && !strncmp(key, "nic", 3)) {
		object = iface_at(m, name, length);
		table = iface_attributes;
	} else if (kind == 4 && !strncmp(key, "link", 4)) {
		object = link_at(m, name, length);
		table = link_attributes;
	} else {
		char digits[16];

		snprintf(digits, sizeof digits, "%.*s", (int)length, name);
		if (kind != 4 || strncmp(key, "numa", 4) ||
		    num_parse(digits, 0, 1 << 20, &id))
			return 0;
		object = numa_at(m, id);
		table = numa_attributes;
	}
	/* What they are called decides which they are, and is not changed. */
	if (!object || (table == gpu_attributes && !strncmp(last, "pci=", 4)) ||
	    !strncmp(last, "a=", 2) || !strncmp(last, "b=", 2) ||
	    !strncmp(last, "id=", 3) || !strncmp(last, "name=", 5))
		return 0;
	return set(table, object, last, (size_t)(key + n - last), value);
}

/* "0000:1b:00.0 10de 0 0-7 pci0000:17/..." */
static int
take_gpu(struct machine *m, const char *value)
{
	char	 pci[24], vendor[8], node[16];
	int	 at = 0;
	long	 numa;
	struct gpu *g;

	if (sscanf(value, "%23s %7s %15s %*s %n", pci, vendor, node, &at) < 3 ||
	    !at || m->gpus >= GPUS_MOST)
		return 0;
	if (!(g = gpu_at(m, pci, strlen(pci))) && !(g = machine_add_gpu(m)))
		return -1;
	if (num_parse(node, -1, 1 << 20, &numa) == 0)
		g->numa = (int)numa;
	if ((!g->pci && copy(&g->pci, pci, sizeof pci)) ||
	    (!g->vendor && copy(&g->vendor, vendor_name(vendor),
	    sizeof vendor)))
		return -1;
	return value[at] && strcmp(value + at, "-") ?
	    copy(&g->way, value + at, 4096) : 0;
}

/* "eth0 0 0-7 pci0000:17/..." */
static int
take_nic(struct machine *m, const char *value)
{
	char	 name[64], node[16];
	int	 at = 0;
	long	 numa;
	struct iface *i;

	if (sscanf(value, "%63s %15s %*s %n", name, node, &at) < 2 || !at)
		return 0;
	if (!(i = iface_at(m, name, strlen(name))))
		return 0;
	if (num_parse(node, -1, 1 << 20, &numa) == 0)
		i->numa = (int)numa;
	return value[at] && strcmp(value + at, "-") ?
	    copy(&i->way, value + at, 4096) : 0;
}

/* The same of an RDMA device, where facts_nics() told of it by its name. */
static int
place_hca(struct machine *m, const char *value)
{
	size_t n = strcspn(value, " ");

	for (size_t k = 0; k < m->ifaces; k++)
		if (strlen(m->iface[k].name) == n &&
		    !strncmp(m->iface[k].name, value, n))
			return take_nic(m, value);
	return 0;
}

/* "eth0 10.0.0.1" */
static int
take_address(struct machine *m, const char *value)
{
	const char	*blank = strchr(value, ' ');
	struct iface	*i = blank ? iface_at(m, value,
			    (size_t)(blank - value)) : NULL;

	if (!i)
		return 0;
	i->up = true;
	i->loopback = i->loopback || !strcmp(i->name, "lo");
	/* IPv4 before IPv6 */
	if (i->address && !(strchr(i->address, ':') && !strchr(blank, ':')))
		return 0;
	return copy(&i->address, blank + 1, 64);
}

/* Of a list "0-3,8": how many. */
static unsigned
count_cpus(const char *text)
{
	unsigned long n = 0;

	while (isdigit((unsigned char)*text) && n < 1 << 20) {
		char		*end;
		unsigned long	 first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		n += last >= first ? last - first + 1 : 0;
		text = *end == ',' ? end + 1 : end;
	}
	return n < 1 << 20 ? (unsigned)n : 0;
}

/* "0 0-7": its CPUs, some of which may be kept from us. */
static int
take_node(struct machine *m, const char *value)
{
	long		 id = strtol(value, NULL, 10);
	const char	*blank = strchr(value, ' ');
	struct numa	*n = blank && id >= 0 && id < 1 << 20 ?
			    numa_at(m, id) : NULL;

	return n ? copy(&n->cpus, blank + 1, 4096) : 0;
}

struct counts {
	unsigned	cores, cpus, packages;
};

static int
take(struct machine *m, const char *fact, struct counts *counted)
{
	static const struct {
		const char	*key;
		int		(*take)(struct machine *m, const char *value);
	} kinds[] = {
		{ "gpu", take_gpu }, { "nic", take_nic },
		{ "interface", take_address }, { "node", take_node },
	};
	const char	*equals = strchr(fact, '=');
	size_t		 n = equals ? (size_t)(equals - fact) : 0;

	if (!n || !equals[1])
		return 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].key) == n && !strncmp(kinds[i].key, fact, n))
			return kinds[i].take(m, equals + 1);
	if (!strncmp(fact, "core=", 5)) {
		counted->cores += count_cpus(fact + 5) > 0;
		counted->cpus += count_cpus(fact + 5);
		return 0;
	}
	counted->packages += !strncmp(fact, "package=", 8);
	if (!strncmp(fact, "cpus_allowed=", 13)) {
		m->cpus_allowed = count_cpus(fact + 13);
		return 0;
	}
	if (memchr(fact, '.', n))
		return take_member(m, fact, n, equals + 1);
	return set(machine_attributes, m, fact, n, equals + 1);
}

int
machine_take(struct machine *m, const struct strv *facts)
{
	struct counts	counted = { 0, 0, 0 };
	unsigned	numa = 0;

	for (size_t i = 0; i < facts->count; i++)
		if (take(m, facts->item[i], &counted))
			return -1;
	for (size_t i = 0; i < facts->count; i++)
		if (!strncmp(facts->item[i], "hca=", 4) &&
		    place_hca(m, facts->item[i] + 4))
			return -1;
	/* hwloc, where it was asked, knows better. */
	m->cores = m->cores ? m->cores : counted.cores;
	m->cpus = m->cpus ? m->cpus : counted.cpus;
	m->packages = m->packages ? m->packages : counted.packages;
	for (size_t i = 0; i < m->nodes; i++)
		numa += m->node[i].cpus && *m->node[i].cpus;
	m->numa = m->numa ? m->numa : numa;
	return machine_name_torch(m);
}
