/* SPDX-License-Identifier: Apache-2.0 */
/* accel estimate-memory: what a model takes to load, and a rank to train it. */
#include "runtime/cli/estimate.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/config.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

struct words {			/* as they were typed */
	const char	*config_file, *library, *params, *layers, *hidden,
	    *heads, *kv_heads, *head_dim, *ffn, *vocab, *optimizer,
	    *seq_length, *batch_size, *micro_batches, *tp, *cp, *pp, *group,
	    *offload, *gpu_memory;
	struct strv	 dtypes, sharding, precision;
	bool		 gated, recompute, eager, sequence_parallel, json,
	    explain, ascii, remote_code;
};

/* "ddp zero1 ... " */
#define WORD_OF(symbol, word, what)	word " "

static const struct option options[] = {
	CONFIG_FILE(struct words),
	CHOICES_OF(struct words, dtypes, "dtypes", "TYPE",
	    "float32 float16 int8 int4",
	    "float32, float16, int8, int4; more may follow"),
	CHOICES_OF(struct words, sharding, "sharding", "KIND",
	    SHARDINGS(WORD_OF), SHARDINGS(WORD_OF)),
	CHOICES_OF(struct words, precision, "precision", "KIND",
	    TRAININGS(WORD_OF), TRAININGS(WORD_OF)),
	CHOICE_OF(struct words, optimizer, "optimizer", "KIND",
	    OPTIMIZERS(WORD_OF), OPTIMIZERS(WORD_OF) "(adam)"),
	VALUE(struct words, seq_length, "seq_length", 0, "N", TAKES_TEXT,
	    "tokens of a sequence (1024)"),
	VALUE(struct words, batch_size, "batch_size", 0, "N", TAKES_TEXT,
	    "sequences of a rank at once (1)"),
	VALUE(struct words, micro_batches, "micro_batches", 0, "N", TAKES_TEXT,
	    "of a step, with pp (1)"),
	SWITCH(struct words, recompute, "recompute", 0,
	    "activation checkpointing"),
	SWITCH(struct words, eager, "eager_attention", 0,
	    "attention that keeps its scores"),
	SWITCH(struct words, sequence_parallel, "sequence_parallel", 0,
	    "Megatron's, with tp"),
	VALUE(struct words, tp, "tp", 0, "N", TAKES_TEXT, "tensor parallel"),
	VALUE(struct words, cp, "cp", 0, "N", TAKES_TEXT, "context parallel"),
	VALUE(struct words, pp, "pp", 0, "N", TAKES_TEXT, "pipeline stages"),
	VALUE(struct words, group, "group", 0, "N", TAKES_TEXT,
	    "ranks that hsdp shares within"),
	CHOICE_OF(struct words, offload, "offload", "WHAT",
	    "none optimizer all", "none, optimizer, all: to the host's memory"),
	VALUE(struct words, gpu_memory, "gpu_memory", 0, "SIZE", TAKES_TEXT,
	    "80GB, 79.5GiB; else this machine's GPUs"),
	VALUE(struct words, params, "params", 0, "N", TAKES_TEXT,
	    "parameters: 7B, 124M; no MODEL then"),
	VALUE(struct words, layers, "layers", 0, "N", TAKES_TEXT,
	    "the shape, by hand"),
	VALUE(struct words, hidden, "hidden", 0, "N", TAKES_TEXT, "width"),
	VALUE(struct words, heads, "heads", 0, "N", TAKES_TEXT,
	    "of attention"),
	VALUE(struct words, kv_heads, "kv_heads", 0, "N", TAKES_TEXT,
	    "of keys and values"),
	VALUE(struct words, head_dim, "head_dim", 0, "N", TAKES_TEXT,
	    "width of a head"),
	VALUE(struct words, ffn, "ffn", 0, "N", TAKES_TEXT,
	    "width of the feed-forward part"),
	VALUE(struct words, vocab, "vocab", 0, "N", TAKES_TEXT, "words"),
	SWITCH(struct words, gated, "gated", 0,
	    "the feed-forward part has a gate"),
	CHOICE_OF(struct words, library, "library_name", "NAME",
	    "transformers timm", "for Accelerate's sake: config.json tells"),
	SWITCH(struct words, remote_code, "trust_remote_code", 0,
	    "for Accelerate's sake: no code is run"),
	SWITCH(struct words, explain, "explain", 0,
	    "each formula with its numbers and source"),
	SWITCH(struct words, ascii, "ascii", 0, "no box characters"),
	SWITCH(struct words, json, "json", 0, "as JSON"),
	OPTIONS_END
};

static int
dtype_named(const char *word)
{
	for (int i = 0; i < ESTIMATE_DTYPES; i++)
		if (!strcmp(word, estimate_dtypes[i].name))
			return i;
	return -1;
}

/* "--dtypes float32 int8" leaves its second word among the others. */
static int
take_words(struct estimate *e, const struct words *w, struct call *call,
    const char **model, struct err *err)
{
	int	at;

	*model = NULL;
	for (size_t i = 0; i < w->dtypes.count; i++)
		e->dtype[dtype_named(w->dtypes.item[i])] = true;
	for (int i = 0; i < call->argc; i++) {
		at = w->dtypes.count ? dtype_named(call->argv[i]) : -1;
		if (at >= 0)
			e->dtype[at] = true;
		else if (*model) {
			err_set(err, "one model at a time, not \"%s\" and "
			    "\"%s\"", *model, call->argv[i]);
			return err_hint(err, "see: accel estimate-memory "
			    "--help");
		} else
			*model = call->argv[i];
	}
	for (int i = 0; !w->dtypes.count && i < ESTIMATE_DTYPES; i++)
		e->dtype[i] = true;
	return 0;
}

static void
take_kinds(bool *out, const struct memory_word *words, int count,
    const struct strv *said)
{
	for (size_t i = 0; i < said->count; i++)
		out[memory_word(words, count, said->item[i])] = true;
}

static int
take_count(const char *text, const char *flag, long hi, long *out,
    struct err *err)
{
	if (!text || num_parse(text, 1, hi, out) == 0)
		return 0;
	return err_set(err, "--%s %s: not a number from 1 to %ld", flag, text,
	    hi);
}

static int
take_order(struct memory_order *o, const struct words *w, struct err *err)
{
	if (w->optimizer)
		o->optimizer = (enum optimizer)memory_word(optimizer_words,
		    OPTIMIZER_COUNT, w->optimizer);
	o->recompute |= w->recompute;
	o->eager = w->eager;
	o->sequence_parallel = w->sequence_parallel;
	if (w->offload) {
		o->optimizer_on = strcmp(w->offload, "none") ? ON_HOST :
		    ON_DEVICE;
		o->params_on = strcmp(w->offload, "all") ? ON_DEVICE : ON_HOST;
	}
	if (take_count(w->seq_length, "seq_length", 1L << 30, &o->sequence,
	    err) < 0 ||
	    take_count(w->batch_size, "batch_size", 1L << 20, &o->batch,
	    err) < 0 ||
	    take_count(w->micro_batches, "micro_batches", 1L << 20,
	    &o->micro_batches, err) < 0 ||
	    take_count(w->tp, "tp", 1L << 12, &o->tp, err) < 0 ||
	    take_count(w->cp, "cp", 1L << 12, &o->cp, err) < 0 ||
	    take_count(w->pp, "pp", 1L << 12, &o->pp, err) < 0)
		return -1;
	return take_count(w->group, "group", 1L << 20, &o->group, err);
}

static int
take_size(const char *text, const char *flag, uint64_t *out, struct err *err)
{
	long	value = 0;

	if (take_count(text, flag, 1L << 24, &value, err) < 0)
		return -1;
	if (text)
		*out = (uint64_t)value;
	return 0;
}

/* A shape by hand; it also mends what weights do not tell. */
static int
take_shape(struct model *m, const struct words *w, struct err *err)
{
	if (w->params && model_count(w->params, &m->params) < 0) {
		err_set(err, "--params %s: not a count of parameters",
		    w->params);
		return err_hint(err, "such as 7B, 124M or 6738415616");
	}
	m->gated |= w->gated;
	return take_size(w->layers, "layers", &m->layers, err) < 0 ||
	    take_size(w->hidden, "hidden", &m->hidden, err) < 0 ||
	    take_size(w->heads, "heads", &m->heads, err) < 0 ||
	    take_size(w->kv_heads, "kv_heads", &m->kv_heads, err) < 0 ||
	    take_size(w->head_dim, "head_dim", &m->head_dim, err) < 0 ||
	    take_size(w->ffn, "ffn", &m->ffn, err) < 0 ||
	    take_size(w->vocab, "vocab", &m->vocab, err) < 0 ? -1 : 0;
}

static int
take_model(struct model *m, const char *name, const struct words *w,
    struct err *err)
{
	if (name && w->params) {
		err_set(err, "both a model and --params %s", w->params);
		return err_hint(err, "its own parameters count; leave one of "
		    "them out");
	}
	if (name && model_read(m, name, err) < 0)
		return -1;
	if (take_shape(m, w, err) < 0)
		return -1;
	if (!name && !m->params && !m->layers) {
		err_set(err, "no model was given");
		return err_hint(err, "such as: accel estimate-memory "
		    "config.json; or --params 7B");
	}
	if (!name) {
		m->from = "hand";
		m->name = strdup(w->params ? w->params : "by hand");
		if (!m->name)
			return err_nomem(err);
	}
	return model_settle(m, err);
}

/* The smallest GPU that can be used here. */
static void
find_room(struct estimate *e)
{
	struct machine	here = { .hostname = NULL };

	if (probe_cuda(&here, NULL) == 0)
		for (size_t i = 0; i < here.gpus; i++) {
			uint64_t n = here.gpu[i].memory;

			if (here.gpu[i].usable && n && (!e->room ||
			    n < e->room))
				e->room = n;
		}
	if (e->room)
		e->room_from = "this machine's smallest GPU";
	machine_clear(&here);
}

/* Without a word on it: what a configuration says, else a choice to look
 * at. */
static void
settle(struct estimate *e, const struct words *w, bool configured)
{
	struct memory_order	*o = &e->order;
	bool			 several = o->ranks > 1;
	long			 data = o->ranks / (o->tp * o->cp * o->pp);

	if (!w->precision.count) {
		e->training[o->training] = true;
		if (!configured)
			e->training[TRAINING_FP32] =
			    e->training[TRAINING_BF16] = true;
	}
	if (w->sharding.count)
		return;
	if (configured || !several) {
		e->sharding[o->sharding] = true;
		return;
	}
	for (int i = 0; i < SHARDING_COUNT; i++)
		e->sharding[i] = true;
	e->sharding[SHARDING_MEGATRON] = e->sharding[SHARDING_MEGATRON_DIST] =
	    o->tp > 1 || o->pp > 1;
	e->sharding[SHARDING_HYBRID] = e->sharding[SHARDING_HYBRID_GRAD_OP] =
	    o->group > 1 && o->group < data && data % o->group == 0;
}

static int
print(const struct estimate *e, const struct words *w, struct err *err)
{
	struct buf	out = BUF_INIT;
	int		ret;

	if (w->json)
		ret = estimate_json(e, &out, err);
	else if ((ret = estimate_table(e, &out)) == 0)
		ret = estimate_ranks(e, &out, err);
	if (ret == 0)
		fputs(buf_text(&out), stdout);
	if (ret == 0 && e->model.stored && e->model.stored != e->model.params &&
	    !w->json)
		printf("\nThe weights beside config.json hold %llu parameters, "
		    "the configuration\ngives %llu.\n",
		    (unsigned long long)e->model.stored,
		    (unsigned long long)e->model.params);
	buf_clear(&out);
	return ret;
}

/* What was typed, but for the model. */
static int
take_flags(struct estimate *e, const struct words *w, struct call *call,
    const char **model, struct err *err)
{
	if (take_words(e, w, call, model, err) < 0 ||
	    take_order(&e->order, w, err) < 0)
		return -1;
	take_kinds(e->sharding, sharding_words, SHARDING_COUNT, &w->sharding);
	take_kinds(e->training, training_words, TRAINING_COUNT, &w->precision);
	e->room_from = "--gpu_memory";
	if (w->gpu_memory && memory_parse(w->gpu_memory, &e->room) < 0) {
		err_set(err, "--gpu_memory %s: not a size", w->gpu_memory);
		return err_hint(err, "such as 80GB or 79.5GiB");
	}
	return 0;
}

static int
run(struct call *call, struct err *err)
{
	const struct words	*w = call->options;
	struct config		*c = call->config;
	struct estimate		 e = { .order = MEMORY_ORDER_INIT };
	struct site		 site = { .hosts = 0 };
	const char		*name;
	bool			 configured;
	int			 ret = -1;

	e.model = (struct model){ .name = NULL };
	if (w->config_file &&
	    cli_config_load(c, w->config_file, false, err) < 0)
		return -1;
	configured = c->origin[FIELD_main_distributed_type] != ORIGIN_DEFAULT;
	if (site_read_json(&site, c, err) < 0)
		return -1;
	memory_order_take(&e.order, c, &site);
	if (!configured)		/* a kind by name wraps its layers */
		e.order.whole = e.order.cpu = false;
	if (take_flags(&e, w, call, &name, err) < 0)
		return EXIT_USAGE;
	if (take_model(&e.model, name, w, err) == 0) {
		if (!e.room)
			find_room(&e);
		e.order.model = &e.model;
		e.explain = w->explain;
		setlocale(LC_CTYPE, "");
		e.ascii = w->ascii || !isatty(STDOUT_FILENO) ||
		    strcmp(nl_langinfo(CODESET), "UTF-8");
		settle(&e, w, configured);
		ret = print(&e, w, err);
	}
	model_clear(&e.model);
	return ret;
}

const struct command command_estimate = {
	"estimate-memory", "say what memory a model and its training take",
	.run = run, .words = "[MODEL]", .most = -1, .takes = TAKES_FILE,
	.about = "Says what memory MODEL takes to load, as Accelerate does, "
	    "and what each rank\ntakes to train it, for each sharding and "
	    "precision.  MODEL is a config.json, a\n.safetensors file or "
	    "index, a folder with these, or a hub name in the local\ncache.",
	.page = "accel-estimate-memory(1)", .options = options,
	.size = sizeof(struct words), .flags = COMMAND_FIELDS,
};
