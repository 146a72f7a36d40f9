/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: who moves bytes between ranks.  One table of functions a backend; a
 * backend is a shared object opened at run time (libaccel-mpi.so,
 * libaccel-nccl.so), and one process alone needs none.
 *
 * Every operation only starts and hands out a request; the caller tests it.
 * Nothing here waits, so the caller can watch for dead ranks meanwhile.
 */
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

struct ctl;
struct err;

#define DEVICE_ABI 4

/* The numbers are accel.h's. */
enum device_type {
	DEVICE_F32 = 0, DEVICE_F16 = 1, DEVICE_BF16 = 2, DEVICE_F64 = 3,
	DEVICE_I32 = 4, DEVICE_I64 = 5, DEVICE_U8 = 6,
};
/* F16 and BF16: the sum alone, rounded at each addition. */
enum device_op { DEVICE_SUM = 0, DEVICE_MAX = 2, DEVICE_MIN = 3 };

/* What a plugin may ask of the control connection. */
struct device_host {
	struct ctl	*ctl;		/* NULL: none */
	const char	*netdev;	/* "" unknown */
	int		 rank, world, local_rank;
	/* The program computes on a GPU, the calling thread's, on this stream
	 * (a cudaStream_t); 0 and NULL: on the host. */
	int		 on_gpu;
	void		*stream;
	int (*put)(struct ctl *ctl, const char *key, const void *data,
	    size_t n, struct err *err);
	/* Copies exactly n bytes. */
	int (*get)(struct ctl *ctl, const char *key, void *data, size_t n,
	    struct err *err);
};

struct device_ops {
	int		 abi;
	const char	*name;
	/* Gives *state. */
	int  (*open)(void **state, const struct device_host *host,
	    struct err *err);
	/* "dead": a rank is gone, so nothing may wait for the others. */
	void (*close)(void *state, int dead);
	int  (*all_reduce)(void *state, void *buf, size_t n, int type, int op,
	    void **req, struct err *err);
	int  (*broadcast)(void *state, void *buf, size_t bytes, int root,
	    void **req, struct err *err);
	int  (*all_gather)(void *state, const void *in, void *out,
	    size_t bytes, void **req, struct err *err);
	int  (*reduce_scatter)(void *state, const void *in, void *out,
	    size_t nout, int type, int op, void **req, struct err *err);
	/* *done: the request is over and freed. */
	int  (*test)(void *state, void *req, int *done, struct err *err);
	/* Moves what runs on, from any thread, but never from two at a time.
	 * -1, having done nothing, where no second thread is allowed; NULL:
	 * nothing needs it. */
	int  (*poke)(void *state);
	/* on_gpu alone: what the program's stream gets from now on comes behind
	 * the request, which still has to be tested.  An operation on a GPU's
	 * memory comes behind what that stream had when it began.  NULL: memory
	 * of a GPU may not be given to this backend at all. */
	int  (*order)(void *state, void *req, struct err *err);
	/* Ends what runs, with whatever result; only close comes behind it.  From
	 * any thread.  NULL: nothing goes on by itself. */
	void (*abandon)(void *state);
};

/* What a plugin exports. */
extern const struct device_ops device_plugin;

struct device {
	const struct device_ops	*ops;	/* a guard's; NULL while closed */
	void			*state;
	struct ctl		*ctl;	/* borrowed */
	bool			 orders;	/* see device_ops.order */
};

/* name: "mpi" or "nccl".  With one rank there is nothing to open.  Of "host" the
 * ctl, the ranks and the GPU are read. */
int  device_open(struct device *dev, const char *name,
    const struct device_host *host, struct err *err);
void device_close(struct device *dev);

/* 1 over, 0 not yet, -1 failed or a rank is gone (then nothing is touched). */
int  device_test(struct device *dev, void *req, struct err *err);
/* Until it is over: polls, yields, then sleeps; ends when a rank dies, or by the
 * limit. */
int  device_wait(struct device *dev, void *req, struct err *err);

/* See device_ops.order; fails where a rank is gone. */
int  device_order(struct device *dev, void *req, struct err *err);

/* See guard.h; nothing happens while closed. */
void device_limit(struct device *dev, double limit_s);
bool device_timed_out(const struct device *dev);
void device_label(struct device *dev, const char *label);
void device_debug(struct device *dev, bool on);
void device_afloat(struct device *dev, int more);
void device_thread(struct device *dev, bool on);
void device_mark(struct device *dev, const char *what);

size_t device_size(int type);
#endif
