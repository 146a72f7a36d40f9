/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/launch/descriptors.h"
#include "runtime/launch/run.h"
#include "runtime/device/pmi.h"
#include "runtime/launch/streams.h"
#include "runtime/launch/transport.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

enum {
	READY_MS = 60000,	/* for a host to get to its next step */
	END_MS = 10000		/* for an agent to end, over the grace period */
};

static void
say_empty(struct peer *peer, enum wire_type type)
{
	wire_end(&peer->out, wire_begin(&peer->out, type));
}

static void
say_number(struct run *run, enum wire_type type, uint32_t number)
{
	for (size_t h = 0; h < hosts(run); h++) {
		struct buf	*out = &run->peer[h].out;
		size_t		 frame = wire_begin(out, type);

		wire_put(out, number);
		wire_end(out, frame);
	}
}

/* Ends all ranks: SIGTERM now, SIGKILL after the grace period. */
static void
stop_all(struct run *run, double grace_s)
{
	say_number(run, WIRE_STOP, (uint32_t)(grace_s * 1000));
	if (!run->stopping)
		run_tell_stopping(run);
	run->stopping = true;
	run->stop_at = 0;
	run->give_up_at = clock_ms() + (int64_t)(grace_s * 1000) + END_MS;
}

static void
start_others(struct run *run)
{
	if (run->others_wait && !run->stopping && !run->caught)
		run_start(run, false);
	run->others_wait = false;
}

/* Starts the ranks when every host was looked at and none has a problem. */
static void
advance(struct run *run)
{
	if (run->step == RUN || run->stopping || run->looked ||
	    !run_check_tick(run))
		return;
	run->looked = true;
	if (run->problems || run->options->check)
		return;
	run_check_report(run);		/* warnings */
	run_place_report(run);
	run->step = RUN;
	run->started = clock_ms();
	run_input_begin(run);
	/* Ranks must not meet rank 0's agent, which listens at the port until
	 * it starts rank 0: the other hosts start when it has. */
	run->others_wait = true;
	run_start(run, true);
	if (run->hold != HOLD_YES)
		start_others(run);
}

static void
fail(struct run *run, size_t host, size_t rank, int status, const char *reason)
{
	if (run->failure.happened || run->caught || run->back)
		return;
	run->failure = (struct failure){
		.happened = true, .host = host, .rank = rank, .status = status,
		.pid = rank < run->plan->world ? run->pid[rank] : 0,
		.after_ms = clock_ms() - run->started,
		.wall_ms = clock_wall_ms(),
	};
	snprintf(run->failure.reason, sizeof run->failure.reason, "%s", reason);
	run_tell_failure(run);
	if (!run->stopping && !run->options->keep_going)
		stop_all(run, run->options->grace_s);
}

static void
reply_pmi(void *user, size_t rank, const char *line, size_t n)
{
	struct run	*run = user;
	struct buf	*out = &run->peer[run->plan->rank[rank].host].out;
	size_t		 frame = wire_begin(out, WIRE_PMI);

	wire_put(out, (uint32_t)rank);
	wire_put_bytes(out, line, n);
	wire_end(out, frame);
}

static void
hear_rank(struct run *run, size_t host, struct wire_frame *frame)
{
	size_t		 rank = wire_get(frame), n;
	const char	*bytes;
	char		*reason;
	int		 number;

	if (rank >= run->plan->world || run->plan->rank[rank].host != host)
		return;
	switch (frame->type) {
	case WIRE_STARTED:
		run_rank_started(run, rank, (pid_t)wire_get(frame));
		if (rank == 0)
			start_others(run);
		break;
	case WIRE_OUT:
		number = (int)wire_get(frame);
		bytes = wire_get_bytes(frame, &n);
		if (number == 1 || number == 2)
			output_bytes(&run->output, rank, number, bytes, n);
		else if (number == 3)
			run_track_hear(run, rank, bytes, n);
		break;
	case WIRE_PMI:
		bytes = wire_get_bytes(frame, &n);
		number = pmi_line(run->pmi, rank, bytes, n);
		if (number > 0)
			fail(run, host, rank, number << 8, "it called MPI_Abort");
		break;
	default:	/* WIRE_EXIT */
		number = (int)wire_get(frame);
		reason = wire_get_text(frame);
		run_rank_ended(run, rank, number, reason ? reason : "");
		if (number)
			fail(run, host, rank, number, run->end[rank].why ?
			    run->end[rank].why : "");
		free(reason);
	}
}

static void
hear(struct run *run, size_t host, struct wire_frame *frame)
{
	switch (frame->type) {
	case WIRE_HELLO:
	case WIRE_CHECKED:
	case WIRE_HELD:
	case WIRE_PROBED:
	case WIRE_WANT:
	case WIRE_SYNCED:
		run_check_hear(run, host, frame);
		break;
	case WIRE_STARTED:
	case WIRE_OUT:
	case WIRE_EXIT:
	case WIRE_PMI:
		hear_rank(run, host, frame);
		break;
	case WIRE_DONE:
		run->peer[host].done = true;
		break;
	case WIRE_SIGNAL:
		run->peer[host].paused = true;
		break;
	case WIRE_USAGE:
		run_usage_hear(run, host, frame);
		break;
	case WIRE_INPUT:
		run_input_taken(run, host, wire_get(frame));
		break;
	default:
		break;
	}
}

/* A host whose link is gone before it said that it was done. */
static void
lose(struct run *run, size_t host, const char *why)
{
	struct peer	*peer = &run->peer[host];
	struct err	 err = ERR_INIT;

	peer->closed = true;
	if (peer->done)
		return;
	if (why)
		err_set(&err, "%s", why);
	else if (peer->transport->result(peer->link, &err) == 0)
		err_set(&err, "the connection ended");
	if (run->step < RUN) {
		if (!run->looked)
			run_problem(run, host, err.text, err.hint);
	} else
		fail(run, host, run->plan->world, 1 << 8, err.text);
}

static void
read_peer(struct run *run, size_t host)
{
	struct peer		*peer = &run->peer[host];
	struct wire_frame	 frame;
	struct buf		 view;
	int			 got = wire_fill(peer->transport->fd(peer->link),
				    &peer->in);
	int			 next = 0;

	peer->heard = clock_ms();
	if (!peer->heard_agent) {
		next = wire_skip_noise(&peer->in);
		peer->heard_agent = next == 1;
	}
	view = peer->in;
	while (peer->heard_agent && (next = wire_next(&view, &frame)) == 1) {
		hear(run, host, &frame);
		wire_skip(&view);
	}
	buf_take(&peer->in, peer->in.len - view.len);
	if (next < 0)
		lose(run, host, "its agent sent something that cannot be read");
	else if (got != 1)
		lose(run, host, NULL);
}

/* ^Z: the ranks stop, we stop, and all go on with us.  SIGSTOP, as SIGTSTP does
 * nothing to ranks, which no shell looks after.  We wait until every agent has
 * said that it knows: a silent launcher would be taken for a dead one. */
static void
pause_begin(struct run *run)
{
	say_number(run, WIRE_SIGNAL, SIGSTOP);
	for (size_t h = 0; h < hosts(run); h++)
		run->peer[h].paused = false;
	run->pausing = true;
}

static void
pause_if_all_are(struct run *run)
{
	int64_t now;

	for (size_t h = 0; h < hosts(run); h++)
		if (run->peer[h].greeted && !run->peer[h].paused &&
		    !run->peer[h].closed && !run->peer[h].done)
			return;
	run->pausing = false;
	now = clock_ms();
	raise(SIGSTOP);
	say_number(run, WIRE_SIGNAL, SIGCONT);
	now = clock_ms() - now;	/* nobody owes us these moments */
	for (size_t h = 0; h < hosts(run); h++)
		run->peer[h].heard += now;
	run->began += now;
	run->stop_at += run->stop_at ? now : 0;
	run->give_up_at += now;
}

static void
read_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGTSTP) {
			pause_begin(run);
		} else if (sig == SIGUSR1 || sig == SIGUSR2) {
			say_number(run, WIRE_SIGNAL, (uint32_t)sig);
		} else if (run->caught || run->stopping || run->step < RUN) {
			run->caught = sig;	/* again, too early, or too late */
			stop_all(run, 0);
		} else {
			run->caught = sig;
			run_tell_stopping(run);
			say_number(run, WIRE_SIGNAL, (uint32_t)sig);
			run->stop_at = clock_ms() +
			    (int64_t)(run->options->grace_s * 1000);
		}
	}
}

static bool
over(const struct run *run)
{
	bool all = true;

	for (size_t h = 0; h < hosts(run); h++)
		all = all && (run->peer[h].done || run->peer[h].closed);
	if (all)
		return true;
	if (run->step < RUN && run->caught)
		return true;
	/* All hosts' problems, in one table: it waited for the others. */
	return run->step < RUN && run->looked;
}

/* A host that gets nowhere is told; one that is only slow has its time. */
static bool
is_late(struct run *run, size_t host, int64_t now)
{
	struct peer	*peer = &run->peer[host];
	const char	*phase = peer->greeted ? "looking at it" :
			    peer->transport->phase(peer->link);
	char		 text[200];

	if (phase != peer->phase) {
		peer->phase = phase;
		peer->phase_at = now;
	}
	if (now - peer->phase_at <= READY_MS || run->looked ||
	    strstr(phase, "waiting for an answer"))
		return false;
	snprintf(text, sizeof text, "not ready after %d s, while %s",
	    READY_MS / 1000, phase);
	lose(run, host, text);
	return true;
}

static void
turn(struct run *run, struct pollfd *fds)
{
	int64_t	now = clock_ms(), wait = WIRE_BEAT_MS;
	bool	full = output_full(&run->output);
	nfds_t	n = 0;

	run_usage_tick(run, &wait);
	fds[n++] = (struct pollfd){ run->signals, POLLIN, 0 };
	for (int s = 0; s < 2; s++)
		fds[n++] = (struct pollfd){
			spool_size(&run->output.pending[s]) ? s + 1 : -1,
			POLLOUT, 0 };
	for (size_t h = 0; h < hosts(run); h++) {
		struct peer *peer = &run->peer[h];

		fds[n++] = (struct pollfd){
			peer->closed ? -1 : peer->transport->fd(peer->link),
			(short)((full ? 0 : POLLIN) |
			    (peer->out.len ? POLLOUT : 0)), 0 };
	}
	fds[n++] = (struct pollfd){ run_input_fd(run), POLLIN, 0 };
	run_rejoin_fds(run, fds + n);
	n += run->options->absent ? run->options->absent->count : 0;
	if (run->stop_at && run->stop_at - now < wait)
		wait = run->stop_at > now ? run->stop_at - now : 0;
	output_tick(&run->output, &wait);
	if (poll(fds, n, (int)wait) < 0 && errno != EINTR)
		return;
	if (fds[0].revents)
		read_signals(run);
	if (fds[n - 1].fd >= 0 && fds[n - 1].revents)
		run_input_read(run);
	for (size_t h = 0; h < hosts(run); h++)
		if (fds[3 + h].fd >= 0 &&
		    fds[3 + h].revents & (POLLIN | POLLHUP | POLLERR) && !full)
			read_peer(run, h);
	if (run_rejoin_turn(run, fds + 4 + hosts(run)) && !run->stopping &&
	    !run->caught) {
		run->back = true;
		stop_all(run, run->options->grace_s);
	}
	advance(run);
	run_tell_hosts(run);
	pmi_tick(run->pmi);
	now = clock_ms();
	if (run->stop_at && now >= run->stop_at)
		stop_all(run, 0);
	for (size_t h = 0; h < hosts(run); h++) {
		struct peer *peer = &run->peer[h];

		if (peer->closed)
			continue;
		if (full)
			peer->heard = now;	/* it is we who do not listen */
		if (now - peer->said >= WIRE_BEAT_MS && peer->greeted) {
			say_empty(peer, WIRE_BEAT);
			peer->said = now;
		}
		if (peer->greeted && !peer->done &&
		    now - peer->heard > WIRE_SILENCE_MS)
			lose(run, h, "nothing was heard from it for 10 s");
		else if (run->step < RUN && is_late(run, h, now)) {
		} else if (run->stopping && now > run->give_up_at)
			lose(run, h, "it did not say that its ranks have ended");
		else
			/* An agent that is gone is noticed by reading. */
			(void)wire_flush(peer->transport->fd(peer->link),
			    &peer->out);
	}
	output_flush(&run->output, false);
	/* As the program alone would end in "program | head". */
	if (run->output.broken && !run->caught && !run->stopping) {
		run->caught = SIGPIPE;
		stop_all(run, run->options->grace_s);
	}
	if (run->pausing)
		pause_if_all_are(run);
}

/* A link needs a few descriptors: are there enough for all hosts?  poll()
 * itself takes no more than the limit. */
static bool
has_room(const struct plan *plan)
{
	size_t	limit = descriptors_raise();

	if (limit >= plan->hosts.count + 64)
		return true;
	fprintf(stderr, "accel: %zu hosts need more open files than the %zu that "
	    "are allowed here\n  raise the hard limit: ulimit -Hn, or "
	    "/etc/security/limits.conf\n", plan->hosts.count, limit);
	return false;
}

static int
run_init(struct run *run)
{
	const struct plan	*plan = run->plan;
	char			 kvs[80];

	snprintf(kvs, sizeof kvs, "accel-%s", plan->job);
	run->peer = calloc(hosts(run), sizeof *run->peer);
	run->pid = calloc(plan->world, sizeof *run->pid);
	run->end = calloc(plan->world, sizeof *run->end);
	run->pmi = pmi_new(plan->world, kvs, reply_pmi, run);
	if (!run->peer || !run->pid || !run->end || !run->pmi ||
	    output_init(&run->output, plan->world, &run->options->output) < 0 ||
	    run_usage_init(run) < 0)
		return -1;
	for (size_t i = 0; i < plan->world; i++)
		if (output_rank(&run->output, i, label(run, plan->rank[i].host),
		    run->options->hidden ? STREAM_BOTH & ~streams_of(
		    run->options->hidden, plan->rank[i].local_rank) :
		    STREAM_BOTH) < 0)
			return -1;
	return 0;
}

static void
open_peers(struct run *run)
{
	for (size_t h = 0; h < hosts(run); h++) {
		struct peer		*peer = &run->peer[h];
		const struct host	*host = &run->plan->hosts.host[h];

		struct err		 err = ERR_INIT;

		peer->transport = host_is_local(host) ? &transport_exec :
		    transport_remote(run->options->transport, &err);
		peer->out.max = (size_t)1 << 30;
		peer->heard = peer->said = clock_ms();
		if (!peer->transport ||
		    peer->transport->open(run->options->transport, host->name,
		    &peer->link, &err) < 0) {
			peer->closed = true;
			run_problem(run, h, err.text, err.hint);
			continue;
		}
		run_check_begin(run, h);
	}
}

static void
tell_ending(const struct run *run)
{
	const struct supervise_options	*to = run->options;

	for (size_t h = 0; to->lost && h < hosts(run); h++)
		to->lost[h] = run->peer[h].bad ||
		    (run->step == RUN && run->peer[h].closed &&
		    !run->peer[h].done);
	if (!to->ending)
		return;
	*to->ending = run->caught ? ENDED : run->back ? ENDED_BY_RETURN :
	    run->failure.happened ? run->failure.rank == run->plan->world ?
	    ENDED_BY_HOST : ENDED_BY_RANK : run->problems ? ENDED_AT_START :
	    ENDED;
}

int
supervise(const struct plan *plan, const struct supervise_options *options)
{
	struct run	 run = { .plan = plan, .options = options, .signals = -1 };
	struct pollfd	*fds = calloc(4 + plan->hosts.count + (options->absent ?
			    options->absent->count : 0), sizeof *fds);
	sigset_t	 set, old;
	struct sigaction hangup;
	int		 code = 0;
	struct signalfd_siginfo info;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* Under nohup there is no such signal. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
	    hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGPIPE, SIG_IGN);
	run.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	run.began = clock_ms();
	if (!has_room(plan)) {
		code = 1;
	} else if (!fds || run.signals < 0 || run_init(&run) < 0 ||
	    run_rejoin_init(&run) < 0) {
		fprintf(stderr, "accel: out of memory\n");
		code = 1;
	} else {
		run_tell_plan(&run);
		open_peers(&run);
		turn(&run, fds);	/* who can be asked, is */
		if (options->meanwhile)
			options->meanwhile(options->user);
		while (!over(&run))
			turn(&run, fds);
		run_tell_hosts(&run);
		/* A reader may be slow; a signal ends the wait for it, as all ranks
		 * are gone. */
		while (read(run.signals, &info, sizeof info) > 0)
			;
		sigprocmask(SIG_SETMASK, &old, NULL);
		output_finish(&run.output);
		output_flush(&run.output, true);
		code = run_report(&run);
		tell_ending(&run);
	}
	run_rejoin_clear(&run);
	run_usage_clear(&run);
	for (size_t h = 0; run.peer && h < hosts(&run); h++) {
		if (run.peer[h].link)
			run.peer[h].transport->close(run.peer[h].link,
			    run.peer[h].greeted);
		run_check_clear(&run.peer[h]);
		buf_clear(&run.peer[h].in);
		buf_clear(&run.peer[h].out);
	}
	run_seat_clear(&run);
	listing_clear(&run.tree);
	output_clear(&run.output);
	pmi_free(run.pmi);
	for (size_t i = 0; run.end && i < plan->world; i++)
		free(run.end[i].why);
	free(run.peer);
	free(run.pid);
	free(run.end);
	free(fds);
	if (run.signals >= 0)
		close(run.signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return code;
}
