/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: what a machine is.  Facts as values, and no decisions; who finds
 * them is in probe.h.
 *
 * What is not known is 0, NULL or false, and -1 for a NUMA node.  A machine
 * owns its texts and lists.  Memory and disk are in bytes, networks in Mbit/s,
 * links in GB (10^9 bytes) a second each way.
 */
#ifndef PROBES_MACHINE_H
#define PROBES_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct site;

struct gpu {
	char		*vendor;	/* "NVIDIA", "AMD", ... or "10de" */
	char		*model;		/* or NULL */
	char		*pci;		/* "0000:1b:00.0", or NULL */
	char		*driver;	/* the kernel's: "nvidia", "amdgpu", "xe" */
	char		*arch;		/* "gfx942" where it has such a name */
	uint64_t	 memory;
	int		 major, minor;	/* CUDA's compute capability, or 0 */
	int		 numa;		/* NUMA node, or -1 */
	double		 pcie;		/* its slot's and its own best */
	char		*way;		/* PCI, from the root; or NULL */
	bool		 usable;	/* a driver answers for it */
};

/* From the farthest to the nearest. */
enum link_kind {
	LINK_UNKNOWN,
	LINK_ACROSS,		/* other NUMA nodes, or other sockets */
	LINK_NUMA,		/* one NUMA node, through its host bridge */
	LINK_SWITCH,		/* one PCIe switch */
	LINK_XGMI,		/* AMD's */
	LINK_NVLINK,		/* direct, or through NVSwitches */
	LINK_KINDS
};
/* "nvlink": as files have it. */
extern const char *const link_words[LINK_KINDS];

struct link {			/* between two GPUs, a < b */
	unsigned	 a, b;		/* their numbers in machine.gpu */
	enum link_kind	 kind;
	unsigned	 count;		/* of NVLinks */
	double		 gbs;		/* all of them together */
	bool		 no_peer;	/* the driver copies through the host */
};

struct iface {
	char		*name;		/* "eth0"; "mlx5_0" where RDMA is all */
	char		*address;	/* the first, IPv4 before IPv6; or NULL */
	char		*driver, *pci;	/* or NULL: no hardware of its own */
	char		*rdma;		/* its RDMA device, "mlx5_0"; or NULL */
	char		*way;		/* as a GPU's */
	int		 numa;		/* or -1 */
	bool		 up, loopback;
	long		 speed;
};

struct numa {			/* a NUMA node with CPUs or memory */
	unsigned	 id;
	char		*cpus;		/* "0-7,16-23", or NULL */
	uint64_t	 memory;
};

struct machine {
	char		*host;		/* as it was asked for: "user@node1" */
	char		*hostname;	/* as it calls itself */
	char		*problem, *hint; /* why nothing else is known, or NULL */
	bool		 here;		/* false: described by a file, or far */
	char		*arch, *kernel;	/* "x86_64", "6.1.0-18-amd64" */
	char		*cpu;		/* model */
	unsigned	 cores, cpus, numa, packages;
	bool		 cpu_bf16;	/* AMX or AVX512_BF16, or Arm's */
	unsigned	 cpus_allowed;	/* to this process, by its mask */
	double		 cpu_limit;	/* CPUs, by the cgroup */
	uint64_t	 memory, memory_free;
	uint64_t	 memory_limit;	/* by the cgroup */
	uint64_t	 swap;
	uint64_t	 shm, shm_free;
	uint64_t	 disk, disk_free; /* of the working folder */
	char		*container;	/* "docker", "podman", "lxc", ... */
	unsigned	 wsl;		/* Windows Subsystem for Linux: 1 or 2 */
	char		*slurm;		/* number of the job that we are in */
	char		*driver;	/* NVIDIA's: "535.104.05" */
	char		*cuda;		/* what that driver can do: "12.4" */
	char		*rocm;
	char		*nccl;
	bool		 asking;	/* Python has not answered yet */
	char		*python;	/* path, or NULL */
	char		*python_version, *torch, *accelerate; /* or NULL */
	char		*torch_cuda, *torch_hip;	/* built for; or NULL */
	struct numa	*node;
	size_t		 nodes;		/* that are told of */
	struct gpu	*gpu;
	size_t		 gpus;
	struct link	*link;		/* by a, then b; or none known */
	size_t		 links;
	struct iface	*iface;
	size_t		 ifaces;
};

/* Frees the contents and leaves *m empty, which is all zeros. */
void machine_clear(struct machine *m);

/* Each adds an empty one and returns it, or NULL without memory. */
struct gpu   *machine_add_gpu(struct machine *m);
struct link  *machine_add_link(struct machine *m);
struct iface *machine_add_iface(struct machine *m);
struct numa  *machine_add_numa(struct machine *m);

/* Fills in torch_cuda or torch_hip by torch's own version, "2.3.0+cu121".  -1
 * without memory. */
int  machine_name_torch(struct machine *m);

/* The link between two GPUs in either order, or NULL. */
const struct link *machine_link(const struct machine *m, unsigned a,
    unsigned b);

/* What a process may have of it: the least of machine, mask and cgroup. */
double	 machine_cpus(const struct machine *m);
uint64_t machine_memory(const struct machine *m);

/* GPUs that a program can use, and the lowest capability of those times ten
 * (80 for 8.0), 0 where one is unknown. */
size_t machine_usable_gpus(const struct machine *m, int *capability);

/* What the rules of a configuration want to know of it.  Of GPUs only where all
 * are NVIDIA's: no other driver is asked. */
void machine_site(const struct machine *m, struct site *site);

/* One line for each kind of fact. */
int  machine_print(const struct machine *m, struct buf *out);

/* What tells it from others in a list, in one line: "8 NVIDIA H100 80GB HBM3
 * (NVLink), 64 cores, 512 GiB, 100 Gbit/s, torch 2.3.0"; or its problem. */
int  machine_row(const struct machine *m, struct buf *out);

/* The same in one line, for a head: "16 cores, 64 GiB, 4 GPUs". */
int  machine_summary(const struct machine *m, struct buf *out);
#endif
