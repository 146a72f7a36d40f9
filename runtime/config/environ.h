/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environ: what every rank of a run finds in its environment, as Accelerate's
 * launcher gives it.  RANK and its like are the launcher's (launch/plan.h).
 *
 * The configuration alone does not decide it; what else does is in struct
 * env_facts, which the caller finds out.  Besides that, the caller's own
 * variables OMP_NUM_THREADS, PYTHONPATH, NCCL_* and those of MPI count, as
 * they do for Accelerate.
 */
#ifndef RUNTIME_CONFIG_ENVIRON_H
#define RUNTIME_CONFIG_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct err;
struct strv;

/* Kinds of accelerator, in the order in which Accelerate looks for them. */
enum env_device {
	ENV_NONE, ENV_XPU, ENV_MLU, ENV_SDAA, ENV_MUSA,
	ENV_NPU, ENV_HPU, ENV_NEURON, ENV_CUDA, ENV_TPU,
	ENV_COUNT
};

struct env_facts {		/* all borrowed; 0 and NULL: not known */
	enum env_device	 device;
	const char *const	*gpu;		/* models, for NCCL */
	size_t			 gpus;
	const char		*driver;	/* NVIDIA's, "535.54.03" */
	long			 devices;	/* how many, of that kind */
	long			 cores;		/* physical ones of this host */
	long			 local;		/* ranks on one host */
	const char		*folder;	/* where the script runs */
};

/* The job-wide variables of every rank, added to *env.  facts may be NULL. */
int  config_env(const struct config *c, const struct env_facts *facts,
    struct strv *env, struct err *err);
/* OMP_NUM_THREADS for each rank; facts may be NULL. */
long config_threads(const struct config *c, const struct env_facts *facts);
/* The variable that says which devices a process sees. */
const char *env_mask(enum env_device device);
/* What was found, else the kind that the configuration names. */
enum env_device env_device(const struct config *c, enum env_device found);
/* Decides what nobody said, as Accelerate does without a file: one rank for
 * each device that may be used; several ranks without a distributed_type are
 * MULTI_GPU (or its like), and MULTI_CPU where there is no device.  "ranks" is
 * what the hosts have slots for, 0 where none were named. */
int  config_settle(struct config *c, const struct env_facts *facts, long ranks,
    struct err *err);
/* True where the ranks want an accelerator. */
bool config_wants_device(const struct config *c);
/* True where NCCL must leave peer-to-peer and InfiniBand alone: consumer GPUs
 * without either, under a driver that does not yet say so. */
bool env_nccl_off(const char *const gpu[], size_t gpus, const char *driver);
#endif
