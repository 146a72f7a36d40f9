/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hardware: what GPUs can do, by their names; hardware.def is the table.
 *
 * Speeds in FLOP/s and bytes/s, sizes in bytes.
 */
#ifndef RUNTIME_CONFIG_HARDWARE_H
#define RUNTIME_CONFIG_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

enum hardware_type {		/* the best one that training has there */
	HARDWARE_FP32, HARDWARE_FP16, HARDWARE_BF16
};
enum hardware_link {		/* between the GPUs of one host */
	HARDWARE_UNKNOWN, HARDWARE_ACROSS, HARDWARE_PCIE, HARDWARE_XGMI,
	HARDWARE_NVLINK
};

struct hardware {
	const char		*words;		/* "H100 PCIe" */
	const char		*vendor;
	int			 capability;	/* 80 for 8.0; or 0 */
	double			 bytes;		/* the largest that is sold */
	double			 memory;	/* bytes/s */
	double			 flops16, flops32;
	enum hardware_type	 type;
	enum hardware_link	 link;
	double			 link_speed;	/* each way; 0 over PCIe */
	double			 pcie;		/* each way, x16 */
	bool			 peer;		/* over PCIe */
	const char		*source;
	bool			 guess;		/* not in the table */
};

/* Finds a GPU by its name, as a driver, hwloc or a person has it.  Not found:
 * *out is a guess by vendor, capability and memory (0: not known), and
 * marked. */
void hardware_find(struct hardware *out, const char *vendor, const char *name,
    const char *arch, int capability, uint64_t bytes);

/* The n-th row of the table, or NULL behind the last. */
const struct hardware *hardware_row(unsigned n);

/* Bytes/s of a PCIe slot with 16 lanes, each way. */
double hardware_pcie(int generation);
#endif
