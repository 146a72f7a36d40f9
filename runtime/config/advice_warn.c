/* SPDX-License-Identifier: Apache-2.0 */
/* What to look out for, and what would fit where this does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/config/advice_intern.h"

#include "runtime/base/banned.h"

static double
gb(double bytes)
{
	return bytes / 1e9;
}

static int
warn_unequal(struct advice *a, const struct advice_order *o,
    const struct worlds *all, const struct advice_world *w)
{
	size_t				 gpus = 0;
	const struct advice_plan	*p = &a->plan;
	double				 slow = w->speed.cpu ?
	    w->speed.flops32 : w->speed.flops16, wait;
	int				 ret = 0;

	if (w->largest > 1.02 * w->room)
		ret |= strv_addf(&a->warnings, "The GPUs are unequal: all "
		    "ranks are sized by the smallest, %.0f GB on %s, and the "
		    "largest has %.0f GB.", gb(w->room), w->small,
		    gb(w->largest));
	if (slow > 0 && w->fastest > 1.05 * slow) {
		wait = 100 * (1 - slow / w->fastest);
		ret |= strv_addf(&a->warnings, "%s is the slowest: with equal "
		    "shares the fastest ranks wait for %.0f %% of each step; "
		    "give it a smaller share of the batch, or leave it out.",
		    w->slow, wait);
	}
	if (w->hosts > 1 && !w->equal)
		ret |= strv_addf(&a->warnings, "The hosts have %ld to %ld "
		    "ranks: name them with their slots, accel launch --hosts "
		    "a:%ld,b:%ld.", w->least, w->most, w->most, w->least);
	if (p->data * p->order.batch * p->accumulation != a->batch)
		ret |= strv_addf(&a->warnings, "%ld sequences do not divide "
		    "by %ld ranks x %ld: a step has %ld.", a->batch, p->data,
		    p->order.batch, p->data * p->order.batch *
		    p->accumulation);
	for (size_t i = 0; i < o->hosts; i++)
		gpus += o->host[i].gpus;
	if (!w->speed.cpu && (long)gpus > all->world[0].ranks)
		ret |= strv_addf(&a->warnings, "%ld of %zu GPUs are left out: "
		    "their memory is not known, or they are of another maker, "
		    "and one run has one maker's alone.", (long)gpus -
		    all->world[0].ranks, gpus);
	return ret;
}

static int
warn_links(struct advice *a, const struct advice_world *w)
{
	const struct advice_plan	*p = &a->plan;
	int				 ret = 0;

	if (w->no_peer && w->most > 1) {
		ret |= strv_addf(&a->warnings, "%s has no peer access over "
		    "PCIe: data goes through host memory.  Old drivers offer it "
		    "nevertheless, and runs hang (NVIDIA/nccl-tests#117): set "
		    "NCCL_P2P_DISABLE=1 there.",
		    w->least_gpu.guess ? "The GPU" : w->least_gpu.words);
		ret |= strv_add(&a->warnings, "Without peer access each "
		    "collective starts slowly: fewer, larger buckets are "
		    "better (bucket_cap_mb=100 in DistributedDataParallelKwargs"
		    ", larger units with FSDP).");
	}
	if (p->hosts > 1 && w->net_guess)
		ret |= strv_addf(&a->warnings, "The network is not measured: "
		    "%.1f GB/s a host are taken for its times.",
		    w->speed.net / 1e9);
	if (p->time.across && p->time.exposed > 0.3 * p->time.total)
		ret |= strv_addf(&a->warnings, "%.0f %% of a step is "
		    "communication that nothing hides, at %.2g GB/s between "
		    "hosts: a larger batch or a faster network shortens it.  "
		    "NCCL_SOCKET_IFNAME or NCCL_IB_HCA choose the network, "
		    "NCCL_DEBUG=INFO tells which one it took.",
		    100 * p->time.exposed / p->time.total,
		    p->time.slowest / 1e9);
	return ret;
}

static int
warn_guesses(struct advice *a, const struct advice_order *o,
    const struct advice_world *w)
{
	const struct advice_plan	*p = &a->plan;
	int				 ret = 0;
	bool				 fsdp = p->type == dist_FSDP;

	if (a->model.positions && a->sequence > (long)a->model.positions)
		ret |= strv_addf(&a->warnings, "The model has positions for "
		    "%d tokens, and a sequence has %ld.",
		    (int)a->model.positions, a->sequence);
	if (a->shape_guess)
		ret |= strv_addf(&a->warnings, "The model's shape is a guess, "
		    "%d layers of %d: give its config.json, or --layers and "
		    "--hidden, for its activations.", (int)a->model.layers,
		    (int)a->model.hidden);
	if (w->guess)
		ret |= strv_add(&a->warnings, w->speed.cpu ? "Speeds of CPUs "
		    "are guesses by cores: compare times, do not count on "
		    "them." : "A GPU is not in the table of hardware: its "
		    "speed is a guess by its memory and capability.");
	if (fsdp && p->accumulation > 1)
		ret |= strv_addf(&a->warnings, "With accumulation Accelerate "
		    "keeps whole gradients between steps, %.0f GB: use "
		    "GradientAccumulationPlugin(sync_each_batch=True), as "
		    "this estimate does.", gb(4 * (p->order.trained ?
		    (double)p->order.trained : (double)a->model.params)));
	if (p->order.params_on == ON_HOST && p->host_room <= 0)
		ret |= strv_add(&a->warnings, "The memory of the hosts is not "
		    "known, and the offload needs it.");
	if (p->order.optimizer_on == ON_DISK)
		ret |= strv_add(&a->warnings, "Offload to a disk is slow, and "
		    "its writes wear it: name a folder on a local NVMe "
		    "drive.");
	if (o->lora)
		ret |= strv_addf(&a->warnings, "LoRA: %.1f million parameters "
		    "are trained, the others are frozen in 16 bits; the "
		    "script does it (peft).", (double)p->order.trained / 1e6);
	return ret;
}

/* A search with something else, for its plan alone. */
static bool
search(struct advice *out, const struct advice *a,
    const struct advice_order *o)
{
	struct worlds	worlds;
	bool		fits;

	*out = (struct advice){ .model = a->model, .sequence = a->sequence,
	    .batch = a->batch };
	if (worlds_find(&worlds, o, NULL) < 0)
		return false;
	fits = advice_search(out, o, &worlds) == 0 && out->fits;
	worlds_clear(&worlds);
	return fits;
}

static bool
moves(const struct advice *a)
{
	return a->plan.order.optimizer_on != ON_DEVICE;
}

/* The fewest hosts like these that hold it without offload. */
static int
remedy_hosts(struct advice *a, const struct advice_order *o)
{
	enum { MOST = 64 };
	struct advice_order	 more = *o;
	struct advice_host	*hosts;
	struct advice		*out = malloc(sizeof *out);
	size_t			 n;
	int			 ret = 0;

	hosts = calloc(MOST, sizeof *hosts);
	if (!hosts || !out)
		goto nomem;
	for (n = 0; n < MOST; n++)
		hosts[n] = o->host[n % o->hosts];
	more.host = hosts;
	more.no_offload = true;
	for (n = o->hosts + 1; n <= MOST; n += n < 16 ? 1 : 8) {
		more.hosts = n;
		if (!search(out, a, &more))
			continue;
		ret = strv_addf(&a->remedies, "%zu such hosts hold it without "
		    "offload: %.0f GB of each device.", n,
		    gb(out->plan.memory.total[ON_DEVICE]));
		break;
	}
	free(hosts);
	free(out);
	return ret;
nomem:
	free(hosts);
	free(out);
	return -1;
}

/* GPUs of which as many hold it. */
static int
remedy_gpus(struct advice *a, const struct advice_order *o)
{
	static const double	sizes[] = { 16, 24, 32, 40, 48, 64, 80, 96,
	    141, 180, 192, 288 };
	struct advice_order	 more = *o;
	struct advice_host	*hosts = calloc(o->hosts, sizeof *hosts);
	struct advice		*out = malloc(sizeof *out);
	int			 ret = 0;

	if (!hosts || !out) {
		free(hosts);
		free(out);
		return -1;
	}
	memcpy(hosts, o->host, o->hosts * sizeof *hosts);
	more.host = hosts;
	more.no_offload = true;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		if (sizes[i] * 1e9 <= a->plan.room)
			continue;
		for (size_t k = 0; k < o->hosts; k++)
			for (size_t n = 0; n < hosts[k].gpus; n++)
				hosts[k].gpu[n].bytes =
				    (uint64_t)(sizes[i] * 1e9);
		if (!search(out, a, &more))
			continue;
		ret = strv_addf(&a->remedies, "As many GPUs of %.0f GB hold "
		    "it without offload.", sizes[i]);
		break;
	}
	free(hosts);
	free(out);
	return ret;
}

/* Adapters, or host memory. */
static int
remedy_otherwise(struct advice *a, const struct advice_order *o)
{
	struct advice_order	 more = *o;
	struct advice_host	*hosts = calloc(o->hosts, sizeof *hosts);
	struct advice		*out = malloc(sizeof *out);
	char			 name[200];
	double			 need;
	int			 ret = 0;

	if (!hosts || !out)
		goto out;
	more.lora = 16;
	more.no_offload = true;
	if (!o->lora && search(out, a, &more)) {
		advice_name(&out->plan, name, sizeof name);
		ret |= strv_addf(&a->remedies, "LoRA of rank 16 trains %.0f "
		    "million parameters and takes %.0f GB of each device: "
		    "%s.", (double)out->plan.order.trained / 1e6,
		    gb(out->plan.memory.total[ON_DEVICE]), name);
	}
	/* Hosts of any memory: what does the offload need? */
	more.lora = o->lora;
	more.no_offload = false;
	memcpy(hosts, o->host, o->hosts * sizeof *hosts);
	for (size_t i = 0; i < o->hosts; i++)
		hosts[i].memory = UINT64_C(1) << 50;
	more.host = hosts;
	if (!a->fits && search(out, a, &more)) {
		advice_name(&out->plan, name, sizeof name);
		need = (double)out->plan.local *
		    out->plan.memory.total[ON_HOST] / ADVICE_HOST_SHARE;
		if (out->plan.order.cpu)
			need = (double)out->plan.local *
			    out->plan.memory.total[ON_DEVICE] /
			    ADVICE_DEVICE_SHARE;
		ret |= strv_addf(&a->remedies, "Hosts with %.0f GB of memory "
		    "or more: %s.", gb(need), name);
	}
	free(hosts);
	free(out);
	return ret;
out:
	free(hosts);
	free(out);
	return -1;
}

int
advice_warn(struct advice *a, const struct advice_order *o,
    const struct worlds *all)
{
	const struct advice_world	*w = &all->world[a->plan.world];

	if (warn_unequal(a, o, all, w) < 0 || warn_links(a, w) < 0 ||
	    warn_guesses(a, o, w) < 0)
		return -1;
	if (a->fits && !moves(a))
		return 0;
	if (!w->speed.cpu && (remedy_hosts(a, o) < 0 ||
	    remedy_gpus(a, o) < 0))
		return -1;
	return remedy_otherwise(a, o);
}
