/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_kvs: blocks of bytes between the PMIx servers of a job's hosts, through
 * the launcher's PMI-1. */
#ifndef RUNTIME_LAUNCH_PMIX_KVS_H
#define RUNTIME_LAUNCH_PMIX_KVS_H

#include <stddef.h>

struct buf;

struct pmix_kvs {
	int	fd;		/* a rank's PMI_FD */
};

/* Leaves a host's block of a round, for all. */
int pmix_kvs_put(struct pmix_kvs *kvs, size_t round, size_t host,
    const void *data, size_t n);
/* Waits for a host's block and appends it.  -1 where the launcher is gone. */
int pmix_kvs_get(struct pmix_kvs *kvs, size_t round, size_t host,
    struct buf *out);
#endif
