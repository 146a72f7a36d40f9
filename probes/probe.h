/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: finds out what this machine is; see machine.h.
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

#include <sys/types.h>

#include "probes/machine.h"

/* Fills *m, which need not be initialised; the caller owns it then and calls
 * machine_clear().  -1 only without memory; *m is empty then. */
int  machine_probe(struct machine *m, struct err *err);
/* The same without starting Python, which takes longer than all the rest. */
int  machine_probe_quickly(struct machine *m, struct err *err);

/* The parts.  Each adds to *m; -1 without memory. */
int  probe_topology(struct machine *m);
int  probe_cuda(struct machine *m, struct err *err);
int  probe_nvml(struct machine *m, struct err *err);
int  probe_net(struct machine *m, struct err *err);
int  probe_python(struct machine *m, struct err *err);
/* The same in two steps, for who has better to do than to wait: a child and its
 * output, and what it said. */
int  probe_python_start(pid_t *child, int *from);
int  probe_python_take(struct machine *m, const char *said, struct err *err);

/* Starts a program, found on PATH, in a process group of its own, with its
 * output in a pipe, its errors as well or nowhere, and no signal held back.  0,
 * or -1 with errno. */
int  probe_spawn(char *const argv[], bool errors, pid_t *child, int *from);

/* Somebody on this machine has that TCP port now. */
bool probe_port_busy(long port);

/* Reads a child's pipe until its end, or for "ms"; then ends the child's
 * process group, if need be, reaps it and closes the pipe.  0, or -1 when time
 * ran out or it failed. */
int  probe_collect(pid_t child, int fd, int ms, struct buf *out);

/* Calls "tell" in a child, which may hang, crash and talk; it writes facts as
 * facts.h has them to the descriptor, and they are taken into *m.  -1 without
 * memory. */
int  probe_ask(struct machine *m, void (*tell)(int fd), int ms,
    struct err *err);
#endif
