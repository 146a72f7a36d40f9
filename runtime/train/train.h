/* SPDX-License-Identifier: Apache-2.0 */
/* train: what the files of libaccel share. */
#ifndef RUNTIME_TRAIN_TRAIN_H
#define RUNTIME_TRAIN_TRAIN_H

#include <stdbool.h>

#include "runtime/base/err.h"
#include "runtime/device/device.h"
#include "runtime/device/mem.h"
#include "runtime/train/accel.h"

struct ctl;

struct tensor {
	char		*name;
	void		*data, *grad;		/* the caller's */
	size_t		 n;			/* elements */
	accel_dtype	 dtype;
	uint32_t	 flags;
	int		 ndim;
	int64_t		 shape[8];
	void		*state[4];		/* ours */
	size_t		 state_n;		/* elements of each */
	const accel_group *group;		/* NULL: none */
	int		 bucket;
	/* 16 bits alone, ours: the values in F32, and the gradient, which lies
	 * in its bucket.  "folded": it holds the earlier batches' sum. */
	float		*master, *full;
	bool		 folded;
};

struct unit {
	char		*name;
	struct tensor	*tensor;
	int		 ntensor;
	bool		 ready;			/* in this backward */
	bool		 used;			/* in this accumulation */
	bool		 idle;			/* not used on any rank */
};

struct low_rank;

/* Gradients that travel together: tensors [first, first + count) of the list
 * in reverse order of registration.  Within "values" they lie in the order of
 * registration, so that a flat array of gradients travels where it is. */
struct bucket {
	int		 first, count;
	int		 last_unit;		/* all units down to it: ready */
	size_t		 n;
	accel_dtype	 dtype;			/* of values: F32 or F64 */
	accel_dtype	 wire;			/* F16, BF16: rounded to travel */
	void		*values;		/* NULL: nothing travels */
	void		*stage;			/* the host's copy, where needed */
	bool		 own;			/* values are not the caller's */
	uint16_t	*half;			/* where wire is 16 bits wide */
	struct low_rank	*low;			/* PowerSGD */
	/* How it travels in this step, if by rounds (hook.c). */
	accel_status	(*rounds)(accel *a, struct bucket *b);
	int		 round;
	void		*asked[ACCEL_HOOK_MOST];	/* of the last round */
	int		 nasked;
	char		 label[90];		/* "bucket 0 (head .. h.3)" */
	void		*req;
	bool		 done;
	bool		 ordered;		/* done on the stream: see settle */
	double		 factor;		/* still to be multiplied by */
	bool		 unscaled;		/* loss scale is out already */
};

struct ref {
	int unit, tensor;
};

/* What is broadcast but not trained, such as running means. */
struct buffer {
	char		*name;
	void		*data;			/* the caller's */
	size_t		 bytes;
};

struct accel {
	int		 rank, world, local_rank;
	struct ctl	*ctl;			/* NULL: none */
	struct device	 dev;
	accel_config	 config;
	struct mem	*mem;			/* of tensors; host, or opened */
	struct mem	 host;
	bool		 staged;		/* it travels by the host's memory */

	struct unit	*unit;
	int		 nunit;
	int		 nstate;
	bool		 factored;
	accel_group	*group;			/* patterns are ours */
	int		 ngroup;
	bool		 prepared;
	struct ref	*order;			/* all tensors, reversed */
	int		 norder;
	struct bucket	*bucket;
	int		 nbucket;
	int		 begun;			/* buckets under way or over */
	bool		 in_backward, sync, reduced;
	bool		 finished;		/* averaged and unscaled */
	bool		 sync_now;
	bool		 leaves;		/* accel_leave was called */
	int		 micro;			/* batches accumulated */
	int		 with_data;		/* ranks, by accel_join */
	double		 weight;		/* batches in the sum, all ranks */
	int64_t		 step;
	accel_range	*range;

	accel_scheduler	*scheduler;		/* a list, newest first */
	bool		 scaling;
	float		 scale;			/* of the loss, while scaling */
	int		 good;			/* steps since it changed */
	bool		 overflow, skipped;	/* this step; the last one */
	accel_hook	 hook;
	void		*hook_user;
	struct bucket	*in_hook;		/* whose hook runs; or NULL */
	int		 local_steps, since_average;
	struct buffer	*buffer;
	int		 nbuffer;
	bool		 debug;

	accel_loader	*active;		/* gave the running batch */
	bool		 trigger;		/* accel_set_trigger */

	struct track	*track;			/* NULL: nobody listens */
	struct state	*state;			/* NULL: nothing registered */
	struct profile	*profile;		/* NULL: nothing is profiled */
};

struct accel_scheduler {
	accel		*a;
	accel_scheduler	*next;
	accel_schedule	 how;			/* milestones are ours */
	double		*lr;			/* the caller's */
	double		 base;
	int64_t		 count;
	int64_t		 seen;			/* a->step of the last call */
	int		 number;		/* in checkpoints */
};

/* The calling thread's error. */
struct err *accel__err(void);
/* Sets it and returns "status". */
accel_status accel__fail(accel_status status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The status for an error that device or ctl has just set. */
accel_status accel__status(const accel *a);

/* Runs one operation that was started with "rc" to its end.  "req" is read
 * here, since the call that sets it is an argument beside it. */
accel_status accel__finish(accel *a, int rc, void **req);

/* Where the tensors lie (place.c).  Opens the memory that config names. */
accel_status accel__mem_open(accel *a);
void accel__mem_close(accel *a);
/* Is p in memory that the host may not touch? */
bool accel__elsewhere(const accel *a, const void *p);
/* ACCEL_EINVAL names a tensor or buffer that is not where config says. */
accel_status accel__mem_check(accel *a);
/* Exchanges that are only ordered on the program's stream are over; then the
 * host may wait for the stream, and for nobody else with it. */
accel_status accel__settle(accel *a);
accel_status accel__settle_one(accel *a, struct bucket *b);
/* To and from the host's memory, for any p. */
accel_status accel__read(accel *a, void *host, const void *p, size_t bytes);
accel_status accel__write(accel *a, void *p, const void *host, size_t bytes);
/* *at: the same bytes where the host can read them, at p or in *copy, which is
 * the caller's to free (NULL: none was needed). */
accel_status accel__on_host(accel *a, const void *p, size_t bytes,
    const void **at, void **copy);
/* From any to any. */
accel_status accel__move(accel *a, void *to, const void *from, size_t bytes);
/* What went wrong in work that gave no result. */
accel_status accel__mem_failed(accel *a);
/* The sum over arrays that mem's sum_add has had. */
accel_status accel__sum_end(accel *a, struct mem_sum *s);

/* Takes tensors and state apart. */
void accel__units_free(accel *a);
/* Compares layout and settings on all ranks; names who differs, and in what. */
accel_status accel__compare(accel *a);
/* "ranks 2 and 5" of those whose flag is set: for messages. */
void accel__name_ranks(const bool *flag, int world, char *out, size_t room);

/* Gives each tensor its group. */
accel_status accel__groups_match(accel *a);
void accel__groups_free(accel *a);

/* Cuts the gradients into buckets. */
accel_status accel__buckets_make(accel *a);
void accel__buckets_free(accel *a);
/* Begins what can begin, moves on what runs; "wait": until all is over. */
accel_status accel__reduce(accel *a, bool wait);
/* Adds a 16-bit gradient to its F32 sum. */
void accel__fold(const accel *a, struct tensor *t);
/* Clears the gradients for the next accumulation. */
void accel__grads_clear(accel *a);

/* The mean of the parameters over all ranks, for local SGD. */
accel_status accel__average(accel *a);
/* Rounds masters to the 16-bit parameters, or widens these to masters. */
void accel__masters_to_data(accel *a);
void accel__data_to_masters(accel *a);

/* Copies what has travelled to where gradients are, and ends the bucket. */
accel_status accel__bucket_end(accel *a, struct bucket *b);

/* Exchanges by rounds (hook.c).  A round that begins nothing is the last. */
accel_status accel__round(accel *a, struct bucket *b);
/* All rounds that are left, of all buckets. */
accel_status accel__rounds_finish(accel *a);
/* In a round: begins an all-reduce. */
accel_status accel__ask(accel *a, struct bucket *b, void *buf, size_t n,
    accel_dtype t, accel_op op);
/* A round of the program's hook, and of PowerSGD (powersgd.c). */
accel_status accel__hook_round(accel *a, struct bucket *b);
accel_status accel__low_round(accel *a, struct bucket *b);

accel_status accel__low_new(accel *a, struct bucket *b);
void accel__low_free(struct low_rank *l);
/* Has checkpoints keep it. */
accel_status accel__low_register(accel *a);
/* Gradients still travel whole in this step. */
bool accel__low_waits(const accel *a);

static inline bool
is_half(accel_dtype t)
{
	return t == ACCEL_F16 || t == ACCEL_BF16;
}

/* The gradient that the optimizer reads. */
static inline void *
gradient_of(const struct tensor *t)
{
	return is_half(t->dtype) ? t->full : t->grad;
}

/* Was the batch given last the epoch's last? */
bool accel__loader_last(const accel_loader *l);

/* One argument of a collective; "same": on all ranks. */
struct arg {
	const char	*name;		/* as in "batch is 4 on rank 0" */
	int64_t		 value;
	bool		 same;
};

enum { AGREE_MAX = 12 };

/* Collective: is every rank in the same call, with the same?  "fault": what
 * this rank alone knows to be wrong, or NULL; then all fail.  arg has rank 0's
 * values afterwards; each, where not NULL, rank r's at [r * n]. */
accel_status accel__agree(accel *a, const char *call, const char *fault,
    struct arg *arg, int n, int64_t *each);

static inline struct tensor *
tensor_of(const accel *a, struct ref r)
{
	return &a->unit[r.unit].tensor[r.tensor];
}
#endif
