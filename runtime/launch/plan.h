/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: the rank table of a run.  Which rank is on which host, with which
 * arguments and environment.  Pure: no clock, no network, no file.
 *
 * MASTER_ADDR and MASTER_PORT are not in it: they are known when a port is held
 * on rank 0's host (supervise.h).
 */
#ifndef RUNTIME_LAUNCH_PLAN_H
#define RUNTIME_LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/strv.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/map.h"

struct buf;
struct config;
struct env_facts;
struct err;

struct plan_rank {
	size_t		host;		/* index into hosts */
	long		local_rank, local_world;
	long		gpu;		/* its number on the host, or -1 */
	struct strv	argv, env;	/* env: over the host's own */
};

struct plan {
	struct plan_rank	*rank;
	size_t			 world;
	struct hosts		 hosts;		/* those with a rank, in order */
	char			*folder;
	char			*script;	/* must be readable; or "" */
	char			*address;	/* of rank 0, if the user chose */
	long			 port;		/* the same; 0: any free one */
	char			*job;		/* a token unlike any other */
	char			*activate;	/* on each host, or NULL */
	bool			 wrapped;	/* argv[0] starts the program,
						   argv[1] */
	bool			 python;	/* that is an interpreter */
	bool			 sync;		/* copy the folder to hosts */
	bool			 devices;	/* each rank takes a GPU of its own */
	char			*role;		/* of the ranks */
	bool			 apart;		/* they do not meet: no address */
	struct map_wish		 map;
	bool			 threads;	/* the user said how many */
};

struct plan_order {
	const struct config	*config;
	const struct env_facts	*facts;		/* or NULL: nothing is known */
	const struct hosts	*hosts;		/* empty: this machine */
	const char		*python;	/* interpreter */
	char *const		*argv;		/* script and its arguments */
	const struct strv	*env;		/* for every rank, the last word */
	struct map_wish		 map;
	const char		*folder;
	const char		*job;
	long			 restarts;	/* of this job before */
	const char		*pmix;		/* accel-pmix, to start Open MPI
						   programs by; or NULL */
	bool			 slurm;		/* steps of our allocation */
	bool			 elastic;	/* the hosts' slots say how many
						   ranks, not the configuration */
	const char		*activate;	/* or NULL */
	bool			 sync;
};

#define PLAN_INIT { .hosts = HOSTS_INIT }

int  plan_make(struct plan *plan, const struct plan_order *order,
    struct err *err);
/* One process of a program on each host, for "accel run"; they do not meet.
 * "env" is NAME=VALUE for all, over what tells them apart. */
int  plan_command(struct plan *plan, const struct hosts *hosts,
    char *const *argv, const struct strv *env, const char *folder,
    const char *job, struct err *err);
/* The table, each rank's environment and command, for people.  "place" has one
 * for each rank, or is NULL. */
void plan_print(const struct plan *plan, const struct seat *place,
    struct buf *out);
/* The table alone: host, GPU, cores and card of each rank. */
void plan_print_table(const struct plan *plan, const struct seat *place,
    struct buf *out);
/* The places of the ranks of one host, from facts of it (topology.h), into
 * place[rank] of each.  As map_host(). */
int  plan_places(const struct plan *plan, size_t host, const struct strv *facts,
    struct seat *place, struct buf *warning, struct err *err);
/* What follows from a place for the rank's environment: adds NAME=VALUE, over
 * what the plan has. */
int  plan_place_env(const struct plan *plan, const struct seat *place,
    struct strv *env);
void plan_clear(struct plan *plan);
#endif
