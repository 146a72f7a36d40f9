/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export: a run in other launchers' words, so that nobody is locked in.
 *
 * Each gives a shell script or a file that starts the same ranks with the same
 * ACCELERATE_ environment as "accel launch" would.  Pure: nothing is started or
 * read.  On failure *out holds nothing that is of use.
 */
#ifndef RUNTIME_CONFIG_EXPORT_H
#define RUNTIME_CONFIG_EXPORT_H

struct buf;
struct config;
struct env_facts;
struct err;

struct export {
	const struct config	*config;	/* that breaks no rule */
	const struct env_facts	*facts;	/* or NULL: nothing is known */
	const char	*from;		/* what it was made from, for a comment */
	const char	*python;	/* interpreter, where one is named */
	const char	*hosts;		/* "node1:8,node2:8", or NULL */
	const char	*first;		/* address of the first of them, or NULL */
	char *const	*argv;		/* script and arguments; none: the words
					 * that the exported script is given */
};

/* A command for each machine. */
int export_torchrun(const struct export *x, struct buf *out, struct err *err);
/* One command for all machines, for MPICH; Open MPI names hosts otherwise. */
int export_mpirun(const struct export *x, struct buf *out, struct err *err);
/* A batch script whose tasks are the ranks. */
int export_slurm(const struct export *x, struct buf *out, struct err *err);
/* The JSON file that Accelerate would hand to DeepSpeed. */
int export_deepspeed(const struct export *x, struct buf *out,
    struct err *err);
#endif
