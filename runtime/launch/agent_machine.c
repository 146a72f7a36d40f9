/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_machine: all that this host is, as facts.h has it, for accel probe.
 *
 * A static program can load no driver's library: NVIDIA's is asked by
 * nvidia-smi, whose lines go out as they are and are read by who asked.
 */
#include "runtime/launch/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes/facts.h"
#include "probes/sysfile.h"
#include "runtime/base/clock.h"
#include "runtime/base/strv.h"
#include "runtime/launch/descriptors.h"

#include "runtime/base/banned.h"

enum { LIMIT_MS = 10000, SAID_MAX = 256 << 10 };

/* What is asked, and the fact that each line of an answer becomes. */
static const struct question {
	const char	*fact;
	char *const	*argv;
} questions[] = {
	{ "smi", (char *[]){ "nvidia-smi", "--query-gpu=pci.bus_id,"
	    "memory.total,compute_cap,driver_version,name",
	    "--format=csv,noheader,nounits", NULL } },
	{ "nvlink", (char *[]){ "nvidia-smi", "nvlink", "--status", NULL } },
	{ "topo", (char *[]){ "nvidia-smi", "topo", "-m", NULL } },
	{ "p2p", (char *[]){ "nvidia-smi", "topo", "-p2p", "r", NULL } },
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

struct asked {
	pid_t		pid;
	int		fd;		/* -1: all was said */
	struct buf	said;
};

static void
become(char *const argv[], int out)
{
	sigset_t none;
	int	 null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	descriptors_restore();
	dup2(null, 0);
	dup2(out, 1);
	dup2(null, 2);
	execvp(argv[0], argv);
	execv("/usr/lib/wsl/lib/nvidia-smi", argv);
	_exit(127);
}

static void
ask(struct asked *to, char *const argv[])
{
	int pipes[2];

	*to = (struct asked){ .fd = -1, .said = { .max = SAID_MAX } };
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return;
	to->pid = fork();
	if (to->pid == 0)
		become(argv, pipes[1]);
	close(pipes[1]);
	if (to->pid < 0) {
		close(pipes[0]);
		return;
	}
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	to->fd = pipes[0];
}

/* What there is; its end closes the pipe. */
static void
hear(struct asked *from)
{
	char	block[8192];
	ssize_t	n;

	while ((n = read(from->fd, block, sizeof block)) > 0)
		buf_add(&from->said, block, (size_t)n);
	if (n == 0) {
		close(from->fd);
		from->fd = -1;
	}
}

static void
tell_lines(struct answer *to, const char *fact, const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		int n = (int)strcspn(text, "\r\n");

		if (n && n < 4000)
			answer_fact(to, "%s=%.*s", fact, n, text);
	}
}

/* A driver that hangs holds its asker for ever, and not us. */
static void
ask_nvidia(struct agent *a, struct answer *to)
{
	struct asked	all[QUESTIONS];
	int64_t		until = clock_ms() + LIMIT_MS;
	size_t		open;

	for (size_t i = 0; i < QUESTIONS; i++)
		ask(&all[i], questions[i].argv);
	do {
		struct pollfd p[QUESTIONS];

		open = 0;
		for (size_t i = 0; i < QUESTIONS; i++) {
			p[i] = (struct pollfd){ all[i].fd, POLLIN, 0 };
			open += all[i].fd >= 0;
		}
		if (open && poll(p, QUESTIONS, 200) > 0)
			for (size_t i = 0; i < QUESTIONS; i++)
				if (p[i].fd >= 0 && p[i].revents)
					hear(&all[i]);
	} while (open && clock_ms() < until && agent_beat(a));
	for (size_t i = 0; i < QUESTIONS; i++) {
		if (all[i].fd >= 0) {
			close(all[i].fd);
			kill(-all[i].pid, SIGKILL);
		}
		tell_lines(to, questions[i].fact, buf_text(&all[i].said));
		buf_clear(&all[i].said);
	}
	if (open)
		answer_problem(to, false, "is the driver well?  Try it there",
		    "nvidia-smi did not answer in %d s", LIMIT_MS / 1000);
}

/* The first of these that is there and can be run. */
static bool
find_python(const char *wanted, char *full, size_t room)
{
	const char *names[] = { wanted, "python3", "python" };

	for (size_t i = *wanted ? 0 : 1; i < 3; i++) {
		const char *path = getenv("PATH");

		path = path ? path : "/usr/local/bin:/usr/bin:/bin";
		if (strchr(names[i], '/')) {
			snprintf(full, room, "%s", names[i]);
			if (access(full, X_OK) == 0)
				return true;
			continue;
		}
		while (*path) {
			size_t n = strcspn(path, ":");

			snprintf(full, room, "%.*s/%s", (int)n, path, names[i]);
			if (n && access(full, X_OK) == 0)
				return true;
			path += n + (path[n] == ':');
		}
	}
	return false;
}

static void
look(struct agent *a, struct answer *to, const char *folder,
    const char *python)
{
	const char	*test = getenv("ACCEL_DEVICES"), *home = getenv("HOME");
	const char	*root = test ? test : "";
	struct strv	 facts = STRV_INIT;
	struct stat	 st;
	char		 full[4096];

	/* The folder of who asks may not be here. */
	if (stat(folder, &st) < 0)
		folder = home && *home ? home : "/";
	if (facts_all(root, folder, &facts) < 0)
		answer_problem(to, false, "", "out of memory");
	for (size_t i = 0; i < facts.count; i++)
		answer_fact(to, "%s", facts.item[i]);
	strv_clear(&facts);
	agent_interfaces(to);
	if (sysfile_exists(root, "/dev/nvidiactl") ||
	    sysfile_exists(root, "/dev/dxg"))
		ask_nvidia(a, to);
	if (find_python(python, full, sizeof full))
		agent_python(to, full);
}

void
agent_machine(struct agent *a, struct wire_frame *frame)
{
	char		*folder = wire_get_text(frame);
	char		*python = wire_get_text(frame);
	struct answer	 all = { 0 };

	if (!folder || !python)
		answer_problem(&all, true, "", "a broken message");
	else
		look(a, &all, folder, python);
	answer_send(a, &all);
	free(folder);
	free(python);
}
