/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map: where the ranks of a host run: on which cores, with which GPU, near
 * which network card.  Pure: from what topology.h says of the host.
 *
 * A rank has a domain: the whole host, a NUMA node in turn (MAP_NUMA), or the
 * cores near its GPU (MAP_GPU).  Ranks with the same domain divide its cores
 * evenly, in order; BIND_CORE binds each to its part, BIND_NUMA and BIND_SOCKET
 * to all of the nodes or sockets that its part is in.
 */
#ifndef RUNTIME_LAUNCH_MAP_H
#define RUNTIME_LAUNCH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct strv;

enum map_by {
	MAP_SLOT,		/* fill one host, then the next */
	MAP_NODE,		/* a rank for each host in turn */
	MAP_NUMA,		/* as MAP_SLOT, and on a host each node in turn */
	MAP_GPU			/* as MAP_SLOT, and each near its GPU */
};

enum bind_to {
	BIND_UNSAID,		/* BIND_NUMA for MAP_NUMA and MAP_GPU, or none */
	BIND_NONE, BIND_CORE, BIND_NUMA, BIND_SOCKET
};

struct map_wish {
	enum map_by	by;
	enum bind_to	bind;
	bool		gpu_per_rank;	/* it sees no other */
};

#define MAP_BY_WORDS	"slot node numa gpu"
#define BIND_TO_WORDS	"none core numa socket"

/* NULL: nobody said it. */
int  map_wish_read(struct map_wish *wish, const char *by, const char *bind,
    struct err *err);
/* True where places need what topology.h says. */
bool map_wants_places(const struct map_wish *wish);

struct seat {			/* a rank's place; texts are its own */
	uint32_t	*cpu;		/* to bind to; NULL: to none */
	size_t		 cpus;
	size_t		 cores;		/* those are that many */
	char		*list;		/* the same, "0-3,8"; or NULL */
	char		*nodes;		/* NUMA nodes of its part, "0"; or NULL */
	long		 gpu;		/* its number, or -1 */
	char		*pci;		/* of that GPU, or NULL */
	char		*nic;		/* nearest to the GPU, RDMA if any; or NULL */
};

/* Fills place[0] to place[ranks - 1].  "gpu" has the number of each rank's GPU,
 * or -1.  Adds a line to *warning for what the user should know.  -1 where the
 * host cannot do it; the places are empty then. */
int  map_host(const struct strv *facts, const struct map_wish *wish,
    const long *gpu, size_t ranks, struct seat *place, struct buf *warning,
    struct err *err);
void seat_clear(struct seat *place);
#endif
