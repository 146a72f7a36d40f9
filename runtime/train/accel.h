/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel: one training loop, any number of processes.  C11, also valid C++.
 *
 *	accel *a;
 *	accel_init(NULL, &a);
 *	accel_unit(a, "layer", tensors, n, &u);		in forward order
 *	accel_prepare(a, 2);				Adam: two state arrays
 *	while (accel_next(loader, index, &rows) == ACCEL_OK) {
 *		accel_backward(a, my_backward, &model);	calls accel_leave
 *		accel_clip_grad_norm(a, 1.0f, &norm);
 *		accel_step(a, accel_adamw, &adamw);
 *	}
 *	accel_fini(a);
 *
 * Every rank runs the same calls in the same order.  Calls return ACCEL_OK or
 * another accel_status; out-parameters come last; buffers are the caller's.
 * Nothing here exits; nothing prints but accel_print, and a line on stderr
 * where a tracker fails.  Functions of the program are called by the thread
 * that called libaccel, but for a loader's source with a prefetch of more than
 * 0.  One thread at a time uses an accel: THREADS in libaccel(3) says of each
 * call who may make it.
 *
 * When a rank dies or falls silent, the call that the others are in (or their
 * next one) returns ACCEL_EPEER and accel_errmsg names the rank.  After that
 * save what is local, call accel_fini and end.
 *
 * The environment, as `accel launch`, torchrun and others set it: RANK,
 * WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT (PMI_RANK and PMI_SIZE of
 * mpiexec where RANK is missing); ACCELERATE_GRADIENT_ACCUMULATION_STEPS;
 * ACCEL_JOB, a token that all ranks share; ACCEL_PEER_TIMEOUT, seconds of
 * silence that mean death (10); ACCEL_START_TIMEOUT, seconds for all ranks to
 * come (120); ACCEL_TIMEOUT, seconds that any wait may take before it names
 * the rank that has not come and ends the job (600; 0: no limit); ACCEL_DEBUG,
 * 1, on all ranks, to compare each collective's arguments and after each step
 * the parameters; ACCEL_PROGRESS, 0 for no thread; ACCEL_BACKEND, mpi or nccl
 * (mpi; with ACCEL_CUDA nccl); ACCEL_PLUGIN_DIR, their folder; ACCEL_TRACK or
 * ACCEL_TRACK_FD, a file or a descriptor for whoever watches; ACCEL_PROFILE, a
 * prefix for traces; ACCEL_SAVE_TIMEOUT, seconds that a save under way may take
 * (600; 0: no limit).
 * None set: one process alone.
 */
#ifndef ACCEL_H
#define ACCEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCEL_VERSION 100	/* 0.1.0; accel_version() is the one linked */

typedef struct accel accel;		/* one per process */
typedef struct accel_loader accel_loader;

typedef enum {
	ACCEL_OK = 0,
	ACCEL_SKIPPED = 1,		/* no step: accumulating, or overflow */
	ACCEL_END = 2,			/* the data are through */
	ACCEL_EINVAL = -1,
	ACCEL_ENOMEM = -2,
	ACCEL_EIO = -3,			/* a file, a disk, a server */
	ACCEL_ESTATE = -4,		/* not now */
	ACCEL_EPEER = -5,		/* a rank is gone */
	ACCEL_ETIMEDOUT = -6,		/* a rank has not come */
	ACCEL_EMISMATCH = -7,		/* ranks disagree */
	ACCEL_EBACKEND = -8
} accel_status;

typedef enum {
	ACCEL_F32 = 0,
	ACCEL_F16 = 1,			/* IEEE binary16 */
	ACCEL_BF16 = 2,			/* the upper half of an F32 */
	ACCEL_F64 = 3,
	ACCEL_I32 = 4,
	ACCEL_I64 = 5,
	ACCEL_U8 = 6
} accel_dtype;

typedef enum {
	ACCEL_SUM = 0,
	ACCEL_AVG = 1,			/* of floats */
	ACCEL_MAX = 2,
	ACCEL_MIN = 3
} accel_op;

/* ---- start and end ------------------------------------------------------ */

/* In what type do gradients of 16 bits travel? */
enum {
	ACCEL_REDUCE_F32 = 0,		/* exact sums, twice the bytes */
	ACCEL_REDUCE_OWN = 1		/* rounded at each addition */
};
/* Compression of gradients, of F64 never.  Those of 16 bits are made F32 first,
 * with REDUCE_OWN too. */
enum {
	ACCEL_COMPRESS_NONE = 0,
	ACCEL_COMPRESS_F16 = 1,
	ACCEL_COMPRESS_BF16 = 2,
	ACCEL_COMPRESS_POWERSGD = 3	/* low rank, with error feedback */
};
/* What of a unit that no accel_leave was called for in an accumulation (where
 * it was for others)?  Its gradient is what it is: zero, if nobody touched it.
 * All but ZERO cost a small all-reduce a step. */
enum {
	ACCEL_UNUSED_ZERO = 0,		/* it is updated with that */
	ACCEL_UNUSED_SKIP = 1,		/* not updated if unused on all ranks */
	ACCEL_UNUSED_ERROR = 2		/* accel_step names it and fails */
};
/* When some ranks have no more data: see accel_join. */
enum {
	ACCEL_UNEVEN_ALL = 0,		/* divide by all ranks */
	ACCEL_UNEVEN_ACTIVE = 1,	/* by the batches that there were */
	ACCEL_UNEVEN_ERROR = 2		/* name the ranks and fail */
};
/* Who moves exchanges on while the program computes? */
enum {
	ACCEL_PROGRESS_THREAD = 0,	/* a thread that sleeps most of the time */
	ACCEL_PROGRESS_CALLS = 1	/* accel_leave and accel_poll alone */
};

/* Where do parameters and gradients lie? */
enum {
	ACCEL_HOST = 0,			/* or where the host can touch them */
	ACCEL_CUDA = 1			/* on this rank's GPU: see below */
};

#define ACCEL_LOSS_SCALE 65536.0f	/* where torch's GradScaler begins */

/* 0 is the default of each; the same on all ranks. */
typedef struct {
	size_t	size;			/* set by ACCEL_CONFIG_INIT */
	int	grad_accum;		/* 0: from the environment, else 1 */
	int	bucket_bytes;		/* 0: a sixteenth of all gradients, but
					 * 1 to 25 MiB */
	int	first_bucket_bytes;	/* 0: 1 MiB, or bucket_bytes if less */
	int	reduce;			/* ACCEL_REDUCE_ */
	int	compress;		/* ACCEL_COMPRESS_ */
	int	powersgd_rank;		/* 0: 1 */
	int	powersgd_start;		/* steps without it; 0: 1000; -1: none */
	int	unused;			/* ACCEL_UNUSED_ */
	int	uneven;			/* ACCEL_UNEVEN_ */
	int	local_steps;		/* see accel_local_sgd */
	int	progress;		/* ACCEL_PROGRESS_ */
	float	loss_scale;		/* 0: none; the first one */
	int	scale_interval;		/* 0: 2000; -1: the scale stays */
	double	scale_growth;		/* 0: 2 */
	double	scale_backoff;		/* 0: 0.5 */
	double	timeout;		/* 0: ACCEL_TIMEOUT; < 0: none; seconds */
	void	*stream;		/* cudaStream_t; NULL: the default one */
	int	memory;			/* ACCEL_HOST or ACCEL_CUDA */
} accel_config;

#define ACCEL_CONFIG_INIT { sizeof(accel_config), \
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0 }

/*
 * ACCEL_CUDA: data and grad of all tensors are memory of one GPU (cudaMalloc or
 * managed).  It is the GPU that the program has chosen where config.stream is
 * set, else number LOCAL_RANK, which accel_init makes the calling thread's.  All
 * that libaccel does to them goes on config.stream, on which the program
 * computes: accel_leave may be called as soon as the kernels that make the
 * gradients are enqueued, and accel_step returns when the update is.  The host
 * waits for the GPU only where a number is needed there (a norm, an overflow, a
 * checkpoint), and for a bucket's exchange before the same bucket's next one.
 * Whoever waits for the stream is let go where a rank is gone or does not come.
 * Exchanges go by NCCL, or with ACCEL_BACKEND=mpi through the host's memory.
 * libaccel(3), GPUs, has the rest.
 */

/* Meets the other ranks.  config NULL: all from the environment.  On failure
 * *a is NULL and accel_errmsg says why. */
accel_status accel_init(const accel_config *config, accel **a);
/* Collective, unless a rank is gone.  NULL is fine. */
accel_status accel_fini(accel *a);
/* All ranks, this one too, get ACCEL_EPEER with the text. */
void	     accel_abort(accel *a, const char *why);
/* The last error of the calling thread, with what to do; never NULL. */
const char  *accel_errmsg(void);
int	     accel_rank(const accel *a);
int	     accel_world(const accel *a);
int	     accel_local_rank(const accel *a);
int	     accel_version(void);

/* ---- the model: units of tensors whose gradients are final together ------ */

typedef struct {
	const char	*name;		/* unique; copied */
	void		*data, *grad;	/* the caller's; must stay */
	accel_dtype	 dtype;		/* F32, F64, F16 or BF16, of both */
	uint32_t	 flags;
	int		 ndim;		/* at most 8 */
	int64_t		 shape[8];
} accel_tensor;

enum { ACCEL_NO_DECAY = 1 };

/* Adds a unit (a layer), in forward order.  *unit is its number. */
accel_status accel_unit(accel *a, const char *name, const accel_tensor *t,
    int ntensor, int *unit);

/* A parameter group: tensors that the optimizer treats otherwise. */
typedef struct {
	const char	*pattern;	/* fnmatch(3) of names, "*.bias" */
	double		 lr_scale;	/* times the optimizer's lr */
	double		 weight_decay;	/* < 0: the optimizer's */
} accel_group;

/* A tensor is in the first group whose pattern matches its name, or in none.
 * Before accel_prepare, which refuses a pattern that no tensor's name matches,
 * and groups that differ between ranks.  Copied; a second call replaces. */
accel_status accel_groups(accel *a, const accel_group *g, int ngroup);

enum { ACCEL_FACTORED = -1 };	/* for accel_prepare: accel_adafactor's */

/* What is not trained and yet the same on all ranks, such as running means:
 * rank 0's bytes go to all in accel_prepare, and whenever all ranks call
 * accel_sync_buffers.  "name" is copied, "data" must stay. */
accel_status accel_buffer(accel *a, const char *name, void *data,
    size_t bytes);
accel_status accel_sync_buffers(accel *a);

/* Collective: compares names, shapes, types and settings on all ranks, copies
 * rank 0's parameters and buffers to all, clears the gradients and makes
 * "nstate" (0 to 4) zeroed arrays a tensor for the optimizer; or with
 * ACCEL_FACTORED one, that for two axes and more is as long as all rows and
 * all columns of the last two.  16-bit tensors get their values in F32 as
 * well, room for an F32 gradient, and state in F32. */
accel_status accel_prepare(accel *a, int nstate);

/* ---- the loop ------------------------------------------------------------ */

/* Adds the gradients of this rank's batch to "grad" of all tensors, and may
 * call accel_leave for each unit as soon as its are final; 0, or a status that
 * accel_backward returns. */
typedef accel_status (*accel_backward_fn)(void *user);

/* Runs fn.  At the end of an accumulation the gradients are averaged over
 * ranks and accumulated batches, beginning inside accel_leave, or all at the
 * end.  fn NULL: this rank has no batch and adds nothing (accel_join).
 * Gradients of 16 bits are added up in F32 and cleared by each accel_backward,
 * unless they travel as they are (ACCEL_REDUCE_OWN). */
accel_status accel_backward(accel *a, accel_backward_fn fn, void *user);
/* The unit's gradients are final: their exchange may begin. */
accel_status accel_leave(accel *a, int unit);
/* Moves running exchanges on, where no thread does. */
accel_status accel_poll(accel *a);
/* True where the last accel_backward ended an accumulation: after every
 * grad_accum batches, with the last batch of the loader, and where
 * accel_sync_next said so before it (on all ranks). */
int	     accel_syncing(const accel *a);
void	     accel_sync_next(accel *a);

/* For data that some ranks have more of than others.  Each rank says whether
 * it has a batch; *active is how many have.  While it is not 0 all ranks go
 * on, those without a batch too, so that parameters stay the same:
 *
 *	for (;;) {
 *		have = my_next(&batch);
 *		accel_join(a, have, &active);
 *		if (active == 0)
 *			break;
 *		accel_backward(a, have ? fn : NULL, &batch);
 *		accel_step(a, accel_adamw, &adamw);
 *	}
 */
accel_status accel_join(accel *a, int have, int *active);

/* What the loss has to be multiplied by before backward: 1, or with
 * config.loss_scale the present scale.  As torch's GradScaler: after an
 * infinite or NaN gradient on any rank accel_step skips the update, counts no
 * step and multiplies the scale by scale_backoff; after scale_interval good
 * steps in a row it multiplies it by scale_growth. */
float	     accel_loss_scale(const accel *a);
/* 1 where the last accel_step that was due was skipped for an overflow. */
int	     accel_step_was_skipped(const accel *a);

/* Scales all gradients so that their norm is at most max_norm.  *norm (NULL is
 * fine) is the norm before, without loss scale; 0 while accumulating.  Not
 * finite: the gradients stay as they are.  Waits for the exchange; unscaling,
 * averaging and the norm are one pass. */
accel_status accel_clip_grad_norm(accel *a, float max_norm, float *norm);
/* Cuts each element to [-most, most], after unscaling. */
accel_status accel_clip_grad_value(accel *a, float most);

typedef struct {
	int		 unit, tensor;
	size_t		 offset, n;	/* elements of that tensor */
	/* At the offset, in config.memory.  Where param is 16 bits wide,
	 * "master" are its values in F32 and grad and state are F32 as well:
	 * update master, then round it to param.  Else master is NULL and all
	 * are of dtype. */
	void		*param, *grad;
	float		*master;
	void		*state[4];
	accel_dtype	 dtype;		/* of param */
	uint32_t	 flags;
	const char	*name;		/* of the tensor */
	const accel_group *group;	/* the tensor's, or NULL */
	int		 ndim;		/* of the whole tensor, not the range */
	const int64_t	*shape;
	void		*memory;	/* libaccel's own; NULL: the host's */
} accel_range;

/* Updates the parameters of the ranges.  "step" counts from 1. */
typedef accel_status (*accel_update_fn)(void *user, const accel_range *r,
    int nrange, int64_t step);

/* The averaged and unscaled gradients, to look at or to change before
 * accel_step; *nrange 0 while accumulating.  Borrowed until accel_step. */
accel_status accel_gradients(accel *a, const accel_range **r, int *nrange);

/* Waits for the gradients, calls fn over what this rank updates, clears the
 * gradients.  ACCEL_SKIPPED while accumulating and after an overflow. */
accel_status accel_step(accel *a, accel_update_fn fn, void *user);

/* ---- how gradients travel ------------------------------------------------ */

typedef struct {
	int		 index, last;	/* last: 1 for the last one of a step */
	void		*data;		/* this rank's sums, n elements; of
					   config.memory */
	size_t		 n;
	accel_dtype	 dtype;		/* F32 or F64 */
	int		 round;		/* from 0 */
	int		 count;		/* buckets of a step */
} accel_bucket;

/* An exchange of one's own: makes of "data" the sum over all ranks, or what
 * shall stand for it.  Its first round is called inside accel_leave or
 * accel_backward, bucket by bucket in the same order on all ranks.  Either it
 * does all at once, by any collective of this header; or it begins some with the
 * two calls below, which go on while the program computes.  It is then called
 * for the next round when they are over, in accel_step, or what waits before
 * it; a round that begins none is the bucket's last.  A failure ends the job:
 * the other ranks get ACCEL_EPEER. */
typedef accel_status (*accel_hook)(void *user, accel_bucket *b);
/* Inside a hook, at most ACCEL_HOOK_MOST in a round.  The memory is the
 * program's and is left alone until the next round. */
enum { ACCEL_HOOK_MOST = 8 };
/* op: ACCEL_SUM, or but for 16-bit types ACCEL_MAX or ACCEL_MIN. */
accel_status accel_hook_all_reduce(accel *a, void *buf, size_t n,
    accel_dtype t, accel_op op);
accel_status accel_hook_all_gather(accel *a, const void *in, void *out,
    size_t bytes_of_one);
/* NULL: none.  Between steps; collective, and compares. */
accel_status accel_set_hook(accel *a, accel_hook fn, void *user);

/* Local SGD: from the next step on ranks update by their own gradients, and
 * the parameters are averaged after each "steps" steps; 0: gradients travel
 * again.  Optimizer state stays each rank's own.  End with
 * accel_average_parameters.  Collective, and compares. */
accel_status accel_local_sgd(accel *a, int steps);
accel_status accel_average_parameters(accel *a);
/* Collective: are the parameters the same on all ranks, to the bit?
 * ACCEL_EMISMATCH names the first tensor and the ranks that differ. */
accel_status accel_check_replicas(accel *a);

/* ---- optimizers ---------------------------------------------------------- */

/*
 * Ready-made, for F32, F16 and BF16.  One pass over memory (Adafactor: three),
 * and the same bits on every CPU: no product is contracted into a sum.  After
 * 20 steps parameters are as those of the named class of torch.optim within
 * 1e-6 of the largest.  A group's lr_scale and weight_decay apply;
 * ACCEL_NO_DECAY means none.  The _INIT values are torch's defaults, where it
 * has the optimizer.  Without an accel they may be called by any thread, each on
 * ranges of its own.
 */

/* AdamW: decay apart from the gradient (arXiv:1711.05101; torch AdamW).
 * Adam: decay added to the gradient (arXiv:1412.6980; torch Adam). */
typedef struct {
	double lr, beta1, beta2, eps, weight_decay;
} accel_adamw_args;			/* needs 2 state arrays */
typedef accel_adamw_args accel_adam_args;
#define ACCEL_ADAMW_INIT { 1e-3, 0.9, 0.999, 1e-8, 0.01 }
#define ACCEL_ADAM_INIT { 1e-3, 0.9, 0.999, 1e-8, 0 }
accel_status accel_adamw(void *args, const accel_range *r, int nrange,
    int64_t step);
accel_status accel_adam(void *args, const accel_range *r, int nrange,
    int64_t step);

/* As torch SGD: decay added to the gradient; the first step's momentum is the
 * gradient itself, undampened; nesterov wants momentum and no dampening. */
typedef struct {
	double lr, momentum, weight_decay, dampening;
	int nesterov;
} accel_sgd_args;			/* needs 1 with momentum, else 0 */
#define ACCEL_SGD_INIT { 1e-3, 0, 0, 0, 0 }
accel_status accel_sgd(void *args, const accel_range *r, int nrange,
    int64_t step);

/* The sign of a momentum, decay as in AdamW (arXiv:2302.06675, program 1). */
typedef struct {
	double lr, beta1, beta2, weight_decay;
} accel_lion_args;			/* needs 1 */
#define ACCEL_LION_INIT { 1e-4, 0.9, 0.99, 0 }
accel_status accel_lion(void *args, const accel_range *r, int nrange,
    int64_t step);

/* As torch Adafactor (arXiv:1804.04235): the second moment of the last two
 * axes as a row and a column of means.  "lr" bounds the relative step.  Sums
 * go over a tensor, so ranges have to be whole tensors. */
typedef struct {
	double lr, beta2_decay;
	double eps1;			/* 0: that of float, 2^-23 */
	double eps2;
	double d;			/* the update's rms is at most this */
	double weight_decay;
} accel_adafactor_args;			/* needs ACCEL_FACTORED */
#define ACCEL_ADAFACTOR_INIT { 0.01, -0.8, 0, 1e-3, 1, 0.01 }
accel_status accel_adafactor(void *args, const accel_range *r, int nrange,
    int64_t step);

/* ---- the learning rate --------------------------------------------------- */

/*
 * A scheduler owns the lr of an optimizer's arguments, and nothing else:
 *
 *	accel_schedule how = ACCEL_SCHEDULE_INIT;
 *	how.kind = ACCEL_LR_COSINE;
 *	how.warmup = 100;
 *	how.total = 1000;
 *	accel_scheduler_new(a, &adamw.lr, &how, &s);	lr is that of count 0
 *	...
 *	accel_step(a, accel_adamw, &adamw);
 *	accel_scheduler_step(s);			lr is the next step's
 *
 * The rate is the one that lr had at accel_scheduler_new times a factor f(c) of
 * the count c.  A step counts as many as there are ranks, as Accelerate does:
 * "total" is the number of steps that one process would make, and stays when
 * ranks are added.  Names and formulas are those of transformers'
 * get_*_schedule and torch's StepLR and MultiStepLR.  During the warm-up f is
 * c / warmup; t below is (c - warmup) / (total - warmup).
 */
typedef enum {
	ACCEL_LR_CONSTANT = 0,		/* 1 */
	ACCEL_LR_LINEAR = 1,		/* 1 - t, at least 0 */
	ACCEL_LR_COSINE = 2,		/* (1 + cos(2 pi cycles t)) / 2, from
					   1 to "end"; on past total too */
	ACCEL_LR_RESTARTS = 3,		/* as many falls along a half cosine as
					   cycles; 0 past total */
	ACCEL_LR_POLYNOMIAL = 4,	/* (1 - t)^power, from 1 to "end" */
	ACCEL_LR_INVERSE_SQRT = 5,	/* 1 / sqrt(1 + (c - warmup) / every) */
	ACCEL_LR_STEP = 6,		/* gamma^((c - warmup) / every) */
	ACCEL_LR_MILESTONES = 7,	/* gamma^(milestones <= c - warmup) */
	ACCEL_LR_FN = 8			/* fn(user, c) */
} accel_lr_kind;

enum {
	ACCEL_LR_ONCE = 1,		/* a step counts 1, whatever the world;
					   as Accelerate with split_batches */
	ACCEL_LR_EACH_CALL = 2		/* every call counts 1, also without a
					   step (step_with_optimizer=False) */
};

typedef double (*accel_lr_fn)(void *user, int64_t count);

typedef struct {
	size_t		 size;		/* set by ACCEL_SCHEDULE_INIT */
	accel_lr_kind	 kind;
	uint32_t	 flags;		/* ACCEL_LR_ONCE, _EACH_CALL */
	int64_t		 warmup;	/* 0: none */
	int64_t		 total;		/* with the warm-up */
	double		 end;		/* a rate, not a factor */
	double		 cycles;	/* 0: a half; RESTARTS: 1 */
	double		 power;		/* 1 */
	double		 gamma;		/* 0.1 */
	int64_t		 every;		/* 0: INVERSE_SQRT: warmup or 10000 */
	const int64_t	*milestone;	/* ascending; copied */
	int		 nmilestone;
	accel_lr_fn	 fn;
	void		*user;
} accel_schedule;

#define ACCEL_SCHEDULE_INIT { sizeof(accel_schedule), ACCEL_LR_CONSTANT, 0, \
    0, 0, 0, 0, 1, 0.1, 0, NULL, 0, NULL, NULL }

typedef struct accel_scheduler accel_scheduler;

/* "lr" is the caller's and stays until accel_scheduler_free. */
accel_status accel_scheduler_new(accel *a, double *lr,
    const accel_schedule *how, accel_scheduler **s);
/* Leaves lr as it is.  Before accel_fini. */
void	     accel_scheduler_free(accel_scheduler *s);
/* Moves on if accel_step has updated since the last call.  ACCEL_SKIPPED while
 * accumulating and after an overflow, when lr stays. */
accel_status accel_scheduler_step(accel_scheduler *s);

/* What a checkpoint has to hold; "base" is the lr of accel_scheduler_new. */
typedef struct {
	int64_t count;
	double base;
} accel_scheduler_state;
void	     accel_scheduler_get(const accel_scheduler *s,
    accel_scheduler_state *state);
/* Sets lr too. */
accel_status accel_scheduler_set(accel_scheduler *s,
    const accel_scheduler_state *state);

/* ---- 8-bit floats -------------------------------------------------------- */

typedef enum {
	ACCEL_E4M3 = 0,			/* to 448, a NaN and no infinity:
					   torch.float8_e4m3fn */
	ACCEL_E5M2 = 1			/* to 57344: torch.float8_e5m2 */
} accel_fp8_format;

/* The casts of one number (arXiv:2209.05433).  To 8 bits: to nearest, ties to
 * even; what is too large becomes the largest ("saturate") or else NaN (E4M3)
 * or infinity (E5M2); a NaN stays one.  torch 2.15 saturates E4M3 alone.  Any
 * thread. */
float	     accel_fp8_value(accel_fp8_format format, uint8_t code);
uint8_t	     accel_fp8_code(accel_fp8_format format, float x, int saturate);

/*
 * Delayed scaling of one tensor, as Transformer Engine's: its codes are of
 * x * scale, where the scale brings the largest |x| of the past to the largest
 * code.  A plain struct of the caller's, which one thread uses at a time; in a
 * checkpoint belong scale and the history.
 */
typedef struct {
	accel_fp8_format format;
	int	 margin;		/* halve the scale so often; 0 */
	int	 most_recent;		/* by the last step alone, not by the
					   largest of the history; 0 */
	int	 length;		/* of the history; theirs has 1024 */
	float	*history;		/* largest |x| of the last steps; [0] is
					   of this one, then the oldest first */
	float	 scale, scale_inv;
} accel_fp8;

/* Scale 1, margin 0; clears the history, which is the caller's and stays. */
accel_status accel_fp8_init(accel_fp8 *s, accel_fp8_format format,
    float *history, int length);
/* Saturated codes of n numbers; notes their largest in history[0], where NaNs
 * do not count. */
void	     accel_fp8_cast(accel_fp8 *s, const float *x, size_t n,
    uint8_t *codes);
/* And back. */
void	     accel_fp8_expand(const accel_fp8 *s, const uint8_t *codes,
    size_t n, float *x);
/* Collective, once a step: takes the largest over all ranks, sets the scales
 * for the next step and moves the histories on.  A scale stays where the
 * largest is 0 or infinite. */
accel_status accel_fp8_update(accel *a, accel_fp8 *const *s, int n);

/* ---- data ---------------------------------------------------------------- */

/*
 * A source has samples, numbered from 0; a loader deals their numbers to the
 * ranks and hands out this rank's rows, batch by batch.  A source belongs to
 * the caller, may serve several loaders, and is freed behind them.  Reading
 * one changes nothing in it.
 */
typedef struct accel_source accel_source;

/* "n" rows of row_bytes side by side, in memory that stays. */
accel_status accel_source_memory(const void *rows, int64_t n,
    size_t row_bytes, accel_source **s);

/* Token files, mapped.  Sample i is tokens [i * stride, i * stride + seq]: a
 * row is seq + 1 int32_t, inputs and, one further, what they predict.  No
 * sample goes over the end of a file. */
typedef enum {
	ACCEL_TOKENS_HEADER = 0,	/* accel_tokens_write's or llm.c's */
	ACCEL_TOKENS_RAW16 = 2,		/* uint16 alone, as nanoGPT writes */
	ACCEL_TOKENS_RAW32 = 4		/* uint32 alone */
} accel_tokens_layout;
typedef struct {
	size_t	size;			/* set by ACCEL_TOKENS_INIT */
	int	seq;			/* tokens of a sample */
	int	stride;			/* 0: seq */
	int64_t	vocab;			/* other numbers are damage; 0: any */
	accel_tokens_layout layout;
} accel_tokens;
#define ACCEL_TOKENS_INIT { sizeof(accel_tokens), 0, 0, 0, ACCEL_TOKENS_HEADER }
accel_status accel_source_tokens(const char *const *paths, int npath,
    const accel_tokens *config, accel_source **s);
/* Writes such a file, of 2 or 4 bytes a token, beside and renamed. */
accel_status accel_tokens_write(const char *path, const int32_t *tokens,
    int64_t n, int width);

/* Records of any length, each checked by a hash when it is read: PATH and
 * PATH.idx, as accel_records_* write them. */
accel_status accel_source_records(const char *path, accel_source **s);
typedef struct accel_records accel_records;
accel_status accel_records_new(const char *path, accel_records **w);
accel_status accel_records_add(accel_records *w, const void *data,
    size_t bytes);
/* Frees w.  keep: the files take their names; else nothing is left. */
accel_status accel_records_close(accel_records *w, int keep);

/* Writes sample "index" to "row", which has "room" bytes, and its length to
 * *bytes (which is row_bytes before).  Where rows differ in length and this
 * one does not fit: sets *bytes and returns ACCEL_OK; it is called again with
 * that room.  A stream returns ACCEL_END behind its last sample, is asked in
 * order, and begins anew at index 0.  A negative status is what accel_next
 * then returns. */
typedef accel_status (*accel_read_fn)(void *user, int64_t epoch, int64_t index,
    void *row, size_t room, size_t *bytes);
/* n: samples, asked for in any order, or -1 for a stream.  row_bytes 0: they
 * differ. */
accel_status accel_source_callback(accel_read_fn fn, void *user, int64_t n,
    size_t row_bytes, accel_source **s);

int64_t	     accel_source_count(const accel_source *s);	/* -1: a stream */
size_t	     accel_source_row_bytes(const accel_source *s); /* 0: they differ */
/* NULL is fine. */
void	     accel_source_free(accel_source *s);

enum {
	ACCEL_SHUFFLE = 1,	/* torch.randperm's order for seed + epoch */
	ACCEL_SPLIT = 2,	/* "batch" counts all ranks' rows */
	ACCEL_UNEVEN = 4,	/* leave the last batches short, or empty */
	ACCEL_DROP_LAST = 8,	/* full rounds alone */
	ACCEL_DISPATCH = 16	/* rank 0 reads for all */
};

typedef struct {
	size_t	 size;			/* set by ACCEL_LOADER_INIT */
	int	 batch;			/* rows of one rank */
	uint32_t flags;
	uint64_t seed;			/* its low 32 bits count, as in torch */
	int	 prefetch;		/* batches read ahead by a thread of
					 * ours; -1: 2, of a callback 0 */
	int	 peers;			/* this many ranks side by side see the
					 * same (tensor parallel); 0: 1 */
	double	 limit_s;		/* for one batch to come; 0: 600 */
} accel_loader_config;
#define ACCEL_LOADER_INIT { sizeof(accel_loader_config), 1, 0, 0, -1, 0, 0 }

/*
 * Deals whole batches in turn to the ranks, or with ACCEL_SPLIT each batch in
 * equal parts.  Missing rows at the end are taken from the start of the data,
 * so that all ranks do the same work; with ACCEL_DISPATCH what is left is
 * first cut evenly.  (Accelerate's split_batches, even_batches, drop_last,
 * dispatch_batches, SeedableRandomSampler; the same samples, except that its
 * dispatcher leaves ranks without any where there are fewer samples than
 * ranks.)
 *
 * Collective: ranks that pass other arguments are named.  With ACCEL_DISPATCH
 * the source is rank 0's, NULL elsewhere, and accel_next is collective.  With
 * a prefetch of more than 0 a callback runs on the loader's thread.
 */
accel_status accel_loader_open(accel *a, const accel_source *s,
    const accel_loader_config *config, accel_loader **l);
/* The same without a source: sample numbers 0 .. nsample-1 alone. */
accel_status accel_loader_new(accel *a, int64_t nsample, int batch,
    uint32_t flags, uint64_t seed, accel_loader **l);
/* Ends the thread, behind a read that runs.  NULL is fine. */
void	     accel_loader_free(accel_loader *l);
/* Rows of one full batch of this rank. */
int	     accel_loader_rows(const accel_loader *l);

typedef struct {
	int		 rows;		/* 0: none for this rank (ACCEL_UNEVEN;
					 * see accel_join) */
	const int64_t	*index;		/* sample numbers, one a row */
	const void	*data;		/* the rows, one behind the other */
	const size_t	*offset;	/* row i: bytes offset[i] to [i + 1] */
} accel_batch;

/* This rank's next batch, borrowed until the next call for this loader.
 * ACCEL_END after the last; the next call then begins the next epoch.  After
 * an error the next call tries the same batch again. */
accel_status accel_next_batch(accel_loader *l, accel_batch *batch);
/* The same for numbers alone: index has room for accel_loader_rows. */
accel_status accel_next(accel_loader *l, int64_t *index, int *rows);

typedef struct {
	int64_t	epoch;			/* of the batch given last, or next */
	int64_t	batches;		/* of this epoch, given or skipped */
	int64_t	remainder;		/* Accelerate's: samples modulo all
					 * ranks' batch; -1: not known, or
					 * ACCEL_DROP_LAST.  In a stream and
					 * with ACCEL_DISPATCH: the last
					 * round's samples, -1 before it */
	int	end;			/* the batch given last is the last */
} accel_loader_place;
void	     accel_loader_where(const accel_loader *l,
    accel_loader_place *place);
/* Leaves out the next "batches" batches of this rank, unread (in a stream:
 * unused); beyond the last: ACCEL_END follows. */
accel_status accel_loader_skip(accel_loader *l, int64_t batches);
/* Goes to the begin of that epoch. */
accel_status accel_loader_set_epoch(accel_loader *l, int64_t epoch);

/* The place as bytes, for a checkpoint: behind it come the same batches as
 * came here.  It fits a loader over as many samples with the same seed, flags
 * and batch; on another number of ranks where a round begins at that place. */
enum { ACCEL_LOADER_STATE = 72 };
void	     accel_loader_get_state(const accel_loader *l,
    unsigned char state[ACCEL_LOADER_STATE]);
accel_status accel_loader_set_state(accel_loader *l,
    const unsigned char state[ACCEL_LOADER_STATE]);

/* Collective: all ranks' rows of the batch that accel_next gave last, in the
 * order of the data, without the rows that were added at the end.  "out" has
 * room for world * accel_loader_rows rows. */
accel_status accel_gather_for_metrics(const accel_loader *l, const void *in,
    size_t row_bytes, void *out, size_t *nrow);

/* ---- collectives (counts in elements) ------------------------------------ */

/*
 * These four move data at once.  Ranks that differ in call or arguments are
 * found with ACCEL_DEBUG, or where one waits in vain, after ACCEL_TIMEOUT.
 */

/* In place.  Sums of 16-bit types are rounded at each addition; their means,
 * minima and maxima are made in F32. */
accel_status accel_all_reduce(accel *a, void *buf, size_t n, accel_dtype t,
    accel_op op);
accel_status accel_broadcast(accel *a, void *buf, size_t bytes, int root);
/* out: world times bytes_of_one, in rank order. */
accel_status accel_all_gather(accel *a, const void *in, void *out,
    size_t bytes_of_one);
/* Until all have come: Accelerate's wait_for_everyone. */
accel_status accel_barrier(accel *a);

/*
 * The calls from here to the end of the section are collective, and first
 * compare on all ranks what they were called with (one small exchange).  Where
 * ranks make different calls, or one call with what must not differ, all of
 * them return ACCEL_EMISMATCH and accel_errmsg names rank and argument.  What
 * is wrong on one rank is ACCEL_EINVAL there.
 */

/* The rows of all ranks, one behind the other; each may have another number of
 * them.  Rows are row_bytes long; "room" is the rows that fit in out; *n is
 * how many there are. */
accel_status accel_gather(accel *a, const void *in, size_t nrow,
    size_t row_bytes, void *out, size_t room, size_t *n);
/* As accel_all_reduce, the result in root's buf alone; the others' stay. */
accel_status accel_reduce(accel *a, void *buf, size_t n, accel_dtype t,
    accel_op op, int root);
/* Axis "dim" made as long as on the rank where it is longest, by elements of
 * "value" behind the data, or with "front" ahead of them.  shape: ndim (1 to
 * 8) lengths, row-major, equal on all ranks but for dim.  out has "room"
 * bytes; NULL asks for out_shape (ndim) alone. */
accel_status accel_pad_across(accel *a, const void *in, const int64_t *shape,
    int ndim, int dim, accel_dtype t, double value, int front, void *out,
    size_t room, int64_t *out_shape);

/* A list of byte strings; string i is offset[i + 1] - offset[i] bytes at data +
 * offset[i].  Begin with ACCEL_OBJECTS_INIT; offset is NULL while empty. */
typedef struct {
	size_t	 count;
	char	*data;
	size_t	*offset;
} accel_objects;
#define ACCEL_OBJECTS_INIT { 0, NULL, NULL }
/* Appends a copy.  Not collective. */
accel_status accel_objects_add(accel_objects *o, const void *data,
    size_t bytes);
void	     accel_objects_free(accel_objects *o);	/* ready again */
/* The lists of all ranks, one behind the other; *all is new, and the caller's to
 * free. */
accel_status accel_gather_objects(accel *a, const accel_objects *mine,
    accel_objects *all);
/* As accel_gather_for_metrics: mine has one object a row of the batch. */
accel_status accel_gather_objects_for_metrics(const accel_loader *l,
    const accel_objects *mine, accel_objects *all);
/* root's list on all ranks, in place of theirs. */
accel_status accel_broadcast_objects(accel *a, accel_objects *o, int root);

/* Runs fn on rank 0, or each host's first rank, and then on the others (say, to
 * fill a cache), which wait for it as long as for any other thing
 * (ACCEL_TIMEOUT).  Where a first one fails no other runs, and all return its
 * status; else each its own. */
typedef accel_status (*accel_fn)(void *user);
accel_status accel_main_first(accel *a, accel_fn fn, void *user);
accel_status accel_local_main_first(accel *a, accel_fn fn, void *user);

/* A flag that any rank sets and all see: stop here, save now.  To set it is this
 * rank's alone; *set is 1 on all ranks where any had set it, and the flag is
 * down again. */
void	     accel_set_trigger(accel *a);
accel_status accel_check_trigger(accel *a, int *set);

/* ---- who does it (not collective) ---------------------------------------- */

int	     accel_on_main(const accel *a);		/* rank 0 */
int	     accel_on_local_main(const accel *a);	/* each host's first */
int	     accel_on_last(const accel *a);

/* Prints on rank 0's stdout in one write; elsewhere nothing. */
void	     accel_print(const accel *a, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* This rank's share of n items: [*begin, *begin + *count); the first n modulo
 * world ranks have one more.  *pad (NULL is fine): how often item n - 1 is to
 * follow it, so that all ranks have as many. */
void	     accel_split_between(const accel *a, int64_t n, int64_t *begin,
    int64_t *count, int64_t *pad);

/* ---- several ranks in one program ---------------------------------------- */

typedef struct {
	size_t	 size;			/* set by ACCEL_SPAWN_INIT */
	double	 limit_s;		/* for all to end; 0: 600 */
	double	 peer_timeout_s;	/* ACCEL_PEER_TIMEOUT; 0: as it is */
} accel_spawn_config;
#define ACCEL_SPAWN_INIT { sizeof(accel_spawn_config), 0, 0 }

/*
 * Forks n ranks on this host, as notebook_launcher and debug_launcher do; each
 * has the environment of a launched one (RANK, WORLD_SIZE, LOCAL_RANK,
 * MASTER_ADDR, MASTER_PORT, ACCEL_JOB), calls fn, which calls accel_init, and
 * ends with its status.  A rank that fails, dies or is late ends the others;
 * its status is returned (ACCEL_EPEER for a death) and accel_errmsg says which
 * rank and why.  config NULL: the defaults.
 *
 * Call it from a process of one thread, without an accel: what fork leaves
 * out, threads and their locks, the ranks lack.  They do not run atexit's
 * functions; their stdout is the caller's, and is flushed.
 */
accel_status accel_spawn(int n, accel_fn fn, void *user,
    const accel_spawn_config *config);

/* ---- checkpoints --------------------------------------------------------- */

enum { ACCEL_PER_RANK = 1 };

/* State of the program's own that a checkpoint keeps and accel_load_state
 * brings back, under a name: bytes that stay where they are.  Rank 0's are
 * saved and all ranks get them, or with ACCEL_PER_RANK each rank's (a random
 * state); loaded on more ranks than were saved, the others keep what they
 * have.  Register the same before saving and before loading. */
accel_status accel_register(accel *a, const char *name, void *data,
    size_t bytes, uint32_t flags);
/* The same by functions: how many bytes it takes now, and writing and reading
 * them. */
typedef struct {
	size_t	     (*size)(void *user);
	accel_status (*save)(void *user, void *out, size_t bytes);
	accel_status (*load)(void *user, const void *data, size_t bytes);
} accel_object;
accel_status accel_register_object(accel *a, const char *name,
    const accel_object *o, void *user, uint32_t flags);
/* Forgets it; a name that is not there is fine. */
accel_status accel_unregister(accel *a, const char *name);

typedef struct {
	size_t	 size;			/* set by ACCEL_SAVE_INIT */
	int	 numbered;		/* to DIR/checkpoints/checkpoint_N, with
					 * N one above the highest there */
	int	 total_limit;		/* of those: keep so many; 0: all */
	int	 async;			/* copy, and write in a thread; the
					 * memory is kept for the next */
	size_t	 shard_bytes;		/* of a file; 0: 10 GB */
} accel_save_args;

#define ACCEL_SAVE_INIT { sizeof(accel_save_args), 0, 0, 0, 0 }

/* Collective: saves parameters, masters, optimizer state, step, loaders and
 * registered objects, so that training goes on as if it had never stopped, bit
 * for bit.  Safetensors files and a manifest with checksums; rank 0 alone
 * writes.  The folder appears whole or not at all, and replaces a checkpoint
 * that is there in one step; a folder with anything else in it is refused.
 * args NULL: ACCEL_SAVE_INIT.  In the middle of an accumulation each rank's
 * gradients are saved too.
 * All ranks wait for rank 0, no longer than for anything else (ACCEL_TIMEOUT).
 * With "async" an error comes from the next save, accel_save_wait or
 * accel_fini, which wait for it, at most ACCEL_SAVE_TIMEOUT seconds (600). */
accel_status accel_save_state(accel *a, const char *dir,
    const accel_save_args *args);
/* Collective: the save under way, if any, is over, or has failed. */
accel_status accel_save_wait(accel *a);
/* Collective, after accel_prepare: the checkpoint in dir, or the highest
 * numbered one below it.  All files are checked first, and a damaged one is
 * named; then, on any number of ranks, all is as it was saved.  ACCEL_EMISMATCH
 * names what does not fit this program; nothing is changed then, unless it is
 * an object, or a loader, that does not take what was saved of it: they come
 * last. */
accel_status accel_load_state(accel *a, const char *dir);

/* Collective: the parameters alone as model.safetensors, or with more than
 * shard_bytes (0: 10 GB) as several and an index, as transformers and others
 * load them.  The folder may have other files; an older model in it is
 * replaced. */
accel_status accel_save_model(accel *a, const char *dir, size_t shard_bytes);

/* ---- profile ------------------------------------------------------------- */

/* Writes PREFIX_RANK.json: where the time of each step goes (compute, ready,
 * communication, wait, update, ...), for chrome://tracing or ui.perfetto.dev,
 * until accel_profile_stop or accel_fini.  The whole run where ACCEL_PROFILE
 * names the prefix.  Not collective. */
accel_status accel_profile_start(accel *a, const char *prefix);
accel_status accel_profile_stop(accel *a);
/* Spans of the program's own; they nest.  Free while nothing is profiled. */
void	     accel_profile_begin(accel *a, const char *name);
void	     accel_profile_end(accel *a);

/* ---- trackers ------------------------------------------------------------ */

/*
 * Numbers by step, and settings, for people: on the main rank (0) alone unless
 * a tracker was opened with ACCEL_EVERY_RANK.  A tracker that fails later is
 * said once, on stderr, and left alone; training goes on.  Whoever started the
 * run gets all of it too, through ACCEL_TRACK (see accel-launch(1)).
 * accel_fini closes them.
 */
enum { ACCEL_EVERY_RANK = 1 };
enum { ACCEL_KEY_MAX = 250 };		/* bytes of a key, as MLflow has it */

/* Opens one.  kind and where:
 *	jsonl		a file that lines of JSON are added to
 *	csv		a file that rows are added to: time,rank,step,key,value
 *	tensorboard	a folder: a new event file in it
 *	mlflow		http://HOST:PORT/EXPERIMENT, or NULL: what the
 *			environment has in MLFLOW_TRACKING_URI and
 *			MLFLOW_EXPERIMENT_NAME; sent by a thread of its own
 * With ACCEL_EVERY_RANK the other ranks' name ends in ".rank-N". */
accel_status accel_track(accel *a, const char *kind, const char *where,
    uint32_t flags);

/* Functions of the program's own as a tracker; any may be NULL.  A negative
 * status ends it, as a failure. */
typedef struct {
	accel_status (*config)(void *user, const char *key, const char *value);
	accel_status (*log)(void *user, int64_t step, const char *key,
	    double value);
	accel_status (*close)(void *user);
} accel_tracker;
accel_status accel_track_with(accel *a, const accel_tracker *t, void *user,
    uint32_t flags);

/* One number at one step: "loss", "train/lr".  Fails on a bad key alone. */
accel_status accel_log(accel *a, int64_t step, const char *key, double value);
/* A setting of the run. */
accel_status accel_log_config(accel *a, const char *key, const char *value);

#ifdef __cplusplus
}
#endif
#endif
