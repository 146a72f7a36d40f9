/* SPDX-License-Identifier: Apache-2.0 */
/* Advice as text of 80 columns, and as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/config/advice.h"

#include "runtime/base/banned.h"

enum { SIDE_BY_SIDE = 72 };	/* columns; else below each other */

/* Words of the text, broken at the right edge, from column "at" on. */
static void
wrap(struct buf *out, size_t width, size_t at, size_t indent,
    const char *text)
{
	size_t	column = at, n;

	while (*text) {
		n = strcspn(text, " ");
		if (column > indent && column + 1 + n > width) {
			buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > at || (column > indent && at == indent)) {
			buf_adds(out, " ");
			column++;
		}
		buf_add(out, text, n);
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	buf_adds(out, "\n");
}

static void
parts(const struct memory *m, double sums[5])
{
	double	run = m->part[PART_ACTIVATIONS] + m->part[PART_LOGITS] +
	    m->part[PART_TEMPORARY];

	sums[0] = m->part[PART_PARAMS];
	sums[1] = m->part[PART_GRADS];
	sums[2] = m->part[PART_OPTIMIZER];
	sums[3] = m->part[PART_ACTIVATIONS] + m->part[PART_LOGITS];
	/* Activations are free in the step, which may use their place. */
	sums[4] = m->part[PART_TEMPORARY] + m->part[PART_FRAMEWORK];
	if (m->part[PART_STEP] > run)
		sums[4] += m->part[PART_STEP] - run;
}

static const char *const part_words[5] = {
	"parameters", "gradients", "optimizer", "activations", "other",
};

static bool
guessed(const struct memory *m, int part)
{
	for (size_t i = 0; i < m->terms; i++) {
		enum memory_part	p = m->term[i].part;
		int			own = p <= PART_OPTIMIZER ? (int)p :
		    p == PART_ACTIVATIONS || p == PART_LOGITS ? 3 : 4;

		if (own == part && m->term[i].guess)
			return true;
	}
	return part == 3 && m->no_shape;
}

static void
print_memory(const struct advice *a, size_t width, struct buf *out)
{
	const struct memory	*m = &a->plan.memory;
	double			 sums[5], room = a->plan.room;
	int			 bar, most = width > 68 ? 40 : width > 40 ?
	    (int)width - 34 : 6;

	parts(m, sums);
	buf_addf(out, "\nMemory of a rank, GB of %.1f (at most 90 %% are "
	    "planned):\n", room / 1e9);
	for (int i = 0; i < 5; i++) {
		bar = room > 0 ? (int)(most * sums[i] / room + 0.5) : 0;
		if (bar > most)
			bar = most;
		buf_addf(out, "  %-12s %7.2f%s%.*s%s\n", part_words[i],
		    sums[i] / 1e9, bar ? "  " : "", bar,
		    "########################################",
		    guessed(m, i) ? " (guess)" : "");
	}
	buf_addf(out, "  %-12s %7.2f", "in all", m->total[ON_DEVICE] / 1e9);
	if (m->total[ON_HOST] > 0)
		buf_addf(out, ", and %.1f of the host's memory",
		    m->total[ON_HOST] / 1e9);
	if (m->total[ON_DISK] > 0)
		buf_addf(out, ", and %.1f of its disk",
		    m->total[ON_DISK] / 1e9);
	buf_adds(out, "\n");
}

static double
tokens(const struct advice *a, const struct advice_plan *p)
{
	return p->time.total > 0 ? (double)a->sequence * (double)(p->data *
	    p->order.batch * p->accumulation) / p->time.total : 0;
}

static void
print_time(const struct advice *a, struct buf *out)
{
	const struct advice_time	*t = &a->plan.time;
	const struct { const char *name; double value; } rows[] = {
		{ "computing", t->compute }, { "communication", t->exposed },
		{ "hidden traffic", t->hidden }, { "slowed by it", t->slowed },
		{ "idle stages", t->idle }, { "offload", t->offload },
		{ "optimizer", t->update },
	};

	buf_addf(out, "\nTime of a step of %ld x %ld tokens (an estimate):\n",
	    a->plan.data * a->plan.order.batch * a->plan.accumulation,
	    a->sequence);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].value > 0)
			buf_addf(out, "  %-14s %9.4f s\n", rows[i].name,
			    rows[i].value);
	buf_addf(out, "  %-14s %9.4f s, %.0f tokens/s\n", "in all", t->total,
	    tokens(a, &a->plan));
	if (t->sent > 0)
		buf_addf(out, "  Each rank sends %.2f GB a step; the slowest "
		    "link,\n  %s, has %.2f GB/s for it.\n", t->sent / 1e9,
		    t->across ? "the network" : "within the host",
		    t->slowest / 1e9);
}

static void
print_others(const struct advice *a, size_t width, struct buf *out)
{
	char	name[200];

	if (!a->others)
		return;
	buf_adds(out, "\nAlternatives:\n");
	for (size_t i = 0; i < a->others; i++) {
		const struct advice_plan	*q = &a->other[i];

		advice_name(q, name, sizeof name);
		buf_addf(out, "  %zu ", i + 1);
		wrap(out, width, 4, 4, name);
		buf_addf(out, "    %.1f GB a device%s, %.4g s a step.\n    ",
		    q->memory.total[ON_DEVICE] / 1e9,
		    q->memory.total[ON_HOST] + q->memory.total[ON_DISK] > 0 ?
		    " and more elsewhere" : "", q->time.total);
		wrap(out, width, 4, 4, a->second[i]);
	}
}

static void
print_list(const char *title, const struct strv *list, size_t width,
    struct buf *out)
{
	if (list->count)
		buf_addf(out, "\n%s:\n", title);
	for (size_t i = 0; i < list->count; i++) {
		buf_adds(out, "  - ");
		wrap(out, width, 4, 4, list->item[i]);
	}
}

static void
print_reasons(const struct advice *a, size_t width, struct buf *out)
{
	buf_adds(out, "\n");
	for (size_t i = 0; i < ADVICE_ITEM_COUNT; i++) {
		const struct advice_line	*l = &a->line[i];

		if (width < SIDE_BY_SIDE) {
			buf_addf(out, "%s: %s\n  ", l->name, l->value);
			wrap(out, width, 2, 2, l->why);
			continue;
		}
		buf_addf(out, "%-17s %-15s ", l->name, l->value);
		wrap(out, width, strlen(l->value) > 15 ? 19 + strlen(l->value) : 34,
		    34, l->why);
	}
}

/* Where the nearest way has too little. */
static void
print_lack(const struct advice *a, size_t width, struct buf *out)
{
	const struct advice_plan	*p = &a->plan;
	const struct memory		*m = &p->memory;
	char				 name[200];

	advice_name(p, name, sizeof name);
	buf_adds(out, "Does not fit.  The nearest way:\n  ");
	wrap(out, width, 2, 2, name);
	buf_addf(out, "  needs %.1f GB of a device's %.1f",
	    m->total[ON_DEVICE] / 1e9, p->room / 1e9);
	if (m->total[ON_HOST] > 0)
		buf_addf(out, ", and %.0f GB of a host's %.0f",
		    (double)p->local * m->total[ON_HOST] / 1e9,
		    p->host_room / 1e9);
	buf_adds(out, ".\n");
}

int
advice_text(const struct advice *a, size_t width, struct buf *out)
{
	char	name[200];

	if (a->fits) {
		advice_name(&a->plan, name, sizeof name);
		wrap(out, width, 0, 2, name);
		print_reasons(a, width, out);
	} else
		print_lack(a, width, out);
	print_memory(a, width, out);
	if (a->fits) {
		print_time(a, out);
		print_others(a, width, out);
		print_list("Look out", &a->warnings, width, out);
	}
	print_list(a->fits ? "Without offload" : "What would fit",
	    &a->remedies, width, out);
	return buf_failed(out) ? -1 : 0;
}

static json_t *
plan_json(const struct advice *a, const struct advice_plan *p)
{
	static const char *const	places[] = { "device", "host", "disk" };
	const struct memory_order	*o = &p->order;
	const struct advice_time	*t = &p->time;
	json_t	*memory = json_object(), *guesses = json_array();
	char	 name[200];
	double	 sums[5];

	advice_name(p, name, sizeof name);
	parts(&p->memory, sums);
	for (int i = 0; i < 5; i++) {
		json_object_set_new(memory, part_words[i], json_real(sums[i]));
		if (guessed(&p->memory, i))
			json_array_append_new(guesses,
			    json_string(part_words[i]));
	}
	json_object_set_new(memory, "device", json_real(
	    p->memory.total[ON_DEVICE]));
	json_object_set_new(memory, "room", json_real(p->room));
	json_object_set_new(memory, "host", json_real(
	    p->memory.total[ON_HOST]));
	json_object_set_new(memory, "disk", json_real(
	    p->memory.total[ON_DISK]));
	json_object_set_new(memory, "guesses", guesses);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, "
	    "s:I, s:I, s:I, s:I, s:b, s:b, s:o, s:{s:f, s:f, s:f, s:f, s:f, "
	    "s:f, s:f, s:f}, s:f, s:f}",
	    "name", name, "distributed_type", advice_type_word(p->type),
	    "sharding", sharding_words[o->sharding].word,
	    "precision", training_words[o->training].word,
	    "optimizer_on", places[o->optimizer_on],
	    "parameters_on", places[o->params_on],
	    "hosts", (json_int_t)p->hosts, "processes", (json_int_t)o->ranks,
	    "data_parallel", (json_int_t)p->data,
	    "tensor_parallel", (json_int_t)o->tp,
	    "context_parallel", (json_int_t)o->cp,
	    "pipeline_stages", (json_int_t)o->pp,
	    "micro_batch", (json_int_t)o->batch,
	    "accumulation", (json_int_t)p->accumulation,
	    "recompute", o->recompute, "usable", p->usable,
	    "memory", memory,
	    "seconds", "computing", t->compute, "communication", t->exposed,
	    "hidden_communication", t->hidden, "slowed", t->slowed,
	    "idle", t->idle, "offload", t->offload, "optimizer", t->update,
	    "step", t->total, "bytes_sent", t->sent, "tokens_per_second",
	    tokens(a, p));
}

static json_t *
list_json(const struct strv *list)
{
	json_t	*out = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(out, json_string(list->item[i]));
	return out;
}

json_t *
advice_json(const struct advice *a)
{
	json_t	*reasons = json_object(), *others = json_array();

	for (size_t i = 0; a->fits && i < ADVICE_ITEM_COUNT; i++)
		json_object_set_new(reasons, a->line[i].name, json_pack(
		    "{s:s, s:s}", "value", a->line[i].value, "why",
		    a->line[i].why));
	for (size_t i = 0; i < a->others; i++)
		json_array_append_new(others, json_pack("{s:o, s:s}", "plan",
		    plan_json(a, &a->other[i]), "why_second", a->second[i]));
	return json_pack("{s:b, s:{s:I, s:I, s:I, s:b}, s:I, s:I, s:I, s:o, "
	    "s:o, s:o, s:o, s:o}", "fits", a->fits, "model", "parameters",
	    (json_int_t)a->model.params, "layers", (json_int_t)a->model.layers,
	    "hidden", (json_int_t)a->model.hidden, "shape_guessed",
	    a->shape_guess, "sequence", (json_int_t)a->sequence,
	    "batch", (json_int_t)a->batch, "tried", (json_int_t)a->tried,
	    "plan", plan_json(a, &a->plan), "reasons", reasons,
	    "alternatives", others, "warnings", list_json(&a->warnings),
	    "remedies", list_json(&a->remedies));
}
