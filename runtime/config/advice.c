/* SPDX-License-Identifier: Apache-2.0 */
/* The search: every way is tried, and the one with the best score is taken. */
#include "runtime/config/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/advice_intern.h"
#include "runtime/config/rules.h"

#include "runtime/base/banned.h"

/*
 * The score of a plan is the time of its step, and somewhat more for what time
 * does not tell.  These are preferences, not measurements:
 *
 *	pressure	a device that is fuller than half: what fits today runs
 *			out of memory with the next longer batch; it grows with the
 *			square, to a tenth where nothing more may be used
 *	preference	what a way asks of the user: nothing is as simple as
 *			whole copies, DeepSpeed is one more package, a mesh
 *			needs a model that knows it, and the time of an offload
 *			hangs on CPUs that nobody measured
 */
static const double	PRESSURE_FROM = 0.5, PRESSURE = 0.1;

static const struct kind {
	enum dist		 type;	/* dist_NO: one process a device */
	enum sharding		 sharding;
	enum memory_place	 optimizer, params;
	double			 preference;
} kinds[] = {
	{ dist_NO, SHARDING_NONE, ON_DEVICE, ON_DEVICE, 0 },
	{ dist_FSDP, SHARDING_GRAD_OP, ON_DEVICE, ON_DEVICE, 0.05 },
	{ dist_FSDP, SHARDING_FULL, ON_DEVICE, ON_DEVICE, 0.05 },
	{ dist_FSDP, SHARDING_HYBRID, ON_DEVICE, ON_DEVICE, 0.06 },
	{ dist_FSDP, SHARDING_HYBRID_GRAD_OP, ON_DEVICE, ON_DEVICE, 0.06 },
	{ dist_DEEPSPEED, SHARDING_ZERO1, ON_DEVICE, ON_DEVICE, 0.07 },
	{ dist_DEEPSPEED, SHARDING_ZERO2, ON_DEVICE, ON_DEVICE, 0.07 },
	{ dist_DEEPSPEED, SHARDING_ZERO3, ON_DEVICE, ON_DEVICE, 0.07 },
	{ dist_FSDP, SHARDING_FULL, ON_HOST, ON_HOST, 0.15 },
	{ dist_DEEPSPEED, SHARDING_ZERO2, ON_HOST, ON_DEVICE, 0.17 },
	{ dist_DEEPSPEED, SHARDING_ZERO3, ON_HOST, ON_DEVICE, 0.17 },
	{ dist_DEEPSPEED, SHARDING_ZERO3, ON_HOST, ON_HOST, 0.17 },
	{ dist_DEEPSPEED, SHARDING_ZERO3, ON_DISK, ON_DISK, 0.17 },
	{ dist_MEGATRON_LM, SHARDING_MEGATRON, ON_DEVICE, ON_DEVICE, 0.10 },
	{ dist_MEGATRON_LM, SHARDING_MEGATRON_DIST, ON_DEVICE, ON_DEVICE,
	    0.10 },
};
static const double	MESH = 0.05;	/* tp or cp beside FSDP */
static const double	BLIND = 0.5;	/* to hosts of unknown memory */
static const double	MUCH_FASTER = 0.9;
/* Below it, a sequence is not worth cutting. */
static const long	LONG_SEQUENCE = 8192;

struct search {
	struct advice			*out;
	const struct advice_order	*o;
	const struct worlds		*worlds;
	const struct advice_world	*w;
	unsigned			 world;
	struct advice_plan		*best;	/* of each kind; owned */
	size_t				 count, room;
	struct advice_plan		 nearest; /* of those that do not fit */
	double				 lacks;	/* how much it is over */
	uint64_t			 trained;
	bool				 nomem;
};

int
advice_stage(enum sharding s)
{
	switch (s) {
	case SHARDING_ZERO1:
	case SHARDING_MEGATRON_DIST:
		return 1;
	case SHARDING_ZERO2:
	case SHARDING_GRAD_OP:
	case SHARDING_HYBRID_GRAD_OP:
		return 2;
	case SHARDING_ZERO3:
	case SHARDING_FULL:
	case SHARDING_HYBRID:
		return 3;
	default:
		return 0;
	}
}

/* Whether two plans are the same way: only the better one is of interest. */
static bool
same_kind(const struct advice_plan *a, const struct advice_plan *b)
{
	return a->world == b->world && a->usable == b->usable &&
	    advice_stage(a->order.sharding) == advice_stage(b->order.sharding)
	    && (a->type == dist_MEGATRON_LM) == (b->type == dist_MEGATRON_LM) &&
	    a->order.optimizer_on == b->order.optimizer_on &&
	    a->order.recompute == b->order.recompute &&
	    (a->order.tp > 1) == (b->order.tp > 1) &&
	    (a->order.cp > 1) == (b->order.cp > 1) &&
	    (a->order.pp > 1) == (b->order.pp > 1);
}

/* Takes a plan that fits, if it is the best of its kind. */
static void
take(struct search *s, const struct advice_plan *p)
{
	for (size_t i = 0; i < s->count; i++)
		if (same_kind(&s->best[i], p)) {
			if (p->score < s->best[i].score)
				s->best[i] = *p;
			return;
		}
	if (s->count == s->room) {
		size_t	room = s->room ? 2 * s->room : 16;
		struct advice_plan *more = realloc(s->best,
		    room * sizeof *more);

		if (!more) {
			s->nomem = true;
			return;
		}
		s->best = more;
		s->room = room;
	}
	s->best[s->count++] = *p;
}

/* How full the fullest place is: 1 is all that may be used. */
static double
fill(const struct search *s, const struct advice_plan *p)
{
	double	local = (double)p->local, full, disk = (double)s->w->disk;

	full = p->memory.total[ON_DEVICE] / (ADVICE_DEVICE_SHARE * p->room);
	if (p->memory.total[ON_HOST] > 0 && p->host_room > 0)
		full = fmax(full, local * p->memory.total[ON_HOST] /
		    (ADVICE_HOST_SHARE * p->host_room));
	if (p->memory.total[ON_DISK] > 0 && disk > 0)
		full = fmax(full, local * p->memory.total[ON_DISK] /
		    (ADVICE_HOST_SHARE * disk));
	return full;
}

static void
consider(struct search *s, struct advice_plan *p, double preference)
{
	double	full, share;

	s->out->tried++;
	if (memory_estimate(&p->memory, &p->order, NULL) < 0)
		return;
	full = fill(s, p);
	if (full > 1) {
		if (p->usable && (p->order.training != TRAINING_FP32 ||
		    s->w->type == HARDWARE_FP32) &&
		    (s->lacks <= 0 || full < s->lacks)) {
			s->lacks = full;
			s->nearest = *p;
			advice_time(&s->nearest.time, p, &s->w->speed);
		}
		return;
	}
	advice_time(&p->time, p, &s->w->speed);
	share = (p->memory.total[ON_DEVICE] / p->room - PRESSURE_FROM) /
	    (ADVICE_DEVICE_SHARE - PRESSURE_FROM);
	if (share > 0)
		preference += PRESSURE * share * share;
	if (p->memory.total[ON_HOST] > 0 && p->host_room <= 0)
		preference += BLIND;
	if (p->order.tp > 1 || p->order.cp > 1)
		preference += p->type == dist_FSDP ? MESH : 0;
	p->score = p->time.total * (1 + preference);
	take(s, p);
}

/* All micro-batches, with and without recomputation. */
static void
try_batches(struct search *s, struct advice_plan *p, double preference)
{
	long	share = (s->out->batch + p->data - 1) / p->data, micro;

	for (int again = 0; again < 2; again++)
		for (long i = 1; ; i *= 2) {
			micro = i < share ? i : share;
			p->order.recompute = again;
			p->order.batch = micro;
			p->accumulation = (share + micro - 1) / micro;
			p->order.micro_batches = p->accumulation;
			consider(s, p, preference);
			if (micro == share)
				break;
		}
}

static bool
installed(const struct advice_order *o, enum dist type)
{
	if (!o->site)
		return true;
	if (type == dist_DEEPSPEED)
		return o->site->deepspeed != ABSENT;
	return type != dist_MEGATRON_LM || o->site->megatron != ABSENT;
}

/* The type of several processes that each have all. */
static enum dist
plain_type(const struct search *s, long ranks)
{
	const char	*vendor = s->w->least_gpu.vendor;

	if (s->w->speed.cpu)
		return ranks > 1 ? dist_MULTI_CPU : dist_NO;
	if (ranks < 2)
		return dist_NO;
	if (vendor && !strcmp(vendor, "Intel"))
		return dist_MULTI_XPU;
	if (vendor && !strcmp(vendor, "Habana"))
		return dist_MULTI_HPU;
	return dist_MULTI_GPU;
}

/* Whether the way exists at all with this mesh. */
static bool
possible(const struct search *s, const struct kind *k,
    const struct memory_order *o)
{
	bool	mesh = o->tp > 1 || o->cp > 1, alone = o->ranks == 1;

	if (s->w->speed.cpu)
		return k->sharding == SHARDING_NONE && !mesh && o->pp == 1;
	if (k->optimizer != ON_DEVICE && s->o->no_offload)
		return false;
	switch (k->type) {
	case dist_FSDP:
		/* One rank shards nothing; a mesh shards within its rest. */
		return !alone && o->pp == 1 &&
		    (!mesh || o->ranks / o->tp > 1);
	case dist_DEEPSPEED:
		if (k->optimizer == ON_DISK && (!s->o->disk || !s->w->disk))
			return false;
		return !mesh && o->pp == 1 &&
		    (!alone || k->optimizer != ON_DEVICE);
	case dist_MEGATRON_LM:
		if (k->sharding == SHARDING_MEGATRON_DIST &&
		    o->ranks == o->tp * o->pp)
			return false;
		return o->tp > 1 || o->pp > 1;
	default:
		return !mesh && o->pp == 1;
	}
}

static void
try_kind(struct search *s, const struct kind *k, struct advice_plan *p)
{
	const struct advice_world	*w = s->w;
	struct memory_order		*o = &p->order;
	long				 mesh = o->tp * o->cp, group;
	bool	hybrid = k->sharding == SHARDING_HYBRID ||
	    k->sharding == SHARDING_HYBRID_GRAD_OP;

	if (!possible(s, k, o))
		return;
	p->type = k->type == dist_NO ? plain_type(s, o->ranks) : k->type;
	p->usable = installed(s->o, p->type) && (p->type != dist_MEGATRON_LM ||
	    s->o->megatron);
	o->sharding = k->sharding;
	o->optimizer_on = k->optimizer;
	o->params_on = k->params;
	o->sequence_parallel = k->type == dist_MEGATRON_LM && o->tp > 1;
	if (!hybrid) {
		try_batches(s, p, k->preference);
		return;
	}
	/* Groups of one host, or of two, four...: copies between them. */
	if (!w->equal || w->hosts < 2 || w->most % mesh)
		return;
	for (size_t n = 1; n < w->hosts; n *= 2) {
		group = w->most / mesh * (long)n;
		if (w->hosts % n || group < 2)
			continue;
		o->group = group;
		try_batches(s, p, k->preference);
	}
}

static bool
divides(long n, uint64_t number)
{
	return number && number % (uint64_t)n == 0;
}

static bool
mesh_fits(const struct search *s, long tp, long cp, long pp)
{
	const struct model		*m = &s->out->model;
	const struct advice_world	*w = s->w;
	if (w->ranks % (tp * cp * pp) || s->out->sequence % (2 * cp))
		return false;
	if (tp > 1 && (!divides(tp, m->heads) || !divides(tp, m->kv_heads) ||
	    w->most % tp || w->least % tp))
		return false;
	if (cp > 1 && (s->out->sequence < LONG_SEQUENCE || w->most % (tp * cp)
	    || w->least % (tp * cp)))
		return false;
	return (!s->out->old_torch || (tp == 1 && cp == 1)) &&
	    (pp == 1 || (divides(pp, m->layers) && w->equal));
}

static void
try_mesh(struct search *s, enum training training, long tp, long cp, long pp)
{
	const struct advice_world	*w = s->w;
	struct advice_plan		 p = { .hosts = w->hosts };

	if (!mesh_fits(s, tp, cp, pp))
		return;
	p.local = w->most;
	p.world = s->world;
	p.room = w->room;
	p.host_room = w->host_room;
	p.data = w->ranks / (tp * cp * pp);
	p.order = (struct memory_order)MEMORY_ORDER_INIT;
	p.order.model = &s->out->model;
	p.order.training = training;
	p.order.optimizer = s->o->optimizer;
	p.order.ranks = w->ranks;
	p.order.tp = tp;
	p.order.cp = cp;
	p.order.pp = pp;
	p.order.sequence = s->out->sequence;
	p.order.trained = s->trained;
	p.order.cpu = w->speed.cpu;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		try_kind(s, &kinds[i], &p);
}

static void
try_world(struct search *s)
{
	enum training	best = s->w->type == HARDWARE_BF16 ? TRAINING_BF16 :
	    s->w->type == HARDWARE_FP16 ? TRAINING_FP16 : TRAINING_FP32;

	for (int full = best == TRAINING_FP32; full < 2; full++)
		for (long tp = 1; tp <= s->w->most; tp *= 2)
			for (long cp = 1; cp <= s->w->most; cp *= 2)
				for (long pp = 1; pp <= s->w->ranks; pp *= 2)
					try_mesh(s, full ? TRAINING_FP32 :
					    best, tp, cp, pp);
}

/* The best, and the two next of other kinds. */
static void
choose(struct search *s)
{
	struct advice			*a = s->out;
	const struct advice_plan	*won = NULL, *next;
	bool				 unusable = false;

	for (size_t i = 0; i < s->count; i++)
		if (s->best[i].usable && (!won || s->best[i].score <
		    won->score))
			won = &s->best[i];
	a->fits = won != NULL;
	a->plan = won ? *won : s->nearest;
	for (a->others = 0; a->others < ADVICE_OTHERS; a->others++) {
		next = NULL;
		for (size_t i = 0; i < s->count; i++) {
			const struct advice_plan *p = &s->best[i];
			bool	told = p == won;

			for (size_t k = 0; k < a->others; k++)
				told |= same_kind(p, &a->other[k]);
			/* What this script or machine cannot do now is worth
			 * a word, and one only, where it is clearly faster. */
			if (!p->usable && won && (p->time.total >
			    MUCH_FASTER * won->time.total || unusable))
				continue;
			if (!told && (!next || p->score < next->score))
				next = p;
		}
		if (!next)
			break;
		unusable |= !next->usable;
		a->other[a->others] = *next;
	}
}

int
advice_search(struct advice *out, const struct advice_order *o,
    const struct worlds *worlds)
{
	struct search	s = { .out = out, .o = o, .worlds = worlds };

	out->tried = 0;
	s.trained = o->lora ? advice_adapters(&out->model, o->lora) : 0;
	for (s.world = 0; s.world < worlds->count; s.world++) {
		s.w = &worlds->world[s.world];
		try_world(&s);
	}
	if (!s.nomem)
		choose(&s);
	free(s.best);
	return s.nomem ? -1 : 0;
}

uint64_t
advice_adapters(const struct model *m, long rank)
{
	uint64_t	q = m->heads * m->head_dim, kv = m->kv_heads *
	    m->head_dim, h = m->hidden, ins;

	if (!q)
		q = kv = h;
	/* Two matrices beside each product: rank x in and out x rank. */
	ins = (h + q) + 2 * (h + kv) + (q + h) + (m->gated ? 3 : 2) *
	    (h + m->ffn);
	return (uint64_t)rank * m->layers * ins;
}

/* The shape that models of this size have: h / L about 128, P = 12 L h^2
 * (arXiv 2001.08361, table 1).  A guess. */
static void
guess_shape(struct advice *a)
{
	struct model	*m = &a->model;
	double		 layers = cbrt((double)m->params / (12.0 * 128 * 128));

	a->shape_guess = true;
	m->unusual = true;	/* makes the activations a guess */
	m->layers = layers < 1 ? 1 : (uint64_t)(layers + 0.5);
	m->hidden = 128 * m->layers;
	m->heads = m->kv_heads = m->layers;
	m->head_dim = 128;
	m->ffn = 4 * m->hidden;
	m->norms = 2;
	m->block = m->params / m->layers;
	if (!m->vocab)
		m->vocab = 32000;
}

static int
check(const struct advice_order *o, struct err *err)
{
	if (!o->hosts || o->hosts > ADVICE_HOSTS) {
		err_set(err, "advice is for 1 to %d hosts, not %zu",
		    ADVICE_HOSTS, o->hosts);
		return err_hint(err, "name a machine, or give --gpus 8x80GB");
	}
	if (!o->model || !o->model->params) {
		err_set(err, "advice needs a model with parameters");
		return err_hint(err, "give --model config.json, or --params "
		    "7B");
	}
	if (o->batch < 0 || o->sequence < 0 || o->lora < 0 ||
	    o->batch > 1L << 24 || o->sequence > 1L << 24 ||
	    o->lora > 1L << 12) {
		err_set(err, "batch %ld, sequence %ld or LoRA rank %ld is out "
		    "of range", o->batch, o->sequence, o->lora);
		return err_hint(err, "give whole numbers from 1");
	}
	return 0;
}

int
advise(struct advice *out, const struct advice_order *o, struct err *err)
{
	struct worlds	worlds;
	uint64_t	positions;
	int		ret;

	*out = (struct advice){ .fits = false };
	if (check(o, err) < 0 || worlds_find(&worlds, o, err) < 0)
		return -1;
	out->model = *o->model;
	if (!out->model.layers || !out->model.hidden)
		guess_shape(out);
	out->old_torch = o->site && o->site->torch > 0 &&
	    o->site->torch < RELEASE(2, 6, 0);
	positions = out->model.positions;
	out->sequence = o->sequence ? o->sequence : positions &&
	    positions < 4096 ? (long)positions : 4096;
	out->batch = o->batch ? o->batch : 8 * worlds.world[0].ranks;
	ret = advice_search(out, o, &worlds);
	if (ret < 0)
		err_nomem(err);
	else
		ret = advice_explain(out, o, &worlds, err);
	worlds_clear(&worlds);
	if (ret < 0)
		advice_clear(out);
	return ret;
}

void
advice_clear(struct advice *a)
{
	strv_clear(&a->warnings);
	strv_clear(&a->remedies);
	free(a->ranks);
	*a = (struct advice){ .fits = false };
}
