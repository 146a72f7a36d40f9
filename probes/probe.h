/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: what this machine is.  Facts, and no decisions.
 *
 * A probe neither hangs nor fails hard: what cannot be found stays 0 or NULL,
 * and what asks a driver or another program has a time limit.
 *
 * HWLOC_XMLFILE and HWLOC_SYNTHETIC, as hwloc(7) has them, describe another
 * machine: then only what the description says is told, and nothing of the
 * host that runs the probe.
 */
#ifndef PROBES_PROBE_H
#define PROBES_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct site;

struct gpu {
	char		*vendor;	/* "NVIDIA", "AMD", ... or "10de" */
	char		*model;		/* or NULL */
	char		*pci;		/* "0000:1b:00.0", or NULL */
	uint64_t	 memory;	/* bytes, or 0 */
	int		 major, minor;	/* CUDA's compute capability, or 0 */
	bool		 usable;	/* a driver answers for it */
};

struct iface {
	char		*name, *address; /* address: or NULL */
	bool		 up, loopback;
	long		 speed;		/* Mbit/s, or 0 */
};

struct machine {
	char		*hostname;
	bool		 here;		/* false: described by a file */
	unsigned	 cores, cpus, numa, packages;
	uint64_t	 memory;	/* bytes */
	struct gpu	*gpu;
	size_t		 gpus;
	struct iface	*iface;
	size_t		 ifaces;
	char		*python;	/* path, or NULL */
	char		*python_version, *torch, *accelerate; /* or NULL */
};

/* Fills *m, which need not be initialised; the caller owns it then and calls
 * machine_clear().  -1 only without memory; *m is empty then. */
int  machine_probe(struct machine *m, struct err *err);
/* The same without starting Python, which takes longer than all the rest. */
int  machine_probe_quickly(struct machine *m, struct err *err);
void machine_clear(struct machine *m);

/* GPUs that a program can use, and the lowest capability of those times ten
 * (80 for 8.0), 0 where one is unknown. */
size_t machine_usable_gpus(const struct machine *m, int *capability);

/* What the rules of a configuration want to know of it.  Of GPUs only where all
 * are NVIDIA's: no other driver is asked. */
void machine_site(const struct machine *m, struct site *site);

/* One line for each kind of fact. */
int  machine_print(const struct machine *m, struct buf *out);

/* The same in one line, for a head: "2 packages, 16 cores, 4 GPUs". */
int  machine_summary(const struct machine *m, struct buf *out);

/* The parts.  Each adds to *m; -1 without memory. */
int  probe_cuda(struct machine *m, struct err *err);
int  probe_net(struct machine *m, struct err *err);
int  probe_python(struct machine *m, struct err *err);

/* Starts a program, found on PATH, in a process group of its own, with its
 * output in a pipe and nothing else.  0 or -1. */
int  probe_spawn(char *const argv[], pid_t *child, int *from);

/* Somebody on this machine has that TCP port now. */
bool probe_port_busy(long port);

/* Reads a child's pipe until its end, or for "ms"; then ends the child's
 * process group, if need be, reaps it and closes the pipe.  0, or -1 when time
 * ran out or it failed. */
int  probe_collect(pid_t child, int fd, int ms, struct buf *out);

/* Adds an empty GPU and returns it, or NULL. */
struct gpu *machine_add_gpu(struct machine *m);
#endif
