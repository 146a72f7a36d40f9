/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/agent_gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

enum {
	REST_MS = 4000,		/* from one nvidia-smi to the next */
	STUCK_MS = 20000,	/* a driver that hangs holds it for ever */
	SAID_MAX = 1 << 20
};

/* A number up to the next comma or the end of the line; "[N/A]" and the like
 * are unknown. */
static uint32_t
next_number(const char **at)
{
	char		*end;
	unsigned long	 n;
	uint32_t	 found = WIRE_UNKNOWN;

	*at += strspn(*at, " \t");
	errno = 0;
	n = strtoul(*at, &end, 10);
	if (end != *at && **at >= '0' && **at <= '9' && !errno &&
	    n < WIRE_UNKNOWN)
		found = (uint32_t)n;
	*at += strcspn(*at, ",\n");
	*at += **at == ',';
	return found;
}

static const char *
next_line(const char *at)
{
	at += strcspn(at, "\n");
	return at + (*at == '\n');
}

void
gpus_read_nvidia(struct agent_gpus *g, const char *text)
{
	g->count = 0;
	for (; *text && g->count < GPUS_MAX; text = next_line(text)) {
		struct gpu_use *one = &g->gpu[g->count];

		one->index = next_number(&text);
		one->busy = next_number(&text);
		one->used_mib = next_number(&text);
		one->total_mib = next_number(&text);
		if (one->busy > 100)
			one->busy = WIRE_UNKNOWN;
		g->count += one->index != WIRE_UNKNOWN;
	}
}

void
gpus_read_processes(struct agent_gpus *g, const char *text)
{
	g->processes = 0;
	for (; *text && g->processes < GPU_PROCESSES; text = next_line(text)) {
		uint32_t pid = next_number(&text), mib = next_number(&text);

		if (pid != WIRE_UNKNOWN && mib != WIRE_UNKNOWN)
			g->process[g->processes++] = (struct gpu_process){
			    (pid_t)pid, mib };
	}
}

/* The number in a file, or -1. */
static int64_t
file_number(const char *root, unsigned card, const char *name)
{
	char	path[400], text[40] = "", *end;
	int	fd;
	ssize_t	n;
	long long number;

	snprintf(path, sizeof path, "%s/sys/class/drm/card%u/device/%s", root,
	    card, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return -1;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	number = strtoll(text, &end, 10);
	return end == text || number < 0 ? -1 : number;
}

static uint32_t
as_mib(int64_t bytes)
{
	return bytes < 0 || bytes >> 20 >= WIRE_UNKNOWN ? WIRE_UNKNOWN :
	    (uint32_t)(bytes >> 20);
}

void
gpus_read_amd(struct agent_gpus *g, const char *root)
{
	g->count = 0;
	for (unsigned card = 0; card < GPUS_MAX; card++) {
		int64_t busy = file_number(root, card, "gpu_busy_percent");
		int64_t all = file_number(root, card, "mem_info_vram_total");
		struct gpu_use *one = &g->gpu[g->count];

		if (all < 0)	/* another maker's, or a console */
			continue;
		*one = (struct gpu_use){ (uint32_t)g->count,
		    busy < 0 || busy > 100 ? WIRE_UNKNOWN : (uint32_t)busy,
		    as_mib(file_number(root, card, "mem_info_vram_used")),
		    as_mib(all) };
		g->count++;
	}
}

static void
become_smi(bool of_processes, int out)
{
	sigset_t none;
	int	 null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, 0);
	dup2(out, 1);
	dup2(null, 2);
	execlp("nvidia-smi", "nvidia-smi", of_processes ?
	    "--query-compute-apps=pid,used_gpu_memory" :
	    "--query-gpu=index,utilization.gpu,memory.used,memory.total",
	    "--format=csv,noheader,nounits", (char *)NULL);
	_exit(127);
}

static void
start_smi(struct agent_gpus *g)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return;
	g->child = fork();
	if (g->child == 0)
		become_smi(g->of_processes, pipes[1]);
	close(pipes[1]);
	if (g->child < 0) {
		g->child = 0;
		close(pipes[0]);
		return;
	}
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	g->fd = pipes[0];
	g->said.max = SAID_MAX;
}

static void
end_smi(struct agent_gpus *g)
{
	close(g->fd);
	g->fd = -1;
	g->child = 0;		/* the agent reaps all that it gets */
	buf_clear(&g->said);
}

/* Is there a driver that nvidia-smi could ask? */
static bool
has_nvidia(const char *root)
{
	static const char *const files[] = { "/dev/nvidiactl", "/dev/dxg" };
	char path[400];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s%s", root, files[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

void
agent_gpus_ask(struct agent_gpus *g, const char *root)
{
	int64_t now = clock_ms();

	if (g->absent || !has_nvidia(root)) {
		gpus_read_amd(g, root);
		return;
	}
	if (g->child) {
		if (now - g->asked > STUCK_MS) {
			kill(g->child, SIGKILL);
			end_smi(g);
			g->absent = true;
			g->count = g->processes = 0;
		}
		return;
	}
	if (g->asked && now - g->asked < REST_MS)
		return;
	g->of_processes = g->asked && !g->of_processes;
	g->asked = now;
	start_smi(g);
}

void
agent_gpus_hear(struct agent_gpus *g)
{
	char	bytes[4096];
	ssize_t n = read(g->fd, bytes, sizeof bytes);

	if (n > 0) {
		buf_add(&g->said, bytes, (size_t)n);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Nothing at all: it is not there, or knows no GPU. */
	if (!g->said.len && !g->of_processes)
		g->absent = true;
	if (g->of_processes)
		gpus_read_processes(g, buf_text(&g->said));
	else
		gpus_read_nvidia(g, buf_text(&g->said));
	end_smi(g);
}
