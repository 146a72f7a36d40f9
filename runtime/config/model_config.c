/* SPDX-License-Identifier: Apache-2.0 */
/* Counts a model's parameters from the shape that its config.json has. */
#include "runtime/config/model.h"

#include <jansson.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/shape.h"

#include "runtime/base/banned.h"

/* The sums.  Each is a part's parameters. */

static uint64_t
norm(const struct shape *s, uint64_t n)
{
	return s->has & LAYERNORM ? 2 * n : n;
}

static uint64_t
attention(const struct shape *s)
{
	uint64_t	h = s->h, q = s->a * s->d, kv = s->kv * s->d, n;

	if (s->has & LATENT) {
		q = s->a * (s->nope + s->rope);
		n = s->q_rank ? s->q_rank * (h + 1 + q) : h * q;
		return n + h * (s->kv_rank + s->rope) + s->kv_rank +
		    s->kv_rank * s->a * (s->nope + s->v_dim) +
		    s->a * s->v_dim * h;
	}
	n = h * q + 2 * h * kv + q * h;
	if (s->has & QKV_BIAS)		/* whisper's keys have none */
		n += q + kv + (is_type(s, "whisper") ? 0 : kv);
	if (s->has & OUT_BIAS)
		n += h;
	if (s->has & QK_NORM)
		n += 2 * norm(s, s->d);
	if (s->has & QK_WIDE)
		n += q + kv;
	if (s->has & SINKS)
		n += s->a;
	return n;
}

static uint64_t
feed_forward(const struct shape *s, uint64_t f)
{
	uint64_t	n = (s->has & GATED ? 3 : 2) * s->h * f;

	if (s->has & MLP_BIAS)
		n += (s->has & GATED ? 2 : 1) * f + s->h;
	return n;
}

static uint64_t
experts(const struct shape *s, uint64_t count)
{
	uint64_t	n = count * feed_forward(s, s->expert_f);

	n += s->h * s->experts;
	if (s->has & ROUTER_BIAS)
		n += s->experts;
	if (s->shared_f)
		n += feed_forward(s, s->shared_f);
	if (s->shared_gate)
		n += s->h;
	return n;
}

static uint64_t
layer(const struct shape *s, bool with_experts)
{
	return attention(s) + s->norms * norm(s, s->h) + (with_experts ?
	    experts(s, s->experts) : feed_forward(s, s->f));
}

static uint64_t
decoder_layer(const struct shape *s)
{
	return layer(s, false) + attention(s) + norm(s, s->h);
}

/* Tables, and all that stands before the first layer. */
static uint64_t
embeddings(const struct shape *s)
{
	uint64_t	h = s->h, n = s->V * s->embed;
	uint64_t	stacks = s->decoder_layers ? 2 : 1;

	if (s->embed != h)
		n += 2 * s->embed * h;
	if (is_type(s, "whisper"))
		return n + (s->P + s->source_positions) * h +
		    3 * h * (s->mels + h) + 2 * h;
	if (is_type(s, "opt") || is_type(s, "bart"))
		n += stacks * (s->P + 2) * h;	/* two are for padding */
	else if (s->has & POSITIONS)
		n += s->P * h;
	if (s->patch)
		n += h + s->P * h + s->channels * s->patch * s->patch * h + h;
	n += s->types * h;
	if (s->has & EMBED_NORM)
		n += stacks * norm(s, h);
	return n;
}

/* The model without a head for a task, as AutoModel builds it. */
static uint64_t
plain(const struct shape *s)
{
	uint64_t	n = embeddings(s), stacks = s->decoder_layers ? 2 : 1;

	n += (s->L - s->dense_layers) * layer(s, s->experts) +
	    s->dense_layers * layer(s, false);
	if (s->decoder_layers)
		n += s->decoder_layers * decoder_layer(s);
	if (!(s->has & NO_FINAL))
		n += stacks * norm(s, s->h);
	n += stacks * s->buckets * s->a;
	if (s->has & POOLER)
		n += s->h * s->h + s->h;
	return n;
}

static bool
ends(const char *text, const char *tail)
{
	size_t	n = strlen(text), k = strlen(tail);

	return n >= k && !strcmp(text + n - k, tail);
}

/* The parameters of the model that is trained: with the head that
 * "architectures" names.  *output: it has an output over words. */
static uint64_t
with_head(const struct shape *s, const char *class, bool *output)
{
	uint64_t	h = s->h, n = plain(s), dense = h * h + h;
	uint64_t	pooler = s->has & POOLER ? dense : 0;
	uint64_t	table = s->has & TIED ? 0 : s->V * s->embed;

	*output = false;
	if (ends(class, "ForMaskedLM") && s->has & ENCODER) {
		*output = true;
		return n - pooler + dense + norm(s, h) + s->V + table;
	}
	if (ends(class, "ForImageClassification") && s->patch)
		return n - pooler + h * s->labels + s->labels;
	if (ends(class, "ForSequenceClassification")) {
		if (!(s->has & ENCODER))
			return n + h * s->labels;
		n += h * s->labels + s->labels;
		return s->has & DENSE_HEAD ? n - pooler + dense : n;
	}
	if (ends(class, "ForTokenClassification"))
		return n - pooler + h * s->labels + s->labels;
	if (s->has & ENCODER)
		return n;
	*output = true;
	return n + table + (s->has & HEAD_BIAS ? s->V : 0);
}

/* Bytes of the buffers that transformers 5 registers: position numbers as
 * int64, causal masks of bool, which Accelerate counts as an eighth of a byte,
 * rotary tables.  "layer" gets the share that lies in one layer. */
static uint64_t
buffers(const struct shape *s, uint64_t *layer)
{
	uint64_t	scale = is_gemma(s) ? 4 : 0;

	*layer = 0;
	if (s->has & TYPES)
		return 16 * s->P;
	if (is_type(s, "distilbert"))
		return 8 * s->P;
	if (is_type(s, "gpt_neo")) {
		*layer = s->P * s->P / 8;
		return s->L * *layer;
	}
	if (is_type(s, "gpt_bigcode"))
		return s->P * s->P / 8;
	if (is_type(s, "gptj"))
		return 4 * s->P * s->rotary;
	if (s->has & (POSITIONS | ENCODER | EMBED_NORM) || s->buckets)
		return 0;
	if (is_type(s, "deepseek_v3"))
		*layer = 4 * s->experts;
	return 4 * s->rotary + scale + (s->L - s->dense_layers) * *layer;
}

/* Accelerate's largest layer: of those parts that are never split. */
static uint64_t
largest(const struct shape *s, uint64_t block, uint64_t in_layer)
{
	uint64_t	n = 4 * block, table = 4 * s->V * s->embed;

	if (block == layer(s, s->experts))
		n += in_layer;

	/* BERT's and ViT's embeddings are one part; DistilBERT's layers have
	 * many, and a product is the largest. */
	if (s->has & TYPES)
		table = 4 * embeddings(s) + 16 * s->P;
	else if (s->patch)
		table = 4 * embeddings(s);
	else if (is_type(s, "distilbert"))
		n = 4 * (s->h + 1) * s->f;
	return n > table ? n : table;
}

static int
count(struct model *m, const struct shape *s, const char *class,
    struct err *err)
{
	uint64_t	in_layer, buffer = buffers(s, &in_layer);
	bool		output;

	m->family = s->family->type;
	m->from = "config.json";
	m->params = with_head(s, class, &output);
	m->active = m->params - (s->L - s->dense_layers) *
	    (s->experts ? experts(s, s->experts) - experts(s, s->used) : 0);
	m->block = layer(s, s->experts);
	if (s->decoder_layers && decoder_layer(s) > m->block)
		m->block = decoder_layer(s);
	m->block += s->buckets * s->a;	/* T5's are in the first layer */
	if (s->dense_layers && layer(s, false) > m->block)
		m->block = layer(s, false);
	m->plain_bytes = 4 * plain(s) + buffer;
	m->largest_bytes = largest(s, m->block, in_layer);
	m->embedding = s->V * s->embed;
	m->layers = s->L + s->decoder_layers;
	m->hidden = s->h;
	m->heads = s->a;
	m->kv_heads = s->kv;
	m->head_dim = s->d;
	m->ffn = s->experts ? s->used * s->expert_f + s->shared_f : s->f;
	m->vocab = output ? s->V : 0;
	m->positions = s->P;
	m->experts = s->experts;
	m->norms = s->norms;
	m->rms = !(s->has & LAYERNORM);
	m->fused = s->has & FUSED;
	m->unusual = s->experts || s->decoder_layers || s->has & LATENT;
	m->gated = s->has & GATED;
	m->dropout = s->has & DROPOUT;
	return m->params >> 60 ? err_set(err, "%s: the model would be too "
	    "large", m->name) : 0;
}

int
model_parse(struct model *m, const char *text, size_t n, const char *name,
    struct err *err)
{
	json_error_t	 where;
	json_t		*root = json_loadb(text, n, 0, &where);
	struct shape	 s = { .family = NULL };
	const char	*class;
	int		 ret = -1;

	*m = (struct model){ .name = strdup(name) };
	if (!m->name) {
		err_nomem(err);
		goto out;
	}
	if (!json_is_object(root)) {
		if (root)
			err_set(err, "%s: not a mapping", name);
		else
			err_set(err, "%s:%d:%d: %s", name, where.line,
			    where.column, where.text);
		err_hint(err, "a model's config.json was expected");
		goto out;
	}
	s.family = family_of(root, name, err);
	if (!s.family || shape_read(&s, root, name, err) < 0)
		goto out;
	class = json_string_value(json_array_get(json_object_get(root,
	    "architectures"), 0));
	ret = count(m, &s, class ? class : "", err);
out:
	json_decref(root);
	if (ret < 0)
		model_clear(m);
	return ret;
}
