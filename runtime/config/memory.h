/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: what a training run takes of each rank's device, host and disk.
 *
 * The estimate is a list of terms.  Each has its formula, the numbers in it,
 * where the formula comes from, and whether it is a guess; the totals are sums
 * of them.  P parameters (of one rank: over tp and pp), N ranks that share
 * them, L layers, h hidden, a heads, d their width, k heads of keys and values,
 * f feed-forward width, V words, s tokens of a sequence, b sequences of a
 * micro-batch, t tensor-parallel ranks, e bytes of an activation, r those of
 * the residual stream, B bytes of a layer's activations for a token, U
 * parameters of the largest unit that is gathered at once.  With adapters (LoRA,
 * arXiv 2106.09685) T of the parameters are trained; the others are kept in the
 * type to compute with, and have neither gradient nor optimizer.
 *
 * Sources, by the names that a term gives:
 *   ZeRO		arXiv 1910.02054, section 3 and figure 1: 16-bit
 *			parameters 2P, gradients 2P, optimizer 12P, of which
 *			stage 1 shares the optimizer, 2 the gradients, 3 all
 *   Accelerate		1.15: with mixed precision parameters, gradients and
 *			optimizer stay float32 (autocast, and FSDP's upcast)
 *   Korthikanti	arXiv 2205.05198: activations, eq. 1, 2, 4, 6; written
 *			out here for any f and k, which gives its 34 s b h + 5 a
 *			s s b for f = 4h, k = a, 16 bits and dropout
 *   measured		the same, with what PyTorch 2.15 keeps more: under
 *			autocast the residual stream in float32 and a cast for
 *			each product, and the copies of transformers' RMSNorm;
 *			tests/python/estimate.py measures it
 *   PyTorch		its documentation: DistributedDataParallel (buckets are
 *			a second copy of the gradients unless
 *			gradient_as_bucket_view), torch.optim (foreach takes
 *			about the size of the parameters), torch.amp (casts of
 *			weights are kept until autocast ends)
 *   DeepSpeed		its documentation: reduce_bucket_size and
 *			allgather_bucket_size are 5e8 elements
 *   Megatron		Megatron Core's guide, "Distributed Optimizer": 20, 18
 *			or 16 bytes a parameter with 16-bit, mixed or float32
 *			gradients; 4 + 16/N, 6 + 12/N, 8 + 8/N if it is shared
 *   ZeRO-Offload	arXiv 2101.06840: gradients and optimizer on the host
 *   design		two gathered units, one in use and one prefetched, and
 *			their gradients
 *   definition		arrays that the optimizer keeps
 *   guess		nobody's formula: not measured yet
 *
 * Pure: no file, no device is asked.
 */
#ifndef RUNTIME_CONFIG_MEMORY_H
#define RUNTIME_CONFIG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct config;
struct err;
struct model;
struct site;

/* Symbol, word, meaning. */
#define SHARDINGS(X)							\
	X(NONE,	   "ddp",	    "each rank has all")		\
	X(ZERO1,   "zero1",	    "optimizer shared")			\
	X(ZERO2,   "zero2",	    "and gradients")			\
	X(ZERO3,   "zero3",	    "and parameters")			\
	X(FULL,	   "fsdp",	    "all shared")			\
	X(GRAD_OP, "fsdp-grad-op",  "parameters stay gathered")		\
	X(HYBRID,  "hsdp",	    "shared within a group")		\
	X(HYBRID_GRAD_OP, "hsdp-grad-op", "both of these")		\
	X(MEGATRON, "megatron",	    "tp and pp alone")			\
	X(MEGATRON_DIST, "megatron-dist", "and its optimizer shared")
#define TRAININGS(X)							\
	X(FP32,	   "fp32",	    "float32 throughout")		\
	X(FP16,	   "fp16",	    "mixed: float16 to compute")	\
	X(BF16,	   "bf16",	    "mixed: bfloat16 to compute")	\
	X(PURE,	   "bf16-pure",	    "bfloat16 throughout")		\
	X(FP8,	   "fp8",	    "mixed: float8 products")
#define OPTIMIZERS(X)							\
	X(SGD,	   "sgd",	    "keeps nothing")			\
	X(MOMENTUM, "momentum",	    "SGD with momentum")		\
	X(ADAM,	   "adam",	    "Adam or AdamW")			\
	X(ADAM8,   "adam-8bit",	    "Adam of bitsandbytes")		\
	X(ADAFACTOR, "adafactor",   "rows and columns")			\
	X(LION,	   "lion",	    "one array")

#define MEMORY_ENUM(s, w, m)	SHARDING_##s,
enum sharding { SHARDINGS(MEMORY_ENUM) SHARDING_COUNT };
#undef MEMORY_ENUM
#define MEMORY_ENUM(s, w, m)	TRAINING_##s,
enum training { TRAININGS(MEMORY_ENUM) TRAINING_COUNT };
#undef MEMORY_ENUM
#define MEMORY_ENUM(s, w, m)	OPTIMIZER_##s,
enum optimizer { OPTIMIZERS(MEMORY_ENUM) OPTIMIZER_COUNT };
#undef MEMORY_ENUM

struct memory_word {
	const char	*word, *what;
};
extern const struct memory_word sharding_words[SHARDING_COUNT],
    training_words[TRAINING_COUNT], optimizer_words[OPTIMIZER_COUNT];

enum memory_place { ON_DEVICE, ON_HOST, ON_DISK, MEMORY_PLACES };

struct memory_order {
	const struct model	*model;		/* borrowed */
	enum sharding		 sharding;
	enum training		 training;
	enum optimizer		 optimizer;
	long			 ranks;		/* in all, 1 and up, as all */
	long			 group;		/* that hybrid shares within */
	long			 tp, cp, pp;
	long			 sequence;	/* tokens */
	long			 batch;		/* sequences, of one rank */
	long			 micro_batches;	/* of one step */
	bool			 sequence_parallel; /* Megatron's, with tp */
	bool			 recompute;	/* activations, in full */
	bool			 eager;		/* attention keeps its scores */
	bool			 whole;		/* as one unit: no wrapping */
	bool			 cpu;		/* trained on the CPU */
	uint64_t		 trained;	/* parameters, of all; 0: all */
	enum memory_place	 optimizer_on, params_on; /* offload:
					 * ZeRO has both, FSDP params_on */
};

/* One rank of anything, one sequence of 1024 tokens: a start. */
#define MEMORY_ORDER_INIT						\
	{ NULL, SHARDING_NONE, TRAINING_FP32, OPTIMIZER_ADAM, 1, 1, 1, 1, 1, \
	    1024, 1, 1, false, false, false, false, false, 0, ON_DEVICE,	\
	    ON_DEVICE }

enum memory_part {
	PART_PARAMS, PART_GRADS, PART_OPTIMIZER, PART_ACTIVATIONS, PART_LOGITS,
	PART_TEMPORARY,		/* in forward and backward */
	PART_STEP,		/* in the step, when those are free */
	PART_FRAMEWORK, MEMORY_PARTS
};
extern const char *const memory_part_names[MEMORY_PARTS];

struct memory_term {
	enum memory_part	 part;
	enum memory_place	 place;
	double			 bytes;
	bool			 guess;
	const char		*source;	/* "ZeRO" */
	const char		*formula;	/* "8 P / N" */
	char			 numbers[96];	/* "8 x 6738415616 / 8" */
};

struct memory {
	struct memory_term	 term[20];
	size_t			 terms;
	double			 part[MEMORY_PARTS];	/* on the device */
	double			 total[MEMORY_PLACES];	/* of one rank */
	bool			 no_shape;	/* activations are not in it */
};

/* -1 where the numbers do not go together: the world is no multiple of tp, pp
 * and cp, the group none of the ranks. */
int  memory_estimate(struct memory *out, const struct memory_order *order,
    struct err *err);

/* Distribution, precision, ranks, mesh, offload and checkpointing as a
 * configuration has them; and DeepSpeed's own file, if "site" is not NULL and
 * has it (rules.h). */
void memory_order_take(struct memory_order *order, const struct config *c,
    const struct site *site);

/* "24.0 GB", as Accelerate says it: steps of 1024, at most two decimals.
 * "whole": a count of bytes has none. */
int  memory_say(double bytes, bool whole, struct buf *out);

/* "80", "80GiB", "80GB", "512 MiB": a bare number is GiB. */
int  memory_parse(const char *text, uint64_t *out);

/* The word's number, or -1. */
int  memory_word(const struct memory_word *words, int count, const char *word);
#endif
