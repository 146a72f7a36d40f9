/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/agent.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/base/clock.h"
#include "runtime/launch/descriptors.h"

#include "runtime/base/banned.h"

enum {
	LINK_IN = 0, LINK_OUT = 1,
	OUT_LIMIT = 4 << 20,	/* unsent bytes at which ranks have to wait */
	STUCK_MS = 10000,	/* how long a rank may be stopped by a signal */
	KILL_MS = 3000		/* how long SIGKILL may take, if ever */
};

void
agent_say_exit(struct agent *a, uint32_t rank, int status, const char *reason)
{
	size_t frame = wire_begin(&a->out, WIRE_EXIT);

	wire_put(&a->out, rank);
	wire_put(&a->out, (uint32_t)status);
	wire_put_text(&a->out, reason);
	wire_end(&a->out, frame);
}

static void
say_hello(struct agent *a)
{
	char		 name[256] = "", address[128] = "";
	const char	*ssh = getenv("SSH_CONNECTION");
	size_t		 frame = wire_begin(&a->out, WIRE_HELLO);

	gethostname(name, sizeof name - 1);
	if (ssh)	/* client address, client port, our address, our port */
		sscanf(ssh, "%*s %*s %127s", address);
	wire_put(&a->out, WIRE_VERSION);
	wire_put_text(&a->out, name);
	wire_put_text(&a->out, address);
	wire_end(&a->out, frame);
}

static void
signal_ranks(struct agent *a, int sig)
{
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->rank[i].pid > 0)
			kill(-a->rank[i].pid, sig);
}

static void
stop(struct agent *a, int64_t grace_ms)
{
	int64_t at = clock_ms() + grace_ms;

	if (a->stopping && at >= a->kill_at)
		return;
	if (!a->stopping) {
		signal_ranks(a, SIGTERM);
		signal_ranks(a, SIGCONT);	/* a stopped one could not end */
	}
	a->stopping = true;
	a->kill_at = at;
}

/* We are the subreaper of all that ranks start: without children there is
 * nobody left, and /proc, slow on a busy host, need not be read. */
static bool
has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* SIGKILLs every process whose parent is this one: ranks, and what ranks left
 * behind (we are their subreaper).  True where there was one. */
static bool
kill_children(void)
{
	DIR		*proc = opendir("/proc");
	struct dirent	*entry;
	pid_t		 me = getpid();
	bool		 found = false;

	while (proc && (entry = readdir(proc))) {
		char	 path[300], stat[512];
		char	*close_paren;
		int	 parent, fd;
		ssize_t	 n;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, stat, sizeof stat - 1);
		close(fd);
		stat[n > 0 ? n : 0] = '\0';
		close_paren = strrchr(stat, ')');	/* names hold anything */
		if (close_paren &&
		    sscanf(close_paren + 1, " %*c %d", &parent) == 1 &&
		    parent == me) {
			kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
			found = true;
		}
	}
	if (proc)
		closedir(proc);
	return found;
}

static void
carry_output(struct agent *a, struct agent_rank *r, int stream)
{
	char	block[65536];
	ssize_t	n = read(r->stream[stream], block, sizeof block);
	size_t	frame;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close(r->stream[stream]);
		r->stream[stream] = -1;
		return;
	}
	frame = wire_begin(&a->out, WIRE_OUT);
	wire_put(&a->out, r->rank);
	wire_put(&a->out, (uint32_t)stream + 1);
	wire_put_bytes(&a->out, block, (size_t)n);
	wire_end(&a->out, frame);
}

/* Passes whole lines of a rank's PMI to the launcher, which answers. */
static void
carry_pmi(struct agent *a, struct agent_rank *r)
{
	char *end;

	if (wire_fill(r->pmi, &r->pmi_in) != 1) {
		close(r->pmi);
		r->pmi = -1;
		return;
	}
	while (r->pmi_in.len &&
	    (end = memchr(r->pmi_in.data, '\n', r->pmi_in.len))) {
		size_t frame = wire_begin(&a->out, WIRE_PMI);

		wire_put(&a->out, r->rank);
		wire_put_bytes(&a->out, r->pmi_in.data,
		    (size_t)(end - r->pmi_in.data) + 1);
		wire_end(&a->out, frame);
		buf_take(&r->pmi_in, (size_t)(end - r->pmi_in.data) + 1);
	}
}

static void
answer_pmi(struct agent *a, struct wire_frame *frame)
{
	uint32_t	 rank = wire_get(frame);
	size_t		 n;
	const char	*line = wire_get_bytes(frame, &n);

	for (size_t i = 0; i < a->rank_count; i++)
		if (a->rank[i].rank == rank && a->rank[i].pmi >= 0)
			send(a->rank[i].pmi, line, n, MSG_NOSIGNAL);
}

/* What a rank wrote before it ended is in its pipes: it goes first.  The pipes
 * are not read to their end, which a grandchild could hold open. */
static void
reap(struct agent *a)
{
	int	status;
	pid_t	pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < a->rank_count; i++) {
			struct agent_rank *r = &a->rank[i];
			char why[200] = "";

			if (r->pid != pid)
				continue;
			for (int s = 0; s < STREAMS; s++) {
				struct pollfd p = { .events = POLLIN };

				while ((p.fd = r->stream[s]) >= 0 &&
				    poll(&p, 1, 0) > 0 &&
				    a->out.len < OUT_LIMIT * 4)
					carry_output(a, r, s);
			}
			kill(-r->pid, a->stopping ? SIGTERM : SIGHUP);
			r->pid = 0;
			if (!a->stopping && WIFSIGNALED(status) &&
			    WTERMSIG(status) == SIGKILL)
				agent_oom_why(&a->oom, pid, why, sizeof why);
			agent_say_exit(a, r->rank, status, why);
		}
	}
}

static void
read_signals(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			reap(a);
		else if (info.ssi_signo != SIGUSR1 &&
		    info.ssi_signo != SIGUSR2)	/* Slurm's, to all of a step */
			stop(a, a->grace_ms);
	}
}

/* A rank that somebody stopped, and nobody continues, would have all others
 * wait for it.  (One under a debugger is the debugger's, and not seen here.) */
static void
watch_stopped(struct agent *a)
{
	for (size_t i = 0; i < a->rank_count; i++) {
		struct agent_rank	*r = &a->rank[i];
		siginfo_t		 info = { .si_pid = 0 };

		if (r->pid <= 0 || a->paused || waitid(P_PID, (id_t)r->pid,
		    &info, WSTOPPED | WNOHANG | WNOWAIT) < 0 || !info.si_pid) {
			r->stopped = 0;
		} else if (!r->stopped) {
			r->stopped = clock_ms();
		} else if (clock_ms() - r->stopped > STUCK_MS && !a->stopping) {
			agent_say_exit(a, r->rank, info.si_status,
			    "a signal stopped it, and for 10 s nobody sent it "
			    "SIGCONT");
			stop(a, a->grace_ms);
		}
	}
}

static void
pass_signal(struct agent *a, int sig)
{
	size_t frame;

	agent_started(a);	/* one has no session yet until then */
	signal_ranks(a, sig);
	if (sig == SIGCONT)
		a->paused = false;
	if (sig != SIGSTOP)
		return;
	a->paused = true;
	frame = wire_begin(&a->out, WIRE_SIGNAL);
	wire_put(&a->out, (uint32_t)sig);
	wire_end(&a->out, frame);
}

static void
obey(struct agent *a, struct wire_frame *frame)
{
	switch (frame->type) {
	case WIRE_CHECK:	agent_check(a, frame); break;
	case WIRE_HOLD:		agent_hold(a, frame); break;
	case WIRE_PROBE:	agent_probe(a, frame); break;
	case WIRE_START:	agent_start(a, frame); break;
	case WIRE_TREE:		agent_tree(a, frame); break;
	case WIRE_FILE:		agent_file(a, frame); break;
	case WIRE_PMI:		answer_pmi(a, frame); break;
	case WIRE_SIGNAL:	pass_signal(a, (int)wire_get(frame)); break;
	case WIRE_INPUT:	agent_input(a, frame); break;
	case WIRE_STOP:		stop(a, wire_get(frame)); break;
	case WIRE_USAGE:	agent_usage(a); break;
	case WIRE_MACHINE:	agent_machine(a, frame); break;
	case WIRE_LISTEN:	agent_listen(a, frame); break;
	case WIRE_MEASURE:	agent_measure(a, frame); break;
	default:		break;
	}
}

static bool
alive(const struct agent *a)
{
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->rank[i].pid > 0)
			return true;
	return false;
}

/* How long to wait for an event. */
static int
patience(const struct agent *a, int64_t now)
{
	int64_t wait = a->said + WIRE_BEAT_MS - now;

	if (a->stopping && a->kill_at - now < wait)
		wait = a->kill_at - now;
	return wait < 0 ? 0 : (int)wait;
}

static void
turn(struct agent *a)
{
	struct pollfd	poll_[6 + (STREAMS + 1) * a->rank_count];
	nfds_t		n = 0;
	bool		full = a->out.len > OUT_LIMIT && a->linked;
	int64_t		now = clock_ms();

	poll_[n++] = (struct pollfd){ a->signals, POLLIN, 0 };
	poll_[n++] = (struct pollfd){ a->linked ? LINK_IN : -1, POLLIN, 0 };
	poll_[n++] = (struct pollfd){
		a->linked && a->out.len ? LINK_OUT : -1, POLLOUT, 0 };
	for (size_t i = 0; i < a->rank_count; i++) {
		struct agent_rank *r = &a->rank[i];

		for (int s = 0; s < STREAMS; s++)
			poll_[n++] = (struct pollfd){
				full ? -1 : r->stream[s], POLLIN, 0 };
		poll_[n++] = (struct pollfd){ r->pmi, POLLIN, 0 };
	}
	poll_[n++] = (struct pollfd){ a->gpus.fd, POLLIN, 0 };
	poll_[n++] = agent_input_poll(a);
	poll_[n++] = (struct pollfd){ a->held, POLLIN, 0 };
	if (poll(poll_, n, patience(a, now)) < 0 && errno != EINTR)
		return;
	if (poll_[n - 1].revents)
		agent_callers(a);
	if (poll_[n - 2].fd >= 0)
		agent_input_event(a, poll_[n - 2].revents);
	if (poll_[n - 3].fd >= 0 && poll_[n - 3].revents)
		agent_gpus_hear(&a->gpus);
	for (size_t i = 0; i < a->rank_count; i++) {
		struct agent_rank	*r = &a->rank[i];
		struct pollfd		*p = &poll_[3 + (STREAMS + 1) * i];

		for (int s = 0; s < STREAMS; s++)
			if (p[s].fd >= 0 && p[s].revents)
				carry_output(a, r, s);
		if (p[STREAMS].fd >= 0 && p[STREAMS].revents)
			carry_pmi(a, r);
	}
	if (poll_[0].revents)
		read_signals(a);
	if (poll_[1].fd >= 0 && poll_[1].revents) {
		struct wire_frame	frame;
		struct buf		view;
		int			got = wire_fill(LINK_IN, &a->in);

		a->heard = clock_ms();
		if (got != 1)
			a->linked = false;
		view = a->in;
		while (a->linked && (got = wire_next(&view, &frame)) == 1) {
			obey(a, &frame);
			wire_skip(&view);
		}
		buf_take(&a->in, a->in.len - view.len);
		agent_started(a);
		if (got < 0)
			a->linked = false;
	}
	now = clock_ms();
	if (now - a->said >= WIRE_BEAT_MS) {
		wire_end(&a->out, wire_begin(&a->out, WIRE_BEAT));
		warden_beat(&a->warden);
		watch_stopped(a);
		a->said = now;
	}
	if (now - a->heard > WIRE_SILENCE_MS && !a->paused)
		a->linked = false;
	if (a->linked && (wire_flush(LINK_OUT, &a->out) < 0 || buf_failed(&a->out)))
		a->linked = false;
	if (!a->linked) {
		buf_clear(&a->out);	/* nobody reads it */
		stop(a, a->rank_count ? a->grace_ms : 0);
	}
	if (a->stopping && clock_ms() >= a->kill_at) {
		signal_ranks(a, SIGKILL);
		a->kill_at = clock_ms() + 100;
	}
}

bool
agent_beat(struct agent *a)
{
	struct pollfd p = { LINK_IN, POLLRDHUP, 0 };

	if (clock_ms() - a->said >= WIRE_BEAT_MS) {
		wire_end(&a->out, wire_begin(&a->out, WIRE_BEAT));
		a->said = clock_ms();
	}
	if (wire_flush(LINK_OUT, &a->out) < 0)
		return false;
	return poll(&p, 1, 0) <= 0 ||
	    !(p.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

/* srun has put a copy of us where nothing else would take it away. */
static void
remove_copy(void)
{
	char	path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (!getenv("ACCEL_AGENT_IS_A_COPY") || n <= 0)
		return;
	path[n] = '\0';
	unlink(path);
	unsetenv("ACCEL_AGENT_IS_A_COPY");
}

/* Ends what the ranks left behind, and says so. */
static void
finish(struct agent *a)
{
	int64_t limit = clock_ms() + KILL_MS;

	while (has_children() && kill_children() && clock_ms() < limit) {
		struct pollfd p = { a->signals, POLLIN, 0 };

		poll(&p, 1, 20);
		reap(a);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	warden_dismiss(&a->warden);
	if (!a->linked)
		return;
	wire_end(&a->out, wire_begin(&a->out, WIRE_DONE));
	while (a->out.len && clock_ms() < limit) {
		struct pollfd p = { LINK_OUT, POLLOUT, 0 };

		if (poll(&p, 1, 100) < 0 || wire_flush(LINK_OUT, &a->out) < 0)
			return;
	}
}

int
main(int argc, char **argv)
{
	struct agent	a = { .held = -1, .claim = -1, .input = { .fd = -1 }, .gpus.fd = -1,
			      .linked = true, .warden.line = -1 };
	sigset_t	set;

	if (argc == 2 && !strcmp(argv[1], "environ"))
		return agent_environ();
	if (argc > 1 || isatty(LINK_IN)) {
		fprintf(stderr, "%s: started by \"accel launch\" on each host; "
		    "there is nothing to type here\n", argv[0]);
		return 2;
	}
	remove_copy();
	if (getpid() != getpgrp())
		setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	signal(SIGPIPE, SIG_IGN);
	descriptors_raise();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	a.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a.signals < 0)
		return 1;
	fcntl(LINK_IN, F_SETFL, fcntl(LINK_IN, F_GETFL) | O_NONBLOCK);
	fcntl(LINK_OUT, F_SETFL, fcntl(LINK_OUT, F_GETFL) | O_NONBLOCK);
	a.heard = a.said = clock_ms();
	agent_oom_begin(&a.oom);
	say_hello(&a);
	agent_tidy();
	while ((!a.started && !a.stopping) || alive(&a))
		turn(&a);
	finish(&a);
	return 0;
}
