/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/estimate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"

#include "runtime/base/banned.h"

const struct estimate_dtype estimate_dtypes[ESTIMATE_DTYPES] = {
	{ "float32", 1, 4 }, { "float16", 2, 4 }, { "int8", 4, 0 },
	{ "int4", 8, 0 },
};

static const double	GIB = 0x1p30;
static const double	TIGHT = 0.9;	/* fragmentation needs its share */

/* Accelerate's table. */

enum { COLUMNS = 4 };

static const struct lines {
	const char	*across, *down;
	const char	*top[3], *under_title[3], *middle[3], *bottom[3];
} boxes = {
	"─", "│", { "┌", "─", "┐" }, { "├", "┬", "┤" }, { "├", "┼", "┤" },
	{ "└", "┴", "┘" },
}, plain = {
	"-", "|", { "+", "-", "+" }, { "+", "+", "+" }, { "+", "+", "+" },
	{ "+", "+", "+" },
};

static size_t
letters(const char *text)
{
	size_t	n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void
rule(struct buf *out, const struct lines *l, const char *const ends[3],
    const size_t *width, size_t more)
{
	buf_adds(out, ends[0]);
	for (size_t i = 0; i < COLUMNS; i++) {
		for (size_t k = 0; k < width[i]; k++)
			buf_adds(out, l->across);
		if (i + 1 < COLUMNS)
			buf_adds(out, ends[1]);
	}
	while (more--)
		buf_adds(out, l->across);
	buf_adds(out, ends[2]);
	buf_adds(out, "\n");
}

/* Centred, as Python's str.center() does it. */
static void
centre(struct buf *out, const char *text, size_t width)
{
	size_t	n = letters(text), spare = width > n ? width - n : 0;
	size_t	left = spare / 2 + (spare & width & 1);

	buf_addf(out, "%*s%s%*s", (int)left, "", text, (int)(spare - left), "");
}

static void
cells(struct buf *out, const struct lines *l, const char *const *text,
    const size_t *width)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		buf_adds(out, l->down);
		centre(out, text[i], width[i]);
	}
	buf_addf(out, "%s\n", l->down);
}

static void
draw(struct buf *out, const struct lines *l, const char *title,
    const char *(*rows)[COLUMNS], size_t count)
{
	size_t	width[COLUMNS] = { 0 }, sum = 0, all, more = 0;

	for (size_t i = 0; i < count * COLUMNS; i++) {
		size_t n = letters(rows[i / COLUMNS][i % COLUMNS]);

		if (n > width[i % COLUMNS])
			width[i % COLUMNS] = n;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		sum += width[i];
	all = sum + COLUMNS + 1;
	/* A wide title widens the last column: what its creator adds twice. */
	if (letters(title) > sum) {
		more = letters(title) > all ? letters(title) - all :
		    all - letters(title);
		width[COLUMNS - 1] += more;
		all += 2 * more;
	}
	rule(out, l, l->top, width, more);
	buf_adds(out, l->down);
	centre(out, title, all - 2);
	buf_addf(out, "%s\n", l->down);
	rule(out, l, l->under_title, width, more);
	width[COLUMNS - 1] += more;
	for (size_t i = 0; i < count; i++) {
		cells(out, l, rows[i], width);
		if (i == 0)
			rule(out, l, l->middle, width, 0);
	}
	rule(out, l, l->bottom, width, 0);
}

static const char *
say(struct buf *out, double bytes, bool whole)
{
	memory_say(bytes, whole, out);
	return buf_text(out);
}

int
estimate_table(const struct estimate *e, struct buf *out)
{
	const char	*rows[1 + ESTIMATE_DTYPES][COLUMNS] = { { "dtype",
	    "Largest Layer", "Total Size", "Training using Adam" } };
	struct buf	 text[ESTIMATE_DTYPES][3] = { { BUF_INIT } };
	struct buf	 title = BUF_INIT;
	const struct lines *l = e->ascii ? &plain : &boxes;
	size_t		 n = 1;

	buf_addf(&title, "Memory Usage for loading `%s`", e->model.name);
	for (size_t i = 0; i < ESTIMATE_DTYPES; i++) {
		const struct estimate_dtype *d = &estimate_dtypes[i];
		double	total = (double)e->model.plain_bytes / d->divide;
		double	layer = (double)e->model.largest_bytes / d->divide;
		bool	whole = d->divide == 1;

		if (!e->dtype[i])
			continue;
		rows[n][0] = d->name;
		rows[n][1] = layer > 0 ? say(&text[i][0], layer, whole) : "?";
		rows[n][2] = say(&text[i][1], total, whole);
		rows[n++][3] = d->train ? say(&text[i][2], d->train * total,
		    true) : "N/A";
	}
	draw(out, l, buf_text(&title), rows, n);
	for (size_t i = 0; i < ESTIMATE_DTYPES; i++)
		for (size_t k = 0; k < 3; k++)
			buf_clear(&text[i][k]);
	buf_clear(&title);
	return buf_failed(out) ? -1 : 0;
}

/* The ranks. */

/* Calls for each sharding and precision that was asked for. */
static int
each(const struct estimate *e, struct err *err, void *to,
    void (*with)(const struct estimate *, const struct memory_order *,
    const struct memory *, void *))
{
	for (int s = 0; s < SHARDING_COUNT; s++)
		for (int t = 0; t < TRAINING_COUNT; t++) {
			struct memory_order	o = e->order;
			struct memory		m;

			if (!e->sharding[s] || !e->training[t])
				continue;
			o.sharding = (enum sharding)s;
			o.training = (enum training)t;
			if (memory_estimate(&m, &o, err) < 0)
				return -1;
			with(e, &o, &m, to);
		}
	return 0;
}

static const char *
verdict(const struct estimate *e, const struct memory *m)
{
	double	room = (double)e->room;

	if (!e->room)
		return "?";
	if (m->total[ON_DEVICE] > room)
		return "no";
	return m->total[ON_DEVICE] > TIGHT * room ? "tight" : "yes";
}

static void
number(struct buf *out, double bytes)
{
	double	gib = bytes / GIB;

	buf_addf(out, gib < 999.995 ? " %6.2f" : " %6.0f", gib);
}

/* One rank has nobody to be parallel with. */
static const char *
name_of(const struct memory_order *o)
{
	return o->ranks == 1 && o->sharding == SHARDING_NONE ? "one rank" :
	    sharding_words[o->sharding].word;
}

static void
line(const struct estimate *e, const struct memory_order *o,
    const struct memory *m, void *to)
{
	struct buf	*out = to;
	double		 act = m->part[PART_ACTIVATIONS] + m->part[PART_LOGITS];
	double		 known = m->part[PART_PARAMS] + m->part[PART_GRADS] +
	    m->part[PART_OPTIMIZER];

	buf_addf(out, "%-13s %-9s", name_of(o),
	    training_words[o->training].word);
	number(out, m->part[PART_PARAMS]);
	number(out, m->part[PART_GRADS]);
	number(out, m->part[PART_OPTIMIZER]);
	if (m->no_shape)
		buf_adds(out, "      ?");
	else
		number(out, act);
	/* In the step the activations are free, so that their place may be
	 * enough for it. */
	number(out, m->total[ON_DEVICE] - known - act > 0 ?
	    m->total[ON_DEVICE] - known - act : 0);
	number(out, m->total[ON_DEVICE]);
	number(out, m->total[ON_HOST] + m->total[ON_DISK]);
	buf_addf(out, "  %s\n", verdict(e, m));
}

static void
explain(const struct estimate *e, const struct memory_order *o,
    const struct memory *m, void *to)
{
	static const char *const places[] = { "", ", on the host",
	    ", on disk" };
	struct buf	*out = to, text = BUF_INIT;

	buf_addf(out, "\n%s (%s), %s (%s), %s: ",
	    sharding_words[o->sharding].word, sharding_words[o->sharding].what,
	    training_words[o->training].word, training_words[o->training].what,
	    optimizer_words[o->optimizer].word);
	memory_say(m->total[ON_DEVICE], false, out);
	buf_addf(out, "%s%s\n", e->room ? ", fits: " : "", e->room ?
	    verdict(e, m) : "");
	for (size_t i = 0; i < m->terms; i++) {
		const struct memory_term *t = &m->term[i];

		memory_say(t->bytes, false, &text);
		buf_addf(out, "  %-11s %10s  = %s\n%26s%s%s  [%s%s]\n",
		    memory_part_names[t->part], buf_text(&text), t->numbers,
		    "", t->formula, places[t->place], t->source, t->guess &&
		    strcmp(t->source, "guess") ? ", a guess here" : "");
		buf_clear(&text);
	}
	if (m->part[PART_STEP] > 0)
		buf_adds(out, "  The step's memory and that of activations, "
		    "logits and temporaries are not\n  in use together: the "
		    "larger counts.\n");
}

static void
heading(const struct estimate *e, struct buf *out)
{
	const struct memory_order	*o = &e->order;
	const struct model		*m = &e->model;

	buf_addf(out, "\n%s%.4g billion parameters%s%s", m->guess ? "About " :
	    "", (double)m->params / 1e9, m->family ? ", " : "",
	    m->family ? m->family : "");
	if (m->active != m->params)
		buf_addf(out, " (%.4g active)", (double)m->active / 1e9);
	if (m->layers && m->hidden)
		buf_addf(out, ", %llu layers of %llu",
		    (unsigned long long)m->layers,
		    (unsigned long long)m->hidden);
	buf_addf(out, ".\n%ld rank%s, %s, %ld x %ld tokens", o->ranks,
	    o->ranks == 1 ? "" : "s", optimizer_words[o->optimizer].word,
	    o->batch, o->sequence);
	if (o->tp * o->cp * o->pp > 1)
		buf_addf(out, ", tp %ld, cp %ld, pp %ld", o->tp, o->cp, o->pp);
	buf_addf(out, "%s.  GiB of one rank:\n\n", o->recompute ?
	    ", activations recomputed" : "");
}

int
estimate_ranks(const struct estimate *e, struct buf *out, struct err *err)
{
	heading(e, out);
	buf_addf(out, "%-13s %-9s %6s %6s %6s %6s %6s %6s %6s  %s\n",
	    "sharding", "precision", "params", "grads", "optim", "activ",
	    "other", "total", "host", "fits");
	if (each(e, err, out, line) < 0)
		return -1;
	if (e->room) {
		buf_adds(out, "\nfits: in ");
		memory_say((double)e->room, false, out);
		buf_addf(out, " (%s); tight: above 90 %% of it.\n",
		    e->room_from);
	} else
		buf_adds(out, "\nfits: give --gpu_memory 80GB, say; no GPU was "
		    "found here.\n");
	if (!e->model.layers || !e->model.hidden)
		buf_adds(out, "activ: not known without a shape: give a "
		    "config.json, or --layers, --hidden,\n       --vocab.\n");
	else
		buf_adds(out, "activ, other: a guess in part; --explain shows "
		    "each formula and its source.\n");
	if (e->explain && each(e, err, out, explain) < 0)
		return -1;
	return buf_failed(out) ? err_nomem(err) : 0;
}

/* JSON. */

static json_t *
model_json(const struct model *m)
{
	return json_pack("{s:s, s:s?, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
	    "s:I, s:I, s:I, s:b}", "name", m->name, "family", m->family,
	    "from", m->from, "parameters", (json_int_t)m->params,
	    "active_parameters", (json_int_t)m->active,
	    "stored_parameters", (json_int_t)m->stored,
	    "layers", (json_int_t)m->layers, "hidden", (json_int_t)m->hidden,
	    "heads", (json_int_t)m->heads, "kv_heads", (json_int_t)m->kv_heads,
	    "ffn", (json_int_t)m->ffn, "vocab", (json_int_t)m->vocab,
	    "largest_layer_parameters", (json_int_t)m->block,
	    "guess", m->guess);
}

static json_t *
dtypes_json(const struct estimate *e)
{
	json_t	*list = json_array();

	for (size_t i = 0; i < ESTIMATE_DTYPES; i++) {
		const struct estimate_dtype *d = &estimate_dtypes[i];
		double	total = (double)e->model.plain_bytes / d->divide;

		if (e->dtype[i])
			json_array_append_new(list, json_pack("{s:s, s:f, s:f, "
			    "s:o}", "dtype", d->name, "largest_layer",
			    (double)e->model.largest_bytes / d->divide,
			    "total_size", total, "training", d->train ?
			    json_real(d->train * total) : json_null()));
	}
	return list;
}

static void
rank_json(const struct estimate *e, const struct memory_order *o,
    const struct memory *m, void *to)
{
	static const char *const places[] = { "device", "host", "disk" };
	json_t	*row, *parts = json_object(), *terms = json_array();

	for (int i = 0; i < MEMORY_PARTS; i++)
		json_object_set_new(parts, memory_part_names[i],
		    json_real(m->part[i]));
	for (size_t i = 0; i < m->terms; i++) {
		const struct memory_term *t = &m->term[i];

		json_array_append_new(terms, json_pack("{s:s, s:s, s:f, s:s, "
		    "s:s, s:s, s:b}", "part", memory_part_names[t->part],
		    "place", places[t->place], "bytes", t->bytes, "formula",
		    t->formula, "numbers", t->numbers, "source", t->source,
		    "guess", t->guess));
	}
	row = json_pack("{s:s, s:s, s:s, s:o, s:f, s:f, s:f, s:s, s:b, s:o}",
	    "sharding", sharding_words[o->sharding].word,
	    "precision", training_words[o->training].word,
	    "optimizer", optimizer_words[o->optimizer].word,
	    "device_parts", parts, "device", m->total[ON_DEVICE],
	    "host", m->total[ON_HOST], "disk", m->total[ON_DISK],
	    "fits", verdict(e, m), "activations_known", !m->no_shape,
	    "terms", terms);
	json_array_append_new(to, row);
}

int
estimate_json(const struct estimate *e, struct buf *out, struct err *err)
{
	const struct memory_order	*o = &e->order;
	json_t				*ranks = json_array(), *all;
	char				*text = NULL;

	if (each(e, err, ranks, rank_json) < 0) {
		json_decref(ranks);
		return -1;
	}
	all = json_pack("{s:o, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:b, "
	    "s:b}, s:I, s:o}", "model", model_json(&e->model), "loading",
	    dtypes_json(e), "run", "ranks", (json_int_t)o->ranks,
	    "sequence", (json_int_t)o->sequence, "batch", (json_int_t)o->batch,
	    "tp", (json_int_t)o->tp, "cp", (json_int_t)o->cp,
	    "pp", (json_int_t)o->pp, "recompute", o->recompute,
	    "eager_attention", o->eager, "gpu_memory", (json_int_t)e->room,
	    "ranks", ranks);
	if (all)
		text = json_dumps(all, JSON_INDENT(2) |
		    JSON_REAL_PRECISION(15));
	json_decref(all);
	if (!text)
		return err_nomem(err);
	buf_addf(out, "%s\n", text);
	free(text);
	return buf_failed(out) ? err_nomem(err) : 0;
}
