/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as people write them, and the estimate that a configuration means. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/near.h"
#include "runtime/base/num.h"
#include "runtime/config/memory.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

int
memory_word(const struct memory_word *words, int count, const char *word)
{
	for (int i = 0; i < count; i++)
		if (near_same(words[i].word, word))
			return i;
	return -1;
}

int
memory_say(double bytes, bool whole, struct buf *out)
{
	static const char *const units[] = {
		"bytes", "KB", "MB", "GB", "TB", "PB",
	};
	size_t	unit = 0, n;
	char	text[48];

	for (; bytes >= 1024 && unit < 5; unit++)
		bytes /= 1024;
	if (whole && !unit)
		return buf_addf(out, "%.0f bytes", bytes);
	snprintf(text, sizeof text, "%.2f", bytes);
	n = strlen(text);
	if (text[n - 1] == '0')		/* as Python prints a rounded number */
		text[n - 1] = '\0';
	return buf_addf(out, "%s %s", text, units[unit]);
}

int
memory_parse(const char *text, uint64_t *out)
{
	static const struct { const char *name; double size; } units[] = {
		{ "", 0x1p30 }, { "GiB", 0x1p30 }, { "MiB", 0x1p20 },
		{ "KiB", 0x1p10 }, { "TiB", 0x1p40 }, { "GB", 1e9 },
		{ "MB", 1e6 }, { "KB", 1e3 }, { "TB", 1e12 },
	};
	size_t	n = strspn(text, "0123456789.");
	char	digits[32];
	double	value;

	if (!n || n >= sizeof digits)
		return -1;
	snprintf(digits, sizeof digits, "%.*s", (int)n, text);
	if (num_parse_real(digits, 0, 1e12, &value) < 0)
		return -1;
	text += n;
	text += *text == ' ';
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(text, units[i].name)) {
			value *= units[i].size;
			if (value < 1 || value > 0x1p60)
				return -1;
			*out = (uint64_t)value;
			return 0;
		}
	return -1;
}

/* FSDP's own words, its numbers, and version 2's truth. */
static enum sharding
fsdp_sharding(const struct config *c)
{
	static const struct {
		const char	*word;
		enum sharding	 kind;
	} words[] = {
		{ "FULL_SHARD", SHARDING_FULL }, { "1", SHARDING_FULL },
		{ "true", SHARDING_FULL },
		{ "SHARD_GRAD_OP", SHARDING_GRAD_OP },
		{ "2", SHARDING_GRAD_OP }, { "false", SHARDING_GRAD_OP },
		{ "NO_SHARD", SHARDING_NONE }, { "3", SHARDING_NONE },
		{ "HYBRID_SHARD", SHARDING_HYBRID }, { "4", SHARDING_HYBRID },
		{ "HYBRID_SHARD_ZERO2", SHARDING_HYBRID_GRAD_OP },
		{ "5", SHARDING_HYBRID_GRAD_OP },
	};
	const char	*said = c->fsdp.reshard_after_forward;
	enum sharding	 kind = SHARDING_FULL;

	/* Version 1 says it by either key; the newer one wins if given. */
	if (c->fsdp.version == 1 &&
	    c->origin[FIELD_fsdp_reshard_after_forward] == ORIGIN_DEFAULT)
		said = c->fsdp.sharding_strategy;
	for (size_t i = 0; said && i < sizeof words / sizeof *words; i++)
		if (!strcasecmp(words[i].word, said))
			kind = words[i].kind;
	if (c->fsdp.version == 2 && c->parallelism.dp_replicate_size > 1)
		kind = kind == SHARDING_FULL ? SHARDING_HYBRID :
		    SHARDING_HYBRID_GRAD_OP;
	return kind;
}

static enum memory_place
place_of(enum offload where)
{
	return where == offload_cpu ? ON_HOST : where == offload_nvme ?
	    ON_DISK : ON_DEVICE;
}

static void
take_deepspeed(struct memory_order *o, const struct config *c,
    const struct site *site)
{
	static const enum sharding stages[] = {
		SHARDING_NONE, SHARDING_ZERO1, SHARDING_ZERO2, SHARDING_ZERO3,
	};
	const struct deepspeed_json *json = site && site->json.read ?
	    &site->json : NULL;

	o->sharding = stages[json ? json->stage : c->deepspeed.zero_stage];
	o->optimizer_on = place_of(c->deepspeed.offload_optimizer_device);
	o->params_on = place_of(c->deepspeed.offload_param_device);
	if (json) {
		o->optimizer_on = json->optimizer_offload ? ON_HOST : ON_DEVICE;
		o->params_on = json->param_offload ? ON_HOST : ON_DEVICE;
		o->training = json->fp16 ? TRAINING_FP16 : json->bf16 ?
		    TRAINING_BF16 : o->training;
	}
	if (o->sharding != SHARDING_ZERO3)
		o->params_on = ON_DEVICE;
	if (o->sharding == SHARDING_NONE)
		o->optimizer_on = ON_DEVICE;
}

static void
take_megatron(struct memory_order *o, const struct config *c)
{
	o->sharding = c->megatron.use_distributed_optimizer ?
	    SHARDING_MEGATRON_DIST : SHARDING_MEGATRON;
	o->tp = c->megatron.tp_degree;
	o->pp = c->megatron.pp_degree;
	o->cp = c->megatron.context_parallel_size > 0 ?
	    c->megatron.context_parallel_size : 1;
	o->sequence_parallel = o->tp > 1 && c->megatron.sequence_parallelism;
	if (c->megatron.num_micro_batches > 0)
		o->micro_batches = c->megatron.num_micro_batches;
	/* recompute_activations alone is selective: the scores. */
	o->recompute = c->origin[FIELD_megatron_recompute_granularity] !=
	    ORIGIN_DEFAULT &&
	    c->megatron.recompute_granularity == granularity_full;
}

void
memory_order_take(struct memory_order *o, const struct config *c,
    const struct site *site)
{
	static const enum training trainings[] = {
		[precision_no] = TRAINING_FP32,
		[precision_fp16] = TRAINING_FP16,
		[precision_bf16] = TRAINING_BF16,
		[precision_fp8] = TRAINING_FP8,
	};

	o->ranks = c->main.num_processes > 0 ? c->main.num_processes : 1;
	o->tp = c->parallelism.tp_size;
	o->cp = c->parallelism.cp_size * c->parallelism.sp_size;
	/* Hybrid shares within a host, if the mesh does not say otherwise. */
	o->group = o->ranks / c->main.num_machines / (o->tp * o->cp);
	if (c->parallelism.dp_replicate_size > 1)
		o->group = c->parallelism.dp_shard_size;
	if (o->group < 1)
		o->group = 1;
	o->training = trainings[c->main.mixed_precision];
	o->cpu = c->main.use_cpu || c->main.distributed_type == dist_MULTI_CPU;
	switch (c->main.distributed_type) {
	case dist_FSDP:
		o->sharding = fsdp_sharding(c);
		o->params_on = o->optimizer_on = c->fsdp.offload_params ?
		    ON_HOST : ON_DEVICE;
		o->recompute = c->fsdp.activation_checkpointing;
		o->whole = c->fsdp.auto_wrap_policy == wrap_NO;
		break;
	case dist_DEEPSPEED:
		take_deepspeed(o, c, site);
		break;
	case dist_MEGATRON_LM:
		take_megatron(o, c);
		break;
	default:
		o->sharding = SHARDING_NONE;
	}
}
