/* SPDX-License-Identifier: Apache-2.0 */
/* Where we differ from Accelerate on purpose, a comment says so, with the
 * number that accel-launch(1) gives the difference. */
#include "runtime/config/environ.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/config/intern.h"
#include "runtime/base/banned.h"

enum mode { MODE_SIMPLE, MODE_TORCHRUN, MODE_DEEPSPEED, MODE_TPU, MODE_CLOUD };

static bool
cpu_world(const struct config *c)
{
	return c->main.use_cpu || c->main.distributed_type == dist_MULTI_CPU;
}

/* Which of Accelerate's launchers would run it. */
static enum mode
mode_of(const struct config *c)
{
	if (c->main.compute_environment == place_AMAZON_SAGEMAKER)
		return MODE_CLOUD;
	if (cpu_world(c) || c->main.distributed_type == dist_NO)
		return MODE_SIMPLE;
	if (c->main.distributed_type == dist_DEEPSPEED)
		return MODE_DEEPSPEED;
	if (c->main.distributed_type == dist_XLA)
		return MODE_TPU;
	return MODE_TORCHRUN;
}

/* A mesh: asked for, or one of its sizes was given, be it as a flag (15). */
static bool
mesh(const struct config *c, enum mode mode)
{
	if (mode != MODE_TORCHRUN && mode != MODE_DEEPSPEED)
		return false;
	if (c->launch.use_parallelism_config)
		return true;
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(fields[i].group, "parallelism_config") &&
		    c->origin[i] != ORIGIN_DEFAULT)
			return true;
	return false;
}

static bool
group_exported(const struct config *c, int id, enum mode mode)
{
	const char	*group = fields[id].group;

	if (!strcmp(group, "fsdp_config"))
		return mode == MODE_TORCHRUN &&
		    c->main.distributed_type == dist_FSDP;
	if (!strcmp(group, "megatron_lm_config"))
		return mode == MODE_TORCHRUN &&
		    c->main.distributed_type == dist_MEGATRON_LM;
	if (!strcmp(group, "deepspeed_config"))
		return mode == MODE_DEEPSPEED;
	if (!strcmp(group, "fp8_config"))
		return c->main.mixed_precision == precision_fp8;
	if (strcmp(group, "parallelism_config"))
		return true;
	if (id == FIELD_parallelism_cp_comm_strategy)
		return mesh(c, mode) && c->parallelism.cp_size > 1;
	if (id == FIELD_parallelism_sp_seq_length ||
	    id == FIELD_parallelism_sp_seq_length_is_variable ||
	    id == FIELD_parallelism_sp_attn_implementation)
		return mesh(c, mode) && c->parallelism.sp_size > 1;
	return mesh(c, mode);
}

static bool
exported(const struct config *c, int id, enum mode mode)
{
	const struct field	*f = &fields[id];

	if (!f->env || mode == MODE_TPU)
		return false;
	if (id == FIELD_parallelism_sp_seq_length)
		return group_exported(c, id, mode);	/* null: "None" */
	if (config_null(c, (enum field_id)id) ||
	    (f->flags & FIELD_IFSET && c->origin[id] == ORIGIN_DEFAULT))
		return false;
	return group_exported(c, id, mode);
}

static void
export_field(const struct config *c, int id, struct strv *env)
{
	const struct field	*f = &fields[id];
	struct buf		 text = BUF_INIT;

	config_get(c, (enum field_id)id, &text);
	if (f->flags & FIELD_PYBOOL && f->type == TYPE_BOOL && text.len)
		text.data[0] = (char)toupper((unsigned char)text.data[0]);
	/* a file's value is a bool of Python there, and a flag's is a number */
	if ((id == FIELD_fp8_float8_all_gather ||
	    id == FIELD_fp8_pad_inner_dim) && c->origin[id] != ORIGIN_FILE) {
		buf_clear(&text);
		buf_adds(&text, *(bool *)config_at(c, f) ? "1" : "0");
	}
	if (id == FIELD_fsdp_reshard_after_forward && text.len)
		for (char *s = text.data; *s; s++)
			*s = (char)tolower((unsigned char)*s);
	strv_setenv(env, f->env, !text.len &&
	    id == FIELD_parallelism_sp_seq_length ? "None" : buf_text(&text));
	buf_clear(&text);
}

static void
export_fsdp(const struct config *c, struct strv *env)
{
	strv_setenv(env, "ACCELERATE_USE_FSDP", "true");
	/* Accelerate's version 1 loses a strategy that its wizard wrote under
	 * the new name (4). */
	if (c->fsdp.version == 1 && c->fsdp.reshard_after_forward &&
	    strchr(c->fsdp.reshard_after_forward, '_') &&
	    c->origin[FIELD_fsdp_sharding_strategy] == ORIGIN_DEFAULT)
		strv_setenv(env, "FSDP_SHARDING_STRATEGY",
		    c->fsdp.reshard_after_forward);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Which of DeepSpeed's fields the file gives: its own JSON must not say them
 * again. */
static int
export_given(const struct config *c, struct strv *env)
{
	const char	**keys;
	size_t		  n = 0;
	struct buf	  all = BUF_INIT;

	keys = calloc(FIELD_COUNT + c->extra_count, sizeof(*keys));
	if (!keys)
		return -1;
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(fields[i].group, "deepspeed_config") &&
		    c->in_file[i])
			keys[n++] = fields[i].key;
	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, "deepspeed_config"))
			keys[n++] = c->extra[i].key;
	qsort(keys, n, sizeof(keys[0]), by_text);
	for (size_t i = 0; i < n; i++)
		buf_addf(&all, "%s%s", i ? "," : "", keys[i]);
	free(keys);
	if (c->origin[FIELD_main_mixed_precision] == ORIGIN_FILE)
		buf_addf(&all, "%smixed_precision", all.len ? "," : "");
	for (size_t i = 0; i < all.len; i++)
		all.data[i] = (char)tolower((unsigned char)all.data[i]);
	strv_setenv(env, "ACCELERATE_CONFIG_DS_FIELDS", buf_text(&all));
	buf_clear(&all);
	return 0;
}

static int
export_deepspeed(const struct config *c, const struct env_facts *facts,
    struct strv *env)
{
	const char	*before = getenv("PYTHONPATH");
	struct buf	 path = BUF_INIT;

	if (export_given(c, env))
		return -1;
	strv_setenv(env, "ACCELERATE_USE_DEEPSPEED", "true");
	if (!facts || !facts->folder)
		return 0;
	while (before && *before) {		/* without its empty parts */
		size_t	n = strcspn(before, ":");

		if (n)
			buf_addf(&path, "%.*s:", (int)n, before);
		before += n + (before[n] == ':');
	}
	buf_adds(&path, facts->folder);
	strv_setenv(env, "PYTHONPATH", buf_text(&path));
	buf_clear(&path);
	return 0;
}

static void
export_tpu(const struct config *c, const struct env_facts *facts,
    struct strv *env)
{
	if (facts && facts->device == ENV_TPU &&
	    c->main.mixed_precision == precision_bf16)
		strv_setenv(env, c->main.downcast_bf16 ? "XLA_DOWNCAST_BF16" :
		    "XLA_USE_BF16", "1");
	/* A script that asks for bf16 itself reads this one; Accelerate does
	 * not set it, and forgets the file's key (1). */
	if (c->main.downcast_bf16)
		strv_setenv(env, "ACCELERATE_DOWNCAST_BF16", "1");
}

static void
export_precision_list(const struct config *c, struct strv *env)
{
	static const char *const names[] = { "ACCELERATE_FP8_OVERRIDE_FPROP",
	    "ACCELERATE_FP8_OVERRIDE_DGRAD", "ACCELERATE_FP8_OVERRIDE_WGRAD" };
	const char	*s = c->fp8.override_linear_precision;

	for (int i = 0; i < 3; i++) {
		bool	on;

		/* "(true, false, false)" as one text is three words (5) */
		while (s && *s && strchr("( ", *s))
			s++;
		on = s && *s && strchr("tTyY1", *s);
		if (c->origin[FIELD_fp8_override_linear_precision] ==
		    ORIGIN_FLAG)
			strv_setenv(env, names[i], on ? "1" : "0");
		else
			strv_setenv(env, names[i], on ? "True" : "False");
		s = s ? strpbrk(s, ",\n") : NULL;
		if (s)
			s++;
	}
}

const char *
env_mask(enum env_device device)
{
	static const char *const names[ENV_COUNT] = {
		[ENV_XPU] = "ZE_AFFINITY_MASK",
		[ENV_MLU] = "MLU_VISIBLE_DEVICES",
		[ENV_SDAA] = "SDAA_VISIBLE_DEVICES",
		[ENV_MUSA] = "MUSA_VISIBLE_DEVICES",
		[ENV_NPU] = "ASCEND_RT_VISIBLE_DEVICES",
		[ENV_HPU] = "HABANA_VISIBLE_MODULES",
		[ENV_NEURON] = "NEURON_RT_VISIBLE_CORES",
	};

	return names[device] ? names[device] : "CUDA_VISIBLE_DEVICES";
}

enum env_device
env_device(const struct config *c, enum env_device found)
{
	if (found != ENV_NONE)
		return found;
	switch (c->main.distributed_type) {
	case dist_MULTI_XPU:
		return ENV_XPU;
	case dist_MULTI_MLU:
		return ENV_MLU;
	case dist_MULTI_SDAA:
		return ENV_SDAA;
	case dist_MULTI_MUSA:
		return ENV_MUSA;
	case dist_MULTI_NPU:
		return ENV_NPU;
	case dist_MULTI_HPU:
		return ENV_HPU;
	case dist_MULTI_NEURON:
		return ENV_NEURON;
	default:
		return ENV_NONE;
	}
}

/* Three numbers of a driver's version; what is missing is 0. */
static void
version(const char *text, long out[3])
{
	for (int i = 0; i < 3; i++) {
		char	*end;

		out[i] = strtol(text, &end, 10);
		text = *end == '.' ? end + 1 : "";
	}
}

bool
env_nccl_off(const char *const gpu[], size_t gpus, const char *driver)
{
	static const long	good[3] = { 550, 40, 7 };
	long			have[3];
	bool			consumer = false;

	for (size_t i = 0; i < gpus; i++)
		consumer |= gpu[i] && strstr(gpu[i], "RTX 40");
	if (!consumer || gpus < 2 || !driver || !isdigit((unsigned char)*driver))
		return false;
	version(driver, have);
	for (int i = 0; i < 3; i++)
		if (have[i] != good[i])
			return have[i] < good[i];
	return false;
}

static void
export_nccl(const struct env_facts *facts, struct strv *env)
{
	static const char *const names[] = { "NCCL_P2P_DISABLE",
	    "NCCL_IB_DISABLE" };

	if (facts && env_nccl_off(facts->gpu, facts->gpus, facts->driver))
		for (int i = 0; i < 2; i++)
			if (!getenv(names[i]))
				strv_setenv(env, names[i], "1");
}

long
config_threads(const struct config *c, const struct env_facts *facts)
{
	static const char *const sizes[] = { "MPI_LOCALNRANKS",
	    "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE" };
	const char	*set = getenv("OMP_NUM_THREADS");
	long		 n = 0, local = 0, threads;

	if (c->launch.num_cpu_threads_per_process > 0)
		return c->launch.num_cpu_threads_per_process;
	if (set && !num_parse(set, 0, 1 << 20, &n) && n > 0)
		return n;
	if (!c->main.use_cpu || !facts ||
	    (c->main.num_processes < 1 && facts->local < 1))
		return 1;
	for (int i = 0; i < 3 && local < 1; i++)
		if (getenv(sizes[i]) && num_parse(getenv(sizes[i]), 0, 1 << 20,
		    &local))
			local = 0;
	if (local < 1)
		local = facts->local;
	if (local < 1)
		local = c->main.num_processes / c->main.num_machines;
	threads = facts->cores / (local > 1 ? local : 1);
	return threads > 1 ? threads : 1;
}

/* What one process on its own, or a world of CPUs, gets. */
static void
export_simple(const struct config *c, struct strv *env)
{
	char	port[24];
	bool	cpu = cpu_world(c);

	/* Without it CPU workers do not form a world (2, 11). */
	strv_setenv(env, "ACCELERATE_USE_CPU", cpu ? "True" : "False");
	if (cpu) {
		strv_setenv(env, "KMP_AFFINITY",
		    "granularity=fine,compact,1,0");
		strv_setenv(env, "KMP_BLOCKTIME", "1");
	}
	if (c->main.num_processes <= 1 && c->main.num_machines <= 1)
		return;
	strv_setenv(env, "MASTER_ADDR", c->main.main_process_ip ?
	    c->main.main_process_ip : "127.0.0.1");
	snprintf(port, sizeof(port), "%ld", c->main.main_process_port > 0 ?
	    c->main.main_process_port : 29500L);
	strv_setenv(env, "MASTER_PORT", port);
}

/* What an own machine's ranks get, whatever the mode, but on a TPU. */
static void
export_common(const struct config *c, const struct env_facts *facts,
    struct strv *env)
{
	char	number[24];

	if (c->main.gpu_ids && strcmp(c->main.gpu_ids, "all"))
		strv_setenv(env, env_mask(env_device(c, facts ? facts->device :
		    ENV_NONE)), c->main.gpu_ids);
	/* Also from a file, which Accelerate forgets (1). */
	if (c->main.enable_cpu_affinity)
		strv_setenv(env, "ACCELERATE_CPU_AFFINITY", "1");
	snprintf(number, sizeof(number), "%ld", config_threads(c, facts));
	strv_setenv(env, "OMP_NUM_THREADS", number);
}

int
config_env(const struct config *c, const struct env_facts *facts,
    struct strv *env, struct err *err)
{
	enum mode	mode = mode_of(c);

	for (int i = 0; i < FIELD_COUNT; i++)
		if (exported(c, i, mode))
			export_field(c, i, env);
	if (mode == MODE_CLOUD) {
		strv_setenv(env, "ACCELERATE_USE_SAGEMAKER", "true");
		strv_setenv(env, "ACCELERATE_SAGEMAKER_DISTRIBUTED_TYPE",
		    fields[FIELD_main_distributed_type]
		    .choice[c->main.distributed_type].word);
	} else if (mode == MODE_TPU) {
		export_tpu(c, facts, env);
	} else {
		export_common(c, facts, env);
	}
	if (mode == MODE_SIMPLE)
		export_simple(c, env);
	if (mode == MODE_TORCHRUN || mode == MODE_DEEPSPEED)
		export_nccl(facts, env);
	if (mode == MODE_TORCHRUN && c->main.distributed_type == dist_FSDP)
		export_fsdp(c, env);
	if (mode == MODE_TORCHRUN && c->main.distributed_type ==
	    dist_MEGATRON_LM)
		strv_setenv(env, "ACCELERATE_USE_MEGATRON_LM", "true");
	if (mode == MODE_DEEPSPEED && export_deepspeed(c, facts, env))
		return err_nomem(err);
	if (mesh(c, mode))
		strv_setenv(env, "ACCELERATE_USE_PARALLELISM_CONFIG", "true");
	if (mode != MODE_TPU && c->main.mixed_precision == precision_fp8)
		export_precision_list(c, env);
	if (mode != MODE_CLOUD && c->main.debug)
		strv_setenv(env, "ACCELERATE_DEBUG_MODE", "true");
	if (mode != MODE_TPU && !strv_getenv(env,
	    "ACCELERATE_MIXED_PRECISION"))
		return err_nomem(err);
	return 0;
}
