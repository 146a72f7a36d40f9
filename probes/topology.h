/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology: which cores, NUMA nodes, GPUs and network cards this host has and
 * what is near to what, as facts, from /sys alone: the agent has no library.
 *
 *	cpus_allowed=0-7		that this process may use
 *	node=0 0-7			a NUMA node with CPUs
 *	package=0 0-7			a socket
 *	core=0,4			a core: its hardware threads
 *	gpu=0000:1b:00.0 10de 0 0-7 pci0000:17/...
 *					address, vendor, NUMA node or -1, CPUs
 *					near to it, way from the root; by address
 *	hca=mlx5_0 0 0-7 pci...		an RDMA device
 *	nic=eth0 0 0-7 pci...		a network card
 */
#ifndef PROBES_TOPOLOGY_H
#define PROBES_TOPOLOGY_H

struct strv;

/* Adds them.  "root" is in front of every path: "", or a machine for tests,
 * where all CPUs that are online are allowed.  What cannot be read is not
 * there; -1 only without memory. */
int topology_facts(const char *root, struct strv *facts);
#endif
