/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a rank, as far as the model is known. */
#include <stdlib.h>
#include <string.h>

#include "tui/form.h"
#include "tui/form_intern.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

static const char *
seed(const struct form *f, int item)
{
	return f->past[f->at].seed[item - (int)FIELD_COUNT];
}

/* Read again only where its name has changed. */
static void
read_model(struct form *f)
{
	const char *name = seed(f, ITEM_model);
	bool count;

	if (name && f->model_of && !strcmp(name, f->model_of))
		return;
	model_clear(&f->model);
	free(f->model_of);
	f->model_of = name ? strdup(name) : NULL;
	f->model_fault = (struct err)ERR_INIT;
	if (!name || !f->model_of)
		return;
	count = !model_count(name, &f->model.params);
	if (count)
		f->model.name = strdup(name);
	if ((!count && model_read(&f->model, name, &f->model_fault)) ||
	    model_settle(&f->model, &f->model_fault))
		model_clear(&f->model);
}

static long
number(const struct form *f, int item, long otherwise)
{
	const char *text = seed(f, item);
	long n;

	return text && !num_parse(text, 1, 1000000000, &n) ? n : otherwise;
}

void
form_estimate(struct form *f)
{
	struct memory_order order = MEMORY_ORDER_INIT;
	const char *optimizer = seed(f, ITEM_optimizer);
	int word;

	f->estimated = false;
	f->memory_fault = (struct err)ERR_INIT;
	read_model(f);
	f->site.parameters = (double)f->model.params;
	if (!f->model.params)
		return;
	order.model = &f->model;
	order.sequence = number(f, ITEM_sequence, order.sequence);
	order.batch = number(f, ITEM_batch, order.batch);
	word = optimizer ? memory_word(optimizer_words, OPTIMIZER_COUNT,
	    optimizer) : -1;
	if (word >= 0)
		order.optimizer = (enum optimizer)word;
	memory_order_take(&order, form_now(f), &f->site);
	f->estimated = !memory_estimate(&f->memory, &order, &f->memory_fault);
}

bool
form_memory(const struct form *f, struct need *out)
{
	memset(out, 0, sizeof *out);
	if (!f->estimated)
		return false;
	out->bytes = f->memory.total[ON_DEVICE];
	out->room = f->site.gpu_memory;
	out->cpu = form_now(f)->main.use_cpu ||
	    form_now(f)->main.distributed_type == dist_MULTI_CPU;
	if (out->cpu) {
		out->bytes += f->memory.total[ON_HOST];
		out->room = f->site.memory;
	} else
		out->host = f->memory.total[ON_HOST];
	out->over = out->room > 0 && out->bytes > out->room;
	return true;
}

int
form_gib(double bytes, struct buf *out)
{
	double gib = bytes / (1 << 30);

	return buf_addf(out, gib < 1000 ? "%.1f" : "%.0f", gib);
}

int
form_memory_say(const struct form *f, struct buf *out)
{
	struct need need;

	if (!form_memory(f, &need))
		return buf_addf(out, "not known: %s", *f->model_fault.text ?
		    f->model_fault.text : *f->memory_fault.text ?
		    f->memory_fault.text : "say which model (3 Training)");
	form_gib(need.bytes, out);
	if (need.room > 0) {
		buf_adds(out, " of ");
		form_gib(need.room, out);
	}
	buf_addf(out, " GiB%s", need.over ? " !" : need.room > 0 ? "" :
	    need.cpu ? "" : " (no GPU's size is known)");
	if (need.host > 0) {
		buf_adds(out, "    host ");
		form_gib(need.host, out);
		buf_adds(out, " GiB");
	}
	return buf_failed(out) ? -1 : 0;
}

int
form_memory_parts(const struct form *f, struct buf *out)
{
	const struct memory *m = &f->memory;
	size_t from = out->len;

	for (int part = 0; f->estimated && part < MEMORY_PARTS; part++) {
		bool guess = false;

		if (m->part[part] < (1 << 20) * 10)
			continue;
		for (size_t i = 0; i < m->terms; i++)
			guess |= m->term[i].part == (enum memory_part)part &&
			    m->term[i].guess;
		buf_addf(out, "%s%s ", out->len > from ? "  " : "",
		    memory_part_names[part]);
		form_gib(m->part[part], out);
		buf_adds(out, guess ? " (guess)" : "");
	}
	if (f->estimated && m->no_shape)
		buf_adds(out, "  activations not counted: give a config.json");
	return buf_failed(out) ? -1 : 0;
}
