/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/rules.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/buf.h"
#include "runtime/base/num.h"
#include "runtime/config/intern.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

#define STRATEGIES	"FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD " \
			"HYBRID_SHARD_ZERO2"
#define STRATEGY_LIST	"FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, " \
			"HYBRID_SHARD_ZERO2"

/* The words of rules.def. */

static const char *
type_word(const struct config *c)
{
	return fields[FIELD_main_distributed_type].choice[
	    c->main.distributed_type].word;
}

static const char *
precision_word(const struct config *c)
{
	return fields[FIELD_main_mixed_precision].choice[
	    c->main.mixed_precision].word;
}

static int
kinds_asked(const struct config *c)
{
	return c->launch.multi_gpu + c->launch.use_fsdp +
	    c->launch.use_deepspeed + c->launch.use_megatron_lm +
	    c->launch.tpu + (c->main.use_cpu &&
	    c->origin[FIELD_main_use_cpu] == ORIGIN_FLAG);
}

static bool
multi_type(const struct config *c)
{
	return c->main.distributed_type == dist_MULTI_GPU ||
	    (c->main.distributed_type >= dist_MULTI_XPU &&
	    c->main.distributed_type <= dist_MULTI_NEURON);
}

/* What a driver answers for: the other MULTI_ types are unknown to probes. */
static bool
gpu_type(const struct config *c)
{
	return c->main.distributed_type >= dist_MULTI_GPU &&
	    c->main.distributed_type <= dist_MEGATRON_LM;
}

static bool
other_device(const struct config *c)
{
	return c->main.distributed_type >= dist_MULTI_XPU ||
	    c->main.compute_environment != place_LOCAL_MACHINE;
}

static bool
cpu_run(const struct config *c)
{
	return c->main.use_cpu || c->main.distributed_type == dist_MULTI_CPU;
}

static bool
fsdp(const struct config *c)
{
	return c->main.distributed_type == dist_FSDP && !c->main.use_cpu;
}

static bool
deepspeed(const struct config *c)
{
	return c->main.distributed_type == dist_DEEPSPEED && !c->main.use_cpu;
}

/* Processes of the machine that has most of them; 0 where nobody knows. */
static long
local_ranks(const struct config *c, const struct site *s)
{
	long	machines = s->hosts > 0 ? s->hosts : c->main.num_machines;

	if (c->main.num_processes < 1)
		return 0;
	return (c->main.num_processes + machines - 1) / machines;
}

/* How many devices are named; 0 for all, -1 where it is no list. */
static int
gpu_ids(const struct config *c)
{
	const char	*s = c->main.gpu_ids;
	int		 n = 0;

	if (!s || !strcmp(s, "all"))
		return 0;
	for (;; s++) {
		size_t	word = strcspn(s, ",");

		if (!word || (strspn(s, "0123456789") != word &&
		    (strncmp(s, "GPU-", 4) && strncmp(s, "MIG-", 4))))
			return -1;
		for (const char *t = c->main.gpu_ids; t < s; t++) {
			if (strcspn(t, ",") == word && !memcmp(t, s, word))
				return -1;
			t += strcspn(t, ",");
		}
		n++;
		s += word;
		if (!*s)
			return n;
	}
}

static long
gpu_ids_highest(const struct config *c)
{
	const char	*s = c->main.gpu_ids;
	long		 highest = -1;

	if (gpu_ids(c) < 1)
		return -1;
	for (; *s; s += strcspn(s, ","), s += *s == ',') {
		long	n = isdigit((unsigned char)*s) ? strtol(s, NULL, 10) : -1;

		highest = n > highest ? n : highest;
	}
	return highest;
}

static const char *
fp8_missing(const struct config *c, const struct site *s)
{
	switch (c->fp8.backend) {
	case fp8lib_TE:
		return s->transformer_engine == ABSENT ?
		    "Transformer Engine" : NULL;
	case fp8lib_MSAMP:
		return s->msamp == ABSENT ? "MS-AMP" : NULL;
	case fp8lib_AO:
		return s->torchao == ABSENT ? "torchao" : NULL;
	default:
		return s->transformer_engine == ABSENT && s->msamp == ABSENT &&
		    s->torchao == ABSENT ?
		    "Transformer Engine, MS-AMP or torchao" : NULL;
	}
}

/* A package that the configuration cannot do without, and that is not there. */
static const char *
missing(const struct config *c, const struct site *s)
{
	if (s->torch == ABSENT && !c->launch.no_python)
		return "torch";
	if (deepspeed(c) && s->deepspeed == ABSENT)
		return "deepspeed";
	if (c->main.distributed_type == dist_MEGATRON_LM &&
	    !c->main.use_cpu && s->megatron == ABSENT)
		return "megatron-core";
	if (s->transformers == ABSENT && ((deepspeed(c) &&
	    c->deepspeed.zero3_init_flag) || c->parallelism.tp_size > 1))
		return "transformers";
	return NULL;
}

static bool
older(long have, long need)
{
	return have > 0 && have < need;
}

/* For three %ld. */
#define RELEASE_WORDS(v)	(v) / 1000000, (v) / 1000 % 1000, (v) % 1000

static bool
megatron(const struct config *c)
{
	return c->main.distributed_type == dist_MEGATRON_LM &&
	    !c->main.use_cpu;
}

static long
or_one(long n)
{
	return n > 0 ? n : 1;
}

static bool
address_is_bare(const char *text)
{
	unsigned char	bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1 ||
	    inet_pton(AF_INET6, text, bytes) == 1)
		return true;
	return *text && *text != '-' && !text[strspn(text,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789-._")];
}

/* Loopback, or "any". */
static bool
address_is_own(const char *text)
{
	unsigned char	four[4], six[16];
	static const unsigned char zero[15];

	if (inet_pton(AF_INET, text, four) == 1)
		return four[0] == 127 || four[0] == 0;
	if (inet_pton(AF_INET6, text, six) == 1)
		return !memcmp(six, zero, 15) && six[15] < 2;
	return !strcasecmp(text, "localhost") ||
	    !strcasecmp(text, "localhost.localdomain");
}

/* One of the words, in any case. */
static bool
one_of(const char *text, const char *words)
{
	size_t	n = strlen(text);

	for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
		if (strcspn(w, " ") == n && !strncasecmp(w, text, n))
			return true;
	return false;
}

static long
mesh_size(const struct config *c)
{
	const long	sizes[] = { c->parallelism.dp_replicate_size,
	    c->parallelism.dp_shard_size, c->parallelism.tp_size,
	    c->parallelism.cp_size, c->parallelism.sp_size };
	long		n = 1;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (__builtin_mul_overflow(n, sizes[i], &n))
			return LONG_MAX;
	return n;
}

static bool
sp_attention(const char *text)
{
	return one_of(text, "flash_attention_2 flash_attention_3 sdpa") ||
	    (strchr(text, '/') && strstr(text, "flash-attn"));
}

/* The first key that the JSON file has too, or -1. */
static int
json_rival(const struct config *c)
{
	static const int	rivals[] = { FIELD_deepspeed_zero_stage,
	    FIELD_deepspeed_gradient_accumulation_steps,
	    FIELD_deepspeed_gradient_clipping,
	    FIELD_deepspeed_offload_optimizer_device,
	    FIELD_deepspeed_offload_param_device,
	    FIELD_deepspeed_offload_optimizer_nvme_path,
	    FIELD_deepspeed_offload_param_nvme_path,
	    FIELD_deepspeed_zero3_save_16bit_model,
	    FIELD_main_mixed_precision };

	for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++)
		if (c->origin[rivals[i]] == ORIGIN_FILE)
			return rivals[i];
	return -1;
}

/* Ranks that see different samples. */
static long
data_ranks(const struct config *c)
{
	long	n = c->main.num_processes / c->parallelism.sp_size;

	return n > 0 ? n : 1;
}

static long
json_part(const struct site *s)
{
	return s->json.micro_batch > 0 ? s->json.micro_batch :
	    s->json.accumulation > 0 ? s->json.accumulation : 1;
}

static long
stage(const struct config *c, const struct site *s)
{
	return s->json.read ? s->json.stage : c->deepspeed.zero_stage;
}

static bool
optimizer_offload(const struct config *c, const struct site *s)
{
	return s->json.read ? s->json.optimizer_offload :
	    c->deepspeed.offload_optimizer_device != offload_none;
}

static bool
param_offload(const struct config *c, const struct site *s)
{
	return s->json.read ? s->json.param_offload :
	    c->deepspeed.offload_param_device != offload_none;
}

static bool
nvme(const struct config *c)
{
	return c->deepspeed.offload_optimizer_device == offload_nvme ||
	    c->deepspeed.offload_param_device == offload_nvme;
}

/* Bytes that each parameter has in host memory: fp32 copy and Adam's two
 * moments 12, 16-bit parameter 2, gradient 2 (ZeRO, arXiv 1910.02054). */
static double
offload_per_parameter(const struct config *c, const struct site *s)
{
	double	n = 0;

	if (fsdp(c))
		return c->fsdp.offload_params ? 16 : 0;
	if (!deepspeed(c))
		return 0;
	if (optimizer_offload(c, s) && !s->json.nvme &&
	    c->deepspeed.offload_optimizer_device != offload_nvme)
		n += 12;
	if (param_offload(c, s) && stage(c, s) == 3 && !s->json.nvme &&
	    c->deepspeed.offload_param_device != offload_nvme)
		n += 4;
	return n;
}

static bool
offloads(const struct config *c, const struct site *s)
{
	return offload_per_parameter(c, s) > 0;
}

/* On each machine. */
static double
offload_bytes(const struct config *c, const struct site *s)
{
	long	machines = s->hosts > 0 ? s->hosts : c->main.num_machines;

	return offload_per_parameter(c, s) * s->parameters / (double)machines;
}

static bool
number_or_auto(const char *text, bool whole)
{
	double	real;
	long	n;

	if (!strcmp(text, "auto"))
		return true;
	return whole ? !num_parse(text, 1, LONG_MAX, &n) :
	    !num_parse_real(text, 0, 1e308, &real);
}

static bool
is_default(const struct config *c, int id)
{
	const struct field	*f = &fields[id];
	const void		*at = config_at(c, f);
	const char		*text;

	switch (f->type) {
	case TYPE_BOOL:
		return *(const bool *)at == f->def.b;
	case TYPE_INT:
		return *(const long *)at == f->def.i;
	case TYPE_REAL:
		return *(const double *)at == f->def.r;
	case TYPE_CHOICE:
		return *(const unsigned *)at == (unsigned)f->def.i;
	default:
		text = *(char *const *)at;
		return !text || !*text || (f->def.s && !strcmp(text, f->def.s));
	}
}

/* A file may carry the section of another kind of run; that is no surprise. */
static bool
section_counts(const struct config *c, const char *group)
{
	if (!strcmp(group, "fsdp_config"))
		return fsdp(c);
	if (!strcmp(group, "deepspeed_config"))
		return deepspeed(c);
	if (!strcmp(group, "megatron_lm_config"))
		return megatron(c);
	return !strcmp(group, "dynamo_config") || (!strcmp(group,
	    "fp8_config") && c->main.mixed_precision == precision_fp8);
}

static const char *
needs(int id, struct buf *room)
{
	buf_clear(room);
	field_needs((enum field_id)id, room);
	return buf_text(room);
}

/* The rules. */

const struct rule rules[] = {
#define ERROR	true
#define WARNING	false
#define RULE(id, fatal, field, broken, law, remedy, ...)		\
	{ #id, fatal, law, remedy, #broken, #field },
#define RULE_EACH(id, fatal, var, broken, law, remedy, ...)		\
	{ #id, fatal, law, remedy, #broken, "-1" },
#include "runtime/config/rules.def"
#undef RULE
#undef RULE_EACH
	{ NULL, false, NULL, NULL, NULL, NULL }
};

/* The word stands in the text, and is not a part of a longer one. */
static bool
has_word(const char *text, const char *word)
{
	static const char	part[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789_.";
	size_t			n = strlen(word);

	for (const char *s = text; (s = strstr(s, word)); s++)
		if ((s == text || !strchr(part, s[-1])) &&
		    (!s[n] || !strchr(part, s[n])))
			return true;
	return false;
}

bool
rule_mentions(const struct rule *rule, int field)
{
	const char	*member = fields[field].member;
	char		 id[96];

	snprintf(id, sizeof(id), "FIELD_%s", member);
	id[strcspn(id, ".")] = '_';
	return has_word(rule->broken, member) || has_word(rule->broken, id) ||
	    has_word(rule->field, id) || has_word(rule->law, fields[field].key);
}

enum {
#define RULE(id, ...)		RULE_##id,
#define RULE_EACH(id, ...)	RULE_##id,
#include "runtime/config/rules.def"
#undef RULE
#undef RULE_EACH
};

int
problems_add(struct problems *p, const char *id, bool fatal, int field,
    const char *what, const char *hint)
{
	struct problem	*more, new = { id, fatal, field, strdup(what),
	    strdup(hint) };

	more = realloc(p->item, (p->count + 1) * sizeof *more);
	if (more)
		p->item = more;
	if (!more || !new.what || !new.hint) {
		free(new.what);
		free(new.hint);
		return -1;
	}
	more[p->count++] = new;
	return 0;
}

__attribute__((format(printf, 4, 5))) static int
found(struct problems *out, int rule, int field, const char *fmt, ...)
{
	char	*what;
	va_list	 ap;
	int	 ret;

	va_start(ap, fmt);
	ret = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (ret < 0)
		return -1;
	ret = problems_add(out, rules[rule].id, rules[rule].fatal, field, what,
	    rules[rule].remedy);
	free(what);
	return ret;
}

/* Keeps the order of rules.def otherwise. */
static void
errors_first(struct problems *p)
{
	for (size_t i = 1; i < p->count; i++) {
		struct problem	one = p->item[i];
		size_t		at = i;

		for (; one.fatal && at > 0 && !p->item[at - 1].fatal; at--)
			p->item[at] = p->item[at - 1];
		p->item[at] = one;
	}
}

int
config_problems(const struct config *c, const struct site *site,
    struct problems *out, struct err *err)
{
	static const struct site	unknown;
	const struct site		*s = site ? site : &unknown;
	struct buf			 room = BUF_INIT;
	int				 status = 0;

#define RULE(name, fatal, field, broken, law, remedy, ...)		\
	if (broken)							\
		status |= found(out, RULE_##name, field, __VA_ARGS__);
#define RULE_EACH(name, fatal, var, broken, law, remedy, ...)		\
	for (int var = 0; var < FIELD_COUNT; var++)			\
		if (broken)						\
			status |= found(out, RULE_##name, var, __VA_ARGS__);
#include "runtime/config/rules.def"
#undef RULE
#undef RULE_EACH
	errors_first(out);
	buf_clear(&room);
	return status ? err_nomem(err) : 0;
}

size_t
problems_fatal(const struct problems *p)
{
	size_t	n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->item[i].fatal;
	return n;
}

void
problems_clear(struct problems *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->item[i].what);
		free(p->item[i].hint);
	}
	free(p->item);
	*p = (struct problems)PROBLEMS_INIT;
}

int
config_check(const struct config *c, struct err *err)
{
	struct problems	all = PROBLEMS_INIT;
	int		status = config_problems(c, NULL, &all, err);

	if (!status && all.count && all.item[0].fatal) {
		err_set(err, "%s", all.item[0].what);
		status = err_hint(err, "%s", all.item[0].hint);
	}
	problems_clear(&all);
	return status;
}
