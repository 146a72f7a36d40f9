/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each machine of this folder, as the agent of another host would tell of it:
 * NAME.machine is planted, read, and what follows must be NAME.yaml, which is a
 * file for --machine.  UPDATE=1 writes those into the source; what matters most
 * is said here as well, so that a wrong one cannot be renewed by mistake.
 */
#include "probes/facts.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes/fleet.h"
#include "probes/smi.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"
#include "tests/machines/plant.h"
#include "tests/tap.h"

static const char *source;

/* The folder of a planted machine, for whoever wants to look at it. */
static void
remove_all(const char *root)
{
	char *argv[] = { "rm", "-rf", "--", (char *)root, NULL };
	pid_t child = fork();

	if (!child) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static bool
look(struct fleet *f, const char *name)
{
	char		 root[] = "/tmp/accel-machine-XXXXXX", path[4096];
	struct strv	 facts = STRV_INIT, said = STRV_INIT;
	struct machine	*m = fleet_add(f);
	bool		 fine;

	snprintf(path, sizeof path, "%s/tests/machines/%s.machine", source,
	    name);
	fine = m && mkdtemp(root) && !plant(path, root, &said) &&
	    (m->hostname = strdup(name)) &&
	    !facts_all(root, "/", &facts) && !machine_take(m, &facts) &&
	    !machine_take(m, &said) && !machine_take_smi(m, &said) &&
	    !machine_relate(m);
	remove_all(root);
	strv_clear(&facts);
	strv_clear(&said);
	return fine;
}

static void
compare(const struct fleet *f, const char *name)
{
	struct buf	got = BUF_INIT, want = BUF_INIT;
	struct fleet	again = FLEET_INIT;
	struct err	err = ERR_INIT;
	char		path[4096];

	snprintf(path, sizeof path, "%s/tests/machines/%s.yaml", source, name);
	buf_adds(&got, "# SPDX-License-Identifier: Apache-2.0\n");
	ok(!fleet_yaml(f, &got), "%s is written", name);
	if (getenv("UPDATE"))
		file_replace(path, buf_text(&got), got.len, 0644, NULL);
	file_read(path, &want, NULL);
	is(buf_text(&got), buf_text(&want), "%s has the facts of %s.yaml",
	    name, name);
	ok(!fleet_read(&again, path, NULL, &err) && again.count == 1,
	    "which --machine takes: %s", err.text);
	fleet_clear(&again);
	buf_clear(&got);
	buf_clear(&want);
}

/* One that is not there has nothing that a test wants. */
static const struct gpu *
gpu(const struct machine *m, size_t i)
{
	static const struct gpu none = { .numa = -9 };

	return i < m->gpus ? &m->gpu[i] : &none;
}

static size_t
links(const struct machine *m, enum link_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < m->links; i++)
		n += m->link[i].kind == kind;
	return n;
}

static void
dgx(const struct machine *m)
{
	size_t nics = 0;
	const struct link *l = machine_link(m, 7, 0);

	ok(m->cores == 112 && m->cpus == 224 && m->numa == 2 &&
	    m->packages == 2, "cores, threads, nodes, sockets");
	ok(machine_usable_gpus(m, NULL) == 8 && gpu(m, 0)->major == 9 &&
	    gpu(m, 0)->memory == 81559ULL << 20, "eight GPUs of 80 GB");
	is(gpu(m, 7)->model, "NVIDIA H100 80GB HBM3", "by their name");
	ok(gpu(m, 3)->numa == 0 && gpu(m, 4)->numa == 1, "four at each socket");
	ok(links(m, LINK_NVLINK) == 28 && l && l->count == 18 &&
	    l->gbs > 478 && l->gbs < 478.2, "all linked by 18 NVLinks");
	for (size_t i = 0; i < m->ifaces; i++)
		nics += m->iface[i].speed == 400000 && m->iface[i].rdma &&
		    m->iface[i].up;
	ok(nics == 8, "eight cards of 400 Gbit/s");
	ok(gpu(m, 0)->pcie > 62 && gpu(m, 0)->pcie < 64, "PCIe 5, 16 lanes");
	ok(m->cpu_bf16, "a processor with AMX");
	is(m->driver, "535.129.03", "the driver");
	is(m->nccl, "2.19.3", "NCCL, by the library's name");
	is(m->torch_cuda, "12.1", "and what torch was built for");
}

static void
workstation(const struct machine *m)
{
	const struct link *l = machine_link(m, 0, 1);

	ok(machine_usable_gpus(m, NULL) == 2 && m->gpus == 3,
	    "two GPUs, and one that only draws");
	ok(gpu(m, 0)->memory == 24564ULL << 20 && gpu(m, 0)->minor == 9 &&
	    gpu(m, 1)->memory == 12288ULL << 20 && gpu(m, 1)->minor == 6,
	    "unequal");
	ok(l && l->no_peer && l->kind == LINK_NUMA, "without peer access");
	ok(l && l->gbs > 7.8 && l->gbs < 8, "by the slot of four lanes");
	ok(m->nodes == 1 && gpu(m, 0)->numa == -1, "one NUMA node");
	ok(!m->memory_limit && m->cpu_limit == 8, "version 1 of cgroups: no "
	    "limit of memory, and one of the group above");
	is(m->driver, "550.54.15", "the open driver says its version too");
}

static void
mi300x(const struct machine *m)
{
	ok(machine_usable_gpus(m, NULL) == 8 &&
	    gpu(m, 0)->memory == 192ULL << 30, "eight GPUs of 192 GiB");
	is(gpu(m, 5)->arch, "gfx942", "by their architecture");
	is(gpu(m, 5)->vendor, "AMD", "AMD's");
	is(m->rocm, "6.1.0-82", "with ROCm");
	is(m->torch_hip, "6.0", "and a torch for it");
	ok(links(m, LINK_XGMI) == 28 && m->link[3].gbs == 50, "all by xGMI");
	ok(m->ifaces == 8 && m->iface[2].speed == 400000 &&
	    !strcmp(m->iface[2].rdma, "mlx5_2") && m->iface[2].address,
	    "cards that are RDMA devices as well");
}

static void
intel(const struct machine *m)
{
	ok(m->gpus == 4 && machine_usable_gpus(m, NULL) == 4 &&
	    gpu(m, 0)->memory == 128ULL << 30, "four GPUs of 128 GiB, of two "
	    "tiles each, and no console");
	is(gpu(m, 0)->model, "Ponte Vecchio XT (2 Tile) [Data Center GPU Max "
	    "1550]", "by pci.ids");
	is(gpu(m, 0)->driver, "xe", "with their driver");
	ok(links(m, LINK_NUMA) == 2 && links(m, LINK_ACROSS) == 4,
	    "two at each socket");
}

static void
arm(const struct machine *m)
{
	is(m->cpu, "Neoverse-N1", "a processor by its number");
	ok(!m->cpu_bf16 && m->cores == 80 && m->numa == 4 && !m->gpus,
	    "80 cores, four nodes, no GPU");
	ok(m->memory_limit == 64ULL << 30 && m->cpu_limit == 40,
	    "the least of its group and of those above");
	ok(m->nodes == 4 && m->node[3].memory == 128ULL << 30,
	    "each with a part of the memory");
}

static void
container(const struct machine *m)
{
	ok(m->gpus == 1 && machine_usable_gpus(m, NULL) == 1,
	    "one GPU, of four in the machine");
	is(gpu(m, 0)->pci, "0000:81:00.0", "the one that it was given");
	ok(m->cpu_limit == 6 && m->memory_limit == 32ULL << 30,
	    "the group's limits");
	ok(machine_cpus(m) == 6 && machine_memory(m) == 32ULL << 30,
	    "which are less than the machine");
	is(m->container, "docker", "Docker's");
}

static void
wsl(const struct machine *m)
{
	ok(m->wsl == 2 && m->gpus == 1 && gpu(m, 0)->usable &&
	    gpu(m, 0)->minor == 9, "a GPU that nvidia-smi alone knows of");
	is(gpu(m, 0)->vendor, "NVIDIA", "NVIDIA's");
}

/* What other hosts say need not make sense. */
static void
nonsense(void)
{
	static const char *const lines[] = {
		"", "=", "gpu=", "gpu=x", "gpu=0 1", "gpu..memory=1",
		"gpu.0000:00:00.0.memory=1", "link.a+b.kind=nvlink", "link.=",
		"numa.-1.memory=5", "numa.99999999999.memory=5", "nic..speed=1",
		"core=0-99999999999", "cpus_allowed=0-4294967295", "cores=-5",
		"memory=99999999999999999999", "interface=", "interface= x",
		"smi=,,,,", "smi=0000, 1", "nvlink= Link 0: 1 GB/s",
		"topo=GPU0 NV18", "topo=\tGPU0 GPU1", "topo=GPU9 X NV1",
		"p2p=GPU0", "wsl=7777777777", "hostname=\033[2J",
	};
	struct strv	facts = STRV_INIT;
	struct machine	m = { .host = NULL };

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		strv_add(&facts, lines[i]);
	ok(!machine_take(&m, &facts) && !machine_take_smi(&m, &facts) &&
	    !machine_relate(&m), "nonsense is taken");
	ok(!m.gpus && !m.links && !m.memory && !m.cores && !m.wsl,
	    "and left out");
	is(m.hostname, "?[2J", "a name does nothing to a terminal");
	machine_clear(&m);
	strv_clear(&facts);
}

int
main(void)
{
	static const struct {
		const char	*name;
		void		(*check)(const struct machine *m);
	} machines[] = {
		{ "dgx-h100", dgx }, { "workstation", workstation },
		{ "mi300x", mi300x }, { "intel-max", intel },
		{ "arm-server", arm }, { "container", container },
		{ "wsl", wsl },
	};

	source = getenv("top_srcdir") ? getenv("top_srcdir") : ".";
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		struct fleet f = FLEET_INIT;

		ok(look(&f, machines[i].name), "%s is read", machines[i].name);
		if (f.count)
			machines[i].check(&f.machine[0]);
		compare(&f, machines[i].name);
		fleet_clear(&f);
	}
	nonsense();
	return tap_done();
}
