/* SPDX-License-Identifier: Apache-2.0 */
/* A machine in words. */
#include <stdio.h>
#include <string.h>

#include "probes/machine.h"
#include "runtime/base/buf.h"
#include "runtime/base/banned.h"

static const double GIB = 1024.0 * 1024.0 * 1024.0;

static void
add_count(struct buf *out, const char *before, size_t n, const char *what)
{
	buf_addf(out, "%s%zu %s%s", before, n, what, n == 1 ? "" : "s");
}

static void
print_cpus(const struct machine *m, struct buf *out)
{
	if (m->cpu || m->arch) {
		buf_addf(out, "CPU      %s", m->cpu ? m->cpu : m->arch);
		if (m->cpu && m->arch)
			buf_addf(out, ", %s", m->arch);
		buf_adds(out, m->cpu_bf16 ? ", bf16 instructions\n" : "\n");
	}
	add_count(out, "CPUs     ", m->cpus, "logical CPU");
	add_count(out, ", ", m->cores, "core");
	add_count(out, ", ", m->packages, "package");
	add_count(out, ", ", m->numa, "NUMA node");
	buf_addf(out, "\nmemory   %.1f GiB", (double)m->memory / GIB);
	if (m->memory_free)
		buf_addf(out, ", %.1f GiB free", (double)m->memory_free / GIB);
	if (m->swap)
		buf_addf(out, ", %.1f GiB swap", (double)m->swap / GIB);
	buf_adds(out, "\n");
}

static void
print_nodes(const struct machine *m, struct buf *out)
{
	for (size_t i = 0; m->numa > 1 && i < m->nodes; i++) {
		const struct numa *n = &m->node[i];

		buf_addf(out, "NUMA %-3u CPUs %s", n->id,
		    n->cpus && *n->cpus ? n->cpus : "none");
		if (n->memory)
			buf_addf(out, ", %.0f GiB", (double)n->memory / GIB);
		buf_adds(out, "\n");
	}
}

static void
print_limits(const struct machine *m, struct buf *out)
{
	bool fewer = m->cpus_allowed && m->cpus_allowed < m->cpus;
	const char *before = "limits   ";

	if (fewer) {
		add_count(out, before, m->cpus_allowed, "CPU");
		buf_adds(out, " by affinity");
		before = ", ";
	}
	if (m->cpu_limit > 0) {
		buf_addf(out, "%s%.4g CPUs by cgroup", before, m->cpu_limit);
		before = ", ";
	}
	if (m->memory_limit) {
		buf_addf(out, "%s%.1f GiB by cgroup", before,
		    (double)m->memory_limit / GIB);
		before = ", ";
	}
	if (*before == ',')
		buf_adds(out, "\n");
}

static void
print_gpus(const struct machine *m, struct buf *out)
{
	if (!m->gpus)
		buf_adds(out, "GPUs     none\n");
	for (size_t i = 0; i < m->gpus; i++) {
		const struct gpu *g = &m->gpu[i];
		bool named = g->model && strstr(g->model, g->vendor);

		buf_addf(out, "GPU %-4zu %s", i, named ? "" : g->vendor);
		if (g->model)
			buf_addf(out, "%s%s", named ? "" : " ", g->model);
		if (g->memory)
			buf_addf(out, ", %.0f GiB", (double)g->memory / GIB);
		if (g->major)
			buf_addf(out, ", capability %d.%d", g->major, g->minor);
		if (g->arch)
			buf_addf(out, ", %s", g->arch);
		if (g->pci)
			buf_addf(out, ", at %s", g->pci);
		if (g->numa >= 0 && m->numa > 1)
			buf_addf(out, ", NUMA %d", g->numa);
		if (g->pcie > 0)
			buf_addf(out, ", PCIe %.3g GB/s", g->pcie);
		buf_adds(out, g->usable ? "\n" : !g->driver ?
		    ", no driver found\n" : strcmp(g->vendor, "NVIDIA") ?
		    ", not for computing\n" : ", driver does not answer\n");
	}
}

/* --- links --- */

/* "NVLink x18", or "a PCIe switch". */
static void
link_name(const struct link *l, char *out, size_t room)
{
	static const char *const names[LINK_KINDS] = {
		[LINK_UNKNOWN] = "not known", [LINK_ACROSS] = "across sockets",
		[LINK_NUMA] = "one NUMA node", [LINK_SWITCH] = "a PCIe switch",
		[LINK_XGMI] = "xGMI", [LINK_NVLINK] = "NVLink",
	};

	snprintf(out, room, "%s", names[l->kind]);
	if (l->count)
		snprintf(out, room, "%s x%u", names[l->kind], l->count);
}

static bool
same(const struct link *a, const struct link *b)
{
	return a->kind == b->kind && a->count == b->count &&
	    a->no_peer == b->no_peer &&
	    a->gbs >= b->gbs * 0.999 && a->gbs <= b->gbs * 1.001;
}

/* A line a kind, with its pairs: a matrix of 8 does not fit beside it. */
static void
print_links(const struct machine *m, struct buf *out)
{
	for (size_t i = 0; i < m->links; i++) {
		char	 name[64];
		size_t	 pairs = 0, shown = 0;
		bool	 told = false;

		for (size_t k = 0; k < i && !told; k++)
			told = same(&m->link[k], &m->link[i]);
		if (told || !m->link[i].kind)
			continue;
		for (size_t k = i; k < m->links; k++)
			pairs += same(&m->link[k], &m->link[i]);
		link_name(&m->link[i], name, sizeof name);
		buf_addf(out, "links    %s", name);
		if (m->link[i].gbs > 0)
			buf_addf(out, ", %.3g GB/s each way", m->link[i].gbs);
		if (m->link[i].no_peer)
			buf_adds(out, ", no copies from GPU to GPU");
		buf_adds(out, ":");
		if (pairs == m->links) {
			buf_adds(out, pairs > 1 ? " all pairs\n" : " GPUs 0-1\n");
			continue;
		}
		for (size_t k = i; k < m->links && shown < 8; k++)
			if (same(&m->link[k], &m->link[i])) {
				buf_addf(out, " %u-%u", m->link[k].a,
				    m->link[k].b);
				shown++;
			}
		if (shown < pairs)
			buf_addf(out, " and %zu more", pairs - shown);
		buf_adds(out, "\n");
	}
}

static void
print_net(const struct machine *m, struct buf *out)
{
	for (size_t i = 0; i < m->ifaces; i++) {
		const struct iface *n = &m->iface[i];

		if (n->loopback || (!n->up && !n->address))
			continue;
		buf_addf(out, "network  %s, %s, %s", n->name,
		    n->address ? n->address : "no address",
		    n->up ? "up" : "down");
		if (n->speed)
			buf_addf(out, ", %.4g Gbit/s", (double)n->speed / 1e3);
		if (n->rdma && strcmp(n->rdma, n->name))
			buf_addf(out, ", RDMA %s", n->rdma);
		else if (n->rdma)
			buf_adds(out, ", RDMA");
		if (n->driver)
			buf_addf(out, ", %s", n->driver);
		if (n->numa >= 0 && m->numa > 1)
			buf_addf(out, ", NUMA %d", n->numa);
		buf_adds(out, "\n");
	}
}

static void
print_space(const char *name, uint64_t size, uint64_t free, struct buf *out)
{
	if (size)
		buf_addf(out, "%-8s %.1f GiB free of %.1f GiB\n", name,
		    (double)free / GIB, (double)size / GIB);
}

static void
print_software(const struct machine *m, struct buf *out)
{
	const struct { const char *name, *value; } rows[] = {
		{ "driver", m->driver }, { "CUDA", m->cuda },
		{ "ROCm", m->rocm }, { "NCCL", m->nccl },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].value)
			buf_addf(out, "%-8s %s\n", rows[i].name, rows[i].value);
	if (m->python)
		buf_addf(out, "python   %s, %s\n", m->python_version ?
		    m->python_version : "?", m->python);
	else if (m->here)
		buf_adds(out, m->asking ? "python   being asked\n" :
		    "python   none found\n");
	if (m->torch)
		buf_addf(out, "torch    %s\n", m->torch);
	if (m->accelerate)
		buf_addf(out, "accelerate %s\n", m->accelerate);
}

int
machine_print(const struct machine *m, struct buf *out)
{
	buf_addf(out, "host     %s\n", m->host ? m->host : m->hostname);
	if (m->problem) {
		buf_addf(out, "problem  %s\n", m->problem);
		if (m->hint && *m->hint)
			buf_addf(out, "         %s\n", m->hint);
		return buf_failed(out) ? -1 : 0;
	}
	if (m->wsl)
		buf_addf(out, "runs in  Windows Subsystem for Linux %u\n",
		    m->wsl);
	if (m->container)
		buf_addf(out, "runs in  a container (%s)\n", m->container);
	if (m->slurm)
		buf_addf(out, "runs in  Slurm job %s\n", m->slurm);
	print_cpus(m, out);
	print_limits(m, out);
	print_gpus(m, out);
	print_links(m, out);
	print_software(m, out);
	print_space("disk", m->disk, m->disk_free, out);
	print_space("shm", m->shm, m->shm_free, out);
	print_net(m, out);
	print_nodes(m, out);
	return buf_failed(out) ? -1 : 0;
}

int
machine_summary(const struct machine *m, struct buf *out)
{
	size_t n = machine_usable_gpus(m, NULL);

	if (m->problem) {
		buf_adds(out, m->problem);
		return buf_failed(out) ? -1 : 0;
	}
	add_count(out, "", m->cores, "core");
	buf_addf(out, ", %.0f GiB", (double)m->memory / GIB);
	if (n)
		add_count(out, ", ", n, "GPU");
	else
		buf_adds(out, ", no GPU");
	return buf_failed(out) ? -1 : 0;
}

/* "8 NVIDIA H100 80GB HBM3", "1 NVIDIA A, 1 NVIDIA B". */
static void
add_models(const struct machine *m, struct buf *out)
{
	size_t from = out->len;

	for (size_t i = 0; i < m->gpus; i++) {
		const struct gpu *g = &m->gpu[i];
		const char *model = g->model ? g->model : g->vendor;
		size_t n = 0;
		bool told = false;

		for (size_t k = 0; k < m->gpus; k++) {
			const struct gpu *o = &m->gpu[k];

			if (!o->usable || strcmp(model, o->model ? o->model :
			    o->vendor))
				continue;
			told = told || k < i;
			n++;
		}
		if (n && !told && g->usable)
			buf_addf(out, "%s%zu %s", out->len > from ? ", " : "",
			    n, model);
	}
}

int
machine_row(const struct machine *m, struct buf *out)
{
	enum link_kind	farthest = LINK_KINDS;
	size_t		gpus = machine_usable_gpus(m, NULL);
	long		speed = 0;

	if (m->problem) {
		buf_adds(out, m->problem);
		return buf_failed(out) ? -1 : 0;
	}
	for (size_t i = 0; i < m->links; i++)
		if (m->link[i].kind < farthest)
			farthest = m->link[i].kind;
	/* A narrow list cuts the end. */
	if (gpus)
		add_models(m, out);
	if (farthest == LINK_NVLINK)
		buf_adds(out, " (NVLink)");
	else if (farthest == LINK_XGMI)
		buf_adds(out, " (xGMI)");
	add_count(out, gpus ? ", " : "", m->cores, "core");
	buf_addf(out, ", %.0f GiB%s", (double)machine_memory(m) / GIB,
	    gpus ? "" : ", no GPU");
	for (size_t i = 0; i < m->ifaces; i++)
		if (m->iface[i].up && m->iface[i].speed > speed)
			speed = m->iface[i].speed;
	if (speed)
		buf_addf(out, ", %.4g Gbit/s", (double)speed / 1e3);
	if (m->torch)
		buf_addf(out, ", torch %s", m->torch);
	return buf_failed(out) ? -1 : 0;
}
