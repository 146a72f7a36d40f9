/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmi: PMI-1 for all ranks of a job, so that MPICH and its relatives find each
 * other without mpirun.  The ranks' lines come here, from every host: to the
 * launcher, or to libaccel's rank 0 where no launcher serves it.
 */
#ifndef RUNTIME_DEVICE_PMI_H
#define RUNTIME_DEVICE_PMI_H

#include <stddef.h>

struct pmi;

/* Sends a line to a rank. */
typedef void (*pmi_reply)(void *user, size_t rank, const char *line, size_t n);

/* "job" must be unlike any other's on these hosts: MPICH names shared memory
 * after it.  NULL without memory; freed by pmi_free(). */
struct pmi *pmi_new(size_t world, const char *job, pmi_reply reply, void *user);
void pmi_free(struct pmi *pmi);

/*
 * To be called about once a second.  MPICH 4's MPI_Finalize over UCX's TCP
 * waits in its last barrier without serving its peers, while one of them may
 * wait for just that (some 3 % of runs over two hosts; mpiexec has it too).  A
 * barrier to which nobody brings anything is therefore opened after a while for
 * those who wait; the others leave it as soon as they come.
 */
#define PMI_PATIENCE_MS 2000
void pmi_tick(struct pmi *pmi);

/* Answers one line.  Over PMI-1 it knows "get_wait", a get that is answered when
 * the key is there: for accel-pmix, which waits for other hosts so.
 * Returns -1, or the exit code of a rank that aborts. */
int pmi_line(struct pmi *pmi, size_t rank, const char *line, size_t n);
#endif
