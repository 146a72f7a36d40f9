/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice: how to train a model on given machines, with the reasons.
 *
 * A pure function: it asks nothing and nobody, and the same order gives the
 * same advice.  It tries every way that Accelerate can set up (worlds, mesh,
 * sharding, offload, precision, recomputation, micro-batch), leaves out those
 * whose memory (memory.h) is not there, and takes the one with the shortest
 * step (struct advice_time), with a few preferences that advice.c lists.
 *
 * Sizes in bytes, speeds in bytes/s, times in seconds.  0 is "not known".
 * A number is a guess where its member or its term says so.
 */
#ifndef RUNTIME_CONFIG_ADVICE_H
#define RUNTIME_CONFIG_ADVICE_H

#include "runtime/base/strv.h"
#include "runtime/config/hardware.h"
#include "runtime/config/memory.h"
#include "runtime/config/model.h"
#include "runtime/config/schema.h"

struct site;

enum {
	ADVICE_GPUS = 128,		/* of a host; probes take no more */
	ADVICE_HOSTS = 4096,
	ADVICE_OTHERS = 2		/* alternatives */
};

struct advice_gpu {
	char		 vendor[16], model[80], arch[16];
	int		 capability;	/* 80 for 8.0 */
	uint64_t	 bytes;
};

struct advice_host {
	char		 name[128];
	unsigned	 cores, numa;
	uint64_t	 memory;
	bool		 cpu_bf16;	/* AMX, AVX512_BF16 or Arm's */
	struct advice_gpu gpu[ADVICE_GPUS];
	size_t		 gpus;
	enum hardware_link link;	/* the slowest between two of them */
	double		 link_speed;	/* each way, of one GPU */
	bool		 no_peer;	/* between some of them */
	double		 net;		/* of all its NICs together, each way */
	double		 latency;	/* to another host, one way */
	bool		 net_measured;
	uint64_t	 disk;		/* free, for offload */
	double		 disk_speed;	/* the slower of read and write */
	char		 disk_path[128];
};

struct advice_order {
	const struct advice_host *host;	/* borrowed; in rank order */
	size_t			 hosts;
	const struct model	*model;	/* borrowed, settled (model.h) */
	long			 batch;	/* sequences of a step, of all ranks;
					 * 0: eight for each GPU */
	long			 sequence; /* tokens; 0: the model's own, at
					 * most 4096 */
	enum optimizer		 optimizer;
	long			 lora;	/* rank of adapters; 0: all is trained */
	bool			 cpu;	/* leave the GPUs alone */
	bool			 megatron; /* the script is Megatron-LM's */
	bool			 disk;	/* offload to a disk is fine */
	bool			 no_offload; /* all stays on the devices */
	const struct site	*site;	/* for packages (rules.h); or NULL */
};

/* Of one step. */
struct advice_time {
	double	 compute;	/* forward, backward, and again */
	double	 exposed;	/* communication that nothing hides */
	double	 hidden;	/* behind computing */
	double	 slowed;	/* computing, by what is hidden: a guess */
	double	 idle;		/* of a pipeline */
	double	 offload;	/* to the host or disk and back, and its CPU */
	double	 update;	/* the optimizer */
	double	 total;
	double	 sent;		/* bytes of one rank, all collectives */
	double	 slowest;	/* speed of the slowest link in use */
	bool	 across;	/* that is the network */
};

struct advice_plan {
	enum dist		 type;
	struct memory_order	 order;	/* ranks, mesh, sharding, batch... */
	long			 accumulation;
	long			 data;	/* ranks with different sequences */
	size_t			 hosts;	/* that take part... */
	long			 local;	/* the most ranks of one host */
	unsigned		 world;	/* a number for these hosts and GPUs */
	char			 gpu_ids[80];	/* where not all of one host */
	struct memory		 memory;
	double			 room;	/* bytes of its smallest device */
	double			 host_room;	/* of the smallest host */
	struct advice_time	 time;
	double			 score;	/* seconds, with preferences */
	bool			 usable; /* this script, these packages */
};

/* Symbol, what it is called in words. */
#define ADVICE_ITEMS(X)						\
	X(TYPE,		"distributed type")			\
	X(SHARDING,	"sharding")				\
	X(PRECISION,	"precision")				\
	X(OFFLOAD,	"offload")				\
	X(PROCESSES,	"processes")				\
	X(TP,		"tensor parallel")			\
	X(CP,		"context parallel")			\
	X(PP,		"pipeline stages")			\
	X(RECOMPUTE,	"recomputation")			\
	X(MICRO,	"micro-batch")				\
	X(ACCUMULATION,	"accumulation")
#define ADVICE_ENUM(s, w)	ADVICE_##s,
enum advice_item { ADVICE_ITEMS(ADVICE_ENUM) ADVICE_ITEM_COUNT };
#undef ADVICE_ENUM

struct advice_line {
	const char	*name;
	char		 value[80];
	char		 why[400];	/* a sentence */
};

struct advice {
	bool			 fits;	/* else "plan" is the nearest that
					 * does not */
	struct model		 model;	/* with a shape, if need be a guess;
					 * its texts are borrowed */
	bool			 shape_guess;
	bool			 old_torch;	/* before 2.6: FSDP version 1 */
	struct advice_plan	 plan, other[ADVICE_OTHERS];
	char			 second[ADVICE_OTHERS][240]; /* why second */
	size_t			 others;
	struct advice_line	 line[ADVICE_ITEM_COUNT];
	struct strv		 warnings;
	struct strv		 remedies; /* what would fit, or better */
	long			 sequence, batch;	/* as they were taken */
	size_t			 tried;
	long			*ranks;	/* [order.hosts]: the plan's on each */
};

/* -1 where the order makes no sense: no host, no parameters.  Not fitting is no
 * error.  *out must stay where it is (its plans refer to its model). */
int  advise(struct advice *out, const struct advice_order *order,
    struct err *err);
void advice_clear(struct advice *a);

/* "FSDP, full shard, bf16, recomputation, 8 processes": a plan in a line. */
void advice_name(const struct advice_plan *p, char *text, size_t room);
const char *advice_type_word(enum dist type);

/* Sets in *c what the plan says and nothing else, with ORIGIN_PROPOSED. */
int  advice_apply(const struct advice *a, const struct advice_plan *p,
    struct config *c, struct err *err);

/* "8x80GB", "2x8xH100", "4xA100:40GB:nvlink", "8xL4:128GB-host:200gbit": adds
 * such hosts to the list, which free() frees.  -1 with what was wrong. */
int  advice_hosts(struct advice_host **list, size_t *count, const char *text,
    struct err *err);

/* As text of so many columns, 40 and up, and as JSON (a json_t, a new
 * reference; NULL without memory). */
int  advice_text(const struct advice *a, size_t width, struct buf *out);
struct json_t *advice_json(const struct advice *a);

/* Parameters that adapters of that rank add to a model. */
uint64_t advice_adapters(const struct model *m, long rank);

/* The time of a plan whose "memory" need not be set; for tests of the model. */
struct advice_speed;
void advice_time(struct advice_time *t, const struct advice_plan *p,
    const struct advice_speed *s);
#endif
