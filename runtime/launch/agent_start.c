/* SPDX-License-Identifier: Apache-2.0 */
/* agent_start: forks ranks with exactly the arguments, environment and folder
 * that the launcher sent. */
#include "runtime/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/strv.h"
#include "runtime/launch/descriptors.h"

#include "runtime/base/banned.h"

extern char **environ;

enum { CPU_SETS = 64 };		/* as many CPUs as map.c knows */

struct order {			/* one rank, as it came */
	uint32_t	 rank;
	cpu_set_t	 cpus[CPU_SETS];	/* to bind it to */
	bool		 bind;
	char		*folder;
	struct strv	 argv, env;
};

static int
read_texts(struct wire_frame *frame, struct strv *to)
{
	uint32_t n = wire_get(frame);

	for (uint32_t i = 0; i < n && !frame->bad; i++) {
		char *text = wire_get_text(frame);

		if (!text || strv_add(to, text) < 0) {
			free(text);
			return -1;
		}
		free(text);
	}
	return frame->bad ? -1 : 0;
}

static void
order_clear(struct order *order)
{
	free(order->folder);
	strv_clear(&order->argv);
	strv_clear(&order->env);
}

static int
order_read(struct wire_frame *frame, struct order *order)
{
	uint32_t n;

	*order = (struct order){ .rank = wire_get(frame) };
	n = wire_get(frame);
	order->bind = n > 0;
	while (n-- > 0 && !frame->bad) {
		uint32_t cpu = wire_get(frame);

		if (cpu < CPU_SETS * CPU_SETSIZE)
			CPU_SET_S(cpu, sizeof order->cpus, order->cpus);
	}
	order->folder = wire_get_text(frame);
	if (!order->folder || read_texts(frame, &order->argv) < 0 ||
	    read_texts(frame, &order->env) < 0 || order->argv.count == 0) {
		order_clear(order);
		return -1;
	}
	return 0;
}

/* Never returns: becomes the rank, or says over "report" why it cannot. */
static void
become(const struct order *order, int in, int out, int err, int track,
    int pmi, int report, pid_t agent)
{
	sigset_t	none;
	char		reason[512];
	int		null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
	if (getppid() != agent)
		_exit(125);
	signal(SIGPIPE, SIG_DFL);
	/* A shell's "accel launch &" ignores these, and we forward them. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	descriptors_restore();
	dup2(in >= 0 ? in : null, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (pmi >= 0)
		fcntl(pmi, F_SETFD, 0);
	if (track >= 0)
		fcntl(track, F_SETFD, 0);
	for (size_t i = 0; i < order->env.count; i++)
		putenv(order->env.item[i]);
	if (order->bind &&
	    sched_setaffinity(0, sizeof order->cpus, order->cpus) < 0)
		snprintf(reason, sizeof reason, "this host does not let it have "
		    "the CPUs to bind to: %s", strerror(errno));
	else if (chdir(order->folder) < 0)
		snprintf(reason, sizeof reason, "%s: %s", order->folder,
		    strerror(errno));
	else {
		execvp(order->argv.item[0], order->argv.item);
		snprintf(reason, sizeof reason, "%s: %s", order->argv.item[0],
		    strerror(errno));
	}
	if (write(report, reason, strlen(reason)) < 0)
		_exit(126);
	_exit(127);
}

/* The launcher wants to hear of libaccel's numbers: it has an empty descriptor
 * in the rank's environment, which gets the number of our pipe's end. */
static int
open_track(struct order *order, int track[2])
{
	const char	*wanted = strv_getenv(&order->env, "ACCEL_TRACK_FD");
	char		 number[16];

	if (!wanted || *wanted)
		return 0;
	if (pipe2(track, O_CLOEXEC) < 0)
		return -1;
	snprintf(number, sizeof number, "%d", track[1]);
	return strv_setenv(&order->env, "ACCEL_TRACK_FD", number);
}

static void
start_one(struct agent *a, struct order *order)
{
	struct agent_rank	 r = { .rank = order->rank,
				       .stream = { -1, -1, -1 }, .pmi = -1,
				       .report = -1 };
	int			 track[2] = { -1, -1 };
	int			 out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int			 pmi[2] = { -1, -1 }, report[2] = { -1, -1 };
	char			 reason[512], number[16];
	int			 in = agent_input_pipe(a, order->rank);
	pid_t			 agent = getpid();

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi) < 0 ||
	    open_track(order, track) < 0)
		goto fail;
	snprintf(number, sizeof number, "%d", pmi[1]);
	if (strv_setenv(&order->env, "PMI_FD", number) < 0 ||
	    strv_add(&order->env, a->warden.mark) < 0)
		goto fail;
	r.pid = warden_fork(&a->warden);
	if (r.pid < 0)
		goto fail;
	if (r.pid == 0)
		become(order, in, out[1], err[1], track[1], pmi[1], report[1],
		    agent);
	if (track[1] >= 0)
		close(track[1]);
	close(out[1]), close(err[1]), close(pmi[1]), close(report[1]);
	if (in >= 0)
		close(in);
	r.stream[0] = out[0];
	r.stream[1] = err[0];
	r.stream[2] = track[0];
	r.pmi = pmi[0];
	r.report = report[0];
	for (int s = 0; s < STREAMS; s++)
		fcntl(r.stream[s], F_SETFL, O_NONBLOCK);
	a->rank[a->rank_count++] = r;
	return;
fail:
	snprintf(reason, sizeof reason, "this host cannot start it: %s",
	    strerror(errno));
	if (in >= 0)
		close(in);
	for (int i = 0; i < 2; i++) {
		if (track[i] >= 0)
			close(track[i]);
		if (out[i] >= 0)
			close(out[i]);
		if (err[i] >= 0)
			close(err[i]);
		if (pmi[i] >= 0)
			close(pmi[i]);
		if (report[i] >= 0)
			close(report[i]);
	}
	agent_say_exit(a, order->rank, 127 << 8, reason);
}

void
agent_started(struct agent *a)
{
	for (size_t i = 0; i < a->rank_count; i++) {
		struct agent_rank	*r = &a->rank[i];
		char			 reason[512];
		ssize_t			 n;
		size_t			 frame;

		if (r->report < 0)
			continue;
		n = read(r->report, reason, sizeof reason - 1);
		close(r->report);
		r->report = -1;
		if (n <= 0) {
			frame = wire_begin(&a->out, WIRE_STARTED);
			wire_put(&a->out, r->rank);
			wire_put(&a->out, (uint32_t)r->pid);
			wire_end(&a->out, frame);
			continue;
		}
		reason[n] = '\0';
		waitpid(r->pid, NULL, 0);
		r->pid = 0;
		for (int s = 0; s < STREAMS; s++) {
			if (r->stream[s] >= 0)
				close(r->stream[s]);
			r->stream[s] = -1;
		}
		close(r->pmi);
		r->pmi = -1;
		agent_say_exit(a, r->rank, 127 << 8, reason);
	}
}

void
agent_start(struct agent *a, struct wire_frame *frame)
{
	struct order	order;
	uint32_t	grace = wire_get(frame), count = wire_get(frame);

	if (frame->bad || count == 0 || count > 65536 ||
	    (a->orders && count != a->orders) || a->started ||
	    (!a->rank && !(a->rank = calloc(count, sizeof *a->rank))))
		goto nonsense;
	a->grace_ms = grace;
	a->orders = count;
	agent_release(a);
	if (order_read(frame, &order) < 0)
		goto nonsense;
	if (a->staged) {
		free(order.folder);
		order.folder = strdup(a->staged);
		if (!order.folder) {
			order_clear(&order);
			goto nonsense;
		}
	}
	if (a->ordered == 0)
		warden_prepare(&a->warden, strv_getenv(&order.env, "ACCEL_JOB"));
	if (!a->stopping)
		start_one(a, &order);
	order_clear(&order);
	a->started = ++a->ordered == a->orders;
	if (a->started)
		warden_post(&a->warden);
	return;
nonsense:
	a->linked = false;	/* the launcher then names this host */
}
