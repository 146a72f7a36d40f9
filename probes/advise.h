/* SPDX-License-Identifier: Apache-2.0 */
/* advise: machines as advice.h wants to know them. */
#ifndef PROBES_ADVISE_H
#define PROBES_ADVISE_H

#include <stddef.h>

struct advice_host;
struct err;
struct fleet;
struct machine;

/* What of the machine counts: GPUs that can be used, the slowest link between
 * them, and its network: all RDMA cards, else the fastest other one. */
void machine_advise(const struct machine *m, struct advice_host *h);

/* Adds each machine of the fleet to the list, which free() frees, with what was
 * measured between them: the slowest way that one has.  A machine that could
 * not be asked, or of which nothing is known, is left out.  -1 only without
 * memory. */
int  fleet_advise(const struct fleet *f, struct advice_host **list,
    size_t *count, struct err *err);
#endif
