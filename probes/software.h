/* SPDX-License-Identifier: Apache-2.0 */
/*
 * software: what is installed here that a launch depends on.
 *
 * Facts are NAME=VALUE in a list; what is not here has no entry.  Libraries are
 * looked for, not opened, so that a broken one does no harm and a large one
 * costs no time.
 */
#ifndef PROBES_SOFTWARE_H
#define PROBES_SOFTWARE_H

struct err;
struct site;
struct strv;

/* kernel, libc, memory (bytes of the machine), available, swap, shm, cpu,
 * container, driver (NVIDIA's), rocm, cuda (toolkit), cudart, nccl, cudnn,
 * rccl, mpich, openmpi, mpiexec, ssh, ssh_agent, slurm (a job's number), git,
 * nvcc.  Of the machine that this runs on. */
int  probe_software(struct strv *facts, struct err *err);

/* The full path of a program on PATH, to be freed, or NULL. */
char *probe_which(const char *program);

/*
 * What a Python has, without importing packages that take seconds: executable,
 * version, and for each package (accelerate, torch, numpy, ...) its version;
 * torch_cuda, torch_hip and torch_xpu where PyTorch was built for them.
 * "slow", if not NULL, is called once after a second.  At most "ms"; 0, or -1
 * with the reason where there is no such program, it took too long or failed.
 */
int  probe_packages(struct strv *facts, const char *python, int ms,
    void (*slow)(const char *python), struct err *err);

/* What the rules of a configuration want to know of these packages. */
void software_site(const struct strv *facts, struct site *site);
#endif
