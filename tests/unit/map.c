/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks go on machines of all shapes, made up and recorded. */
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hwloc.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/map.h"
#include "probes/topology.h"
#include "tests/tap.h"

enum { RANKS = 16 };

static struct seat	seat[RANKS];
static struct buf	warning = BUF_INIT;
static struct err	err;

/* Places ranks, each with the GPU of its own number. */
static int
place(const struct strv *facts, const char *by, const char *bind, size_t ranks)
{
	struct map_wish	wish = { .by = MAP_SLOT };
	long		gpu[RANKS];

	for (size_t i = 0; i < RANKS; i++) {
		gpu[i] = (long)i;
		seat_clear(&seat[i]);
	}
	buf_clear(&warning);
	err = (struct err)ERR_INIT;
	if (map_wish_read(&wish, by, bind, &err) < 0)
		return -2;
	return map_host(facts, &wish, gpu, ranks, seat, &warning, &err);
}

/* "0-3 4-7": what each is bound to. */
static const char *
bound(size_t ranks)
{
	static char	text[1000];
	size_t		n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < ranks; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
		    i ? " " : "", seat[i].list ? seat[i].list : "-");
	return text;
}

/* Two sockets, each a node with 8 cores of two threads and four GPUs; two GPUs
 * and an RDMA card are below one switch. */
static void
two_by_four(struct strv *facts)
{
	strv_add(facts, "cpus_allowed=0-31");
	strv_add(facts, "node=0 0-7,16-23");
	strv_add(facts, "node=1 8-15,24-31");
	strv_add(facts, "package=0 0-7,16-23");
	strv_add(facts, "package=1 8-15,24-31");
	for (int i = 0; i < 16; i++)
		strv_addf(facts, "core=%d,%d", i, i + 16);
	strv_add(facts, "gpu=0000:00:02.0 8086 0 0-7,16-23 pci0000:00/"
	    "0000:00:02.0");
	for (int i = 0; i < 8; i++)
		strv_addf(facts, "gpu=0000:%02x:00.0 10de %d %s "
		    "pci0000:%d/0000:%d:0%d.0/0000:%02x:00.0", 0x10 + i, i / 4,
		    i < 4 ? "0-7,16-23" : "8-15,24-31", i / 4, i / 4, i / 2,
		    0x10 + i);
	for (int i = 0; i < 4; i++)
		strv_addf(facts, "hca=mlx5_%d %d 0-31 "
		    "pci0000:%d/0000:%d:0%d.0/0000:%02x:00.1/infiniband",
		    3 - i, (3 - i) / 2, (3 - i) / 2, (3 - i) / 2, 3 - i,
		    0x30 + i);
	strv_add(facts, "nic=eth0 0 0-7 pci0000:0/0000:0:00.0/0000:40:00.0");
}

static void
test_wide(void)
{
	struct strv facts = STRV_INIT;

	two_by_four(&facts);
	ok(place(&facts, "gpu", NULL, 8) == 0, "2 sockets x 4 GPUs, by GPU");
	is(bound(8), "0-7,16-23 0-7,16-23 0-7,16-23 0-7,16-23 "
	    "8-15,24-31 8-15,24-31 8-15,24-31 8-15,24-31",
	    "each has the node of its GPU");
	is(seat[0].pci, "0000:10:00.0", "Intel's console is not GPU 0");
	is(seat[0].nic, "mlx5_0", "GPU 0 is near the card of its switch");
	is(seat[3].nic, "mlx5_1", "so is GPU 3");
	is(seat[7].nic, "mlx5_3", "and GPU 7");
	is(seat[4].nodes, "1", "GPU 4 is in node 1");
	ok(place(&facts, "gpu", "core", 8) == 0, "the same, bound to cores");
	is(bound(8), "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 "
	    "8-9,24-25 10-11,26-27 12-13,28-29 14-15,30-31",
	    "those of a node share its cores, with all threads");
	ok(seat[0].cores == 2 && seat[0].cpus == 4, "2 cores are 4 threads");
	ok(place(&facts, "gpu", "core", 5) == 0, "five ranks");
	is(bound(5), "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 8-15,24-31",
	    "the fifth has its node for itself");
	ok(place(&facts, "numa", "core", 3) == 0, "by node, three ranks");
	is(bound(3), "0-3,16-19 8-15,24-31 4-7,20-23", "nodes in turn");
	ok(place(&facts, NULL, "core", 3) == 0, "by slot, three ranks");
	is(bound(3), "0-4,16-20 5-9,21-25 10-15,26-31", "cores in order");
	ok(place(&facts, NULL, "socket", 4) == 0 && !warning.len,
	    "bound to sockets");
	is(bound(4), "0-7,16-23 0-7,16-23 8-15,24-31 8-15,24-31",
	    "the one that its part is in");
	ok(place(&facts, "gpu", "none", 2) == 0, "by GPU, bound to nothing");
	is(bound(2), "- -", "nothing");
	is(seat[1].nic, "mlx5_0", "and still told what is near");
	ok(place(&facts, "gpu", NULL, 9) == -1 &&
	    strstr(err.text, "GPU 8") && strstr(err.text, "it has 8"),
	    "a ninth GPU is not there, and that is said");
	ok(seat[0].list == NULL, "and no place is left behind");
	strv_clear(&facts);
}

static void
test_narrow(void)
{
	struct strv facts = STRV_INIT;

	/* A container: cores of node 1 alone, not all of them. */
	two_by_four(&facts);
	strv_setenv(&facts, "cpus_allowed", "9-11,25-27");
	ok(place(&facts, "gpu", NULL, 8) == 0, "a limited set of CPUs");
	is(seat[7].list, "9-11,25-27", "what is allowed near the GPU");
	is(seat[0].list, "9-11,25-27", "what is allowed at all, for the others");
	ok(strstr(buf_text(&warning), "near GPU 0") &&
	    !strstr(buf_text(&warning), "near GPU 4"), "with a warning");
	ok(place(&facts, NULL, "core", 4) == 0, "fewer cores than ranks");
	is(bound(4), "9,25 10,26 11,27 9,25", "some share one");
	is(buf_text(&warning), "4 ranks share 3 cores: each is bound to one, "
	    "which is not its own\n", "and it is said, once");
	strv_clear(&facts);

	strv_add(&facts, "cpus_allowed=0-3");
	strv_add(&facts, "gpu=0000:01:00.0 10de -1 0-3 pci0000:00/0000:01:00.0");
	strv_add(&facts, "nic=eth0 -1 - virtual");
	ok(place(&facts, "gpu", NULL, 1) == 0, "one GPU, and no NUMA");
	is(bound(1), "0-3", "all CPUs");
	is(seat[0].nodes, NULL, "no node");
	is(seat[0].nic, "eth0", "the only card is the nearest");
	ok(place(&facts, "numa", "core", 2) == 0, "by node where there is none");
	is(bound(2), "0-1 2-3", "is by core; a CPU is a core");
	ok(place(&facts, NULL, "socket", 1) == 0, "no sockets are known");
	is(bound(1), "0-3", "that is the host");
	strv_clear(&facts);
}

static void
test_nonsense(void)
{
	static const char *const bad[] = { "", "x", "3-", "5-2", "0-4000000000",
		"1;2", "-1", "0,,1", "99999999999999999999999" };
	struct strv facts = STRV_INIT;
	struct map_wish wish;

	ok(place(&facts, NULL, "core", 1) == -1 && *err.hint,
	    "a host that says nothing is an error");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		strv_setenv(&facts, "cpus_allowed", bad[i]);
		ok(place(&facts, NULL, "core", 1) == -1,
		    "\"%s\" is no set of CPUs", bad[i]);
	}
	strv_setenv(&facts, "cpus_allowed", "0-1");
	strv_add(&facts, "node=");
	strv_add(&facts, "node=7");
	strv_add(&facts, "core=1-0");
	strv_add(&facts, "gpu=");
	strv_add(&facts, "gpu=a 10de");
	strv_add(&facts, "gpu=b 10de 0 7-x way");
	strv_add(&facts, "nic=");
	ok(place(&facts, "gpu", "core", 2) == 0, "broken facts say nothing");
	is(bound(2), "0 1", "and the rest counts");
	strv_clear(&facts);
	ok(map_wish_read(&wish, "rack", NULL, &err) == -1 &&
	    strstr(err.hint, "slot node numa gpu"), "an unknown --map_by");
	ok(map_wish_read(&wish, NULL, "nod", &err) == -1 &&
	    strstr(err.hint, "none core numa socket"), "an unknown --bind_to");
}

/* --- recorded machines --- */

static void
add_set(struct strv *facts, const char *name, hwloc_const_bitmap_t set)
{
	char *list;

	if (hwloc_bitmap_list_asprintf(&list, set) < 0)
		exit(99);
	strv_addf(facts, "%s%s", name, list);
	free(list);
}

/* What topology.c would say of a machine that hwloc recorded. */
static void
facts_of(hwloc_topology_t t, struct strv *facts)
{
	hwloc_obj_t	o = NULL;
	char		name[1200];

	add_set(facts, "cpus_allowed=", hwloc_get_root_obj(t)->cpuset);
	while ((o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, o))) {
		snprintf(name, sizeof name, "node=%u ", o->os_index);
		add_set(facts, name, o->cpuset);
	}
	while ((o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, o)))
		add_set(facts, "core=", o->cpuset);
	while ((o = hwloc_get_next_pcidev(t, o))) {
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(t, o);

		if (o->attr->pcidev.class_id != 0x0302)
			continue;
		snprintf(name, sizeof name, "gpu=%04x:%02x:%02x.%x %04x -1 ",
		    (unsigned)o->attr->pcidev.domain, o->attr->pcidev.bus,
		    o->attr->pcidev.dev, o->attr->pcidev.func,
		    o->attr->pcidev.vendor_id);
		add_set(facts, name, near->cpuset);
	}
}

static void
test_recorded(const char *file, size_t gpus, size_t nodes)
{
	const char		*top = getenv("top_srcdir");
	char			 path[PATH_MAX];
	struct strv		 facts = STRV_INIT;
	hwloc_topology_t	 t;
	hwloc_obj_t		 o = NULL;
	hwloc_bitmap_t		 all, mine;
	size_t			 n = 0;
	bool			 near = true, apart = true;

	snprintf(path, sizeof path, "%s/../shared/corpus/machines/%s",
	    top ? top : ".", file);
	hwloc_topology_init(&t);
	hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (access(path, R_OK) < 0 || hwloc_topology_set_xml(t, path) < 0 ||
	    hwloc_topology_load(t) < 0) {
		skip("no recorded machines here");
		hwloc_topology_destroy(t);
		return;
	}
	all = hwloc_bitmap_alloc();
	mine = hwloc_bitmap_alloc();
	facts_of(t, &facts);
	if (gpus) {
		ok(place(&facts, "gpu", NULL, gpus) == 0,
		    "%s: a rank for each of %zu GPUs", file, gpus);
		while ((o = hwloc_get_next_pcidev(t, o))) {
			hwloc_obj_t obj = hwloc_get_non_io_ancestor_obj(t, o);

			if (o->attr->pcidev.class_id != 0x0302)
				continue;
			hwloc_bitmap_list_sscanf(mine, seat[n++].list);
			near = near && hwloc_bitmap_isequal(mine, obj->cpuset);
		}
		ok(n == gpus && near, "each where hwloc says its GPU is");
	}
	ok(place(&facts, "numa", "core", nodes) == 0,
	    "%s: a rank for each of %zu nodes", file, nodes);
	o = NULL;
	for (size_t i = 0; i < nodes; i++) {
		o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, o);
		hwloc_bitmap_list_sscanf(mine, seat[i].list);
		apart = apart && o && hwloc_bitmap_isequal(mine, o->cpuset);
		hwloc_bitmap_or(all, all, mine);
	}
	ok(apart, "each has the cores of its own");
	ok(place(&facts, NULL, "core", RANKS) == 0, "%d ranks by slot", RANKS);
	hwloc_bitmap_zero(all);
	for (size_t i = 0; i < RANKS; i++) {
		hwloc_bitmap_list_sscanf(mine, seat[i].list);
		apart = apart && !hwloc_bitmap_intersects(all, mine);
		hwloc_bitmap_or(all, all, mine);
	}
	ok((apart || warning.len) && hwloc_bitmap_isequal(all,
	    hwloc_get_root_obj(t)->cpuset), "they have all CPUs, each once");
	hwloc_bitmap_free(all);
	hwloc_bitmap_free(mine);
	hwloc_topology_destroy(t);
	strv_clear(&facts);
}

/* --- /sys --- */

static char	root[] = "/tmp/accel-map-XXXXXX";

static void
put(const char *name, const char *text)
{
	char	 path[PATH_MAX];
	FILE	*f;

	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		mkdir(path, 0700);
	}
	if (!(f = fopen(path, "w")) || fputs(text, f) < 0 || fclose(f))
		exit(99);
}

static void
point(const char *name, const char *target)
{
	char path[PATH_MAX], to[PATH_MAX];

	snprintf(to, sizeof to, "%s/.keep", name);
	snprintf(path, sizeof path, "%s%s", root, name);
	put(to, "");
	snprintf(to, sizeof to, "%s%s/.keep", root, name);
	unlink(to);
	rmdir(path);
	snprintf(to, sizeof to, "%s%s", root, target);
	if (symlink(to, path))
		exit(99);
}

static void
put_device(const char *way, const char *class, const char *vendor,
    const char *node)
{
	char name[400], bus[400];

	snprintf(name, sizeof name, "/sys/devices/%s/class", way);
	put(name, class);
	snprintf(name, sizeof name, "/sys/devices/%s/vendor", way);
	put(name, vendor);
	snprintf(name, sizeof name, "/sys/devices/%s/numa_node", way);
	put(name, node);
	snprintf(name, sizeof name, "/sys/devices/%s/local_cpulist", way);
	put(name, strcmp(node, "0\n") ? "2-3\n" : "0-1\n");
	snprintf(name, sizeof name, "/sys/devices/%s", way);
	snprintf(bus, sizeof bus, "/sys/bus/pci/devices/%s",
	    strrchr(way, '/') + 1);
	point(bus, name);
}

static int
unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void
test_sys(void)
{
	static const char *const want[] = {
		"cpus_allowed=0-3", "node=0 0-1", "node=1 2-3", "core=0-1",
		"core=2-3", "package=0 0-1", "package=1 2-3",
		"gpu=0000:02:00.0 10de 0 0-1 pci0000:00/0000:00:01.0/0000:02:00.0",
		"gpu=0000:c1:00.0 10de 1 2-3 pci0000:c0/0000:c1:00.0",
		"hca=mlx5_0 1 2-3 pci0000:c0/0000:c2:00.0",
	};
	struct strv	facts = STRV_INIT;
	char		name[100];
	cpu_set_t	mine;

	if (!mkdtemp(root))
		exit(99);
	put("/sys/devices/system/cpu/online", "0-3\n");
	put("/sys/devices/system/node/node0/cpulist", "0-1\n");
	put("/sys/devices/system/node/node1/cpulist", "2-3\n");
	put("/sys/devices/system/node/node2/cpulist", "\n");
	put("/sys/devices/system/node/online", "0-2\n");
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/"
		    "topology/physical_package_id", i);
		put(name, i < 2 ? "0\n" : "1\n");
		snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/"
		    "topology/thread_siblings_list", i);
		put(name, i < 2 ? "0-1\n" : "2-3\n");
	}
	put_device("pci0000:c0/0000:c1:00.0", "0x030200\n", "0x10de\n", "1\n");
	put_device("pci0000:00/0000:00:01.0/0000:02:00.0", "0x030000\n",
	    "0x10de\n", "0\n");
	put_device("pci0000:00/0000:03:00.0", "0x030000\n", "0x1a03\n", "0\n");
	put_device("pci0000:00/0000:04:00.0", "0x030200\n", "0x10de\n", "0\n");
	put_device("pci0000:c0/0000:c2:00.0", "0x020700\n", "0x15b3\n", "1\n");
	put("/proc/driver/nvidia/gpus/0000:04:00.0/information",
	    "Model: \t\t X\nDevice Minor: \t 7\n");
	put("/proc/driver/nvidia/gpus/0000:02:00.0/information",
	    "Model: \t\t X\nDevice Minor: \t 0\n");
	put("/dev/nvidia0", "");
	point("/sys/class/infiniband/mlx5_0/device",
	    "/sys/devices/pci0000:c0/0000:c2:00.0");
	put("/sys/class/net/lo/address", "0\n");
	ok(topology_facts(root, &facts) == 0, "a machine is read from /sys");
	ok(facts.count == sizeof want / sizeof *want, "%zu facts", facts.count);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		is(i < facts.count ? facts.item[i] : NULL, want[i], "%s",
		    want[i]);
	strv_clear(&facts);
	nftw(root, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
	CPU_ZERO(&mine);
	if (sched_getaffinity(0, sizeof mine, &mine) < 0) {
		skip("more than 1024 CPUs");
		return;
	}
	ok(topology_facts("", &facts) == 0 &&
	    place(&facts, NULL, "core", 1) == 0 &&
	    seat[0].cpus == (size_t)CPU_COUNT(&mine),
	    "of this machine, one rank has all that may be used");
	strv_clear(&facts);
}

int
main(void)
{
	test_wide();
	test_narrow();
	test_nonsense();
	test_recorded("power8gpudistances.xml", 4, 2);
	test_recorded("24em64t-2n6c2t-pci.xml", 0, 2);
	test_recorded("192em64t-24n8c2t.xml", 0, 16);
	test_sys();
	for (size_t i = 0; i < RANKS; i++)
		seat_clear(&seat[i]);
	buf_clear(&warning);
	return tap_done();
}
