/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/model.h"

#include "runtime/base/banned.h"

#define MEMORY_WORD(s, w, m)	{ w, m },
const struct memory_word sharding_words[] = { SHARDINGS(MEMORY_WORD) };
const struct memory_word training_words[] = { TRAININGS(MEMORY_WORD) };
const struct memory_word optimizer_words[] = { OPTIMIZERS(MEMORY_WORD) };
#undef MEMORY_WORD

const char *const memory_part_names[MEMORY_PARTS] = {
	"parameters", "gradients", "optimizer", "activations", "logits",
	"temporary", "step", "framework",
};

static const double DEEPSPEED_BUCKET = 5e8;

struct sum {			/* an estimate that is being made */
	struct memory			*out;
	const struct memory_order	*o;
	const struct model		*m;
	double				 P;	/* parameters of this rank */
	double				 T;	/* of those, trained */
	double				 N;	/* ranks that share them */
	double				 U;	/* the largest unit */
	bool				 zero, fsdp, megatron; /* whose */
	bool				 mixed;
	double				 p, g;	/* bytes of a stored element */
	double				 e;	/* of one to compute with */
};

/* Adds bytes to a part; those of no bytes are left out. */
static void __attribute__((format(printf, 7, 8)))
term(struct sum *s, enum memory_part part, enum memory_place place,
    double bytes, const char *source, const char *formula,
    const char *numbers, ...)
{
	struct memory		*out = s->out;
	struct memory_term	*t = &out->term[out->terms];
	va_list			 ap;

	if (bytes <= 0 || out->terms == sizeof out->term / sizeof *out->term)
		return;
	out->terms++;
	t->part = part;
	t->place = place;
	t->bytes = bytes;
	t->source = source;
	t->guess = !strcmp(source, "guess");
	t->formula = formula;
	va_start(ap, numbers);
	vsnprintf(t->numbers, sizeof t->numbers, numbers, ap);
	va_end(ap);
	if (place == ON_DEVICE)
		out->part[part] += bytes;
	else
		out->total[place] += bytes;
}

static const char *
whose(const struct sum *s)
{
	return s->zero ? "ZeRO" : s->megatron ? "Megatron" : "Accelerate";
}

/* Parameters, as they are kept between steps. */
static void
add_params(struct sum *s)
{
	enum sharding		 kind = s->o->sharding;
	enum memory_place	 place = s->o->params_on;
	bool			 shared = s->fsdp || kind == SHARDING_ZERO3;
	const char		*source = whose(s);

	if (!shared) {
		term(s, PART_PARAMS, ON_DEVICE, s->p * s->T, source,
		    s->p == 4 ? "4 P" : "2 P", "%.0f x %.0f", s->p, s->T);
		term(s, PART_PARAMS, ON_DEVICE, s->e * (s->P - s->T),
		    "definition", "e (P - T) (frozen)", "%.0f x %.0f", s->e,
		    s->P - s->T);
		return;
	}
	term(s, PART_PARAMS, place, s->p * s->T / s->N, source,
	    s->p == 4 ? "4 P / N" : "2 P / N", "%.0f x %.0f / %.0f", s->p,
	    s->T, s->N);
	term(s, PART_PARAMS, place, s->e * (s->P - s->T) / s->N, "definition",
	    "e (P - T) / N (frozen)", "%.0f x %.0f / %.0f", s->e,
	    s->P - s->T, s->N);
	if (s->o->sharding == SHARDING_GRAD_OP ||
	    s->o->sharding == SHARDING_HYBRID_GRAD_OP)
		term(s, PART_PARAMS, ON_DEVICE, s->e * s->P, "ZeRO", "e P "
		    "(gathered)", "%.0f x %.0f", s->e, s->P);
}

static void
add_grads(struct sum *s)
{
	enum sharding		 kind = s->o->sharding;
	enum memory_place	 place = ON_DEVICE;
	bool			 shared = s->fsdp || kind == SHARDING_ZERO2 ||
	    kind == SHARDING_ZERO3;
	const char		*source = whose(s);

	if (s->fsdp)
		place = s->o->params_on;
	else if (shared && s->o->optimizer_on != ON_DEVICE) {
		place = s->o->optimizer_on;
		source = "ZeRO-Offload";
	}
	if (shared)
		term(s, PART_GRADS, place, s->g * s->T / s->N, source,
		    s->g == 4 ? "4 P / N" : "2 P / N", "%.0f x %.0f / %.0f",
		    s->g, s->T, s->N);
	else
		term(s, PART_GRADS, ON_DEVICE, s->g * s->T, source,
		    s->g == 4 ? "4 P" : "2 P", "%.0f x %.0f", s->g, s->T);
}

/* Bytes that the optimizer keeps for each parameter. */
static double
kept(const struct sum *s)
{
	/* PyTorch's optimizers keep arrays of the parameters' own type. */
	double	array = s->o->training == TRAINING_PURE && !s->zero &&
	    !s->megatron ? 2 : 4;

	switch (s->o->optimizer) {
	case OPTIMIZER_MOMENTUM:
	case OPTIMIZER_LION:
		return array;
	case OPTIMIZER_ADAM:
		return 2 * array;
	case OPTIMIZER_ADAM8:		/* 1 + 1, and a float for each 256 */
		return 2 + 8.0 / 256;
	case OPTIMIZER_ADAFACTOR:	/* a row's and a column's mean */
		return s->m->hidden ? 8.0 / (double)s->m->hidden : 0;
	default:
		return 0;
	}
}

static void
add_optimizer(struct sum *s)
{
	enum memory_place	 place = s->fsdp ? s->o->params_on : s->zero ?
	    s->o->optimizer_on : ON_DEVICE;
	double			 n = kept(s), parts = s->zero || s->fsdp ||
	    s->o->sharding == SHARDING_MEGATRON_DIST ? s->N : 1;

	if ((s->zero || s->megatron) && s->p == 2)
		term(s, PART_OPTIMIZER, place, 4 * s->T / parts, whose(s),
		    "4 P / N (float32 copy)", "4 x %.0f / %.0f", s->T, parts);
	if (s->megatron && s->g == 2)
		term(s, PART_OPTIMIZER, place, 4 * s->T / parts, "Megatron",
		    "4 P / N (float32 gradients)", "4 x %.0f / %.0f", s->T,
		    parts);
	term(s, PART_OPTIMIZER, place, n * s->T / parts,
	    s->o->optimizer == OPTIMIZER_ADAFACTOR ? "guess" : s->zero &&
	    s->o->optimizer == OPTIMIZER_ADAM ? "ZeRO" : "definition",
	    parts > 1 ? "arrays x P / N" : "arrays x P", "%.4g x %.0f / %.0f",
	    n, s->T, parts);
}

/* What forward and backward take beside the activations, and then the step. */
static void
add_temporary(struct sum *s)
{
	const struct memory_order	*o = s->o;
	double				 bucket;

	if (s->fsdp || o->sharding == SHARDING_ZERO3) {
		if (o->sharding != SHARDING_GRAD_OP &&
		    o->sharding != SHARDING_HYBRID_GRAD_OP)
			term(s, PART_TEMPORARY, ON_DEVICE, 2 * s->e * s->U,
			    "design", "2 e U (gathered)", "2 x %.0f x %.0f",
			    s->e, s->U);
		term(s, PART_TEMPORARY, ON_DEVICE, 2 * s->e * s->U * s->T /
		    s->P, "design", "2 e U (their gradients)",
		    "2 x %.0f x %.0f", s->e, s->U * s->T / s->P);
	} else if (s->zero) {
		bucket = s->T < DEEPSPEED_BUCKET ? s->T : DEEPSPEED_BUCKET;
		term(s, PART_TEMPORARY, ON_DEVICE, 2 * s->p * bucket,
		    "DeepSpeed", "2 buckets", "2 x %.0f x %.0f", s->p, bucket);
	} else if (!s->megatron) {
		if (o->ranks > 1)
			term(s, PART_TEMPORARY, ON_DEVICE, s->g * s->T,
			    "PyTorch", "buckets: a second copy of gradients",
			    "%.0f x %.0f", s->g, s->T);
		if (s->mixed)
			term(s, PART_TEMPORARY, ON_DEVICE, 2 * s->T,
			    o->training == TRAINING_FP8 ? "guess" : "PyTorch",
			    "2 P (casts of weights)", "2 x %.0f", s->T);
	}
	if (s->zero || s->megatron || o->optimizer == OPTIMIZER_ADAM8 ||
	    o->cpu)		/* their kernels take nothing */
		return;
	if (s->fsdp && o->params_on != ON_DEVICE)
		return;
	bucket = s->fsdp ? s->T / s->N : s->T;
	term(s, PART_STEP, ON_DEVICE, s->p * bucket, "PyTorch", s->fsdp ?
	    "the parameters' size, P / N" : "the parameters' size",
	    "%.0f x %.0f", s->p, bucket);
}

/*
 * One layer's activations for one token, in bytes: what every tp rank has, and
 * what they share.  "r" is the width of what runs through all layers, and of
 * what norms give: under autocast float32, so that each product that takes it
 * keeps a cast of its own.
 */
static void
token(const struct sum *s, double r, double *whole, double *shared)
{
	const struct model	*m = s->m;
	double			 h = (double)m->hidden, mask = m->dropout;
	double			 q = m->heads ? (double)(m->heads *
	    m->head_dim) : h, kv = m->heads ? (double)(m->kv_heads *
	    m->head_dim) : h, norms = m->norms, casts;

	if (r > s->e)
		casts = m->fused ? 2 : m->gated ? 5 : 4;
	else
		casts = norms < 2 ? norms : 2;
	/* A norm keeps its input; RMSNorm a float32 copy and its result before
	 * the weights.  Two masks of a byte. */
	*whole = (norms * (m->rms ? 4 + r : r) + casts * s->e + 2 * mask) * h;
	/* Queries, keys, values, their result; the feed-forward part. */
	*shared = s->e * (2 * q + 2 * kv +
	    (m->gated ? 4 : 2) * (double)m->ffn);
	if (s->o->eager)
		*shared += (double)m->heads * (double)s->o->sequence *
		    (s->e + mask * (s->e + 1));
}

static void
add_activations(struct sum *s)
{
	const struct memory_order	*o = s->o;
	const struct model		*m = s->m;
	bool	autocast = s->mixed && !s->zero && !s->megatron;
	double	tokens = (double)o->sequence / (double)o->cp *
	    (double)o->batch, t = (double)o->tp, whole, shared, one;
	double	layers = (double)((m->layers + (uint64_t)o->pp - 1) /
	    (uint64_t)o->pp), flight = (double)(o->pp < o->micro_batches ?
	    o->pp : o->micro_batches), r = autocast ? 4 : s->e;

	if (!m->layers || !m->hidden) {
		s->out->no_shape = true;
		return;
	}
	token(s, r, &whole, &shared);
	one = o->sequence_parallel ? (whole + shared) / t : whole + shared / t;
	if (o->recompute) {
		term(s, PART_ACTIVATIONS, ON_DEVICE, layers * flight * tokens *
		    r * (double)m->hidden, "Korthikanti",
		    "L s b r h (layers' inputs)", "%.0f x %.0f x %.0f x %"
		    PRIu64, layers * flight, tokens, r, m->hidden);
		layers = flight = 1;
	}
	term(s, PART_ACTIVATIONS, ON_DEVICE, layers * flight * tokens * one,
	    autocast || m->rms ? "measured" : "Korthikanti", o->recompute ?
	    "s b B (one layer)" : "L s b B", "%.0f x %.0f x %.0f",
	    layers * flight, tokens, one);
	if (m->unusual && s->out->terms)
		s->out->term[s->out->terms - 1].guess = true;
	if (m->vocab)
		term(s, PART_LOGITS, ON_DEVICE, tokens * (double)m->vocab *
		    (4 + s->e) / t, "definition", "(4 + e) s b V / t",
		    "%.0f x %.0f x %" PRIu64 " / %.0f", 4 + s->e, tokens,
		    m->vocab, t);
}

static void
add_framework(struct sum *s)
{
	const double	MIB = 1 << 20;

	if (s->o->cpu)
		return;
	term(s, PART_FRAMEWORK, ON_DEVICE, 512 * MIB, "guess",
	    "CUDA's context", "512 MiB");
	if (s->o->ranks > 1)
		term(s, PART_FRAMEWORK, ON_DEVICE, 512 * MIB, "guess",
		    "NCCL's buffers", "512 MiB");
}

static void
add_up(struct memory *out)
{
	double	*total = &out->total[ON_DEVICE], run, step;

	for (int i = 0; i < MEMORY_PARTS; i++)
		if (i <= PART_OPTIMIZER || i == PART_FRAMEWORK)
			*total += out->part[i];
	run = out->part[PART_ACTIVATIONS] + out->part[PART_LOGITS] +
	    out->part[PART_TEMPORARY];
	step = out->part[PART_STEP];
	*total += run > step ? run : step;
}

static int
check(const struct memory_order *o, struct err *err)
{
	long	mesh = o->tp * o->pp * o->cp;

	if (o->ranks % mesh) {
		err_set(err, "%ld ranks are no multiple of tp %ld x cp %ld x "
		    "pp %ld", o->ranks, o->tp, o->cp, o->pp);
		return err_hint(err, "the world is the product of the mesh and "
		    "the data-parallel ranks");
	}
	if ((o->sharding == SHARDING_HYBRID ||
	    o->sharding == SHARDING_HYBRID_GRAD_OP) &&
	    o->ranks / mesh % o->group) {
		err_set(err, "groups of %ld do not divide %ld data-parallel "
		    "ranks", o->group, o->ranks / mesh);
		return err_hint(err, "give the ranks of one host, as a rule");
	}
	return 0;
}

int
memory_estimate(struct memory *out, const struct memory_order *o,
    struct err *err)
{
	struct sum	s = { .out = out, .o = o, .m = o->model };
	enum sharding	kind = o->sharding;
	uint64_t	unit = s.m->block > s.m->embedding ? s.m->block :
	    s.m->embedding;

	*out = (struct memory){ .terms = 0 };
	if (check(o, err) < 0)
		return -1;
	s.zero = kind == SHARDING_ZERO1 || kind == SHARDING_ZERO2 ||
	    kind == SHARDING_ZERO3;
	s.megatron = kind == SHARDING_MEGATRON ||
	    kind == SHARDING_MEGATRON_DIST;
	s.fsdp = !s.zero && !s.megatron && kind != SHARDING_NONE;
	s.mixed = o->training == TRAINING_FP16 ||
	    o->training == TRAINING_BF16 || o->training == TRAINING_FP8;
	s.e = o->training == TRAINING_FP32 ? 4 : 2;
	/* DeepSpeed and Megatron keep 16-bit parameters and a float32 copy of
	 * them with the optimizer; Accelerate elsewhere keeps float32 ones. */
	s.p = s.g = o->training == TRAINING_PURE || ((s.zero || s.megatron) &&
	    s.mixed) ? 2 : 4;
	if (s.megatron && o->training != TRAINING_FP16)
		s.g = 4;
	s.P = (double)s.m->params / (double)(o->tp * o->pp);
	s.T = o->trained && o->trained < s.m->params ? s.P *
	    (double)o->trained / (double)s.m->params : s.P;
	s.N = (double)(o->ranks / (o->tp * o->pp));
	if (kind == SHARDING_HYBRID || kind == SHARDING_HYBRID_GRAD_OP)
		s.N = (double)(o->group * o->cp);
	s.U = o->whole || !unit ? s.P : (double)unit / (double)o->tp;
	if (s.U > s.P)
		s.U = s.P;
	add_params(&s);
	add_grads(&s);
	add_optimizer(&s);
	add_activations(&s);
	add_temporary(&s);
	add_framework(&s);
	add_up(out);
	return 0;
}
