/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The advice: the cases that an expert would decide, and what must hold of every
 * proposal.
 */
#include <math.h>

#include "runtime/base/buf.h"
#include "runtime/config/rules.h"
#include "tests/unit/advice.h"

static bool
says(const struct strv *list, const char *part)
{
	for (size_t i = 0; i < list->count; i++)
		if (strstr(list->item[i], part))
			return true;
	return false;
}

static double
state(const struct memory *m)
{
	return m->part[PART_PARAMS] + m->part[PART_GRADS] +
	    m->part[PART_OPTIMIZER];
}

static int
stage(const struct advice_plan *p)
{
	switch (p->order.sharding) {
	case SHARDING_NONE: case SHARDING_MEGATRON: return 0;
	case SHARDING_ZERO1: case SHARDING_MEGATRON_DIST: return 1;
	case SHARDING_ZERO2: case SHARDING_GRAD_OP:
	case SHARDING_HYBRID_GRAD_OP: return 2;
	default: return 3;
	}
}

/* The twelve cases; -1: any. */
enum { ANY = -1, NOT_BF16 = TRAINING_COUNT };
static const struct expected {
	const char	*what, *hosts, *model;
	long		 batch, sequence;
	bool		 fits;
	long		 ranks;
	int		 stage, training, place, recompute;
	double		 gb;		/* state of a rank on its device */
	const char	*warning, *remedy;
} cases[] = {
	{ "one 24 GB card holds 124M: one process", "1x24GB", "124M", 8, 1024,
	    true, 1, 0, TRAINING_BF16, ON_DEVICE, 0, 2.0, NULL, NULL },
	{ "8 x 24 GB, 1.3B: stage 2", "8xA10", "1.3B", 64, 2048, true, 8, 2,
	    TRAINING_BF16, ON_DEVICE, 0, 5.26, NULL, NULL },
	{ "8 x 24 GB, 7B: stage 3 with recomputation", "8xA10:ram=256GB",
	    "7B", 64, 2048, true, 8, 3, TRAINING_BF16, ON_DEVICE, 1, 13.5,
	    NULL, NULL },
	{ "one 24 GB card, 7B, 128 GB of RAM: stage 3 on the host",
	    "1xA10:ram=128GB", "7B", 8, 2048, true, 1, 3, TRAINING_BF16,
	    ON_HOST, 1, ANY, NULL, "LoRA" },
	{ "one 24 GB card, 7B, 64 GB of RAM: does not fit", "1xA10:ram=64GB",
	    "7B", 8, 2048, false, ANY, ANY, ANY, ANY, ANY, ANY, NULL, "LoRA" },
	{ "8 x 80 GB with NVLink, 7B: full shard, no offload", "8xA100", "7B",
	    64, 4096, true, 8, 3, TRAINING_BF16, ON_DEVICE, 0, 13.5, NULL,
	    NULL },
	{ "2 x 8 x 80 GB, 70B: only with offload", "2x8xA100:200gbit:ram=2TB",
	    "70B", 128, 4096, true, 16, 3, TRAINING_BF16, ON_HOST, 1, ANY,
	    NULL, "3 such hosts" },
	{ "the same with 256 GB of RAM: too small",
	    "2x8xA100:200gbit:ram=256GB", "70B", 128, 4096, false, ANY, ANY,
	    ANY, ANY, ANY, ANY, NULL, "3 such hosts" },
	{ "4 x 8 x 80 GB, 70B: full shard over 32, recomputation",
	    "4x8xA100:1600gbit", "70B", 256, 4096, true, 32, 3, TRAINING_BF16,
	    ON_DEVICE, 1, 34.5, NULL, NULL },
	{ "8 + 4 GPUs of unequal memory: one world of 12",
	    "8xA100:100gbit 4xA100:40GB:100gbit", "1.3B", 96, 2048, true, 12,
	    ANY, TRAINING_BF16, ON_DEVICE, ANY, ANY, "sized by the smallest",
	    NULL },
	{ "V100: float16", "8xV100", "1.3B", 64, 2048, true, 8, ANY,
	    TRAINING_FP16, ON_DEVICE, ANY, ANY, NULL, NULL },
	{ "4 x RTX 4090, 1.3B: stage 2, and a word on peer access",
	    "4xRTX4090", "1.3B", 16, 2048, true, 4, 2, TRAINING_BF16,
	    ON_DEVICE, ANY, ANY, "NCCL_P2P_DISABLE=1", NULL },
	{ "CPUs of two hosts: a rank for each NUMA node, float32",
	    "2x1xcpu:cores=32:numa=2:ram=128GB:10gbit", "12M", 64, 512, true,
	    4, 0, TRAINING_FP32, ON_DEVICE, 0, ANY, NULL, NULL },
	{ "8 x MI300X, 7B: no offload", "8xMI300X", "7B", 64, 4096, true, 8,
	    ANY, TRAINING_BF16, ON_DEVICE, ANY, ANY, NULL, NULL },
};

static bool
as_expected(const struct expected *e, const struct advice *a)
{
	const struct advice_plan	*p = &a->plan;
	double				 gb = state(&p->memory) / 1e9;

	if (a->fits != e->fits)
		return false;
	return (e->ranks == ANY || p->order.ranks == e->ranks) &&
	    (e->stage == ANY || stage(p) == e->stage) &&
	    (e->training == ANY || (int)p->order.training == e->training) &&
	    (e->place == ANY || (int)p->order.optimizer_on == e->place) &&
	    (e->recompute == ANY || p->order.recompute == e->recompute) &&
	    (e->gb < 0 || fabs(gb - e->gb) < 0.04 * e->gb) &&
	    (!e->warning || says(&a->warnings, e->warning)) &&
	    (!e->remedy || says(&a->remedies, e->remedy));
}

static void
test_cases(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct expected	*e = &cases[i];
		struct model		 m;
		struct fleet_of		 f;
		struct advice		 a;
		struct err		 err = ERR_INIT;
		char			 name[200];
		struct advice_order	 o = { .batch = e->batch,
		    .sequence = e->sequence, .optimizer = OPTIMIZER_ADAM };

		model_named(&m, e->model);
		fleet_words(&f, e->hosts);
		o.model = &m;
		o.host = f.host;
		o.hosts = f.count;
		if (advise(&a, &o, &err) < 0)
			printf("Bail out! %s\n", err.text);
		ok(as_expected(e, &a), "case: %s", e->what);
		advice_name(&a.plan, name, sizeof name);
		printf("# %s%s, %.2f GB of state, %.1f GB in all\n",
		    a.fits ? "" : "does not fit: ", name,
		    state(&a.plan.memory) / 1e9,
		    a.plan.memory.total[ON_DEVICE] / 1e9);
		for (size_t k = 0; k < ADVICE_ITEM_COUNT; k++)
			if (strlen(a.line[k].why) < 10 || a.line[k].why[
			    strlen(a.line[k].why) - 1] != '.')
				ok(0, "%s has a sentence", a.line[k].name);
		advice_clear(&a);
		free(f.host);
		model_clear(&m);
	}
}

/* What the cases say beyond the plan itself. */
static void
test_words(void)
{
	struct model		 m;
	struct fleet_of		 f;
	struct advice		 a;
	struct advice_order	 o = { .batch = 64, .sequence = 2048,
	    .optimizer = OPTIMIZER_ADAM };
	bool			 host = false, zero1 = false;

	model_named(&m, "7B");
	fleet_words(&f, "8xA10:ram=256GB");
	o.model = &m;
	o.host = f.host;
	o.hosts = f.count;
	advise(&a, &o, NULL);
	for (size_t i = 0; i < a.others; i++)
		host |= a.other[i].order.optimizer_on == ON_HOST;
	ok(a.others == 2 && host, "7B on 8 x 24 GB: offload of the optimizer "
	    "is an alternative");
	advice_clear(&a);
	free(f.host);

	fleet_words(&f, "8xMI300X");
	o.host = f.host;
	o.sequence = 4096;
	advise(&a, &o, NULL);
	for (size_t i = 0; i < a.others; i++)
		if (a.other[i].order.sharding == SHARDING_ZERO1) {
			zero1 = true;
			ok(fabs(state(&a.other[i].memory) / 1e9 - 37.1) < 0.5,
			    "7B on 8 x MI300X: ZeRO-1 takes 4 P + 12 P / 8 = "
			    "37 GB");
		}
	ok(zero1, "and fits");
	advice_clear(&a);
	free(f.host);

	/* A host that is much slower only holds the others up. */
	fleet_words(&f, "8xH100:100gbit 4xT4:100gbit");
	o.host = f.host;
	o.hosts = f.count;
	model_clear(&m);
	model_named(&m, "1.3B");
	o.sequence = 2048;
	advise(&a, &o, NULL);
	ok(a.plan.order.ranks == 8 && a.ranks[0] == 8 && !a.ranks[1],
	    "four T4 beside eight H100 are left out");
	advice_clear(&a);
	free(f.host);

	fleet_words(&f, "1xcpu:cores=16:numa=1:ram=64GB");
	o.host = f.host;
	o.hosts = 1;
	f.host->cpu_bf16 = true;
	advise(&a, &o, NULL);
	ok(a.plan.order.training == TRAINING_BF16, "a CPU with units for "
	    "bfloat16 uses them");
	advice_clear(&a);
	free(f.host);
	model_clear(&m);

	/* Parameters alone: the shape is a guess, and said to be. */
	m = (struct model){ .params = 6738415616 };
	model_settle(&m, NULL);
	fleet_words(&f, "8xA100");
	o.model = &m;
	o.host = f.host;
	advise(&a, &o, NULL);
	ok(a.shape_guess && a.model.layers == 32 && a.model.hidden == 4096,
	    "6.7 billion parameters look like 32 layers of 4096");
	ok(says(&a.warnings, "shape is a guess"), "which is said");
	advice_clear(&a);
	free(f.host);
	model_clear(&m);
}

/* Heads that four does not divide are not split in four. */
static void
test_heads(void)
{
	struct model		 m;
	struct fleet_of		 f;
	struct advice		 a;
	struct advice_order	 o = { .batch = 2, .sequence = 4096,
	    .optimizer = OPTIMIZER_ADAM, .megatron = true };
	long			 odd;

	model_named(&m, "70B");
	fleet_words(&f, "4x8xH100:10gbit");
	o.model = &m;
	o.host = f.host;
	o.hosts = f.count;
	advise(&a, &o, NULL);
	ok(a.plan.type == dist_MEGATRON_LM && a.plan.order.tp == 4 &&
	    a.plan.order.pp > 1, "70B over a slow network, two sequences, for "
	    "a script of Megatron-LM: tp 4 within hosts, stages across");
	advice_clear(&a);
	m.heads = m.kv_heads = 66;
	advise(&a, &o, NULL);
	odd = a.plan.order.tp;
	ok(odd > 1 && 66 % odd == 0, "66 heads are split in %ld", odd);
	advice_clear(&a);
	o.megatron = false;
	o.batch = 64;
	advise(&a, &o, NULL);
	ok(a.plan.type != dist_MEGATRON_LM, "a script of another kind has no "
	    "stages");
	ok(a.others && !a.other[0].usable, "but hears of them, as they are "
	    "faster: %s", a.second[0]);
	advice_clear(&a);
	free(f.host);
	model_clear(&m);
}

/* What must hold of every proposal. */

static void
draw_host(struct advice_host *h, size_t at)
{
	static const unsigned	gb[] = { 8, 11, 16, 24, 40, 48, 80, 141, 192 };
	const struct hardware	*row = hardware_row(draw(32));
	struct advice_gpu	 g = { .vendor = "" };

	*h = (struct advice_host){ .cores = 1 + draw(128),
	    .numa = 1 + draw(4), .memory = (uint64_t)(8 + draw(2000)) << 30,
	    .cpu_bf16 = draw(2), .no_peer = !draw(4), .net = draw(3) ?
	    1e8 * (1 + draw(1000)) : 0, .disk = (uint64_t)draw(4000) << 30 };
	snprintf(h->name, sizeof h->name, "h%zu", at);
	h->gpus = draw(5) ? 1U << draw(4) : draw(12);
	snprintf(g.vendor, sizeof g.vendor, "%s", row ? row->vendor :
	    "NVIDIA");
	snprintf(g.model, sizeof g.model, "%s", row && draw(6) ? row->words :
	    "Odd GPU 7");
	g.bytes = draw(20) ? (uint64_t)gb[draw(9)] * 1000000000 : 0;
	g.capability = row && draw(3) ? row->capability : (int)draw(130);
	h->link = (enum hardware_link)draw(5);
	for (size_t i = 0; i < h->gpus; i++)
		h->gpu[i] = g;
}

static bool
holds(const struct advice *a, const struct advice_order *o,
    const struct advice_plan *p)
{
	const struct memory_order	*q = &p->order;
	struct memory			 m;
	long				 copies = p->data * q->tp * q->cp *
	    q->pp;
	bool				 low = false, ret = true;

	for (size_t i = 0; p->world == a->plan.world && i < o->hosts; i++)
		for (size_t k = 0; a->ranks[i] && k < o->host[i].gpus; k++) {
			struct hardware	h;
			const struct advice_gpu	*g = &o->host[i].gpu[k];

			hardware_find(&h, g->vendor, g->model, g->arch,
			    g->capability, g->bytes);
			low |= h.capability && h.capability < 80;
		}
	if (a->fits && !q->cpu && low && q->training == TRAINING_BF16)
		ret = false;
	if (copies != q->ranks)
		ret = false;
	if (q->tp > 1 && (a->model.heads % (uint64_t)q->tp ||
	    a->model.kv_heads % (uint64_t)q->tp))
		ret = false;
	if (memory_estimate(&m, q, NULL) < 0)
		ret = false;
	else if (a->fits && (m.total[ON_DEVICE] > 0.9 * p->room ||
	    m.total[ON_DEVICE] < 1))
		ret = false;
	if (!(p->time.total > 0) || !isfinite(p->time.total))
		ret = false;
	if (p->data * q->batch * p->accumulation < a->batch)
		ret = false;
	if (!ret) {
		char	name[200];

		advice_name(p, name, sizeof name);
		printf("# %s: data %ld, %.3g of %.3g, %g s\n", name, p->data,
		    m.total[ON_DEVICE], p->room, p->time.total);
	}
	return ret;
}

/* The configuration passes the rules, and says what the plan says. */
static bool
launches(const struct advice *a, const struct advice_order *o)
{
	struct config		 c;
	struct problems		 problems = PROBLEMS_INIT;
	struct err		 err = ERR_INIT;
	struct memory_order	 back = MEMORY_ORDER_INIT;
	struct site		 site = { .hosts = (long)a->plan.hosts,
	    .slots = a->plan.order.ranks };
	const struct memory_order *q = &a->plan.order;
	bool			 ret;

	(void)o;
	config_init(&c);
	ret = advice_apply(a, &a->plan, &c, &err) == 0 &&
	    config_problems(&c, &site, &problems, &err) == 0 &&
	    !problems_fatal(&problems);
	memory_order_take(&back, &c, NULL);
	ret = ret && back.ranks == q->ranks && back.sharding == q->sharding &&
	    back.training == q->training && back.tp == q->tp &&
	    back.cp == q->cp && back.pp == q->pp &&
	    back.params_on == q->params_on &&
	    back.optimizer_on == q->optimizer_on && back.cpu == q->cpu;
	if (q->sharding == SHARDING_HYBRID ||
	    q->sharding == SHARDING_HYBRID_GRAD_OP)
		ret = ret && back.group == q->group;
	for (size_t i = 0; !ret && i < problems.count; i++)
		printf("# %s: %s\n", problems.item[i].id,
		    problems.item[i].what);
	if (!ret)
		printf("# %s; ranks %ld %ld, sharding %d %d, tp %ld %ld\n",
		    err.text, back.ranks, q->ranks, back.sharding,
		    q->sharding, back.tp, q->tp);
	problems_clear(&problems);
	config_clear(&c);
	return ret;
}

static void
test_any(void)
{
	int	bad = 0, unequal = 0, refused = 0, more = 0, fits = 0;

	for (int n = 0; n < 250; n++) {
		struct advice_host	 hosts[4];
		struct model		 m;
		struct advice		 a, b;
		struct err		 err = ERR_INIT;
		bool			 known = true;
		struct advice_order	 o = { .host = hosts,
		    .hosts = 1 + draw(4), .optimizer = (enum optimizer)
		    draw(OPTIMIZER_COUNT), .sequence = (long)draw(3) * 4096,
		    .batch = draw(3) ? (long)draw(200) : 0,
		    .lora = draw(4) ? 0 : (long)draw(64), .cpu = !draw(8),
		    .disk = draw(2), .megatron = !draw(3) };

		model_named(&m, models[draw(7)].name);
		o.model = &m;
		draw_host(&hosts[0], 0);
		for (size_t i = 1; i < o.hosts; i++)
			if (draw(2))
				hosts[i] = hosts[0];
			else
				draw_host(&hosts[i], i);
		if (advise(&a, &o, &err) < 0 || advise(&b, &o, &err) < 0) {
			bad += !strstr(err.text, "GPUs is known");
			model_clear(&m);
			continue;
		}
		fits += a.fits;
		bad += !holds(&a, &o, &a.plan);
		for (size_t i = 0; i < a.others; i++)
			bad += !holds(&a, &o, &a.other[i]);
		unequal += a.plan.order.sharding != b.plan.order.sharding ||
		    a.plan.score < b.plan.score ||
		    a.plan.score > b.plan.score || a.others != b.others ||
		    memcmp(a.line, b.line, sizeof a.line);
		refused += a.fits && !launches(&a, &o);
		advice_clear(&b);
		/* Twice the memory, everywhere; an unknown GPU would be
		 * taken for a faster one. */
		for (size_t i = 0; i < o.hosts; i++)
			known &= !hosts[i].gpus ||
			    strcmp(hosts[i].gpu[0].model, "Odd GPU 7");
		for (size_t i = 0; i < o.hosts; i++)
			for (size_t k = 0; k < hosts[i].gpus; k++)
				hosts[i].gpu[k].bytes *= 2;
		advise(&b, &o, NULL);
		/* Stages of a pipeline share the model as well. */
		if (known && a.fits && !o.megatron && (!b.fits || b.plan.score > 1.0001 * a.plan.score
		    || (stage(&b.plan) > stage(&a.plan) &&
		    b.plan.time.total > 0.999 * a.plan.time.total))) {
			char	one[200], two[200];

			advice_name(&a.plan, one, sizeof one);
			advice_name(&b.plan, two, sizeof two);
			printf("# %s\n# then %s\n", one, two);
			more++;
		}
		advice_clear(&a);
		advice_clear(&b);
		model_clear(&m);
	}
	ok(fits > 100, "of 250 random orders many fit: %d", fits);
	ok(!bad, "each fits by memory_estimate, never has bfloat16 below 8.0, "
	    "a tp that divides the heads, and sizes that make the world");
	ok(!unequal, "the same order gives the same advice");
	ok(!refused, "each passes the rules as a configuration, which says "
	    "the same again");
	ok(!more, "more memory never leads to more sharding, but where a "
	    "larger micro-batch makes it faster");
}

static void
test_refused(void)
{
	struct advice_host	h = { .cores = 1 };
	struct model		m = { .params = 1000000 };
	struct advice_order	o = { .model = &m };
	struct advice		a;
	struct err		err = ERR_INIT;

	ok(advise(&a, &o, &err) < 0 && *err.hint, "no host");
	o.host = &h;
	o.hosts = 1;
	o.batch = -1;
	ok(advise(&a, &o, &err) < 0, "no sense in a batch of -1");
	o.batch = 1;
	m.params = 0;
	ok(advise(&a, &o, &err) < 0 && strstr(err.text, "parameters"),
	    "no parameters");
	m.params = 1000000;
	h.gpus = 1;
	snprintf(h.gpu[0].model, sizeof h.gpu[0].model, "Odd GPU");
	ok(advise(&a, &o, &err) < 0 && strstr(err.text, "memory"),
	    "a GPU of unknown memory");
	h.gpus = 2;
	h.gpu[1].bytes = 24000000000;
	ok(advise(&a, &o, &err) == 0 && a.plan.order.ranks == 1 &&
	    says(&a.warnings, "1 of 2 GPUs are left out"),
	    "which is left out beside another");
	is(a.plan.gpu_ids, "1", "and the other is named");
	advice_clear(&a);
}

int
main(void)
{
	test_cases();
	test_words();
	test_heads();
	test_any();
	test_refused();
	return tap_done();
}
