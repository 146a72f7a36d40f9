/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent reads of GPUs: lines of nvidia-smi, files of AMD's driver.
 * The program itself is a script here, as there is no such GPU. */
#include <ftw.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "runtime/launch/agent_gpus.c"

#include "runtime/base/file.h"
#include "tests/tap.h"

static struct agent_gpus g = { .fd = -1 };

static void
write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
	char path[500];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	ok(!file_replace(path, text, strlen(text), mode, NULL), "%s", name);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void
test_lines(void)
{
	gpus_read_nvidia(&g, "0, 37, 1024, 81559\n1, [N/A], [Not Supported], "
	    "24576\n2, 250, 4294967295, 1\n");
	ok(g.count == 3, "three GPUs");
	ok(g.gpu[0].index == 0 && g.gpu[0].busy == 37 &&
	    g.gpu[0].used_mib == 1024 && g.gpu[0].total_mib == 81559,
	    "with their numbers");
	ok(g.gpu[1].busy == WIRE_UNKNOWN && g.gpu[1].used_mib ==
	    WIRE_UNKNOWN && g.gpu[1].total_mib == 24576,
	    "what is not supported is unknown");
	ok(g.gpu[2].busy == WIRE_UNKNOWN && g.gpu[2].used_mib == WIRE_UNKNOWN,
	    "so is what cannot be");
	gpus_read_nvidia(&g, "No devices were found\n\n,,,\n-1, 3, 4, 5\n");
	ok(g.count == 0, "other words are no GPU");
	gpus_read_processes(&g, "4711, 2048\n4712, [N/A]\n4713, 7");
	ok(g.processes == 2 && g.process[0].pid == 4711 &&
	    g.process[0].mib == 2048 && g.process[1].pid == 4713,
	    "processes with their memory");
}

static void
test_files(const char *root)
{
	write_file(root, "sys/class/drm/card1/device/gpu_busy_percent", "83\n",
	    0644);
	write_file(root, "sys/class/drm/card1/device/mem_info_vram_total",
	    "17163091968\n", 0644);
	write_file(root, "sys/class/drm/card1/device/mem_info_vram_used",
	    "1073741824\n", 0644);
	write_file(root, "sys/class/drm/card2/device/mem_info_vram_total",
	    "1048576\n", 0644);
	agent_gpus_ask(&g, root);
	ok(g.count == 2 && !g.child, "without NVIDIA's driver, AMD's files");
	ok(g.gpu[0].busy == 83 && g.gpu[0].used_mib == 1024 &&
	    g.gpu[0].total_mib == 16368, "are read");
	ok(g.gpu[1].index == 1 && g.gpu[1].busy == WIRE_UNKNOWN,
	    "and what is not there is unknown");
}

/* Until the program has ended. */
static void
hear_all(void)
{
	struct pollfd p = { g.fd, POLLIN, 0 };

	while (g.fd >= 0 && poll(&p, 1, 20000) > 0)
		agent_gpus_hear(&g);
	ok(g.fd < 0, "it ends");
	wait(NULL);
}

static void
test_program(const char *root)
{
	write_file(root, "dev/nvidiactl", "", 0644);
	write_file(root, "bin/nvidia-smi", "#!/bin/sh\n"
	    "case $1 in *compute-apps*) echo 12, 34;;\n"
	    "*) echo 0, 5, 6, 7;; esac\n", 0755);
	g = (struct agent_gpus){ .fd = -1 };
	agent_gpus_ask(&g, root);
	ok(g.child > 0 && g.count == 0, "nvidia-smi runs beside us");
	hear_all();
	ok(g.count == 1 && g.gpu[0].total_mib == 7, "and tells of GPUs");
	agent_gpus_ask(&g, root);
	ok(!g.child, "it is not asked again at once");
	g.asked -= REST_MS;
	agent_gpus_ask(&g, root);
	hear_all();
	ok(g.processes == 1 && g.process[0].mib == 34, "then of processes");
	ok(g.count == 1, "while the GPUs stay");

	write_file(root, "bin/nvidia-smi", "#!/bin/sh\nexec sleep 1000\n", 0755);
	g.asked -= REST_MS;
	agent_gpus_ask(&g, root);
	ok(g.child > 0, "one that hangs");
	g.asked -= STUCK_MS + 1;
	agent_gpus_ask(&g, root);
	ok(!g.child && g.absent, "is ended, and not tried again");
	wait(NULL);

	write_file(root, "bin/nvidia-smi", "#!/bin/sh\nexit 9\n", 0755);
	g = (struct agent_gpus){ .fd = -1 };
	agent_gpus_ask(&g, root);
	hear_all();
	ok(g.absent && g.count == 0, "nor is one that fails");
}

int
main(void)
{
	char root[] = "gpus-XXXXXX", path[600];
	const char *old = getenv("PATH");

	test_lines();
	ok(mkdtemp(root) != NULL, "a folder");
	snprintf(path, sizeof path, "%s/bin:%s", root, old ? old : "");
	setenv("PATH", path, 1);
	test_files(root);
	test_program(root);
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
