/* SPDX-License-Identifier: Apache-2.0 */
/* Which items there are, on which step, and which are listed. */
#include <stdio.h>
#include <string.h>

#include "tui/form.h"
#include "tui/form_intern.h"
#include "runtime/config/words.h"
#include "runtime/base/banned.h"

static const struct choice optimizers[] = {
#define OPTIMIZER(symbol, text, meaning)	{ .word = text, .what = meaning },
	OPTIMIZERS(OPTIMIZER)
#undef OPTIMIZER
	{ .word = NULL }
};

static const struct field seeds[] = {
#define SEED(symbol, key_, type_, def_, ask_, ...)			\
	{ .key = key_, .type = type_, .def.s = def_, .ask = ask_,	\
	    .group = "", .member = "", .when_text = "true",		\
	    .title = "Model, for the memory estimate",			\
	    .flags = FIELD_NOFLAG | FIELD_MEMORY,			\
	    /* and the named cells behind it */				\
	    .help = __VA_ARGS__ },
#include "tui/seed.def"
#undef SEED
};

const struct field *
item_row(int item)
{
	return item >= (int)FIELD_COUNT ? &seeds[item - (int)FIELD_COUNT] :
	    &fields[item];
}

int
item_named(const char *key)
{
	for (int i = FIELD_COUNT; i < ITEM_COUNT; i++)
		if (!strcmp(item_row(i)->key, key))
			return i;
	return config_field_of(key);
}

/* What is a matter of how the model is spread; the rest is Training. */
enum step
item_step(int item)
{
	static const char *const spread[] = {
		"main.distributed_type", "fsdp.", "deepspeed.", "megatron.",
		"parallelism.", "mpirun.",
	};

	if (item == (int)ITEM_hosts)
		return STEP_MACHINES;
	for (size_t i = 0; i < sizeof spread / sizeof *spread; i++)
		if (!strncmp(item_row(item)->member, spread[i],
		    strlen(spread[i])))
			return STEP_STRATEGY;
	return STEP_TRAINING;
}

bool
form_applies(const struct form *f, int item)
{
	if (item == (int)ITEM_hosts)
		return true;
	if (item > (int)ITEM_model)	/* of a model that is named */
		return f->past[f->at].seed[ITEM_model - (int)FIELD_COUNT];
	return item == (int)ITEM_model ||
	    config_applies(form_now(f), (enum field_id)item);
}

size_t
form_choices(const struct form *f, int item)
{
	size_t n = 0;

	if (item < (int)FIELD_COUNT)
		return config_choices(form_now(f), (enum field_id)item);
	while (item_row(item)->choice && item_row(item)->choice[n].word)
		n++;
	return n;
}

/* By the filter, whatever the step. */
static bool
passes(const struct form *f, int item)
{
	unsigned flags = item_row(item)->flags;

	if (flags & FIELD_FLAGONLY)
		return false;
	if (f->filter == FILTER_CHANGED)
		return form_changed(f, item);
	if (f->filter == FILTER_ALL)
		return true;
	if (!form_applies(f, item))
		return false;
	return !(flags & FIELD_ADVANCED) || form_changed(f, item) ||
	    form_problem(f, item);
}

static bool
lists(const struct form *f, int item)
{
	return passes(f, item) && (f->filter == FILTER_CHANGED ||
	    item_step(item) == (f->step == STEP_STRATEGY ||
	    f->step == STEP_MACHINES ? f->step : STEP_TRAINING));
}

/* The order of questions: the machines first. */
static int
place_of(int item)
{
	return item == (int)ITEM_hosts ? 0 : item < (int)ITEM_hosts ? item + 1 :
	    item;
}

static int
item_at(int place)
{
	return !place ? (int)ITEM_hosts : place <= (int)ITEM_hosts ? place - 1 :
	    place;
}

int
form_beside(const struct form *f, int item, int way)
{
	int at = item >= 0 ? place_of(item) : way > 0 ? -1 : (int)ITEM_COUNT;

	for (at += way; at >= 0 && at < (int)ITEM_COUNT; at += way)
		if (passes(f, item_at(at)))
			return item_at(at);
	return -1;
}

/* The seeds stand first on their step: the memory is seen all the time. */
void
form_relist(struct form *f)
{
	int at = form_item(f);

	f->shown = 0;
	for (int i = 0; i < ITEM_COUNT; i++) {
		int item = (i + (int)FIELD_COUNT) % (int)ITEM_COUNT;

		if (!lists(f, item))
			continue;
		if (item == at)
			f->cursor = f->shown;
		f->list[f->shown++] = item;
	}
	if (f->cursor >= f->shown)
		f->cursor = f->shown ? f->shown - 1 : 0;
}

int
form_item(const struct form *f)
{
	return f->cursor < f->shown ? f->list[f->cursor] : -1;
}

void
form_move(struct form *f, long by)
{
	long to = (long)f->cursor + by, last = (long)f->shown - 1;

	f->cursor = to < 0 || last < 0 ? 0 : (size_t)(to > last ? last : to);
}

void
form_step(struct form *f, int step)
{
	if (step < 0 || step >= STEP_COUNT || f->step == (enum step)step)
		return;
	f->step = (enum step)step;
	f->cursor = 0;
	form_relist(f);
}

void
form_filter(struct form *f, enum filter filter)
{
	f->filter = filter;
	form_relist(f);
}

void
form_go(struct form *f, int item)
{
	form_step(f, (int)item_step(item));
	for (int filter = (int)f->filter; filter >= 0; filter = filter ==
	    FILTER_ALL ? -1 : FILTER_ALL) {
		form_filter(f, (enum filter)filter);
		for (size_t i = 0; i < f->shown; i++)
			if (f->list[i] == item) {
				f->cursor = i;
				return;
			}
	}
}
