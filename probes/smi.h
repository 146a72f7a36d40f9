/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smi: what nvidia-smi said on another host, as facts: "smi=", "nvlink=",
 * "topo=" and "p2p=", a line each.  Its words are for people and change; what
 * is not understood is left out.
 */
#ifndef PROBES_SMI_H
#define PROBES_SMI_H

struct machine;
struct strv;

/* Takes them into *m, which has the GPUs of the other facts.  Where nvidia-smi
 * spoke, only GPUs that it lists are usable.  -1 without memory. */
int machine_take_smi(struct machine *m, const struct strv *facts);
#endif
