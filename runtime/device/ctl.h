/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl: the control connection.  Every rank holds one TCP connection to a
 * thread in rank 0: heartbeats both ways, a notice when a rank dies, a small
 * store, a barrier, and PMI-1 for MPI_Init.
 *
 * A thread of ours serves it.  Any other may make the calls below, but ctl_open,
 * ctl_close and ctl_pmi; one question (get, barrier, missing) waits for another.
 */
#ifndef RUNTIME_DEVICE_CTL_H
#define RUNTIME_DEVICE_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct ctl;
struct err;

#define CTL_BEAT 0.5		/* seconds between heartbeats */

struct ctl_config {
	const char	*addr;		/* MASTER_ADDR */
	int		 port;		/* MASTER_PORT */
	int		 rank, world;
	const char	*job;		/* ACCEL_JOB, or "" */
	double		 limit;		/* silence that means death, seconds */
	double		 start_limit;	/* for all ranks to come, seconds */
	double		 wait_limit;	/* of a barrier; 0: none */
};

/* Connects and waits until all ranks have.  Copies *config. */
int ctl_open(struct ctl **out, const struct ctl_config *config,
    struct err *err);

/* Says goodbye and frees; rank 0 waits for the others' goodbye or death.
 * NULL is fine. */
void ctl_close(struct ctl *ctl);

int ctl_put(struct ctl *ctl, const char *key, const void *data, size_t n,
    struct err *err);
/* Waits for the key. */
int ctl_get(struct ctl *ctl, const char *key, struct buf *out,
    struct err *err);
/* "what" is in the message when it takes too long; the others must have told
 * their place as well (ctl_place). */
int ctl_barrier(struct ctl *ctl, const char *what, struct err *err);

/* What this rank does: operation number "seq", its name and what it is for (or
 * ""), of n elements (-1: none).  The next heartbeat tells it. */
void ctl_place(struct ctl *ctl, uint64_t seq, const char *what,
    const char *label, int64_t n);
/* The ranks that have not come to operation "seq", and where they are, as of
 * the last heartbeat: "rank 2 (host) is at ..."; "" when all have. */
int ctl_missing(struct ctl *ctl, uint64_t seq, struct buf *out,
    struct err *err);

/* The first rank that died, or -1.  Cheap: for wait loops. */
int ctl_dead(const struct ctl *ctl);
/* Why, as "rank 2 (host) is gone: ...".  Returns -1. */
int ctl_why(struct ctl *ctl, struct err *err);
/* Tells all ranks that this one gives up. */
void ctl_abort(struct ctl *ctl, const char *why);

/* Sets PMI_FD, PMI_RANK and PMI_SIZE for the coming MPI_Init. */
int ctl_pmi(struct ctl *ctl, struct err *err);

/* For calls that nothing can interrupt, such as MPI_Finalize: from now to
 * ctl_unbound(), a rank's death or the end of the limit (0: none) ends this
 * process with exit code 1 and a line on stderr.  "what" is borrowed:
 * "MPI_Finalize". */
void ctl_bound(struct ctl *ctl, const char *what, double limit_s);
void ctl_unbound(struct ctl *ctl);

/* The network interface that reaches rank 0, or "". */
const char *ctl_netdev(const struct ctl *ctl);
#endif
