/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a step.  Formulas, with N ranks, P parameters, T of them trained,
 * L layers, h hidden, s tokens of a sequence, b sequences:
 *
 *	compute		6 P + 12 L h s FLOP a token (Kaplan 2020; Narayanan
 *			2021, arXiv 2104.04473), a third more with full
 *			recomputation; 2 (P - T) less where P - T are frozen
 *	ring		gather or reduce-scatter (N - 1) / N bytes / slowest
 *			link + (N - 1) latency for each piece, all-reduce twice
 *			that
 *	data parallel	ZeRO, arXiv 1910.02054, section 7: 2 P elements a step,
 *			3 P in stage 3
 *	tensor parallel	4 all-reduces of b s h a layer (Megatron, 1909.08053)
 *	pipeline	(p - 1) / m of the ideal time idle, m micro-batches
 *			(2104.04473)
 *	exposed		what is longer than the computing beside it, and the
 *			last piece
 *
 * Guesses, each with its reason: constants below.
 */
#include "runtime/config/advice_intern.h"

#include <math.h>

#include "runtime/base/banned.h"

/* Share of the data sheet's FLOP/s that training reaches.  Published: 0.43 to
 * 0.46 (Llama 2 on A100, arXiv 2307.09288: GPU hours for 2e12 tokens). */
static const double	EFFICIENCY = 0.45;
/* Float32 has no matrix units to keep busy: a guess. */
static const double	EFFICIENCY32 = 0.6;
/* So many tokens at once keep a GPU half as busy as it can be: a guess. */
static const double	FEW_TOKENS = 128;
/* Collectives take units and memory traffic from the computing that hides them:
 * on average, with 4 GPUs of 4 kinds (arXiv 2507.03114). */
static const double	STEAL = 0.189;
static const double	BUCKET = 25e6;	/* DistributedDataParallel's */
static const double	ZERO_BUCKET = 5e8;	/* elements; DeepSpeed's */
/* Adam reads parameter, gradient, m, v and writes three of them. */
static const double	UPDATE = 28;

struct clock {			/* a step that is being added up */
	struct advice_time		*t;
	const struct advice_plan	*p;
	const struct memory_order	*o;
	const struct advice_speed	*s;
	double	P, T;			/* of this rank's model part */
	double	e, g;			/* bytes to compute with; of gradients */
	double	layers, pieces;
	double	forward, backward;	/* computing of one micro-batch */
	double	micros;
	double	times;			/* how often what is added is sent */
};

struct way { double speed, latency; };

/* What n ranks have between them that lie "stride" apart: the link within a
 * host, or their share of its network. */
static struct way
way(const struct clock *c, long n, long stride)
{
	const struct advice_speed	*s = c->s;
	struct way			 w = { s->link, s->link_latency };
	double				 rings;

	if (s->hosts < 2 || n < 2 || n * stride <= s->local)
		return w;
	rings = (double)(stride < s->local ? stride : s->local);
	w.speed = fmin(s->link, s->net / rings);
	w.latency = s->net_latency;
	if (!c->t->across || w.speed < c->t->slowest) {
		c->t->slowest = w.speed;
		c->t->across = true;
	}
	return w;
}

/* A collective that goes once around the ring: "bytes" is the whole. */
static double
ring(struct clock *c, double bytes, long n, long stride, double pieces)
{
	struct way	w = way(c, n, stride);
	double		part = (double)(n - 1) / (double)n;

	if (n < 2 || bytes <= 0)
		return 0;
	c->t->sent += c->times * part * bytes;
	if (!c->t->across)
		c->t->slowest = w.speed;
	return part * bytes / w.speed + pieces * (double)(n - 1) * w.latency;
}

/* Communication beside computing: "times" over. */
static void
beside(struct clock *c, double traffic, double computing, double last,
    double times)
{
	/* The first or last piece has nothing beside it. */
	double	cover = computing * (c->layers - 1) / c->layers;
	double	bare = fmax(0, traffic - last - cover) + fmin(last, traffic);

	c->t->exposed += times * bare;
	c->t->hidden += times * (traffic - bare);
}

static void
add_compute(struct clock *c)
{
	const struct model	*m = c->o->model;
	double	tokens = (double)c->o->batch * (double)c->o->sequence /
	    (double)c->o->cp;
	double	share = (double)(c->o->tp * c->o->pp), active, flops, speed;
	double	attention = 12 * (double)m->layers * (double)m->hidden *
	    (double)c->o->sequence, frozen;

	active = m->active ? (double)m->active : (double)m->params;
	frozen = active * (1 - c->T / c->P);
	/* Forward 2, backward 4: 2 for the input, 2 for the weights. */
	flops = (2 * active + attention / 3) * tokens / share;
	if (c->o->training == TRAINING_FP32)
		speed = c->s->flops32 * EFFICIENCY32;
	else
		speed = c->s->flops16 * EFFICIENCY;
	speed *= tokens / (tokens + FEW_TOKENS);
	c->forward = flops / speed;
	c->backward = (2 * flops - 2 * frozen * tokens / share) / speed;
	if (c->o->recompute)
		c->backward += c->forward;
	c->t->compute = c->micros * (c->forward + c->backward);
	if (c->o->pp > 1)
		c->t->idle = (double)(c->o->pp - 1) * (c->forward +
		    c->backward);
}

/* Tensor parallelism, which nothing hides. */
static void
add_tensor(struct clock *c)
{
	double	tokens = (double)c->o->batch * (double)c->o->sequence /
	    (double)c->o->cp, once;

	if (c->o->tp < 2)
		return;
	/* An all-reduce goes around twice; recomputation has two more. */
	c->times = 2 * c->micros * c->layers * (c->o->recompute ? 6 : 4);
	once = ring(c, tokens * (double)c->o->model->hidden * c->e, c->o->tp,
	    1, 1);
	c->t->exposed += c->times * once;
}

/* Keys and values of the whole sequence, forward, again, and their
 * gradients. */
static void
add_context(struct clock *c)
{
	const struct model	*m = c->o->model;
	double	kv = m->kv_heads && m->head_dim ? (double)(m->kv_heads *
	    m->head_dim) : (double)m->hidden, once;

	if (c->o->cp < 2)
		return;
	c->times = 3 * c->micros * c->layers;
	once = c->layers * ring(c, 2 * kv * c->e * (double)c->o->sequence *
	    (double)c->o->batch / (double)c->o->tp, c->o->cp, c->o->tp, 1);
	beside(c, once, c->forward, once / c->layers, c->micros);
	beside(c, 2 * once, c->backward, once / c->layers, c->micros);
}

static void
add_pipeline(struct clock *c)
{
	double	once;

	if (c->o->pp < 2)
		return;
	/* A boundary, there and back. */
	once = 2 * (double)c->o->batch * (double)c->o->sequence * c->e *
	    (double)c->o->model->hidden / (double)c->o->cp;
	once /= way(c, c->o->pp, c->o->ranks / c->o->pp).speed;
	beside(c, once, c->forward + c->backward, 0, c->micros);
}

/* FSDP and ZeRO-3: units are gathered, gradients scattered. */
static void
add_sharded(struct clock *c)
{
	const struct memory_order	*o = c->o;
	bool	hybrid = o->sharding == SHARDING_HYBRID ||
	    o->sharding == SHARDING_HYBRID_GRAD_OP;
	bool	kept = o->sharding == SHARDING_GRAD_OP ||
	    o->sharding == SHARDING_HYBRID_GRAD_OP;
	long	n = (hybrid ? o->group : c->p->data) * o->cp;
	long	copies = c->p->data * o->cp / n;
	double	units = c->layers, gather, reduce, load = 0;

	c->times = (kept ? 1 : 2) * c->micros;
	gather = ring(c, c->e * c->P, n, o->tp, units);
	c->times = c->micros;
	reduce = ring(c, c->e * c->T, n, o->tp, units);
	c->times = 2 * c->micros;
	if (copies > 1)
		reduce += 2 * ring(c, c->e * c->T / (double)n, copies,
		    o->tp * n, units);
	/* Parts come from the host first; gradients go there. */
	if (o->params_on != ON_DEVICE)
		load = (o->sharding == SHARDING_ZERO3 ? 2 : 4) * c->P /
		    (double)n / c->s->pcie;
	beside(c, gather + load, c->forward, (gather + load) / units,
	    c->micros);
	beside(c, (kept ? 0 : gather + load) + reduce + load * c->T / c->P,
	    c->backward, (reduce + load) / units, c->micros);
}

/* Whole copies, whose gradients are summed. */
static void
add_copies(struct clock *c)
{
	const struct memory_order	*o = c->o;
	long	n = c->p->data * o->cp;
	double	bytes = c->g * c->T, bucket, reduce, times = 1;
	bool	zero = o->sharding == SHARDING_ZERO1 ||
	    o->sharding == SHARDING_ZERO2;

	if (n < 2)
		return;
	/* Stage 2 gives the gradients away after each backward. */
	if (o->sharding == SHARDING_ZERO2)
		times = c->micros;
	c->times = times;
	bucket = zero ? fmin(2 * ZERO_BUCKET, bytes) : fmin(BUCKET, bytes);
	reduce = ring(c, bytes, n, o->tp, ceil(bytes / bucket));
	if (!zero && o->sharding != SHARDING_MEGATRON_DIST)
		reduce += ring(c, bytes, n, o->tp, ceil(bytes / bucket));
	beside(c, reduce, c->backward, reduce * bucket / bytes, times);
	/* The new parameters, when the step is done. */
	c->times = 1;
	if (zero || o->sharding == SHARDING_MEGATRON_DIST)
		c->t->exposed += ring(c, 2 * c->T, n, o->tp, c->layers);
}

/* The optimizer, where its states lie. */
static void
add_update(struct clock *c, double n)
{
	const struct memory_order	*o = c->o;
	double	T = c->T / n, local = (double)c->s->local;

	if (o->optimizer_on == ON_DEVICE && o->params_on == ON_DEVICE) {
		c->t->update = UPDATE * T / c->s->memory;
		return;
	}
	/* Gradients there and parameters back; then the CPU's Adam. */
	if (o->sharding == SHARDING_ZERO2 || o->sharding == SHARDING_ZERO3)
		c->t->offload = 2 * T * (c->micros + 1) / c->s->pcie;
	c->t->offload += UPDATE * T * local / c->s->host_memory;
	if (o->optimizer_on == ON_DISK)	/* three arrays, there and back */
		c->t->offload += 2 * 12 * T * local / c->s->disk;
}

void
advice_time(struct advice_time *t, const struct advice_plan *p,
    const struct advice_speed *s)
{
	const struct memory_order	*o = &p->order;
	struct clock	c = { .t = t, .p = p, .o = o, .s = s };
	bool		sharded = o->sharding == SHARDING_ZERO3 ||
	    o->sharding == SHARDING_FULL || o->sharding == SHARDING_GRAD_OP ||
	    o->sharding == SHARDING_HYBRID ||
	    o->sharding == SHARDING_HYBRID_GRAD_OP;
	double		part = (double)(o->tp * o->pp), n;

	*t = (struct advice_time){ .slowest = s->link };
	c.P = (double)o->model->params / part;
	c.T = o->trained ? (double)o->trained / part : c.P;
	c.e = o->training == TRAINING_FP32 ? 4 : 2;
	c.g = o->sharding == SHARDING_ZERO1 || o->sharding == SHARDING_ZERO2 ?
	    c.e : 4;
	c.layers = o->model->layers ? fmax(1, (double)o->model->layers /
	    (double)o->pp) : 24;
	c.micros = (double)p->accumulation;
	n = sharded || o->sharding == SHARDING_ZERO1 ||
	    o->sharding == SHARDING_ZERO2 ||
	    o->sharding == SHARDING_MEGATRON_DIST ?
	    (double)(p->data * o->cp) : 1;
	if (o->sharding == SHARDING_HYBRID ||
	    o->sharding == SHARDING_HYBRID_GRAD_OP)
		n = (double)(o->group * o->cp);
	add_compute(&c);
	add_tensor(&c);
	add_context(&c);
	add_pipeline(&c);
	if (sharded)
		add_sharded(&c);
	else
		add_copies(&c);
	add_update(&c, n);
	t->slowed = STEAL * t->hidden;
	t->total = t->compute + t->exposed + t->slowed + t->idle +
	    t->offload + t->update;
}
