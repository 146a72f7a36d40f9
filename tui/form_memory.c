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
