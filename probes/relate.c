/* SPDX-License-Identifier: Apache-2.0 */
/* How GPUs are linked, from where they are. */
#include <stdlib.h>
#include <string.h>

#include "probes/facts.h"
#include "probes/machine.h"
#include "runtime/base/banned.h"

/* How many parts two ways have in common, from the root. */
static int
common(const char *a, const char *b)
{
	int parts = 0;

	for (;;) {
		size_t n = strcspn(a, "/");

		if (!n || n != strcspn(b, "/") || strncmp(a, b, n))
			return parts;
		parts++;
		if (!a[n] || !b[n])
			return parts;
		a += n + 1;
		b += n + 1;
	}
}

/* The first part is the host bridge, the second a port of it; a port leads to
 * one device, or to a switch. */
static enum link_kind
kind_of(const struct machine *m, const struct gpu *a, const struct gpu *b)
{
	int shared = a->way && b->way ? common(a->way, b->way) : 0;

	if (shared >= 2)
		return LINK_SWITCH;
	if (shared == 1 || m->numa == 1)
		return LINK_NUMA;
	if (a->numa >= 0 && b->numa >= 0)
		return a->numa == b->numa ? LINK_NUMA : LINK_ACROSS;
	return LINK_UNKNOWN;
}

static int
by_numbers(const void *x, const void *y)
{
	const struct link *a = x, *b = y;

	return a->a != b->a ? (a->a > b->a) - (a->a < b->a) :
	    (a->b > b->b) - (a->b < b->b);
}

int
machine_relate(struct machine *m)
{
	size_t told = m->links;

	for (unsigned a = 0; a < m->gpus; a++)
		for (unsigned b = a + 1; b < m->gpus; b++) {
			const struct gpu *one = &m->gpu[a], *two = &m->gpu[b];
			struct link	*found = NULL;
			double		 pcie = one->pcie < two->pcie ?
					    one->pcie : two->pcie;

			for (size_t i = 0; i < told && !found; i++)
				if (m->link[i].a == a && m->link[i].b == b)
					found = &m->link[i];
			if (!found && !(found = machine_add_link(m)))
				return -1;
			found->a = a;
			found->b = b;
			if (found->kind >= LINK_XGMI)
				continue;
			found->kind = kind_of(m, one, two);
			if (found->gbs <= 0)
				found->gbs = pcie;
		}
	if (m->links)
		qsort(m->link, m->links, sizeof *m->link, by_numbers);
	return 0;
}
