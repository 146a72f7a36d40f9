/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/attribute.h"
#include "probes/fleet.h"
#include "runtime/base/banned.h"

const char *const link_words[LINK_KINDS] = {
	[LINK_UNKNOWN] = "unknown", [LINK_ACROSS] = "across",
	[LINK_NUMA] = "numa", [LINK_SWITCH] = "switch", [LINK_XGMI] = "xgmi",
	[LINK_NVLINK] = "nvlink",
};

/* One more, all zeros, at the end of a list that doubles. */
static void *
grow(void **list, size_t *count, size_t size)
{
	char *more = *list;

	if (!(*count & (*count - 1))) {
		more = realloc(more, (*count ? *count * 2 : 1) * size);
		if (!more)
			return NULL;
		*list = more;
	}
	more += (*count)++ * size;
	return memset(more, 0, size);
}

#define GROW(list, count)						\
	__extension__ ({						\
		void *grow_ = (list);					\
		void *one_ = grow(&grow_, &(count), sizeof *(list));	\
		(list) = grow_;						\
		one_;							\
	})

struct gpu *
machine_add_gpu(struct machine *m)
{
	struct gpu *g = GROW(m->gpu, m->gpus);

	if (g)
		g->numa = -1;
	return g;
}

struct link *
machine_add_link(struct machine *m)
{
	return GROW(m->link, m->links);
}

struct iface *
machine_add_iface(struct machine *m)
{
	struct iface *i = GROW(m->iface, m->ifaces);

	if (i)
		i->numa = -1;
	return i;
}

struct numa *
machine_add_numa(struct machine *m)
{
	return GROW(m->node, m->nodes);
}

struct machine *
fleet_add(struct fleet *f)
{
	return GROW(f->machine, f->count);
}

struct between *
fleet_add_between(struct fleet *f)
{
	return GROW(f->between, f->pairs);
}

static void
clear_lists(const struct attribute_list *lists, void *owner)
{
	for (const struct attribute_list *l = lists; l->key; l++) {
		void	*items = *(void **)((char *)owner + l->items);
		size_t	 n = *(size_t *)((char *)owner + l->count);

		for (size_t i = 0; i < n; i++)
			attributes_clear(l->of, (char *)items + i * l->size);
		free(items);
	}
}

void
machine_clear(struct machine *m)
{
	clear_lists(machine_lists, m);
	attributes_clear(machine_attributes, m);
	memset(m, 0, sizeof *m);
}

void
fleet_clear(struct fleet *f)
{
	for (size_t i = 0; i < f->count; i++)
		machine_clear(&f->machine[i]);
	clear_lists(fleet_lists, f);
	*f = (struct fleet)FLEET_INIT;
}

int
machine_name_torch(struct machine *m)
{
	const char	*plus = m->torch ? strchr(m->torch, '+') : NULL;
	size_t		 n;

	if (plus && !strncmp(plus, "+rocm", 5) && !m->torch_hip)
		return (m->torch_hip = strdup(plus + 5)) ? 0 : -1;
	if (!plus || strncmp(plus, "+cu", 3) || m->torch_cuda)
		return 0;
	/* "cu121" is 12.1: the last digit is the minor version. */
	n = strspn(plus + 3, "0123456789");
	if (n < 2)
		return 0;
	return asprintf(&m->torch_cuda, "%.*s.%c", (int)n - 1, plus + 3,
	    plus[2 + n]) < 0 ? -1 : 0;
}

const struct link *
machine_link(const struct machine *m, unsigned a, unsigned b)
{
	for (size_t i = 0; i < m->links; i++)
		if ((m->link[i].a == a && m->link[i].b == b) ||
		    (m->link[i].a == b && m->link[i].b == a))
			return &m->link[i];
	return NULL;
}

const struct between *
fleet_between(const struct fleet *f, unsigned from, unsigned to)
{
	for (size_t i = 0; i < f->pairs; i++)
		if (f->between[i].from == from && f->between[i].to == to)
			return &f->between[i];
	return NULL;
}

double
machine_cpus(const struct machine *m)
{
	double n = m->cpus;

	if (m->cpus_allowed && m->cpus_allowed < n)
		n = m->cpus_allowed;
	return m->cpu_limit > 0 && m->cpu_limit < n ? m->cpu_limit : n;
}

uint64_t
machine_memory(const struct machine *m)
{
	return m->memory_limit && m->memory_limit < m->memory ?
	    m->memory_limit : m->memory;
}

size_t
machine_usable_gpus(const struct machine *m, int *capability)
{
	size_t n = 0;
	int low = 0;

	for (size_t i = 0; i < m->gpus; i++) {
		int own = m->gpu[i].major * 10 + m->gpu[i].minor;

		if (!m->gpu[i].usable)
			continue;
		if (!n++ || own < low)
			low = own;
	}
	if (capability)
		*capability = low;
	return n;
}
