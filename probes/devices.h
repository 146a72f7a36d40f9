/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices: accelerators, by the nodes that their drivers make below /dev.
 *
 * Nothing is opened, so nothing can hang; what a driver or PyTorch would say of
 * a device is not asked.  machine_probe() knows more, of GPUs alone.
 */
#ifndef PROBES_DEVICES_H
#define PROBES_DEVICES_H

#include <stddef.h>

enum device_kind {
	DEVICE_MUSA,		/* Moore Threads */
	DEVICE_HPU,		/* Intel Gaudi */
	DEVICE_NVIDIA,
	DEVICE_AMD,
	DEVICE_NPU,		/* Huawei Ascend */
	DEVICE_NEURON,		/* AWS Inferentia and Trainium: chips */
	DEVICE_MLU,		/* Cambricon */
	DEVICE_KINDS
};

/* How many of each kind there are below "root", "" for this machine (a test
 * gives a folder that looks like one). */
void devices_count(size_t found[DEVICE_KINDS], const char *root);
#endif
