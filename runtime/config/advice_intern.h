/* SPDX-License-Identifier: Apache-2.0 */
/* advice_intern: what the files of advice.h share. */
#ifndef RUNTIME_CONFIG_ADVICE_INTERN_H
#define RUNTIME_CONFIG_ADVICE_INTERN_H

#include "runtime/config/advice.h"

/* How fast the devices and links of a world are. */
struct advice_speed {
	double	flops16, flops32;	/* of the slowest device */
	double	memory;			/* of a device */
	double	link, link_latency;	/* between devices of a host */
	double	net, net_latency;	/* of a host, all ranks together */
	double	pcie;			/* device to host, each way */
	double	host_memory;		/* of a host, all ranks together */
	double	disk;			/* of a host */
	long	local;			/* ranks of a host, the most */
	size_t	hosts;
	bool	cpu;
};

/* A selection of hosts and GPUs that could be one run. */
struct advice_world {
	bool			*use;		/* of each host; owned */
	uint32_t		*gpus;		/* of each host, a bit each */
	size_t			 hosts;
	long			 ranks, least, most; /* in all, of a host */
	double			 room, host_room;
	double			 fastest;	/* FLOP/s of its best device */
	double			 largest;	/* bytes of its largest */
	char			 slow[240], small[128];	/* its slowest device,
							 * host of the smallest */
	uint64_t		 disk;		/* the least of a host */
	bool			 equal;		/* as many on each host */
	struct hardware		 least_gpu;	/* its slowest */
	enum hardware_type	 type;
	bool			 no_peer, guess, net_guess, cpu_bf16;
	enum hardware_link	 link;
	struct advice_speed	 speed;
};

enum { WORLDS = 8 };
struct worlds {
	struct advice_world	 world[WORLDS];
	unsigned		 count;
};

int  worlds_find(struct worlds *w, const struct advice_order *o,
    struct err *err);
void worlds_clear(struct worlds *w);

/* The search.  "out" has plan, others, fits, tried; no words. */
int  advice_search(struct advice *out, const struct advice_order *o,
    const struct worlds *w);
/* Sentences, warnings and remedies. */
int  advice_explain(struct advice *a, const struct advice_order *o,
    const struct worlds *w, struct err *err);
int  advice_warn(struct advice *a, const struct advice_order *o,
    const struct worlds *w);

/* ZeRO's stage of a sharding: 0 to 3. */
int  advice_stage(enum sharding s);
/* Shares of what devices and hosts have. */
#define ADVICE_DEVICE_SHARE	0.9
#define ADVICE_HOST_SHARE	0.85
#endif
