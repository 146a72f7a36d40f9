/* SPDX-License-Identifier: Apache-2.0 */
/* facts of the system: processor, memory, limits, disk, container. */
#include "probes/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "probes/sysfile.h"
#include "probes/topology.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

/* Arm's /proc/cpuinfo has numbers: implementer and part, of MIDR_EL1.  From
 * Arm's reference manuals and Linux's cputype.h. */
static const struct { unsigned implementer, part; const char *name; } arms[] = {
	{ 0x41, 0xd03, "Cortex-A53" }, { 0x41, 0xd07, "Cortex-A57" },
	{ 0x41, 0xd08, "Cortex-A72" }, { 0x41, 0xd0b, "Cortex-A76" },
	{ 0x41, 0xd0c, "Neoverse-N1" }, { 0x41, 0xd40, "Neoverse-V1" },
	{ 0x41, 0xd42, "Cortex-A78AE" }, { 0x41, 0xd49, "Neoverse-N2" },
	{ 0x41, 0xd4f, "Neoverse-V2" }, { 0xc0, 0xac3, "Ampere-1" },
	{ 0xc0, 0xac4, "Ampere-1a" },
};

/* The whole word, in a line of flags. */
static bool
has_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = line; (at = strstr(at, word)); at += n)
		if ((at == line || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static int
add_cpu(const char *root, struct strv *facts)
{
	static const char *const bf16[] = { "amx_bf16", "avx512_bf16", "bf16" };
	char		text[16384], value[8192], part[32];
	unsigned long	implementer, number;

	sysfile_text(text, sizeof text, root, "/proc/cpuinfo");
	for (size_t i = 0; i < sizeof bf16 / sizeof *bf16; i++)
		if ((sysfile_value(value, sizeof value, text, "flags") ||
		    sysfile_value(value, sizeof value, text, "Features")) &&
		    has_word(value, bf16[i])) {
			if (strv_add(facts, "cpu_bf16=true"))
				return -1;
			break;
		}
	if (sysfile_value(value, sizeof value, text, "model name") ||
	    sysfile_value(value, sizeof value, text, "cpu"))
		return strv_addf(facts, "cpu=%s", value);
	if (!sysfile_value(value, sizeof value, text, "CPU implementer") ||
	    !sysfile_value(part, sizeof part, text, "CPU part"))
		return 0;
	implementer = strtoul(value, NULL, 0);
	number = strtoul(part, NULL, 0);
	for (size_t i = 0; i < sizeof arms / sizeof *arms; i++)
		if (arms[i].implementer == implementer &&
		    arms[i].part == number)
			return strv_addf(facts, "cpu=%s", arms[i].name);
	return strv_addf(facts, "cpu=Arm %#lx part %#lx", implementer, number);
}

static int
add_memory(const char *root, struct strv *facts)
{
	static const struct { const char *name, *key; } keys[] = {
		{ "memory", "MemTotal" }, { "memory_free", "MemAvailable" },
		{ "swap", "SwapTotal" },
	};
	char text[4096], value[64];

	sysfile_text(text, sizeof text, root, "/proc/meminfo");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (sysfile_value(value, sizeof value, text, keys[i].key) &&
		    strv_addf(facts, "%s=%llu", keys[i].name,
		    strtoull(value, NULL, 10) * 1024))
			return -1;
	return 0;
}

/* --- control groups --- */

struct limits {
	unsigned long long	memory;		/* 0: none */
	double			cpus;		/* 0: none */
};

static void
lower_memory(struct limits *l, unsigned long long bytes)
{
	/* Version 1 says "none" by the largest number of whole pages. */
	if (bytes && bytes < 1ULL << 60 && (!l->memory || bytes < l->memory))
		l->memory = bytes;
}

static void
lower_cpus(struct limits *l, double quota, double period)
{
	if (quota > 0 && period > 0 && (l->cpus <= 0 ||
	    quota / period < l->cpus))
		l->cpus = quota / period;
}

/* A group and all above it hold.  Within a container the path may be one of the
 * host's, which is not there: the files at the top are the container's. */
static void
look_up(const char *root, const char *mount, char *path, bool v2,
    struct limits *l)
{
	for (;;) {
		char text[64], *end;

		if (v2) {
			lower_memory(l, sysfile_number(0, root,
			    "%s%s/memory.max", mount, path));
			if (sysfile_line(text, sizeof text, root,
			    "%s%s/cpu.max", mount, path)) {
				double quota = strtod(text, &end);

				lower_cpus(l, quota, strtod(end, NULL));
			}
		} else {
			lower_memory(l, sysfile_number(0, root,
			    "%s%s/memory.limit_in_bytes", mount, path));
			lower_cpus(l, (double)sysfile_number(0, root,
			    "%s%s/cpu.cfs_quota_us", mount, path),
			    (double)sysfile_number(0, root,
			    "%s%s/cpu.cfs_period_us", mount, path));
		}
		if (!*path)
			return;
		*strrchr(path, '/') = '\0';
	}
}

/* The path of a line "0::/path", or of "4:cpu,cpuacct:/path" for "cpu". */
static bool
group_of(char *path, size_t room, const char *text, const char *controller)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		const char	*names = strchr(text, ':'), *end;
		size_t		 n = strlen(controller);
		bool		 hit;

		if (!names || !(end = strchr(++names, ':')))
			continue;
		hit = !n && end == names;
		for (const char *at = names; n && at < end;
		    at += strcspn(at, ",:") + 1)
			hit = hit || (strcspn(at, ",:") == n &&
			    !strncmp(at, controller, n));
		if (!hit || end[1] != '/')
			continue;
		snprintf(path, room, "%.*s", (int)strcspn(end + 1, "\n"),
		    end + 1);
		if (!strcmp(path, "/") || strstr(path, ".."))
			*path = '\0';
		return true;
	}
	return false;
}

static int
add_limits(const char *root, struct strv *facts)
{
	struct limits	l = { 0, 0 };
	char		text[4096], path[1024];

	sysfile_text(text, sizeof text, root, "/proc/self/cgroup");
	if (group_of(path, sizeof path, text, ""))
		look_up(root, "/sys/fs/cgroup", path, true, &l);
	if (group_of(path, sizeof path, text, "memory"))
		look_up(root, "/sys/fs/cgroup/memory", path, false, &l);
	if (group_of(path, sizeof path, text, "cpu"))
		look_up(root, "/sys/fs/cgroup/cpu", path, false, &l);
	if (l.memory && strv_addf(facts, "memory_limit=%llu", l.memory))
		return -1;
	return l.cpus > 0 ? strv_addf(facts, "cpu_limit=%.6g", l.cpus) : 0;
}

/* --- where we are --- */

static int
add_container(const char *root, struct strv *facts)
{
	static const char *const in_path[] = { "kubepods", "docker", "libpod",
		"lxc", "containerd" };
	static const struct { const char *file, *kind; } files[] = {
		{ "/run/.containerenv", "podman" }, { "/.dockerenv", "docker" },
		{ "/.singularity.d", "apptainer" },
	};
	char text[4096];

	if (!*root && getenv("KUBERNETES_SERVICE_HOST"))
		return strv_add(facts, "container=kubernetes");
	if (sysfile_line(text, sizeof text, root, "/run/systemd/container"))
		return strv_addf(facts, "container=%s", text);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (sysfile_exists(root, "%s", files[i].file))
			return strv_addf(facts, "container=%s", files[i].kind);
	sysfile_text(text, sizeof text, root, "/proc/self/cgroup");
	for (size_t i = 0; i < sizeof in_path / sizeof *in_path; i++)
		if (strstr(text, in_path[i]))
			return strv_addf(facts, "container=%s", i ? in_path[i] :
			    "kubernetes");
	return 0;
}

/* Microsoft's kernels: "5.15.90.1-microsoft-standard-WSL2", and version 1's
 * "4.4.0-19041-Microsoft". */
static int
add_wsl(const char *root, struct strv *facts)
{
	char text[256];

	if (!sysfile_line(text, sizeof text, root,
	    "/proc/sys/kernel/osrelease"))
		return 0;
	if (strv_addf(facts, "kernel=%s", text))
		return -1;
	if (strstr(text, "WSL2") || strstr(text, "microsoft"))
		return strv_add(facts, "wsl=2");
	return strstr(text, "Microsoft") ? strv_add(facts, "wsl=1") : 0;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat ...", and
 * "NVIDIA UNIX Open Kernel Module for x86_64  550.54.15": the first word that
 * begins with a digit and has a point in it. */
static int
add_driver(const char *root, struct strv *facts)
{
	char text[512];

	sysfile_line(text, sizeof text, root, "/proc/driver/nvidia/version");
	for (const char *at = text; *at; at += *at == ' ') {
		size_t n = strcspn(at, " ");

		if (*at >= '0' && *at <= '9' && memchr(at, '.', n))
			return strv_addf(facts, "driver=%.*s", (int)n, at);
		at += n;
	}
	return 0;
}

/* What the library's name leads to has the version in it. */
static int
add_nccl(const char *root, struct strv *facts)
{
	static const char *const folders[] = {
		"/usr/local/cuda/lib64", "/usr/local/lib",
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib64",
	};
	static const char before[] = "libnccl.so.";
	char name[64];

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (sysfile_link(name, sizeof name, root, "%s/libnccl.so.2",
		    folders[i]) && !strncmp(name, before, sizeof before - 1))
			return strv_addf(facts, "nccl=%s",
			    name + sizeof before - 1);
	return 0;
}

static int
add_space(const char *name, const char *folder, struct strv *facts)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) || !fs.f_blocks)
		return 0;
	return strv_addf(facts, "%s=%llu", name,
	    (unsigned long long)fs.f_blocks * fs.f_frsize) ||
	    strv_addf(facts, "%s_free=%llu", name,
	    (unsigned long long)fs.f_bavail * fs.f_frsize) ? -1 : 0;
}

static int
add_nodes(const char *root, struct strv *facts)
{
	static const char	 folder[] = "/sys/devices/system/node";
	struct strv		 all = STRV_INIT;
	int			 ret = sysfile_names(&all, root, folder);

	for (size_t i = 0; !ret && i < all.count; i++) {
		char text[4096], *at;

		if (strncmp(all.item[i], "node", 4) ||
		    !sysfile_text(text, sizeof text, root, "%s/%s/meminfo",
		    folder, all.item[i]) || !(at = strstr(text, "MemTotal:")))
			continue;
		ret = strv_addf(facts, "numa.%s.memory=%llu", all.item[i] + 4,
		    1024 * strtoull(at + 9, NULL, 10));
	}
	strv_clear(&all);
	return ret;
}

int
facts_system(const char *root, const char *folder, struct strv *facts)
{
	const char	*job = getenv("SLURM_JOB_ID");
	struct utsname	 u;
	char		 text[128];

	if (!*root && uname(&u) == 0 && strv_addf(facts, "arch=%s", u.machine))
		return -1;
	if (add_cpu(root, facts) || add_memory(root, facts) ||
	    add_limits(root, facts) || add_container(root, facts) ||
	    add_wsl(root, facts) || add_driver(root, facts) ||
	    add_nodes(root, facts) || add_nccl(root, facts))
		return -1;
	if (sysfile_line(text, sizeof text, root, "/opt/rocm/.info/version") &&
	    strv_addf(facts, "rocm=%s", text))
		return -1;
	if (*root)
		return 0;
	if (job && *job && strv_addf(facts, "slurm=%s", job))
		return -1;
	return add_space("disk", folder, facts) ||
	    add_space("shm", "/dev/shm", facts) ? -1 : 0;
}

int
facts_all(const char *root, const char *folder, struct strv *facts)
{
	return topology_facts(root, facts) < 0 ||
	    facts_system(root, folder, facts) < 0 ||
	    facts_gpus(root, facts) < 0 || facts_nics(root, facts) < 0 ? -1 : 0;
}
