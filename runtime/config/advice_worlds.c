/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The selections of hosts and GPUs that could be one run: all; those that are
 * about as fast and large as the best; the best host; its best GPUs; one GPU.
 * Which is right, the time of a step tells.
 */
#include "runtime/config/advice_intern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

static const double	ALIKE = 0.8;

/* Shares of a link's own speed.  NCCL's tables (src/graph/topo.h) count 20 of
 * 25 GB/s of an NVLink and 12 of 15.75 of PCIe 3.0 x16; the rest are guesses:
 * a way across sockets, copies through host memory, TCP and RDMA. */
static const double	NVLINK = 0.8, PCIE = 0.76, ACROSS = 0.5,
    NO_PEER = 0.4, NETWORK = 0.85;
/* A ring's step (NCCL's src/graph/tuning.cc, protocol Simple), and a guess for
 * TCP. */
static const double	LATENCY_NVLINK = 3.4e-6, LATENCY_PCIE = 5.7e-6,
    LATENCY_NET = 9.6e-6, LATENCY_TCP = 50e-6;
/* Guesses, where nobody told: 10 Gbit/s; a disk; memory of a NUMA node; a core
 * of 2.5 GHz with two units of eight float32 multiply-adds; bf16 units. */
static const double	NET = 1.25e9, DISK = 3e9, HOST_MEMORY = 50e9,
    CORE = 2.5e9 * 32, CPU_BF16 = 4;

/* False where its memory is not known: nobody can plan for it. */
static bool
find(const struct advice_host *h, size_t i, struct hardware *out)
{
	const struct advice_gpu	*g = &h->gpu[i];

	hardware_find(out, g->vendor, g->model, g->arch, g->capability,
	    g->bytes);
	return out->bytes > 0;
}

static void
least(double *to, double value)
{
	if (value > 0 && (*to <= 0 || value < *to))
		*to = value;
}

static void
add_link(struct advice_world *w, const struct advice_host *h,
    const struct hardware *g)
{
	enum hardware_link	 kind = h->link ? h->link : g->link;
	double			 speed = h->link_speed, latency = LATENCY_PCIE;
	bool			 fast = kind == HARDWARE_NVLINK ||
	    kind == HARDWARE_XGMI;

	if (speed <= 0)
		speed = fast && g->link_speed > 0 ? g->link_speed : g->pcie;
	speed *= fast ? NVLINK : kind == HARDWARE_ACROSS ? ACROSS : PCIE;
	if (fast)
		latency = LATENCY_NVLINK;
	else if (h->no_peer || !g->peer) {
		speed *= NO_PEER;
		w->no_peer = true;
	}
	if (!h->link)
		w->guess |= g->guess;
	if (w->speed.link <= 0 || speed < w->speed.link) {
		w->speed.link = speed;
		w->link = kind;
	}
	w->speed.link_latency = fmax(w->speed.link_latency, latency);
}

/* One GPU that takes part. */
static void
add_gpu(struct advice_world *w, const struct advice_host *h,
    const char *model, const struct hardware *g)
{
	double	room = w->room, flops = w->speed.flops16;

	least(&w->room, g->bytes);
	if (w->room < room || room <= 0)
		snprintf(w->small, sizeof w->small, "%s", h->name);
	least(&w->speed.flops16, g->flops16);
	if (w->speed.flops16 < flops || flops <= 0) {
		snprintf(w->slow, sizeof w->slow, "%s of %.100s", *model ?
		    model : "the GPU", h->name);
		w->least_gpu = *g;
	}
	least(&w->speed.flops32, g->flops32);
	least(&w->speed.memory, g->memory);
	least(&w->speed.pcie, g->pcie * PCIE);
	w->fastest = fmax(w->fastest, g->flops16);
	w->largest = fmax(w->largest, g->bytes);
	if (g->type < w->type)
		w->type = g->type;
	w->guess |= g->guess;
}

static void
add_host(struct advice_world *w, const struct advice_host *h, long ranks,
    size_t at)
{
	double	net = h->net > 0 ? h->net : NET, latency = h->latency;

	if (!h->net_measured) {
		net *= NETWORK;
		w->net_guess = true;
	}
	if (latency <= 0)
		latency = net > 10e9 ? LATENCY_NET : LATENCY_TCP;
	w->use[at] = true;
	w->equal = !w->hosts || (w->equal && ranks == w->most);
	w->hosts++;
	w->ranks += ranks;
	w->most = ranks > w->most ? ranks : w->most;
	w->least = w->hosts == 1 || ranks < w->least ? ranks : w->least;
	least(&w->host_room, (double)h->memory);
	least(&w->speed.net, net);
	w->speed.net_latency = fmax(w->speed.net_latency, latency);
	least(&w->speed.host_memory, HOST_MEMORY * (h->numa ? h->numa : 1));
	least(&w->speed.disk, h->disk_speed > 0 ? h->disk_speed : DISK);
	if (w->hosts == 1 || h->disk < w->disk)
		w->disk = h->disk;
}

/* From the bits in w->gpus. */
static void
measure(struct advice_world *w, const struct advice_order *o)
{
	w->type = HARDWARE_BF16;
	for (size_t i = 0; i < o->hosts; i++) {
		const struct advice_host	*h = &o->host[i];
		struct hardware			 g, one = { .words = NULL };
		long				 n = 0;

		for (size_t k = 0; k < h->gpus; k++) {
			if (!(w->gpus[i] >> k & 1))
				continue;
			find(h, k, &g);
			add_gpu(w, h, h->gpu[k].model, &g);
			if (!n++ || g.link_speed < one.link_speed)
				one = g;
		}
		if (!n)
			continue;
		add_host(w, h, n, i);
		if (n > 1)
			add_link(w, h, &one);
	}
	if (w->speed.link <= 0) {	/* one GPU a host */
		w->speed.link = w->hosts > 1 ? w->speed.net : 1e12;
		w->speed.link_latency = LATENCY_PCIE;
	}
	w->speed.local = w->most;
	w->speed.hosts = w->hosts;
}

/* A rank for each NUMA node. */
static void
measure_cpu(struct advice_world *w, const struct advice_order *o)
{
	w->cpu_bf16 = true;
	for (size_t i = 0; i < o->hosts; i++) {
		const struct advice_host	*h = &o->host[i];
		long	n = h->numa ? (long)h->numa : 1;
		double	cores = h->cores ? h->cores : 1, flops;

		if (!w->use[i])
			continue;
		add_host(w, h, n, i);
		w->cpu_bf16 &= h->cpu_bf16;
		flops = CORE * cores / (double)n;
		least(&w->speed.flops32, flops);
		if (w->speed.flops32 >= flops)
			snprintf(w->slow, sizeof w->slow, "%s", h->name);
		w->fastest = fmax(w->fastest, flops);
		least(&w->room, (double)h->memory / (double)n);
	}
	w->type = w->cpu_bf16 ? HARDWARE_BF16 : HARDWARE_FP32;
	w->speed.flops16 = w->speed.flops32 * CPU_BF16;
	w->speed.memory = w->speed.link = HOST_MEMORY / 2;
	w->speed.link_latency = LATENCY_PCIE;
	w->speed.pcie = HOST_MEMORY;
	w->speed.local = w->most;
	w->speed.hosts = w->hosts;
	w->speed.cpu = w->guess = true;
}

static void
world_clear(struct advice_world *w)
{
	free(w->use);
	free(w->gpus);
	*w = (struct advice_world){ .use = NULL };
}

/* A new world without anything in it, or NULL without memory. */
static struct advice_world *
begin(struct worlds *all, size_t hosts)
{
	struct advice_world	*w = &all->world[all->count];

	*w = (struct advice_world){ .use = calloc(hosts, sizeof *w->use),
	    .gpus = calloc(hosts, sizeof *w->gpus) };
	if (w->use && w->gpus)
		return w;
	world_clear(w);
	return NULL;
}

/* Keeps it, unless it is empty or there already. */
static void
keep(struct worlds *all, const struct advice_order *o)
{
	struct advice_world	*w = &all->world[all->count];

	measure(w, o);
	for (unsigned i = 0; i < all->count; i++)
		if (!memcmp(all->world[i].gpus, w->gpus,
		    o->hosts * sizeof *w->gpus)) {
			world_clear(w);
			return;
		}
	if (!w->ranks)
		world_clear(w);
	else
		all->count++;
}

/* The maker with the most speed in all: two makers' GPUs do not talk. */
static void
choose_vendor(const struct advice_order *o, char *vendor, size_t room)
{
	struct { const char *name; double sum; } makers[8] = { { NULL, 0 } };
	const size_t	 most = sizeof makers / sizeof *makers;
	size_t		 best = 0, m;

	for (size_t i = 0; i < o->hosts; i++)
		for (size_t k = 0; k < o->host[i].gpus; k++) {
			const char	*name = o->host[i].gpu[k].vendor;
			struct hardware	 g;

			for (m = 0; m < most && makers[m].name &&
			    strcmp(makers[m].name, name); m++)
				;
			if (m == most)
				continue;
			if (!find(&o->host[i], k, &g))
				continue;
			makers[m].name = name;
			makers[m].sum += g.flops16;
		}
	for (m = 0; m < most; m++)
		if (makers[m].sum > makers[best].sum)
			best = m;
	snprintf(vendor, room, "%s", makers[best].name ? makers[best].name :
	    "");
}

/* The best GPU there is: by speed, then by memory. */
static void
find_best(const struct advice_order *o, const char *vendor,
    struct hardware *best, size_t *host, size_t *at)
{
	*best = (struct hardware){ .words = NULL };
	for (size_t i = 0; i < o->hosts; i++)
		for (size_t k = 0; k < o->host[i].gpus; k++) {
			struct hardware	g;

			if (strcmp(o->host[i].gpu[k].vendor, vendor))
				continue;
			if (!find(&o->host[i], k, &g))
				continue;
			if (best->words && (g.flops16 < best->flops16 ||
			    (g.flops16 <= best->flops16 &&
			    g.bytes <= best->bytes)))
				continue;
			*best = g;
			*host = i;
			*at = k;
		}
}

static uint32_t
bits(const struct advice_host *h, const char *vendor,
    const struct hardware *best)
{
	uint32_t	out = 0;

	for (size_t k = 0; k < h->gpus; k++) {
		struct hardware	g;

		if (strcmp(h->gpu[k].vendor, vendor))
			continue;
		if (!find(h, k, &g))
			continue;
		if (!best || (g.flops16 >= ALIKE * best->flops16 &&
		    g.bytes >= ALIKE * best->bytes))
			out |= UINT32_C(1) << k;
	}
	return out;
}

/* The host whose GPUs are the fastest in all, its slowest counting for each. */
static size_t
best_host(const struct advice_order *o, const char *vendor)
{
	size_t	at = 0;
	double	best = 0;

	for (size_t i = 0; i < o->hosts; i++) {
		double	slow = 0, n = 0;

		for (size_t k = 0; k < o->host[i].gpus; k++) {
			struct hardware	g;

			if (strcmp(o->host[i].gpu[k].vendor, vendor))
				continue;
			if (!find(&o->host[i], k, &g))
				continue;
			least(&slow, g.flops16);
			n++;
		}
		if (n * slow > best) {
			best = n * slow;
			at = i;
		}
	}
	return at;
}

static int
find_gpus(struct worlds *all, const struct advice_order *o, struct err *err)
{
	char			 vendor[16];
	struct hardware		 best;
	size_t			 host = 0, gpu = 0, one;
	struct advice_world	*w;

	choose_vendor(o, vendor, sizeof vendor);
	find_best(o, vendor, &best, &host, &gpu);
	if (!best.words)
		return 0;
	one = best_host(o, vendor);
	for (int way = 0; way < 5; way++) {
		if (!(w = begin(all, o->hosts)))
			return err_nomem(err);
		for (size_t i = 0; i < o->hosts; i++) {
			if ((way == 2 || way == 3) && i != one)
				continue;
			if (way < 4)
				w->gpus[i] = bits(&o->host[i], vendor,
				    way & 1 ? &best : NULL);
			else if (i == host)
				w->gpus[i] = UINT32_C(1) << gpu;
		}
		keep(all, o);
	}
	return 0;
}

static int
find_cpus(struct worlds *all, const struct advice_order *o, struct err *err)
{
	struct advice_world	*w;
	size_t			 best = 0;

	for (size_t i = 0; i < o->hosts; i++)
		if (o->host[i].cores > o->host[best].cores)
			best = i;
	for (size_t way = 0; way < 2 && way < o->hosts; way++) {
		if (!(w = begin(all, o->hosts)))
			return err_nomem(err);
		for (size_t i = 0; i < o->hosts; i++)
			w->use[i] = !way || i == best;
		measure_cpu(w, o);
		all->count++;
	}
	return 0;
}

int
worlds_find(struct worlds *all, const struct advice_order *o, struct err *err)
{
	size_t	gpus = 0;
	int	ret;

	all->count = 0;
	for (size_t i = 0; i < o->hosts; i++)
		gpus += o->host[i].gpus;
	ret = gpus && !o->cpu ? find_gpus(all, o, err) :
	    find_cpus(all, o, err);
	if (ret == 0 && !all->count) {
		err_set(err, "the memory of none of the %zu GPUs is known",
		    gpus);
		return err_hint(err, "look where a driver answers for them "
		    "(accel probe), or say it: --gpus %zux24GB", gpus);
	}
	if (ret < 0)
		worlds_clear(all);
	return ret;
}

void
worlds_clear(struct worlds *all)
{
	while (all->count)
		world_clear(&all->world[--all->count]);
}
