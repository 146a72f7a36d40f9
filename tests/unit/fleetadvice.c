/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as a probe tells them, as the advice wants to know them. */
#include <math.h>
#include <stdlib.h>

#include "probes/advise.h"
#include "probes/fleet.h"
#include "runtime/base/err.h"
#include "runtime/config/advice.h"
#include "tests/tap.h"

static const char head[] = "accel_probe: 1\nmachines:\n";

struct list {
	struct advice_host	*host;
	size_t			 count;
};

static void
read_fleet(struct list *l, const char *yaml)
{
	struct fleet	fleet = FLEET_INIT;
	struct err	err = ERR_INIT;
	char		text[8192];

	*l = (struct list){ NULL, 0 };
	snprintf(text, sizeof text, "%s%s", head, yaml);
	ok(fleet_parse(&fleet, text, strlen(text), "test", NULL, &err) == 0 &&
	    fleet_advise(&fleet, &l->host, &l->count, &err) == 0,
	    "the machines are read%s%s", *err.text ? ": " : "", err.text);
	fleet_clear(&fleet);
}

#define GPUS(n)	\
	"  - {vendor: NVIDIA, model: A100, memory: 80000000000, usable: " n \
	", capability: \"8.0\"}\n"

static void
test_links(void)
{
	struct list	l;

	/* Four GPUs in a ring of NVLinks; across the ring is PCIe. */
	read_fleet(&l, "- hostname: ring\n  gpus:\n"
	    GPUS("true") GPUS("true") GPUS("true") GPUS("true")
	    "  links:\n"
	    "  - {a: 0, b: 1, kind: nvlink, gbs: 50}\n"
	    "  - {a: 1, b: 2, kind: nvlink, gbs: 25}\n"
	    "  - {a: 2, b: 3, kind: nvlink, gbs: 50}\n"
	    "  - {a: 0, b: 3, kind: nvlink, gbs: 50}\n"
	    "  - {a: 0, b: 2, kind: across}\n"
	    "  - {a: 1, b: 3, kind: across}\n");
	ok(l.count == 1 && l.host->gpus == 4 && l.host->gpu[3].capability ==
	    80 && l.host->gpu[3].bytes == 80000000000, "four GPUs");
	ok(l.host->link == HARDWARE_NVLINK, "NVLinks that join all are the "
	    "link, whatever lies between the others");
	ok(fabs(l.host->link_speed - 75e9) < 1, "what a GPU has of them "
	    "together counts, the least");
	free(l.host);

	/* Behind a switch each pair has all links of both. */
	read_fleet(&l, "- hostname: switch\n  gpus:\n"
	    GPUS("true") GPUS("true") GPUS("true")
	    "  links:\n"
	    "  - {a: 0, b: 1, kind: nvlink, gbs: 300}\n"
	    "  - {a: 0, b: 2, kind: nvlink, gbs: 300}\n"
	    "  - {a: 1, b: 2, kind: nvlink, gbs: 300}\n");
	ok(fabs(l.host->link_speed - 300e9) < 1, "but never more than the GPU "
	    "has");
	free(l.host);

	/* Two pairs with a bridge each. */
	read_fleet(&l, "- hostname: pairs\n  gpus:\n"
	    GPUS("true") GPUS("true") GPUS("true") GPUS("true")
	    "  links:\n"
	    "  - {a: 0, b: 1, kind: nvlink, gbs: 56}\n"
	    "  - {a: 2, b: 3, kind: nvlink, gbs: 56}\n"
	    "  - {a: 0, b: 2, kind: switch, gbs: 31.5, no_peer: true}\n"
	    "  - {a: 0, b: 3, kind: across}\n"
	    "  - {a: 1, b: 2, kind: across}\n"
	    "  - {a: 1, b: 3, kind: across}\n");
	ok(l.host->link == HARDWARE_PCIE, "NVLinks in pairs are not: data goes "
	    "over PCIe between them");
	ok(l.host->no_peer, "a pair without peer access is told");
	free(l.host);

	/* A GPU that no driver answers for is not there. */
	read_fleet(&l, "- hostname: half\n  gpus:\n"
	    GPUS("true") GPUS("false") GPUS("true")
	    "  links:\n"
	    "  - {a: 0, b: 1, kind: nvlink, gbs: 300}\n"
	    "  - {a: 0, b: 2, kind: across}\n"
	    "  - {a: 1, b: 2, kind: nvlink, gbs: 300}\n");
	ok(l.host->gpus == 2 && l.host->link == HARDWARE_ACROSS,
	    "a GPU that cannot be used joins nobody");
	free(l.host);
}

static void
test_network(void)
{
	struct list	l;

	read_fleet(&l, "- hostname: a\n  host: alice@a\n  cores: 64\n"
	    "  cpus: 128\n  cpu_limit: 8\n  memory: 512000000000\n"
	    "  memory_limit: 64000000000\n  disk_free: 900\n"
	    "  interfaces:\n"
	    "  - {name: ib0, up: true, speed: 200000, rdma: mlx5_0}\n"
	    "  - {name: ib1, up: true, speed: 200000, rdma: mlx5_1}\n"
	    "  - {name: ib2, up: false, speed: 200000, rdma: mlx5_2}\n"
	    "  - {name: eth0, up: true, speed: 10000}\n"
	    "- hostname: b\n  cores: 4\n  interfaces:\n"
	    "  - {name: eth0, up: true, speed: 10000}\n"
	    "  - {name: eth1, up: true, speed: 25000}\n"
	    "  - {name: lo, up: true, loopback: true, speed: 99999}\n"
	    "- hostname: c\n  cores: 4\n"
	    "- hostname: gone\n  problem: does not answer\n"
	    "network:\n"
	    "- {from: 1, to: 2, latency_us: 30, gbit_s: 9.4}\n"
	    "- {from: 2, to: 1, latency_us: 50, gbit_s: 9.0}\n"
	    "- {from: 0, to: 1, latency_us: 40, gbit_s: 9.2}\n"
	    "- {from: 2, to: 3, problem: timed out}\n");
	ok(l.count == 3, "a machine that does not answer is left out");
	is(l.host[0].name, "alice@a", "it has the name it was asked for by");
	ok(l.host[0].cores == 8, "the CPUs that a cgroup leaves count");
	ok(l.host[0].memory == 64000000000, "and the memory");
	ok(fabs(l.host[0].net - 50e9) < 1 && !l.host[0].net_measured,
	    "RDMA cards that are up count together, and TCP says nothing of "
	    "them");
	ok(l.host[1].net_measured && fabs(l.host[1].net - 9.0e9 / 8) < 1,
	    "else what was measured, the slowest way");
	ok(fabs(l.host[1].latency - 50e-6) < 1e-9, "and the longest latency");
	ok(l.host[2].net_measured, "a way that timed out says nothing");
	free(l.host);

	read_fleet(&l, "- hostname: b\n  cores: 4\n  interfaces:\n"
	    "  - {name: eth0, up: true, speed: 10000}\n"
	    "  - {name: eth1, up: true, speed: 25000}\n"
	    "  - {name: lo, up: true, loopback: true, speed: 99999}\n");
	ok(fabs(l.host->net - 25e9 / 8) < 1, "the fastest card counts, and not "
	    "the loopback");
	free(l.host);
}

int
main(void)
{
	test_links();
	test_network();
	return tap_done();
}
