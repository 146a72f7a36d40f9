/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts: what /sys and /proc say of a machine, as lines of text.
 *
 * libc alone: the agent of another host is static, reads them there and sends
 * them, and machine_take() makes a struct machine of them here, as it does of
 * this machine's.  Beside the lines of topology.h:
 *
 *	memory=16795230208		a member of struct machine
 *	gpu.0000:1b:00.0.memory=8589934592
 *	nic.eth0.speed=25000		members of a GPU, an interface ...
 *	numa.0.memory=8397615104	... and a NUMA node
 *	link.0000:1b:00.0+0000:2c:00.0.kind=xgmi
 *	interface=eth0 10.0.0.1		an address
 *	smi=..., nvlink=..., topo=...	what nvidia-smi said, a line each
 */
#ifndef PROBES_FACTS_H
#define PROBES_FACTS_H

struct machine;
struct strv;

/* Each adds what it finds; -1 without memory.  "root" is in front of every
 * path: "", or a folder that looks like a machine.  "folder" is where the disk
 * is looked at; with a root, neither it nor /dev/shm is. */
int  facts_system(const char *root, const char *folder, struct strv *facts);
/* Of the GPUs and cards that topology_facts() found, which comes first. */
int  facts_gpus(const char *root, struct strv *facts);
int  facts_nics(const char *root, struct strv *facts);
/* All of them. */
int  facts_all(const char *root, const char *folder, struct strv *facts);

/* Takes facts into *m, over what it has.  They may come from another host: what
 * makes no sense is left out.  -1 without memory. */
int  machine_take(struct machine *m, const struct strv *facts);

/* How each GPU is linked to each: from NVLinks and the like that are there
 * already, their ways and their NUMA nodes.  -1 without memory. */
int  machine_relate(struct machine *m);
#endif
