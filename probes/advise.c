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

/* Whether links of this kind or better join all usable GPUs, as a ring of NCCL
 * needs them; the least speed of those is in *gbs. */
static bool
joined(const struct machine *m, enum link_kind kind, double *gbs)
{
	unsigned	group[ADVICE_GPUS], first = ADVICE_GPUS;

	*gbs = 0;
	for (unsigned i = 0; i < ADVICE_GPUS; i++)
		group[i] = i;
	for (size_t i = 0; i < m->links; i++) {
		const struct link	*l = &m->link[i];
		unsigned		 from, to;

		if (l->kind < kind || l->a >= ADVICE_GPUS ||
		    l->b >= ADVICE_GPUS || !m->gpu[l->a].usable ||
		    !m->gpu[l->b].usable)
			continue;
		if (l->gbs > 0 && (*gbs <= 0 || l->gbs < *gbs))
			*gbs = l->gbs;
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

static void
take_links(struct advice_host *h, const struct machine *m)
{
	static const enum hardware_link kinds[LINK_KINDS] = {
		[LINK_ACROSS] = HARDWARE_ACROSS, [LINK_NUMA] = HARDWARE_PCIE,
		[LINK_SWITCH] = HARDWARE_PCIE, [LINK_XGMI] = HARDWARE_XGMI,
		[LINK_NVLINK] = HARDWARE_NVLINK,
	};
	double	gbs;

	for (size_t i = 0; i < m->links; i++)
		h->no_peer |= m->link[i].no_peer;
	if (h->gpus < 2)
		return;
	for (int k = LINK_KINDS - 1; k > LINK_UNKNOWN; k--)
		if (joined(m, (enum link_kind)k, &gbs)) {
			h->link = kinds[k];
			h->link_speed = gbs * 1e9;
			return;
		}
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
		if (f->machine[i].problem)
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
