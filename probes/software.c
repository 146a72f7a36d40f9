/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/software.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

char *
probe_which(const char *program)
{
	const char *path = getenv("PATH");
	char *full;

	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*path) {
		size_t n = strcspn(path, ":");

		if (n && asprintf(&full, "%.*s/%s", (int)n, path, program) >
		    0) {
			if (access(full, X_OK) == 0)
				return full;
			free(full);
		}
		path += n + (path[n] == ':');
	}
	return NULL;
}

static int
add_program(struct strv *facts, const char *name, const char *program)
{
	char *path = probe_which(program);
	int status = path ? strv_addf(facts, "%s=%s", name, path) : 0;

	free(path);
	return status;
}

/* The value behind "name" and a colon or blank in a file of such lines. */
static int
line_of(const char *path, const char *name, char *value, size_t room)
{
	FILE *f = fopen(path, "re");
	char line[512];
	size_t n = strlen(name);
	int found = -1;

	while (f && found && fgets(line, sizeof line, f)) {
		const char *at = line + n;

		if (strncmp(line, name, n) || !strchr(" \t:", *at) || !*at)
			continue;
		at += strspn(at, " \t:");
		snprintf(value, room, "%.*s", (int)strcspn(at, "\n"), at);
		found = 0;
	}
	if (f)
		fclose(f);
	return found;
}

static int
add_memory(struct strv *facts)
{
	static const struct { const char *name, *key; } keys[] = {
		{ "memory", "MemTotal" }, { "available", "MemAvailable" },
		{ "swap", "SwapTotal" },
	};
	struct statvfs shm;
	char value[64];

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!line_of("/proc/meminfo", keys[i].key, value,
		    sizeof value) && strv_addf(facts, "%s=%llu", keys[i].name,
		    strtoull(value, NULL, 10) * 1024))
			return -1;
	if (statvfs("/dev/shm", &shm) == 0)
		return strv_addf(facts, "shm=%llu",
		    (unsigned long long)shm.f_blocks * shm.f_frsize);
	return 0;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104  Sat ..." */
static int
add_driver(struct strv *facts)
{
	char value[256], *at;

	if (line_of("/proc/driver/nvidia/version", "NVRM version", value,
	    sizeof value))
		return 0;
	for (at = value; *at; at++)
		if (at[0] >= '0' && at[0] <= '9' && at > value &&
		    at[-1] == ' ' && at[strspn(at, "0123456789")] == '.') {
			at[strspn(at, "0123456789.")] = '\0';
			return strv_addf(facts, "driver=%s", at);
		}
	return 0;
}

/* "version": "12.2.1" of the toolkit's version.json, its first such line. */
static int
add_toolkit(struct strv *facts)
{
	struct buf text = { .max = 1 << 16 };
	const char *at, *end;
	int status = 0;

	if (file_read("/usr/local/cuda/version.json", &text, NULL) == 0 &&
	    (at = strstr(buf_text(&text), "\"version\"")) &&
	    (at = strchr(at + 9, '"')) && (end = strchr(++at, '"')))
		status = strv_addf(facts, "cuda=%.*s", (int)(end - at), at);
	buf_clear(&text);
	return status;
}

static int
add_rocm(struct strv *facts)
{
	struct buf text = { .max = 4096 };
	int status = 0;

	if (file_read("/opt/rocm/.info/version", &text, NULL) == 0)
		status = strv_addf(facts, "rocm=%.*s",
		    (int)strcspn(buf_text(&text), "\n"), buf_text(&text));
	buf_clear(&text);
	return status;
}

/* The file that a library's name leads to, which has the version in it. */
static char *
library_in(const char *folder, size_t n, const char *name)
{
	char *path, *real;

	if (asprintf(&path, "%.*s/%s", (int)n, folder, name) < 0)
		return NULL;
	real = realpath(path, NULL);
	free(path);
	return real;
}

static int
add_library(struct strv *facts, const char *fact, const char *name)
{
	static const char *const folders[] = {
		"/usr/local/cuda/lib64", "/usr/local/lib",
		"/usr/lib/" MULTIARCH, "/lib/" MULTIARCH, "/usr/lib64",
		"/usr/lib", "/opt/rocm/lib",
	};
	const char *path = getenv("LD_LIBRARY_PATH");
	char *real = NULL;
	int status;

	while (!real && path && *path) {
		size_t n = strcspn(path, ":");

		if (n)
			real = library_in(path, n, name);
		path += n + (path[n] == ':');
	}
	for (size_t i = 0; !real && i < sizeof folders / sizeof *folders; i++)
		real = library_in(folders[i], strlen(folders[i]), name);
	status = real ? strv_addf(facts, "%s=%s", fact, real) : 0;
	free(real);
	return status;
}

static int
add_libraries(struct strv *facts)
{
	/* The oldest name last. */
	static const struct { const char *fact, *name; } libraries[] = {
		{ "cudart", "libcudart.so.13" },
		{ "cudart", "libcudart.so.12" },
		{ "cudart", "libcudart.so.11.0" }, { "nccl", "libnccl.so.2" },
		{ "cudnn", "libcudnn.so.9" }, { "cudnn", "libcudnn.so.8" },
		{ "rccl", "librccl.so.1" }, { "mpich", "libmpich.so.12" },
		{ "openmpi", "libmpi.so.40" },
	};

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (!strv_getenv(facts, libraries[i].fact) &&
		    add_library(facts, libraries[i].fact, libraries[i].name))
			return -1;
	return 0;
}

static int
add_system(struct strv *facts)
{
	struct utsname u;
	char value[256];

	if (uname(&u) == 0 && strv_addf(facts, "kernel=%s-%s-%s", u.sysname,
	    u.release, u.machine))
		return -1;
	if (strv_addf(facts, "libc=glibc%s", gnu_get_libc_version()))
		return -1;
	if (!line_of("/proc/cpuinfo", "model name", value, sizeof value) &&
	    strv_addf(facts, "cpu=%s", value))
		return -1;
	if (access("/.dockerenv", F_OK) == 0 ||
	    access("/run/.containerenv", F_OK) == 0)
		return strv_add(facts, "container=yes");
	return 0;
}

int
probe_software(struct strv *facts, struct err *err)
{
	static const struct { const char *fact, *name; } programs[] = {
		{ "nvcc", "nvcc" }, { "mpiexec", "mpiexec" }, { "ssh", "ssh" },
		{ "git", "git" }, { "nvidia_smi", "nvidia-smi" },
	};
	const char *job = getenv("SLURM_JOB_ID"), *agent =
	    getenv("SSH_AUTH_SOCK");

	if (add_system(facts) || add_memory(facts) || add_driver(facts) ||
	    add_toolkit(facts) || add_rocm(facts) || add_libraries(facts))
		return err_nomem(err);
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (add_program(facts, programs[i].fact, programs[i].name))
			return err_nomem(err);
	if (job && *job && strv_addf(facts, "slurm=%s", job))
		return err_nomem(err);
	if (agent && *agent && strv_add(facts, "ssh_agent=yes"))
		return err_nomem(err);
	return 0;
}
