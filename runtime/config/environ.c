/* SPDX-License-Identifier: Apache-2.0 */
/* What every rank finds in its environment, as Accelerate's launcher says it;
 * where we differ on purpose, a comment gives the reason. */
#include "runtime/config/intern.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

static bool
cpu_world(const struct config *c)
{
	return c->main.use_cpu || c->main.distributed_type == dist_MULTI_CPU;
}

static bool
mesh(const struct config *c)
{
	if (c->launch.use_parallelism_config)
		return true;
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(fields[i].group, "parallelism_config") &&
		    c->origin[i] == ORIGIN_FILE)
			return true;
	return false;
}

static bool
exported(const struct config *c, int id)
{
	const struct field	*f = &fields[id];
	bool			 cpu = c->main.use_cpu;

	if (!f->env || config_null(c, (enum field_id)id) ||
	    (f->flags & FIELD_IFSET && c->origin[id] == ORIGIN_DEFAULT))
		return false;
	if (!strcmp(f->group, "fsdp_config"))
		return !cpu && c->main.distributed_type == dist_FSDP;
	if (!strcmp(f->group, "deepspeed_config"))
		return !cpu && c->main.distributed_type == dist_DEEPSPEED;
	if (!strcmp(f->group, "fp8_config"))
		return c->main.mixed_precision == precision_fp8;
	if (!strcmp(f->group, "parallelism_config")) {
		if (id == FIELD_parallelism_cp_comm_strategy)
			return mesh(c) && c->parallelism.cp_size > 1;
		if (id == FIELD_parallelism_sp_seq_length ||
		    id == FIELD_parallelism_sp_seq_length_is_variable ||
		    id == FIELD_parallelism_sp_attn_implementation)
			return mesh(c) && c->parallelism.sp_size > 1;
		return mesh(c);
	}
	return true;
}

static void
export_field(const struct config *c, int id, struct strv *env)
{
	const struct field	*f = &fields[id];
	struct buf		 text = BUF_INIT;

	config_get(c, (enum field_id)id, &text);
	if (f->flags & FIELD_PYBOOL && f->type == TYPE_BOOL)
		text.data[0] = (char)toupper((unsigned char)text.data[0]);
	if (id == FIELD_fp8_float8_all_gather || id == FIELD_fp8_pad_inner_dim) {
		buf_clear(&text);
		buf_adds(&text, *(bool *)config_at(c, f) ? "1" : "0");
	}
	if (id == FIELD_fsdp_reshard_after_forward && text.len)
		for (char *s = text.data; *s; s++)
			*s = (char)tolower((unsigned char)*s);
	strv_setenv(env, f->env, buf_text(&text));
	buf_clear(&text);
}

static void
export_fsdp(const struct config *c, struct strv *env)
{
	strv_setenv(env, "ACCELERATE_USE_FSDP", "true");
	/* Accelerate's version 1 loses a strategy that its wizard wrote under
	 * the new name (oddity 4). */
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

static void
export_fields_list(const struct config *c, struct strv *env)
{
	const char	*keys[FIELD_COUNT];
	size_t		 n = 0;
	struct buf	 all = BUF_INIT;

	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(fields[i].group, "deepspeed_config") && c->in_file[i])
			keys[n++] = fields[i].key;
	qsort(keys, n, sizeof(keys[0]), by_text);
	for (size_t i = 0; i < n; i++)
		buf_addf(&all, "%s%s", i ? "," : "", keys[i]);
	if (c->origin[FIELD_main_mixed_precision] == ORIGIN_FILE)
		buf_addf(&all, "%smixed_precision", all.len ? "," : "");
	strv_setenv(env, "ACCELERATE_CONFIG_DS_FIELDS", buf_text(&all));
	strv_setenv(env, "ACCELERATE_USE_DEEPSPEED", "true");
	buf_clear(&all);
}

static void
export_precision_list(const struct config *c, struct strv *env)
{
	static const char *const names[] = { "ACCELERATE_FP8_OVERRIDE_FPROP",
	    "ACCELERATE_FP8_OVERRIDE_DGRAD", "ACCELERATE_FP8_OVERRIDE_WGRAD" };
	const char	*s = c->fp8.override_linear_precision;

	for (int i = 0; i < 3; i++) {
		bool	on = s && strchr("tTyY1", *s) && *s;

		strv_setenv(env, names[i], on ? "True" : "False");
		if (s && (s = strchr(s, '\n')))
			s++;
	}
}

static long
physical_cores(void)
{
	long	 online = sysconf(_SC_NPROCESSORS_ONLN), cores = 0;

	for (long i = 0; i < online; i++) {
		char	 path[96], first[32] = "";
		FILE	*f;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/"
		    "topology/thread_siblings_list", i);
		f = fopen(path, "re");
		if (!f)
			return online;
		if (!fgets(first, sizeof(first), f))
			first[0] = '\0';
		fclose(f);
		cores += strtol(first, NULL, 10) == i;
	}
	return cores > 0 ? cores : 1;
}

long
config_threads(const struct config *c)
{
	const char	*set = getenv("OMP_NUM_THREADS");
	long		 n = 0, local, threads;

	if (c->launch.num_cpu_threads_per_process > 0)
		return c->launch.num_cpu_threads_per_process;
	if (set && !num_parse(set, 0, 1 << 20, &n) && n > 0)
		return n;
	if (!c->main.use_cpu || c->main.num_processes < 1)
		return 1;
	local = c->main.num_processes / c->main.num_machines;
	threads = physical_cores() / (local > 1 ? local : 1);
	return threads > 1 ? threads : 1;
}

int
config_env(const struct config *c, struct strv *env, struct err *err)
{
	char	number[24];
	bool	cpu = cpu_world(c);

	for (int i = 0; i < FIELD_COUNT; i++)
		if (exported(c, i))
			export_field(c, i, env);
	/* Without it CPU workers do not form a world (oddities 2, 11). */
	if (cpu || c->main.distributed_type == dist_NO)
		strv_setenv(env, "ACCELERATE_USE_CPU", cpu ? "true" : "false");
	if (cpu) {
		strv_setenv(env, "KMP_AFFINITY",
		    "granularity=fine,compact,1,0");
		strv_setenv(env, "KMP_BLOCKTIME", "1");
	}
	if (c->main.debug)
		strv_setenv(env, "ACCELERATE_DEBUG_MODE", "true");
	if (c->main.gpu_ids && strcmp(c->main.gpu_ids, "all"))
		strv_setenv(env, "CUDA_VISIBLE_DEVICES", c->main.gpu_ids);
	/* Also from a file, which Accelerate forgets (oddity 1). */
	if (c->main.enable_cpu_affinity)
		strv_setenv(env, "ACCELERATE_CPU_AFFINITY", "1");
	if ((cpu || c->main.distributed_type == dist_NO) &&
	    (c->main.num_processes > 1 || c->main.num_machines > 1)) {
		strv_setenv(env, "MASTER_ADDR", c->main.main_process_ip ?
		    c->main.main_process_ip : "127.0.0.1");
		snprintf(number, sizeof(number), "%ld",
		    c->main.main_process_port > 0 ?
		    c->main.main_process_port : 29500L);
		strv_setenv(env, "MASTER_PORT", number);
	}
	snprintf(number, sizeof(number), "%ld", config_threads(c));
	strv_setenv(env, "OMP_NUM_THREADS", number);
	if (c->main.mixed_precision == precision_fp8)
		export_precision_list(c, env);
	if (!c->main.use_cpu && c->main.distributed_type == dist_FSDP)
		export_fsdp(c, env);
	if (!c->main.use_cpu && c->main.distributed_type == dist_DEEPSPEED)
		export_fields_list(c, env);
	if (mesh(c))
		strv_setenv(env, "ACCELERATE_USE_PARALLELISM_CONFIG", "true");
	if (!strv_getenv(env, "ACCELERATE_MIXED_PRECISION"))
		return err_nomem(err);
	return 0;
}
