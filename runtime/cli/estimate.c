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
#include "runtime/cli/cli.h"
#include "runtime/cli/config.h"
#include "runtime/cli/model.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

struct words {			/* as they were typed */
	const char	*config_file, *library, *optimizer, *seq_length,
	    *batch_size, *micro_batches, *tp, *cp, *pp, *group, *offload,
	    *gpu_memory;
	struct model_words	 model;
	struct strv	 dtypes, sharding, precision;
	bool		 recompute, eager, sequence_parallel, json,
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
	MODEL_WORDS(struct words, model),
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
	if (cli_count(w->seq_length, "seq_length", 1L << 30, &o->sequence,
	    err) < 0 ||
	    cli_count(w->batch_size, "batch_size", 1L << 20, &o->batch,
	    err) < 0 ||
	    cli_count(w->micro_batches, "micro_batches", 1L << 20,
	    &o->micro_batches, err) < 0 ||
	    cli_count(w->tp, "tp", 1L << 12, &o->tp, err) < 0 ||
	    cli_count(w->cp, "cp", 1L << 12, &o->cp, err) < 0 ||
	    cli_count(w->pp, "pp", 1L << 12, &o->pp, err) < 0)
		return -1;
	return cli_count(w->group, "group", 1L << 20, &o->group, err);
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
	if (cli_model(&e.model, name, &w->model, "accel estimate-memory "
	    "config.json", err) == 0) {
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
