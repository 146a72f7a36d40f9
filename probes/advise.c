/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/advise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/fleet.h"
#include "probes/machine.h"
#include "runtime/base/err.h"
#include "runtime/config/advice.h"

#include "runtime/base/banned.h"

static void
copy(char *to, size_t room, const char *text)
{
	snprintf(to, room, "%s", text ? text : "");
}

static void
take_gpu(struct advice_host *h, const struct gpu *g)
{
	struct advice_gpu	*to = &h->gpu[h->gpus++];

	copy(to->vendor, sizeof to->vendor, g->vendor);
	copy(to->model, sizeof to->model, g->model);
	copy(to->arch, sizeof to->arch, g->arch);
	to->capability = g->major * 10 + g->minor;
	to->bytes = g->memory;
}

/* Between two GPUs that can be used. */
static bool
links(const struct machine *m, const struct link *l)
{
	return l->a < m->gpus && l->b < m->gpus && l->a < ADVICE_GPUS &&
	    l->b < ADVICE_GPUS && m->gpu[l->a].usable && m->gpu[l->b].usable;
}

/* Whether links of this kind or better join all usable GPUs, as a ring of NCCL
 * needs them. */
static bool
joined(const struct machine *m, enum link_kind kind)
{
	unsigned	group[ADVICE_GPUS], first = ADVICE_GPUS;

	for (unsigned i = 0; i < ADVICE_GPUS; i++)
		group[i] = i;
	for (size_t i = 0; i < m->links; i++) {
		const struct link	*l = &m->link[i];
		unsigned		 from, to;

		if (l->kind < kind || !links(m, l))
			continue;
		from = group[l->b];
		to = group[l->a];
		for (unsigned k = 0; k < ADVICE_GPUS; k++)
			if (group[k] == from)
				group[k] = to;
	}
	for (unsigned i = 0; i < m->gpus && i < ADVICE_GPUS; i++) {
		if (!m->gpu[i].usable)
			continue;
		if (first == ADVICE_GPUS)
			first = group[i];
		if (group[i] != first)
			return false;
	}
	return true;
}

/* The least that a pair has of these links, and that a GPU has to all others
 * together. */
static void
measure_links(const struct machine *m, enum link_kind kind, double *pair,
    double *all)
{
	double	sum[ADVICE_GPUS] = { 0 };

	*pair = *all = 0;
	for (size_t i = 0; i < m->links; i++) {
		const struct link	*l = &m->link[i];

		if (l->kind < kind || !links(m, l) || l->gbs <= 0)
			continue;
		sum[l->a] += l->gbs * 1e9;
		sum[l->b] += l->gbs * 1e9;
		if (*pair <= 0 || l->gbs * 1e9 < *pair)
			*pair = l->gbs * 1e9;
	}
	for (unsigned i = 0; i < ADVICE_GPUS; i++)
		if (sum[i] > 0 && (*all <= 0 || sum[i] < *all))
			*all = sum[i];
}

static void
take_links(struct advice_host *h, const struct machine *m)
{
	static const enum hardware_link kinds[LINK_KINDS] = {
		[LINK_ACROSS] = HARDWARE_ACROSS, [LINK_NUMA] = HARDWARE_PCIE,
		[LINK_SWITCH] = HARDWARE_PCIE, [LINK_XGMI] = HARDWARE_XGMI,
		[LINK_NVLINK] = HARDWARE_NVLINK,
	};
	struct hardware	g;
	double		pair, all;
	int		k = LINK_KINDS - 1;

	for (size_t i = 0; i < m->links; i++)
		h->no_peer |= m->link[i].no_peer;
	if (h->gpus < 2)
		return;
	while (k > LINK_UNKNOWN && !joined(m, (enum link_kind)k))
		k--;
	if (k == LINK_UNKNOWN)
		return;
	measure_links(m, (enum link_kind)k, &pair, &all);
	h->link = kinds[k];
	h->link_speed = pair;
	hardware_find(&g, h->gpu[0].vendor, h->gpu[0].model, h->gpu[0].arch,
	    h->gpu[0].capability, h->gpu[0].bytes);
	/* Several rings use all links of a GPU at once.  Behind a switch each
	 * pair has all of them, so that the sum is more than there is. */
	if (k >= LINK_XGMI && g.link_speed > 0)
		h->link_speed = all < g.link_speed ? all : g.link_speed;
}

static void
take_network(struct advice_host *h, const struct machine *m)
{
	double	rdma = 0, other = 0, speed;

	for (size_t i = 0; i < m->ifaces; i++) {
		const struct iface	*n = &m->iface[i];

		speed = (double)n->speed * 1e6 / 8;
		if (!n->up || n->loopback || speed <= 0)
			continue;
		if (n->rdma)
			rdma += speed;
		else if (speed > other)
			other = speed;
	}
	h->net = rdma > 0 ? rdma : other;
}

void
machine_advise(const struct machine *m, struct advice_host *h)
{
	*h = (struct advice_host){ .cores = m->cores, .numa = m->numa,
	    .memory = machine_memory(m), .cpu_bf16 = m->cpu_bf16,
	    .disk = m->disk_free };
	copy(h->name, sizeof h->name, m->host ? m->host : m->hostname);
	if (machine_cpus(m) > 0 && machine_cpus(m) < h->cores)
		h->cores = (unsigned)(machine_cpus(m) + 0.5);
	for (size_t i = 0; i < m->gpus && h->gpus < ADVICE_GPUS; i++)
		if (m->gpu[i].usable)
			take_gpu(h, &m->gpu[i]);
	take_links(h, m);
	take_network(h, m);
}

static bool
has_rdma(const struct machine *m)
{
	for (size_t i = 0; i < m->ifaces; i++)
		if (m->iface[i].rdma && m->iface[i].up)
			return true;
	return false;
}

/* What was measured to and from one host.  TCP says nothing of RDMA cards. */
static void
take_measured(struct advice_host *h, const struct fleet *f, size_t at)
{
	for (size_t i = 0; i < f->pairs; i++) {
		const struct between	*b = &f->between[i];
		double			 speed = b->gbit_s * 1e9 / 8;

		if ((b->from != at && b->to != at) || b->problem ||
		    speed <= 0)
			continue;
		if (!h->net_measured || speed < h->net)
			h->net = speed;
		if (b->latency_us * 1e-6 > h->latency)
			h->latency = b->latency_us * 1e-6;
		h->net_measured = true;
	}
}

int
fleet_advise(const struct fleet *f, struct advice_host **list, size_t *count,
    struct err *err)
{
	struct advice_host	*more;

	for (size_t i = 0; i < f->count; i++) {
		if (f->machine[i].problem || (!f->machine[i].cores &&
		    !f->machine[i].gpus))
			continue;
		more = realloc(*list, (*count + 1) * sizeof *more);
		if (!more)
			return err_nomem(err);
		*list = more;
		machine_advise(&f->machine[i], &more[*count]);
		if (f->pairs && !has_rdma(&f->machine[i]))
			take_measured(&more[*count], f, i);
		++*count;
	}
	return 0;
}
