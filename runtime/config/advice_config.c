/* SPDX-License-Identifier: Apache-2.0 */
/* A proposal as a configuration that accel launch runs. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/err.h"
#include "runtime/config/advice.h"

#include "runtime/base/banned.h"

struct setting {
	struct config	*c;
	struct err	*err;
	int		 ret;		/* of the first that failed */
};

static void __attribute__((format(printf, 3, 4)))
set(struct setting *s, enum field_id id, const char *format, ...)
{
	char	text[80];
	va_list	ap;

	if (s->ret)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	s->ret = config_set(s->c, id, text, ORIGIN_PROPOSED, s->err);
}

static const char *
truth(bool value)
{
	return value ? "true" : "false";
}

static void
set_main(struct setting *s, const struct advice_plan *p)
{
	static const char *const words[TRAINING_COUNT] = {
		[TRAINING_FP32] = "no", [TRAINING_FP16] = "fp16",
		[TRAINING_BF16] = "bf16", [TRAINING_PURE] = "bf16",
		[TRAINING_FP8] = "fp8",
	};

	set(s, FIELD_main_distributed_type, "%s", advice_type_word(p->type));
	set(s, FIELD_main_num_machines, "%zu", p->hosts);
	set(s, FIELD_main_num_processes, "%ld", p->order.ranks);
	set(s, FIELD_main_mixed_precision, "%s", words[p->order.training]);
	set(s, FIELD_main_use_cpu, "%s", truth(p->order.cpu));
	if (!p->order.cpu)
		set(s, FIELD_main_gpu_ids, "%s", *p->gpu_ids ? p->gpu_ids :
		    "all");
}

static void
set_fsdp(struct setting *s, const struct advice_plan *p, bool old)
{
	const struct memory_order	*o = &p->order;
	bool	hybrid = o->sharding == SHARDING_HYBRID ||
	    o->sharding == SHARDING_HYBRID_GRAD_OP;
	bool	full = o->sharding == SHARDING_FULL ||
	    o->sharding == SHARDING_HYBRID;

	set(s, FIELD_fsdp_version, "%d", old ? 1 : 2);
	if (!old)
		set(s, FIELD_fsdp_reshard_after_forward, "%s", truth(full));
	else
		set(s, FIELD_fsdp_reshard_after_forward, "%s", hybrid ?
		    (full ? "HYBRID_SHARD" : "HYBRID_SHARD_ZERO2") :
		    full ? "FULL_SHARD" : "SHARD_GRAD_OP");
	set(s, FIELD_fsdp_offload_params, "%s",
	    truth(o->params_on == ON_HOST));
	set(s, FIELD_fsdp_auto_wrap_policy, "TRANSFORMER_BASED_WRAP");
	set(s, FIELD_fsdp_activation_checkpointing, "%s",
	    truth(o->recompute));
	set(s, FIELD_fsdp_state_dict_type, "SHARDED_STATE_DICT");
	if (old)
		return;
	/* Without a mesh the sizes stay at 1: Accelerate shards over all. */
	if (!hybrid && o->tp == 1 && o->cp == 1) {
		set(s, FIELD_parallelism_dp_replicate_size, "1");
		set(s, FIELD_parallelism_dp_shard_size, "1");
	} else {
		set(s, FIELD_parallelism_dp_replicate_size, "%ld",
		    hybrid ? p->data / o->group : 1);
		set(s, FIELD_parallelism_dp_shard_size, "%ld",
		    hybrid ? o->group : p->data);
	}
	set(s, FIELD_parallelism_tp_size, "%ld", o->tp);
	set(s, FIELD_parallelism_cp_size, "%ld", o->cp);
}

static void
set_deepspeed(struct setting *s, const struct advice_plan *p)
{
	static const char *const	 places[] = { "none", "cpu", "nvme" };
	const struct memory_order	*o = &p->order;
	int				 stage = o->sharding == SHARDING_ZERO3 ?
	    3 : o->sharding == SHARDING_ZERO2 ? 2 : 1;

	set(s, FIELD_deepspeed_zero_stage, "%d", stage);
	set(s, FIELD_deepspeed_offload_optimizer_device, "%s",
	    places[o->optimizer_on]);
	set(s, FIELD_deepspeed_offload_param_device, "%s",
	    places[o->params_on]);
	set(s, FIELD_deepspeed_gradient_accumulation_steps, "%ld",
	    p->accumulation);
	set(s, FIELD_deepspeed_zero3_init_flag, "%s", truth(stage == 3));
}

static void
set_megatron(struct setting *s, const struct advice_plan *p)
{
	const struct memory_order	*o = &p->order;

	set(s, FIELD_megatron_tp_degree, "%ld", o->tp);
	set(s, FIELD_megatron_pp_degree, "%ld", o->pp);
	set(s, FIELD_megatron_context_parallel_size, "%ld", o->cp);
	set(s, FIELD_megatron_num_micro_batches, "%ld", p->accumulation);
	set(s, FIELD_megatron_sequence_parallelism, "%s",
	    truth(o->sequence_parallel));
	set(s, FIELD_megatron_use_distributed_optimizer, "%s",
	    truth(o->sharding == SHARDING_MEGATRON_DIST));
	set(s, FIELD_megatron_recompute_activations, "%s",
	    truth(o->recompute));
	if (o->recompute)
		set(s, FIELD_megatron_recompute_granularity, "full");
}

int
advice_apply(const struct advice *a, const struct advice_plan *p,
    struct config *c, struct err *err)
{
	struct setting	s = { c, err, 0 };

	set_main(&s, p);
	if (p->type == dist_FSDP)
		set_fsdp(&s, p, a->old_torch);
	else if (p->type == dist_DEEPSPEED)
		set_deepspeed(&s, p);
	else if (p->type == dist_MEGATRON_LM)
		set_megatron(&s, p);
	return s.ret;
}
