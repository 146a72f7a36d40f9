/* SPDX-License-Identifier: Apache-2.0 */
/* agent_facts: what this host is, from files that cost nothing to read. */
#include "runtime/launch/agent.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/strv.h"

#include "runtime/base/banned.h"

/* Calls "each" with every name in a folder; false where there is no folder. */
static bool
each_name(const char *folder, void (*each)(void *user, const char *name),
    void *user)
{
	DIR		*dir = opendir(folder);
	struct dirent	*entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		each(user, entry->d_name);
	closedir(dir);
	return true;
}

static void
count_nvidia(void *user, const char *name)
{
	if (!strncmp(name, "nvidia", 6) && isdigit((unsigned char)name[6]) &&
	    name[6 + strspn(name + 6, "0123456789")] == '\0')
		++*(long *)user;
}

/* AMD's GPUs are the nodes of kfd that have a gpu_id. */
static void
count_amd(void *user, const char *name)
{
	char path[300], id[32];

	snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%s/gpu_id",
	    name);
	if (isdigit((unsigned char)name[0]) && agent_read(path, id, sizeof id) &&
	    strtoul(id, NULL, 10))
		++*(long *)user;
}

static void
devices(struct answer *to)
{
	char	 text[600], *word;
	long	 count = 0, amd = 0;

	each_name("/dev", count_nvidia, &count);
	each_name("/sys/class/kfd/kfd/topology/nodes", count_amd, &amd);
	answer_fact(to, "devices=%ld", count + amd);
	/* NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat ...:
	 * the first word that begins with a digit and has a point in it. */
	if (!agent_read("/proc/driver/nvidia/version", text, sizeof text))
		return;
	for (word = text; *word; word += *word != '\0') {
		size_t n = strcspn(word, " \t\n");

		if (isdigit((unsigned char)*word) && memchr(word, '.', n)) {
			answer_fact(to, "driver=%.*s", (int)n, word);
			return;
		}
		word += n;
	}
}

static void
space(struct answer *to, const char *name, const char *folder)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) == 0 && fs.f_blocks)
		answer_fact(to, "%s=%llu", name,
		    (unsigned long long)fs.f_bavail * fs.f_frsize);
}

void
agent_facts(struct answer *to, const char *folder)
{
	static const char *const	 inherited[] = {
		"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
	};
	struct utsname			 u;
	cpu_set_t			 set;
	char				 text[2048], *at;
	struct timespec			 now;

	if (uname(&u) == 0)
		answer_fact(to, "system=%s %s %s", u.sysname, u.release,
		    u.machine);
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		answer_fact(to, "cpus=%d", CPU_COUNT(&set));
	else
		answer_fact(to, "cpus=%ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (agent_read("/proc/meminfo", text, sizeof text) &&
	    (at = strstr(text, "MemAvailable:")))
		answer_fact(to, "memory_free=%llu",
		    1024 * strtoull(at + 13, NULL, 10));
	space(to, "disk_free", folder);
	space(to, "shm_free", "/dev/shm");
	devices(to);
	for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
		if (getenv(inherited[i]))
			answer_fact(to, "%s=%s", inherited[i],
			    getenv(inherited[i]));
	clock_gettime(CLOCK_REALTIME, &now);
	answer_fact(to, "time=%lld.%03ld", (long long)now.tv_sec,
	    now.tv_nsec / 1000000);
}

/* --- what an interpreter has, without running it --- */

struct packages {
	char	torch[80], accelerate[80];
};

/* torch-2.3.0+cu121.dist-info */
static void
note_package(void *user, const char *name)
{
	struct packages	*found = user;
	const char	*end = strrchr(name, '.'), *dash = strchr(name, '-');
	char		*to;

	if (!end || !dash || end < dash ||
	    (strcmp(end, ".dist-info") && strcmp(end, ".egg-info")))
		return;
	if (dash - name == 5 && !strncmp(name, "torch", 5))
		to = found->torch;
	else if (dash - name == 10 && !strncmp(name, "accelerate", 10))
		to = found->accelerate;
	else
		return;
	if (!*to)	/* the first of sys.path is what is imported */
		snprintf(to, sizeof found->torch, "%.*s",
		    (int)(end - dash - 1 < 79 ? end - dash - 1 : 79), dash + 1);
}

static void
note_version(void *user, const char *name)
{
	char *version = user;

	if (!strncmp(name, "python3.", 8) && !*version)
		snprintf(version, 16, "%.15s", name + 6);
}

/* "key = value" of pyvenv.cfg. */
static bool
venv_value(const char *text, const char *key, char *value, size_t room)
{
	size_t n = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		const char *at = text + n;

		if (strncmp(text, key, n))
			continue;
		at += strspn(at, " \t");
		if (*at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t");
		snprintf(value, room, "%.*s", (int)strcspn(at, "\r\n"), at);
		return true;
	}
	return false;
}

/* The folder above the one that a file is in. */
static bool
prefix_of(const char *file, char *out, size_t room)
{
	snprintf(out, room, "%s", file);
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(out, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/* Looks in lib/pythonX.Y/site-packages below a prefix, and where Debian has
 * them.  True where there is such a folder. */
static bool
look_below(const char *prefix, char version[16], struct packages *found)
{
	static const char *const	 forms[] = {
		"%s/local/lib/python%s/dist-packages",
		"%s/lib/python%s/site-packages",
		"%s/lib64/python%s/site-packages",
	};
	char				 path[4200];
	bool				 any = false;

	snprintf(path, sizeof path, "%s/lib", prefix);
	if (!*version)
		each_name(path, note_version, version);
	if (!*version)
		return false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof path, forms[i], prefix, version);
#pragma GCC diagnostic pop
		any = each_name(path, note_package, found) || any;
	}
	snprintf(path, sizeof path, "%s/lib/python3/dist-packages", prefix);
	return each_name(path, note_package, found) || any;
}

void
agent_python(struct answer *to, const char *python)
{
	struct packages	 found = { "", "" };
	char		 prefix[4096], path[4200], text[4096], value[4096] = "";
	char		 version[16] = "", *real = realpath(python, NULL);
	const char	*base, *home = getenv("HOME");
	bool		 known = false, system = true;

	answer_fact(to, "python=%s", python);
	base = real ? strrchr(real, '/') : NULL;
	if (base && !strncmp(base, "/python3.", 9) && isdigit((unsigned char)base[9]))
		snprintf(version, sizeof version, "3.%.*s",
		    (int)strspn(base + 9, "0123456789"), base + 9);
	if (prefix_of(python, prefix, sizeof prefix)) {
		snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix);
		if (agent_read(path, text, sizeof text)) {
			system = venv_value(text, "include-system-site-packages",
			    value, sizeof value) && !strcmp(value, "true");
			known = look_below(prefix, version, &found);
		}
	}
	if (system && home && *version && !getenv("PYTHONNOUSERSITE")) {
		snprintf(path, sizeof path, "%s/.local", home);
		look_below(path, version, &found);
	}
	if (system && real && prefix_of(real, prefix, sizeof prefix))
		known = look_below(prefix, version, &found) || known;
	free(real);
	if (*version)
		answer_fact(to, "python_version=%s", version);
	if (known) {	/* "" is: not there */
		answer_fact(to, "torch=%s", found.torch);
		answer_fact(to, "accelerate=%s", found.accelerate);
	}
}
