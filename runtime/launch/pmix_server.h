/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmix_server: the PMIx server of one host's ranks, by libpmix, which is loaded
 * at run time.  One in a process: libpmix has its state in globals.
 */
#ifndef RUNTIME_LAUNCH_PMIX_SERVER_H
#define RUNTIME_LAUNCH_PMIX_SERVER_H

#include <stddef.h>

struct err;
struct strv;

struct pmix_job {
	const char	*name;		/* unlike any other's */
	const long	*count;		/* ranks of each host, in rank order */
	size_t		 hosts, host;	/* and which one is this */
	int		 pmi_fd;	/* to the launcher */
};

int  pmix_server_start(const struct pmix_job *job, struct err *err);
/* Adds what a rank of this host needs in its environment. */
int  pmix_server_env(long local_rank, struct strv *env, struct err *err);
/* When all of them are gone. */
void pmix_server_stop(void);
#endif
