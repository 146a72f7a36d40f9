/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cma: keeps this process alive when another one of this host dies.
 *
 * UCX copies large messages out of the other process' memory (CMA, twice as
 * fast as through shared memory), and when that process is gone in the middle
 * it prints a backtrace and calls abort().  So that the survivor can say who
 * died and save what it has, UCX's calls of process_vm_readv and _writev come
 * here: where the process is gone they leave MPI by longjmp to whoever called
 * it, and nobody may call MPI again, as after any death.
 */
#ifndef RUNTIME_DEVICE_CMA_H
#define RUNTIME_DEVICE_CMA_H

#include <setjmp.h>
#include <stdbool.h>

/* Once, behind MPI_Init.  Without UCX's module nothing happens. */
void cma_guard(void);

/* Where the running MPI call of this thread is left to, or NULL; see CMA_CALL.
 * Without one UCX goes its own way. */
extern _Thread_local jmp_buf *cma_way_out;

/* rc = call, or -1 where another process is gone. */
#define CMA_CALL(rc, call) do {						\
	jmp_buf cma_here_;						\
									\
	if (setjmp(cma_here_) == 0) {					\
		cma_way_out = &cma_here_;				\
		(rc) = (call);						\
	} else {							\
		(rc) = -1;						\
	}								\
	cma_way_out = NULL;						\
} while (0)
#endif
