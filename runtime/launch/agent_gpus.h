/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_gpus: how busy this host's GPUs are, without a library: the agent is
 * static, and NVML is not to be had.  AMD's driver has files for it.  NVIDIA's
 * has nvidia-smi, which takes a while: it runs beside us, now and then, and
 * what it said last is what is known.
 */
#ifndef RUNTIME_LAUNCH_AGENT_GPUS_H
#define RUNTIME_LAUNCH_AGENT_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/buf.h"

enum { GPUS_MAX = 64, GPU_PROCESSES = 512 };

struct gpu_use {		/* WIRE_UNKNOWN where nobody says */
	uint32_t index, busy, used_mib, total_mib;
};

struct gpu_process {
	pid_t	 pid;
	uint32_t mib;
};

struct agent_gpus {
	struct gpu_use		 gpu[GPUS_MAX];
	size_t			 count;
	struct gpu_process	 process[GPU_PROCESSES];
	size_t			 processes;
	pid_t			 child;		/* nvidia-smi, or 0 */
	int			 fd;		/* what it writes, or -1 */
	struct buf		 said;
	int64_t			 asked;		/* last, or 0 */
	bool			 of_processes;	/* what it was asked for */
	bool			 absent;	/* there is no nvidia-smi */
};

/* Somebody wants to know.  "root" is "" but in tests. */
void agent_gpus_ask(struct agent_gpus *g, const char *root);
/* There is something on g->fd. */
void agent_gpus_hear(struct agent_gpus *g);

/* The parts, for tests: lines of nvidia-smi, "0, 37, 1024, 81559" of GPUs or
 * "4711, 2048" of processes; and AMD's files. */
void gpus_read_nvidia(struct agent_gpus *g, const char *text);
void gpus_read_processes(struct agent_gpus *g, const char *text);
void gpus_read_amd(struct agent_gpus *g, const char *root);
#endif
