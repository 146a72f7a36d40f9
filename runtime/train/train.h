/* SPDX-License-Identifier: Apache-2.0 */
/* train: what the files of libaccel share. */
#ifndef RUNTIME_TRAIN_TRAIN_H
#define RUNTIME_TRAIN_TRAIN_H

#include <stdbool.h>

#include "runtime/base/err.h"
#include "runtime/device/device.h"
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
};

struct unit {
	char		*name;
	struct tensor	*tensor;
	int		 ntensor;
	bool		 ready;			/* in this backward */
};

/* Gradients that travel together: tensors [first, first + count) of the list
 * in reverse order of registration. */
struct bucket {
	int		 first, count;
	int		 last_unit;		/* all units down to it: ready */
	size_t		 n;
	accel_dtype	 dtype;
	void		*pack;			/* NULL: one tensor, in place */
	void		*req;
	bool		 done;
};

struct ref {
	int unit, tensor;
};

struct accel {
	int		 rank, world, local_rank;
	struct ctl	*ctl;			/* NULL: none */
	struct device	 dev;
	accel_config	 config;

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
	int		 micro;			/* batches accumulated */
	int64_t		 step;
	accel_range	*range;

	accel_scheduler	*scheduler;		/* a list, newest first */
	accel_loader	*active;		/* gave the running batch */
	bool		 trigger;		/* accel_set_trigger */

	struct track	*track;			/* NULL: nobody listens */
};

struct accel_scheduler {
	accel		*a;
	accel_scheduler	*next;
	accel_schedule	 how;			/* milestones are ours */
	double		*lr;			/* the caller's */
	double		 base;
	int64_t		 count;
	int64_t		 seen;			/* a->step of the last call */
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

/* Takes tensors and state apart. */
void accel__units_free(accel *a);

/* Gives each tensor its group. */
accel_status accel__groups_match(accel *a);
void accel__groups_free(accel *a);

/* Begins what can begin, moves on what runs; "wait": until all is over. */
accel_status accel__reduce(accel *a, bool wait);

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
