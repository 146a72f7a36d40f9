/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plant: makes a folder look like a machine to whoever reads /sys and /proc below
 * it.  A description, NAME.machine, has a line for each thing:
 *
 *	# a comment
 *	/proc/version = text		a file; "\n" is a new line
 *	/sys/x -> ../y			a link
 *	@cpus P C T N			packages, cores of each, threads of a
 *					core, NUMA nodes of a package; numbered as
 *					Linux does: first threads first
 *	@memory GIB			over the NUMA nodes, evenly
 *	@pci WAY CLASS VENDOR DEVICE NUMA GT/S LANES DRIVER
 *					a device, its folder and its link
 *	@nic NAME PCI MBIT RDMA		a network card; RDMA may be "-"
 *	@hca NAME PCI GBIT		an InfiniBand card without an interface
 *	@nvidia PCI MINOR MODEL...	as NVIDIA's driver tells of it
 *	@kfd NODE PCI GFX GIB		as AMD's does: 90402 is gfx942
 *	@xgmi NODE NODE MB/S		both ways
 *	+ FACT				what a program there would have said, as
 *					facts.h has it: "smi=..."
 */
#ifndef TESTS_MACHINES_PLANT_H
#define TESTS_MACHINES_PLANT_H

struct strv;

/* 0, or -1 with the line that it could not do on stderr. */
int plant(const char *description, const char *root, struct strv *facts);
#endif
