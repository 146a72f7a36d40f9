/* SPDX-License-Identifier: Apache-2.0 */
/* What fits the machines, and why. */
#include "tui/proposal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/advise.h"
#include "probes/fleet.h"
#include "runtime/base/num.h"
#include "runtime/config/advice.h"
#include "tui/screen.h"

#include "runtime/base/banned.h"

static int
found(struct config *c, enum field_id id, const char *text, struct err *err)
{
	return config_set(c, id, text, ORIGIN_FOUND, err);
}

/* Without a model: what the machine has, all of it. */
static int
make_from_facts(struct form *f, struct config *c, struct err *err)
{
	const struct machine *m = f->machine;
	int capability;
	size_t n = machine_usable_gpus(m, &capability);
	const char *kind = n > 1 ? "MULTI_GPU" : "NO", *mixed = "no";
	char count[24];

	if (n) {
		mixed = capability >= 80 ? "bf16" : "fp16";
		snprintf(f->reason, sizeof f->reason,
		    "%zu GPU%s found: one process for each; %s because the "
		    "capability is %s.", n, n == 1 ? "" : "s", mixed,
		    capability >= 80 ? "8.0 or more" : !capability ?
		    "not known" : "below 8.0");
	} else if (m->cores >= 2) {
		kind = "MULTI_CPU";
		n = m->numa >= 2 ? m->numa : 2;
		snprintf(f->reason, sizeof f->reason, m->numa >= 2 ?
		    "No GPU that a driver answers for: one process for each "
		    "of %zu NUMA nodes, in full precision." :
		    "No GPU that a driver answers for: %zu processes share "
		    "the cores, in full precision.", n);
	} else {
		n = 1;
		snprintf(f->reason, sizeof f->reason,
		    "One core and no GPU: one process, in full precision.");
	}
	snprintf(count, sizeof count, "%zu", n);
	return found(c, FIELD_main_distributed_type, kind, err) ||
	    found(c, FIELD_main_num_processes, count, err) ||
	    found(c, FIELD_main_mixed_precision, mixed, err) ||
	    found(c, FIELD_main_use_cpu, !machine_usable_gpus(m, NULL) ?
	    "true" : "false", err) ? -1 : 0;
}

static const char *
seed(const struct form *f, int item)
{
	return f->past[f->at].seed[item - (int)FIELD_COUNT];
}

static long
number(const struct form *f, int item)
{
	const char *text = seed(f, item);
	long n;

	return text && !num_parse(text, 1, 1L << 24, &n) ? n : 0;
}

struct finding {
	struct advice		 advice;
	struct advice_host	*host;
	size_t			 hosts;
};

static void
finding_clear(struct finding *g)
{
	advice_clear(&g->advice);
	free(g->host);
}

static int
find_hosts(struct finding *g, const struct form *f, struct err *err)
{
	if (f->fleet && fleet_advise(f->fleet, &g->host, &g->hosts, err))
		return -1;
	if (g->hosts)
		return 0;
	if (!(g->host = calloc(1, sizeof *g->host)))
		return err_nomem(err);
	machine_advise(f->machine, g->host);
	g->hosts = 1;
	return 0;
}

/* On -1 there is nothing to clear. */
static int
find(struct finding *g, const struct form *f, struct err *err)
{
	struct advice_order order = { .model = &f->model, .site = &f->site };
	const struct memory_order usual = MEMORY_ORDER_INIT;
	const char *optimizer = seed(f, ITEM_optimizer);
	int word;

	*g = (struct finding){ .host = NULL };
	if (!f->model.params) {
		if (*f->model_fault.text) {
			if (err)
				*err = f->model_fault;
			return -1;
		}
		err_set(err, "no model is named yet");
		return err_hint(err, "say which: a count such as 7B, a "
		    "config.json, a folder or a hub name");
	}
	if (find_hosts(g, f, err))
		return -1;
	word = optimizer ? memory_word(optimizer_words, OPTIMIZER_COUNT,
	    optimizer) : -1;
	order.optimizer = word < 0 ? OPTIMIZER_ADAM : (enum optimizer)word;
	order.sequence = number(f, ITEM_sequence);
	if (!order.sequence)
		order.sequence = usual.sequence;
	order.batch = number(f, ITEM_total);
	order.host = g->host;
	order.hosts = g->hosts;
	if (advise(&g->advice, &order, err) == 0)
		return 0;
	free(g->host);
	return -1;
}

static const struct advice_plan *
way_of(const struct finding *g, int way)
{
	if (!g->advice.fits || way < 0 || way > (int)g->advice.others)
		return NULL;
	return way ? &g->advice.other[way - 1] : &g->advice.plan;
}

static int
nothing_fits(struct err *err)
{
	err_set(err, "no way to train this model fits these machines");
	return err_hint(err, "w says what would, and so does accel advise");
}

int
proposal_make(struct form *f, struct config *c, struct err *err)
{
	struct finding	 g;
	char		 name[200];
	int		 ret;

	if (!f->model.params)
		return make_from_facts(f, c, err);
	if (find(&g, f, err))
		return -1;
	if (!g.advice.fits)
		ret = nothing_fits(err);
	else {
		ret = advice_apply(&g.advice, &g.advice.plan, c, err);
		advice_name(&g.advice.plan, name, sizeof name);
		snprintf(f->reason, sizeof f->reason, "%s.  %s", name,
		    g.advice.line[ADVICE_TYPE].why);
	}
	finding_clear(&g);
	return ret;
}

int
proposal_text(const struct form *f, size_t width, struct buf *out,
    struct err *err)
{
	struct finding	g;
	int		ret;

	if (find(&g, f, err))
		return -1;
	if ((ret = advice_text(&g.advice, width, out)))
		err_nomem(err);
	finding_clear(&g);
	return ret;
}

int
proposal_ways(const struct form *f, struct err *err)
{
	struct finding	g;
	int		n;

	if (find(&g, f, err))
		return -1;
	n = g.advice.fits ? 1 + (int)g.advice.others : 0;
	finding_clear(&g);
	return n;
}

int
proposal_take(struct form *f, int way, struct err *err)
{
	const struct advice_plan	*p;
	struct finding	 g;
	struct moment	*m;
	char		 name[200], micro[24];
	int		 ret;

	if (find(&g, f, err))
		return -1;
	if (!(p = way_of(&g, way))) {
		ret = g.advice.fits ? err_set(err, "there is no alternative "
		    "%d", way) : nothing_fits(err);
		finding_clear(&g);
		return ret;
	}
	if (!(m = form_begin(f)))
		ret = err_nomem(err);
	else {
		snprintf(micro, sizeof micro, "%ld", p->order.batch);
		ret = form_finish(f, advice_apply(&g.advice, p, &m->config,
		    err) || moment_set(m, ITEM_batch, micro, ORIGIN_PROPOSED,
		    err));
	}
	if (!ret) {
		advice_name(p, name, sizeof name);
		snprintf(f->reason, sizeof f->reason, "%s.  %s", name, way ?
		    g.advice.second[way - 1] : g.advice.line[ADVICE_TYPE].why);
		form_say(f, false, "Taken: %s.  u takes it back.", name);
	}
	finding_clear(&g);
	return ret;
}

/* The popup. */

static const struct {
	char		 key;
	int		 item;
	const char	*title;
} asks[] = {
	{ 'm', ITEM_model, "Which model?  7B, a config.json, a folder, a hub "
	    "name" },
	{ 'b', ITEM_total, "How many sequences has a step, of all ranks?" },
	{ 's', ITEM_sequence, "How many tokens has a sequence?" },
	{ 'o', ITEM_optimizer, "Which optimizer?" },
};

static void
answered(struct screen *s, int value, const char *text)
{
	struct form *f = s->form;
	int item = s->editing;

	(void)value;
	if (form_set(f, item, text, ORIGIN_USER, NULL)) {
		popup_again(s, text, f->message);
		return;
	}
	if (item == ITEM_model && !f->model.params && *text) {
		popup_again(s, text, f->model_fault.text);
		return;
	}
	proposal_show(s);
}

static void
ask(struct screen *s, char key)
{
	for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
		const char *now = seed(s->form, asks[i].item);

		if (asks[i].key != key)
			continue;
		s->editing = asks[i].item;
		popup_line(s, asks[i].title, now ? now : "", answered);
	}
}

static void
chosen(struct screen *s, int value, const char *text)
{
	struct err err = ERR_INIT;

	(void)text;
	if (value != '\n' && (value < '1' || value > '2'))
		ask(s, (char)value);
	else if (proposal_take(s->form, value == '\n' ? 0 : value - '0', &err))
		form_say(s->form, true, "%s%s%s", err.text, *err.hint ? ": " :
		    "", err.hint);
}

void
proposal_show(struct screen *s)
{
	struct buf	text = BUF_INIT;
	struct err	err = ERR_INIT;
	int		ways, width = popup_width();

	if (!s->form->model.params) {
		ask(s, 'm');
		return;
	}
	ways = proposal_ways(s->form, &err);
	if (ways < 0 || proposal_text(s->form, width < 40 ? 40 :
	    (size_t)width, &text, &err))
		form_say(s->form, true, "%s: %s", err.text, err.hint);
	else
		popup_text(s, "Proposal", buf_text(&text), ways == 3 ?
		    "\n12mbso" : ways == 2 ? "\n1mbso" : ways ? "\nmbso" :
		    "mbso", ways > 1 ? "Enter takes it, 1 2 another; m model, "
		    "b batch, s sequence, o optimizer" : ways ?
		    "Enter takes it; m model, b batch, s sequence" :
		    "m model, b batch, s sequence, o optimizer", chosen);
	buf_clear(&text);
}
