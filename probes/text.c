/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/banned.h"

static const double GIB = 1024.0 * 1024.0 * 1024.0;

static void
add_count(struct buf *out, const char *before, size_t n, const char *what)
{
	buf_addf(out, "%s%zu %s%s", before, n, what, n == 1 ? "" : "s");
}

static void
print_gpus(const struct machine *m, struct buf *out)
{
	if (!m->gpus)
		buf_adds(out, "GPUs     none\n");
	for (size_t i = 0; i < m->gpus; i++) {
		const struct gpu *g = &m->gpu[i];

		buf_addf(out, "GPU %-4zu %s", i,
		    g->model && strstr(g->model, g->vendor) ? "" : g->vendor);
		if (g->model)
			buf_addf(out, "%s%s",
			    strstr(g->model, g->vendor) ? "" : " ", g->model);
		if (g->memory)
			buf_addf(out, ", %.0f GiB", (double)g->memory / GIB);
		if (g->major)
			buf_addf(out, ", capability %d.%d", g->major, g->minor);
		if (g->pci)
			buf_addf(out, ", at %s", g->pci);
		buf_adds(out, g->usable ? "\n" : ", no driver found\n");
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
		buf_adds(out, "\n");
	}
}

int
machine_print(const struct machine *m, struct buf *out)
{
	buf_addf(out, "host     %s\n", m->hostname);
	add_count(out, "CPUs     ", m->cpus, "logical CPU");
	add_count(out, ", ", m->cores, "core");
	add_count(out, ", ", m->packages, "package");
	add_count(out, ", ", m->numa, "NUMA node");
	buf_addf(out, "\nmemory   %.1f GiB\n", (double)m->memory / GIB);
	print_gpus(m, out);
	if (m->python)
		buf_addf(out, "python   %s, %s\n", m->python_version ?
		    m->python_version : "?", m->python);
	else if (m->here)
		buf_adds(out, "python   none found\n");
	if (m->torch)
		buf_addf(out, "torch    %s\n", m->torch);
	if (m->accelerate)
		buf_addf(out, "accelerate %s\n", m->accelerate);
	print_net(m, out);
	return buf_failed(out) ? -1 : 0;
}

int
machine_summary(const struct machine *m, struct buf *out)
{
	size_t n = machine_usable_gpus(m, NULL);

	add_count(out, "", m->cores, "core");
	buf_addf(out, ", %.0f GiB", (double)m->memory / GIB);
	if (n)
		add_count(out, ", ", n, "GPU");
	else
		buf_adds(out, ", no GPU");
	return buf_failed(out) ? -1 : 0;
}
