/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules: what must hold across the fields of a configuration.
 *
 * rules.def has a row for each; from it come config_problems(), which finds all
 * that is wrong at once, and the list in accel.yaml(5).  A rule is pure: what
 * it has to know beyond the configuration stands in struct site, which the
 * caller fills with what it found out; all zeroes are "nothing is known".
 */
#ifndef RUNTIME_CONFIG_RULES_H
#define RUNTIME_CONFIG_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/err.h"

struct buf;
struct config;

/* What a DeepSpeed JSON file says; 0 and false where it is silent, or where it
 * says "auto". */
struct deepspeed_json {
	bool	read;		/* a file was read; else nothing here counts */
	bool	zero;		/* has zero_optimization */
	bool	fp16, bf16;	/* enabled */
	bool	optimizer_offload, param_offload;	/* to cpu or nvme */
	bool	nvme, nvme_path;	/* some offload to nvme; each has a path */
	long	stage;		/* 0 to 3 */
	long	train_batch, micro_batch, accumulation;
};

/* A package of Python: 0 where nobody looked. */
#define ABSENT			(-1L)
#define RELEASE(major, minor, patch)	\
	((major) * 1000000L + (minor) * 1000L + (patch))

struct site {
	long		hosts;		/* machines that were named; or 0 */
	long		slots;		/* ranks that they may have; or 0 */
	long		least;		/* ranks with which each has one; or 0 */
	bool		port_busy;	/* main_process_port, where rank 0 will be */
	bool		looked;		/* for GPUs; else the next three are 0 */
	long		gpus;		/* usable ones of a machine, the fewest */
	int		capability;	/* weakest GPU, 80 for 8.0; or 0 */
	double		gpu_memory;	/* bytes of the smallest GPU; or 0 */
	double		memory;		/* bytes of a machine; or 0 */
	double		parameters;	/* of the model; or 0 */
	long		torch, transformers, deepspeed, megatron;
	long		transformer_engine, msamp, torchao;
	struct deepspeed_json	json;
	bool		json_missing;	/* no such file here */
	struct err	json_fault;	/* what is wrong in the JSON; or "" */
};

/* Reads what deepspeed_config_file names, if it names something: a file, or, as
 * Accelerate allows, JSON itself or its base64.  What is wrong with it becomes
 * a part of *site, and then a problem.  -1 only without memory. */
int site_read_json(struct site *site, const struct config *c,
    struct err *err);

struct problem {
	const char	*id;		/* of the rule; borrowed */
	bool		 fatal;		/* an error, not a warning */
	int		 field;		/* the one to change; -1: none alone */
	char		*what, *hint;	/* owned */
};

struct problems {
	struct problem	*item;
	size_t		 count;
};

#define PROBLEMS_INIT { NULL, 0 }

/* Adds all problems, errors first, each kind in the order of rules.def.  "site"
 * may be NULL: nothing is known.  -1 only without memory. */
int config_problems(const struct config *c, const struct site *site,
    struct problems *out, struct err *err);
/* How many of them are errors. */
size_t problems_fatal(const struct problems *p);
/* Adds one more behind the others.  -1 without memory. */
int  problems_add(struct problems *p, const char *id, bool fatal, int field,
    const char *what, const char *hint);
void problems_clear(struct problems *p);

struct rule {
	const char	*id;
	bool		 fatal;
	const char	*law;		/* what must hold: a clause */
	const char	*remedy;
	const char	*broken;	/* the condition of a fault, as written */
	const char	*field;		/* "FIELD_main_debug", "-1", as written */
};
/* The last has a NULL id. */
extern const struct rule rules[];

/* True where a rule looks at the field, or would have it changed. */
bool rule_mentions(const struct rule *rule, int field);

/* The rules, as a part of a page in mdoc. */
void rules_page(struct buf *out);
#endif
