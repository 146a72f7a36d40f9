/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm: the hosts of the Slurm allocation that we are in, from the variables
 * that Slurm sets; nothing is asked of it, and no scontrol is needed.
 */
#ifndef RUNTIME_LAUNCH_SLURM_H
#define RUNTIME_LAUNCH_SLURM_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct hosts;
struct strv;

/* Is this a batch script's, an salloc's or an srun's process? */
bool slurm_inside(void);

/*
 * Adds the nodes of the job.  Their slots are the job's tasks, where some node
 * has more than one (one a node is how jobs ask for a launcher); else, with
 * "devices", the GPUs of a node; else nobody said.  On failure *hosts is as it
 * was.
 */
int slurm_hosts(struct hosts *hosts, bool devices, struct err *err);

/*
 * The transport of a run: "ssh", "srun" or NULL where nobody said.  Where there
 * is an allocation and *hosts is empty, its nodes are put there.  Hosts that
 * were given stay, and are reached by ssh unless somebody said srun.
 */
int slurm_choose(const char *transport, struct hosts *hosts, bool devices,
    bool *srun, struct err *err);

/* Adds the names of a node list, "n[1-3,07],login,r[0-1]n[0-3]". */
int slurm_expand(const char *list, struct strv *names, struct err *err);

/* Fills count[n] from "2(x3),1".  -1 where it is no such list, or not of n. */
int slurm_counts(const char *text, long *count, size_t n);
#endif
