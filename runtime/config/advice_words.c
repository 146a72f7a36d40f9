/* SPDX-License-Identifier: Apache-2.0 */
/* Why: a sentence for each part of a proposal. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/advice_intern.h"

#include "runtime/base/banned.h"

#define NAME(s, w)	w,
static const char *const names[] = { ADVICE_ITEMS(NAME) };
#undef NAME

/* As their documentation calls them. */
static const char *const shardings[SHARDING_COUNT] = {
	[SHARDING_NONE] = "no sharding", [SHARDING_ZERO1] = "ZeRO 1",
	[SHARDING_ZERO2] = "ZeRO 2", [SHARDING_ZERO3] = "ZeRO 3",
	[SHARDING_FULL] = "full shard", [SHARDING_GRAD_OP] = "shard grad op",
	[SHARDING_HYBRID] = "hybrid shard",
	[SHARDING_HYBRID_GRAD_OP] = "hybrid, grad op",
	[SHARDING_MEGATRON] = "its optimizer whole",
	[SHARDING_MEGATRON_DIST] = "its optimizer shared",
};

struct telling {
	struct advice			*a;
	const struct advice_order	*o;
	const struct worlds		*all;
	const struct advice_world	*w;	/* of the plan */
	const struct advice_plan	*p;
	double				 whole;	/* bytes of a whole copy */
};

static double
gb(double bytes)
{
	return bytes / 1e9;
}

static void __attribute__((format(printf, 4, 5)))
say(struct telling *t, enum advice_item item, const char *value,
    const char *why, ...)
{
	struct advice_line	*line = &t->a->line[item];
	va_list			 ap;

	line->name = names[item];
	snprintf(line->value, sizeof line->value, "%s", value);
	va_start(ap, why);
	vsnprintf(line->why, sizeof line->why, why, ap);
	va_end(ap);
}

const char *
advice_type_word(enum dist type)
{
	return fields[FIELD_main_distributed_type].choice[type].word;
}

void
advice_name(const struct advice_plan *p, char *text, size_t room)
{
	static const char *const	places[] = { "", ", %s on the host",
	    ", %s on disk" };
	const struct memory_order	*o = &p->order;
	char				 offload[48] = "", mesh[80] = "",
	    hosts[40] = "";

	if (o->optimizer_on == ON_HOST)
		snprintf(offload, sizeof offload, places[ON_HOST],
		    o->params_on == ON_HOST ? "all" : "optimizer");
	else if (o->optimizer_on == ON_DISK)
		snprintf(offload, sizeof offload, places[ON_DISK], "all");
	if (o->tp * o->cp * o->pp > 1)
		snprintf(mesh, sizeof mesh, ", tp %ld, cp %ld, pp %ld", o->tp,
		    o->cp, o->pp);
	if (p->hosts > 1)
		snprintf(hosts, sizeof hosts, " on %zu hosts", p->hosts);
	snprintf(text, room, "%s, %s, %s%s%s%s, %ld process%s%s",
	    advice_type_word(p->type), shardings[o->sharding],
	    training_words[o->training].word, offload, mesh,
	    o->recompute ? ", recomputation" : "", o->ranks,
	    o->ranks == 1 ? "" : "es", hosts);
}

/* What one rank would need with nothing shared and the least activations. */
static double
whole_copy(const struct telling *t)
{
	struct memory_order	o = t->p->order;
	struct memory		m;

	o.sharding = SHARDING_NONE;
	o.tp = o.cp = o.pp = o.batch = o.micro_batches = 1;
	o.optimizer_on = o.params_on = ON_DEVICE;
	o.recompute = true;
	return memory_estimate(&m, &o, NULL) < 0 ? 0 : m.total[ON_DEVICE];
}

static double
state(const struct memory *m)
{
	return m->part[PART_PARAMS] + m->part[PART_GRADS] +
	    m->part[PART_OPTIMIZER];
}

static void
say_type(struct telling *t)
{
	const struct advice_plan	*p = t->p;
	const char	*word = advice_type_word(p->type);
	double		 room = gb(p->room), whole = gb(t->whole);
	const char	*device = p->order.cpu ? "NUMA node" : "GPU";

	if (p->type == dist_NO && p->order.ranks == 1)
		say(t, ADVICE_TYPE, word, "One %s holds it all, %.1f GB of "
		    "%.0f GB, and there is nobody to share the work with%s.",
		    device, gb(p->memory.total[ON_DEVICE]), room,
		    t->all->world[0].ranks > 1 ? " that would make it faster" :
		    "");
	else if (p->type == dist_FSDP || p->type == dist_DEEPSPEED)
		say(t, ADVICE_TYPE, word, "A whole copy takes %.0f GB %s a "
		    "GPU's %.0f GB%s; %s.", whole, whole > ADVICE_DEVICE_SHARE
		    * room ? "or more, which do not fit" : "of", room,
		    whole > ADVICE_DEVICE_SHARE * room ? "" : ", and shared "
		    "there is room for larger micro-batches", p->type ==
		    dist_FSDP ? "FSDP is PyTorch's own and needs no other "
		    "package" : "DeepSpeed is one package more, and here the "
		    "better way");
	else if (p->type == dist_MEGATRON_LM)
		say(t, ADVICE_TYPE, word, "The script is Megatron-LM's, and "
		    "splitting layers sends less over the slowest link than "
		    "sharding.");
	else
		say(t, ADVICE_TYPE, word, "Each %s holds a whole copy, %.1f GB "
		    "of %.0f GB with activations, so that gradients alone "
		    "travel, once a step.", device,
		    gb(p->memory.total[ON_DEVICE]), room);
}

static void
say_sharding(struct telling *t)
{
	const struct advice_plan	*p = t->p;
	const struct memory_order	*o = &p->order;
	const char	*word = o->sharding == SHARDING_NONE ? "none" :
	    shardings[o->sharding];
	double		 own = gb(state(&p->memory));

	switch (advice_stage(o->sharding)) {
	case 3:
		say(t, ADVICE_SHARDING, word, "Parameters, gradients and "
		    "optimizer are spread over %ld ranks: %.1f GB of each "
		    "device%s.", o->sharding == SHARDING_HYBRID ? o->group :
		    p->data * o->cp, own, o->sharding == SHARDING_HYBRID ?
		    ", within a host, whose links are faster than the network" :
		    "");
		break;
	case 2:
		say(t, ADVICE_SHARDING, word, "Gradients and optimizer are "
		    "spread, %.1f GB of each device with the gathered "
		    "parameters: less traffic than gathering them twice.",
		    own);
		break;
	case 1:
		say(t, ADVICE_SHARDING, word, "The optimizer alone is spread, "
		    "%.1f GB of each device with the rest: the traffic is "
		    "that of whole copies.", own);
		break;
	default:
		say(t, ADVICE_SHARDING, word, "Parameters, gradients and "
		    "optimizer take %.1f GB of each device, and that is "
		    "there.", own);
	}
}

static void
say_precision(struct telling *t)
{
	const struct hardware	*g = &t->w->least_gpu;
	const char	*word = training_words[t->p->order.training].word;
	int		 c = g->capability;

	if (t->p->order.cpu)
		say(t, ADVICE_PRECISION, word, t->p->order.training ==
		    TRAINING_BF16 ? "The CPUs have units for bfloat16." :
		    "The CPUs have no units for bfloat16 (AMX, AVX512_BF16).");
	else if (t->p->order.training == TRAINING_BF16)
		say(t, ADVICE_PRECISION, word, "%s has bfloat16 units, %.0f "
		    "TFLOP/s against %.0f in float32%s; its range needs no "
		    "loss scaling.%s", g->guess ? "The GPU" : g->words,
		    g->flops16 / 1e12, g->flops32 / 1e12,
		    g->guess ? " (a guess)" : "", c >= 89 ? "  fp8 would be "
		    "there too, with Transformer Engine." : "");
	else if (t->p->order.training == TRAINING_FP16)
		say(t, ADVICE_PRECISION, word, "%s (capability %d.%d) has no "
		    "bfloat16, which begins with 8.0; float16 works, with "
		    "loss scaling, which Accelerate does.",
		    g->guess ? "The GPU" : g->words, c / 10, c % 10);
	else
		say(t, ADVICE_PRECISION, word, "Here 16 bits would not be "
		    "faster.");
}

static void
say_offload(struct telling *t)
{
	const struct advice_plan	*p = t->p;
	struct memory_order		 o = p->order;
	struct memory			 m;
	const char	*word = o.optimizer_on == ON_DISK ? "all to disk" :
	    o.params_on == ON_HOST ? "all to the host" : "optimizer to the host";

	if (o.optimizer_on == ON_DEVICE) {
		say(t, ADVICE_OFFLOAD, "none", "The devices hold it; moving it "
		    "to the host would cost time in each step.");
		return;
	}
	o.optimizer_on = o.params_on = ON_DEVICE;
	if (memory_estimate(&m, &o, NULL) < 0)
		m.total[ON_DEVICE] = t->whole;
	say(t, ADVICE_OFFLOAD, word, "Without it a device would need %.0f GB "
	    "and has %.0f GB; it costs %.2g s of each step, and %.0f GB of "
	    "each host.", gb(m.total[ON_DEVICE]), gb(p->room),
	    p->time.offload, gb((double)p->local *
	    (p->memory.total[ON_HOST] + p->memory.total[ON_DISK])));
}

/* "node1 (8) and node2 (4)"; where they are many, how many. */
static void
name_hosts(const struct telling *t, char *text, size_t room)
{
	enum { FEW = 4 };
	size_t	n = 0, at = 0;

	snprintf(text, room, "%zu hosts", t->p->hosts);
	if (t->p->hosts > FEW)
		return;
	for (size_t i = 0; i < t->o->hosts && n < room; i++) {
		long	ranks = t->a->ranks[i];

		if (!ranks)
			continue;
		n += (size_t)snprintf(text + n, room - n, "%s%s (%ld)", !at ?
		    "" : at + 1 < t->p->hosts ? ", " : " and ",
		    t->o->host[i].name, ranks);
		at++;
	}
}

static void
say_processes(struct telling *t)
{
	const struct advice_plan	*p = t->p;
	long	all = t->all->world[0].ranks;
	char	text[40], hosts[600];

	name_hosts(t, hosts, sizeof hosts);
	snprintf(text, sizeof text, "%ld", p->order.ranks);
	if (p->order.cpu)
		say(t, ADVICE_PROCESSES, text, "One for each NUMA node of "
		    "%.200s, so that each computes in its own memory.", hosts);
	else if (p->order.ranks == all)
		say(t, ADVICE_PROCESSES, text, "One for each GPU: %.300s.",
		    hosts);
	else
		say(t, ADVICE_PROCESSES, text, "%.150s, %ld of %ld GPUs: with "
		    "the others each step would take longer, as all wait for "
		    "the slowest device and link.", hosts, p->order.ranks,
		    all);
}

static void
say_mesh(struct telling *t)
{
	const struct memory_order	*o = &t->p->order;
	char				 text[24];

	snprintf(text, sizeof text, "%ld", o->tp);
	if (o->tp > 1)
		say(t, ADVICE_TP, text, "It divides the %" PRIu64 " heads and "
		    "stays within a host, where the links are fastest.",
		    t->a->model.heads);
	else
		say(t, ADVICE_TP, text, "Splitting products sends 4 b s h a "
		    "layer that nothing hides, and leaves the state of each "
		    "rank as it is.");
	snprintf(text, sizeof text, "%ld", o->cp);
	if (o->cp > 1)
		say(t, ADVICE_CP, text, "Sequences of %ld tokens have most of "
		    "the activations; cut in %ld they fit.", o->sequence,
		    o->cp);
	else
		say(t, ADVICE_CP, text, "A sequence of %ld tokens fits one "
		    "rank.", o->sequence);
	snprintf(text, sizeof text, "%ld", o->pp);
	if (o->pp > 1)
		say(t, ADVICE_PP, text, "Stages send activations alone over "
		    "the slowest link; (p - 1) / m of the time is idle.");
	else
		say(t, ADVICE_PP, text, t->o->megatron ? "One stage is never "
		    "idle." : "Accelerate has stages with Megatron-LM alone, "
		    "which needs a script of its own.");
}

static void
say_batch(struct telling *t)
{
	const struct advice_plan	*p = t->p;
	const struct memory_order	*o = &p->order;
	struct memory_order		 more = *o;
	struct memory			 m;
	double		 full = 0;
	char		 text[32];

	snprintf(text, sizeof text, "%ld", o->batch);
	more.batch *= 2;
	if (memory_estimate(&m, &more, NULL) == 0)
		full = gb(m.total[ON_DEVICE]);
	if (p->accumulation == 1)
		say(t, ADVICE_MICRO, text, "The whole share of a rank: %ld "
		    "sequences over %ld.", t->a->batch, p->data);
	else if (full > ADVICE_DEVICE_SHARE * gb(p->room))
		say(t, ADVICE_MICRO, text, "Twice as many would take %.0f GB "
		    "of %.0f GB.", full, gb(p->room));
	else
		say(t, ADVICE_MICRO, text, "More at once would fill the "
		    "device (%.0f GB of %.0f GB for twice as many) and gain "
		    "little.", full, gb(p->room));
	snprintf(text, sizeof text, "%ld", p->accumulation);
	if (p->accumulation == 1)
		say(t, ADVICE_ACCUMULATION, text, "One micro-batch is a "
		    "step.");
	else
		say(t, ADVICE_ACCUMULATION, text, "%ld x %ld x %ld sequences "
		    "make a step of %ld%s.", p->data, o->batch,
		    p->accumulation, p->data * o->batch * p->accumulation,
		    p->type == dist_DEEPSPEED || p->type == dist_MEGATRON_LM ?
		    "" : "; the script says it to Accelerator("
		    "gradient_accumulation_steps=...)");
	if (!o->recompute) {
		say(t, ADVICE_RECOMPUTE, "off", "The activations of a "
		    "micro-batch, %.1f GB, fit, and a third of the computing "
		    "is saved.", gb(p->memory.part[PART_ACTIVATIONS]));
		return;
	}
	more = *o;
	more.recompute = false;
	if (memory_estimate(&m, &more, NULL) < 0)
		m = p->memory;
	say(t, ADVICE_RECOMPUTE, "on", "It keeps %.1f GB of activations in "
	    "place of %.1f GB, for a third more computing%s.",
	    gb(p->memory.part[PART_ACTIVATIONS]),
	    gb(m.part[PART_ACTIVATIONS]), p->type == dist_FSDP ||
	    p->type == dist_MEGATRON_LM ? "" : "; the script turns it on: "
	    "model.gradient_checkpointing_enable()");
}

/* Why an alternative came second. */
static void
say_second(struct telling *t, size_t i)
{
	const struct advice_plan	*q = &t->a->other[i], *p = t->p;
	double	slower = q->time.total / p->time.total - 1;
	double	more = gb(q->memory.total[ON_DEVICE] -
	    p->memory.total[ON_DEVICE]);
	char	*text = t->a->second[i];
	size_t	 room = sizeof t->a->second[i];

	if (!q->usable)
		snprintf(text, room, "%.0f %% faster, but it needs %s.",
		    100 * (1 - q->time.total / p->time.total),
		    q->type == dist_MEGATRON_LM ? "Megatron-LM and a script "
		    "written for it (--megatron)" : "DeepSpeed, which is not "
		    "installed");
	else if (slower > 0.005)
		snprintf(text, room, "%.0f %% slower, and takes %.1f GB %s of "
		    "each device.", 100 * slower, fabs(more), more < 0 ?
		    "less" : "more");
	else if (slower < -0.005)
		snprintf(text, room, "%.0f %% faster by this estimate, but "
		    "takes %.1f GB %s of each device%s.", -100 * slower,
		    fabs(more), more < 0 ? "less" : "more",
		    q->order.optimizer_on != ON_DEVICE ? " and hangs on the "
		    "host" : q->type == dist_DEEPSPEED ? " and needs "
		    "DeepSpeed" : q->order.tp * q->order.cp > 1 ?
		    " and needs a model that knows a mesh" : "");
	else if (more > 0)
		snprintf(text, room, "About as fast, but takes %.1f GB more "
		    "of each device.", more);
	else if (q->type == dist_DEEPSPEED && p->type != dist_DEEPSPEED)
		snprintf(text, room, "About as fast, with DeepSpeed as one "
		    "more package.");
	else
		snprintf(text, room, "About as fast, with more to set up.");
}

/* Which GPUs, where a plan has one host and not all of its GPUs. */
static void
say_gpus(const struct telling *t, struct advice_plan *p)
{
	const struct advice_world	*w = &t->all->world[p->world];
	size_t				 n = 0;

	if (w->hosts > 1 || w->speed.cpu)
		return;
	for (size_t i = 0; i < t->o->hosts; i++) {
		const struct advice_host *h = &t->o->host[i];

		if (!w->use[i] || w->ranks == (long)h->gpus)
			continue;
		for (size_t k = 0; k < h->gpus; k++)
			if (w->gpus[i] >> k & 1 && n < sizeof p->gpu_ids)
				n += (size_t)snprintf(p->gpu_ids + n,
				    sizeof p->gpu_ids - n, "%s%zu", n ? "," :
				    "", k);
	}
}

/* How many ranks each host has. */
static int
count_ranks(struct telling *t)
{
	const struct advice_world	*w = t->w;
	struct advice			*a = t->a;

	a->ranks = calloc(t->o->hosts, sizeof *a->ranks);
	if (!a->ranks)
		return -1;
	for (size_t i = 0; i < t->o->hosts; i++) {
		if (!w->use[i])
			continue;
		for (uint32_t bits = w->gpus[i]; bits; bits &= bits - 1)
			a->ranks[i]++;
		if (w->speed.cpu)
			a->ranks[i] = t->o->host[i].numa ?
			    t->o->host[i].numa : 1;
	}
	say_gpus(t, &a->plan);
	for (size_t i = 0; i < a->others; i++)
		say_gpus(t, &a->other[i]);
	return 0;
}

int
advice_explain(struct advice *a, const struct advice_order *o,
    const struct worlds *all, struct err *err)
{
	struct telling	t = { .a = a, .o = o, .all = all, .p = &a->plan };

	t.w = &all->world[a->plan.world];
	t.whole = whole_copy(&t);
	if (count_ranks(&t) < 0)
		return err_nomem(err);
	say_type(&t);
	say_sharding(&t);
	say_precision(&t);
	say_offload(&t);
	say_processes(&t);
	say_mesh(&t);
	say_batch(&t);
	for (size_t i = 0; i < a->others; i++)
		say_second(&t, i);
	return advice_warn(a, o, all) < 0 ? err_nomem(err) : 0;
}
