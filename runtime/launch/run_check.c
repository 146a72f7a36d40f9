/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/num.h"
#include "runtime/launch/supervise.h"
#include "runtime/launch/transport.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

static void
note(struct run *run, size_t host, bool fatal, const char *text,
    const char *hint)
{
	struct peer	*peer = &run->peer[host];
	struct trouble	*more = realloc(peer->trouble,
			    (peer->troubles + 1) * sizeof *more);

	run->problems = run->problems || fatal;
	peer->bad = peer->bad || fatal;
	if (!more)
		return;		/* it still counts */
	peer->trouble = more;
	more[peer->troubles++] = (struct trouble){
		fatal, clean_text(text), clean_text(hint ? hint : "") };
	run_tell_trouble(run, host, fatal, text, hint ? hint : "");
}

void
run_problem(struct run *run, size_t host, const char *text, const char *hint)
{
	note(run, host, true, text, hint);
}

void
run_warning(struct run *run, size_t host, const char *text, const char *hint)
{
	note(run, host, false, text, hint);
}

static void
say_check(struct run *run, size_t host)
{
	const struct plan	*plan = run->plan;
	struct buf		*out = &run->peer[host].out;
	size_t			 rank = 0, frame;
	uint32_t		 what = 0;
	const char		*path;

	while (plan->rank[rank].host != host)
		rank++;
	if (!run->options->no_preflight)
		what = WIRE_CHECK_FACTS | (plan->python ? WIRE_CHECK_PYTHON : 0);
	if (run->options->check || hosts(run) > 1)
		what |= WIRE_CHECK_NET;
	if (run->options->check || map_wants_places(&plan->map))
		what |= WIRE_CHECK_TOPOLOGY;
	path = strv_getenv(&plan->rank[rank].env, "PATH");
	frame = wire_begin(out, WIRE_CHECK);
	wire_put(out, what);
	wire_put_text(out, plan->folder);
	wire_put_text(out, plan->rank[rank].argv.item[plan->wrapped]);
	wire_put_text(out, plan->script);
	wire_put_text(out, path ? path : "");
	wire_put_text(out, plan->activate ? plan->activate : "");
	wire_end(out, frame);
}

void
run_check_begin(struct run *run, size_t host)
{
	/* A copy must be there before it can be looked at. */
	if (!run->plan->sync || host_is_local(&run->plan->hosts.host[host]))
		say_check(run, host);
	else if (!run_sync_begin(run, host))
		run->peer[host].checked = true;
}

/* Rank 0's host holds the port as soon as it is there. */
static void
say_hold(struct run *run)
{
	struct buf	*out = &run->peer[0].out;
	size_t		 frame;

	if (run->plan->world == 1 || run->plan->apart)	/* nobody to meet */
		return;
	run->hold = HOLD_ASKED;
	if (run->plan->address) {	/* a name is read here, once */
		run_candidates(run);
		if (!run->candidates) {
			run->hold = HOLD_FAILED;
			return;
		}
	}
	frame = wire_begin(out, WIRE_HOLD);
	wire_put_text(out, run->plan->address ? run->candidate[0] : "");
	wire_put(out, (uint32_t)run->plan->port);
	wire_put_text(out, run->plan->job);
	wire_end(out, frame);
}

static void
say_probe(struct run *run, size_t host, size_t first, size_t count)
{
	struct buf	*out = &run->peer[host].out;
	size_t		 frame = wire_begin(out, WIRE_PROBE);

	wire_put(out, run->port);
	wire_put_text(out, run->plan->job);
	wire_put(out, (uint32_t)count);
	for (size_t i = first; i < first + count; i++)
		wire_put_text(out, run->candidate[i]);
	wire_end(out, frame);
	run->peer[host].asked = first + count;
}

static void
hear_hello(struct run *run, size_t host, struct wire_frame *frame)
{
	struct peer	*peer = &run->peer[host];
	char		*text;

	if (peer->greeted)
		return;
	if (wire_get(frame) != WIRE_VERSION)
		run_problem(run, host, "the agent there is another version",
		    "remove ~/.cache/accel there");
	free(wire_get_text(frame));
	text = wire_get_text(frame);
	if (text)
		snprintf(peer->address, sizeof peer->address, "%s", text);
	free(text);
	peer->greeted = true;
	for (size_t i = 0; run->options->check && peer->transport->ignored; i++) {
		const char	*what = peer->transport->ignored(peer->link, i);
		char		 line[400];

		if (!what)
			break;
		snprintf(line, sizeof line, "%s is not obeyed", what);
		run_warning(run, host, line, "ssh itself would; is it needed "
		    "for this host?");
	}
	if (host == 0 && run->hold == HOLD_NO)
		say_hold(run);
}

static void
hear_checked(struct run *run, size_t host, struct wire_frame *frame)
{
	struct peer	*peer = &run->peer[host];
	uint32_t	 n = wire_get(frame);
	struct timespec	 now;
	const char	*then;
	double		 time;

	if (peer->checked)	/* it is asked once: nothing heaps up */
		return;
	for (uint32_t i = 0; i < n && !frame->bad; i++) {
		bool	 fatal = wire_get(frame) != 0;
		char	*text = wire_get_text(frame);
		char	*hint = wire_get_text(frame);

		if (text)
			note(run, host, fatal, text, hint);
		free(text);
		free(hint);
	}
	n = wire_get(frame);
	for (uint32_t i = 0; i < n && !frame->bad; i++) {
		char *fact = wire_get_text(frame);

		if (fact && strchr(fact, '='))
			strv_add(&peer->facts, fact);
		free(fact);
	}
	then = strv_getenv(&peer->facts, "time");
	clock_gettime(CLOCK_REALTIME, &now);
	if (then && num_parse_real(then, 0, 1e12, &time) == 0)
		peer->ahead_s = time - (double)now.tv_sec -
		    (double)now.tv_nsec / 1e9;
	peer->checked = true;
}

static void
hear_held(struct run *run, size_t host, struct wire_frame *frame)
{
	char *text;

	run->port = wire_get(frame);
	text = wire_get_text(frame);
	run->hold = run->port && run->port < 65536 ? HOLD_YES : HOLD_FAILED;
	if (run->hold == HOLD_FAILED)
		run_problem(run, host, text && *text ? text : "no free port",
		    run->plan->port ? "another program has it: choose "
		    "another --main_process_port, or 0 for any" :
		    "--main_process_ip must be an address of rank 0's host");
	free(text);
}

static void
hear_probed(struct run *run, size_t host, struct wire_frame *frame)
{
	struct peer	*peer = &run->peer[host];
	uint32_t	 n = wire_get(frame);

	for (uint32_t i = 0; i < n && peer->answered < peer->asked; i++) {
		struct reach	*r = &peer->reach[peer->answered++];
		char		*text[3];

		for (int k = 0; k < 3; k++)
			text[k] = wire_get_text(frame);
		snprintf(r->problem, sizeof r->problem, "%s",
		    text[0] ? text[0] : "a broken answer");
		snprintf(r->interface, sizeof r->interface, "%s",
		    text[1] ? text[1] : "");
		snprintf(r->leaves, sizeof r->leaves, "%s",
		    text[2] ? text[2] : "");
		for (int k = 0; k < 3; k++)
			free(text[k]);
	}
	peer->answered = peer->asked;
}

void
run_check_hear(struct run *run, size_t host, struct wire_frame *frame)
{
	switch (frame->type) {
	case WIRE_HELLO:	hear_hello(run, host, frame); break;
	case WIRE_WANT:
		run_sync_hear(run, host, frame);
		break;
	case WIRE_SYNCED:
		if (run_sync_hear(run, host, frame))
			say_check(run, host);
		else
			run->peer[host].checked = true;
		break;
	case WIRE_CHECKED:	hear_checked(run, host, frame); break;
	case WIRE_HELD:
		if (host == 0 && run->hold == HOLD_ASKED)
			hear_held(run, host, frame);
		break;
	default:		hear_probed(run, host, frame);
	}
}

/* Lets every host that is there try to reach rank 0's; true when nothing more
 * is to be tried.  The likeliest address first, and all others only where a
 * host did not reach that one: those that lead nowhere take seconds. */
static bool
probed(struct run *run)
{
	bool waits = false, failed = false;

	if (run->hold == HOLD_ASKED && !run->peer[0].closed)
		return false;
	if (run->hold != HOLD_YES || hosts(run) == 1 || run->peer[0].closed)
		return true;
	if (!run->candidates)
		run_candidates(run);
	for (size_t h = 1; h < hosts(run) && run->candidates; h++) {
		struct peer *peer = &run->peer[h];

		if (peer->closed || !peer->greeted)
			continue;
		if (!peer->asked)
			say_probe(run, h, 0, 1);
		waits = waits || peer->answered < peer->asked;
		failed = failed || (peer->answered && peer->reach[0].problem[0]);
	}
	if (waits || !failed || run->candidates == 1)
		return !waits;
	for (size_t h = 1; h < hosts(run); h++) {
		struct peer *peer = &run->peer[h];

		if (peer->closed || peer->answered == run->candidates)
			continue;
		if (peer->asked == 1)
			say_probe(run, h, 1, run->candidates - 1);
		waits = true;
	}
	return !waits;
}

bool
run_check_tick(struct run *run)
{
	bool all = true;

	if (run->plan->sync)
		run_sync_tick(run);
	/* The addresses of rank 0's host are among its facts; a local one is
	 * known by who is there to be reached. */
	for (size_t h = 0; h < hosts(run); h++)
		all = all && (run->peer[h].closed || run->peer[h].checked);
	if (!run->peer[0].closed && !run->peer[0].checked)
		return false;
	if (host_is_local(&run->plan->hosts.host[0]) && !all)
		return false;
	if (!probed(run) || !all)
		return false;
	if (run->hold == HOLD_YES && !run->peer[0].closed)
		run_choose_address(run);
	if (!run->options->no_preflight)
		run_compare(run);
	run_place(run);
	return true;
}

void
run_check_report(const struct run *run)
{
	size_t	bad = 0;
	bool	alone = hosts(run) == 1 &&
		    host_is_local(&run->plan->hosts.host[0]);
	char	margin[24];

	for (size_t h = 0; h < hosts(run); h++)
		bad += run->peer[h].bad;
	if (bad && hosts(run) > 1)
		fprintf(stderr, "accel: nothing was started: %zu of %zu hosts "
		    "cannot take part\n", bad, hosts(run));
	for (size_t h = 0; h < hosts(run); h++)
		for (size_t i = 0; i < run->peer[h].troubles; i++) {
			const struct trouble	*t = &run->peer[h].trouble[i];

			if (!t->what)
				continue;
			snprintf(margin, sizeof margin, "%s",
			    bad && !alone ? "                   " : "");
			if (alone)
				fprintf(stderr, "accel: %s\n", t->what);
			else if (bad)
				fprintf(stderr, "  %-16s %s%s\n",
				    i ? "" : label(run, h),
				    t->fatal ? "" : "warning: ", t->what);
			else
				fprintf(stderr, "accel: %s: %s\n", label(run, h),
				    t->what);
			if (t->hint && *t->hint)
				fprintf(stderr, "%s  %s\n", margin, t->hint);
		}
}

int
run_check_result(const struct run *run)
{
	struct checked_host	*host = calloc(hosts(run), sizeof *host);
	struct checked		 all = {
		.host = host, .count = hosts(run), .address = run->address,
		.plan = run->plan, .place = run->place,
		.ready = !run->problems };

	if (!host)
		return 1;
	for (size_t h = 0; h < hosts(run); h++) {
		const struct peer *peer = &run->peer[h];

		host[h] = (struct checked_host){
			.name = label(run, h), .ready = !peer->bad,
			.ranks = run->plan->hosts.host[h].slots,
			.facts = &peer->facts, .ahead_s = peer->ahead_s,
			.interface = peer->interface,
			.trouble = peer->trouble, .troubles = peer->troubles,
		};
	}
	if (run->options->checked)
		run->options->checked(run->options->user, &all);
	free(host);
	return run->problems;
}

void
run_check_clear(struct peer *peer)
{
	for (size_t i = 0; i < peer->troubles; i++) {
		free(peer->trouble[i].what);
		free(peer->trouble[i].hint);
	}
	free(peer->trouble);
	peer->trouble = NULL;
	peer->troubles = 0;
	strv_clear(&peer->facts);
	if (peer->want && peer->file >= 0)
		close(peer->file);
	free(peer->want);
	peer->want = NULL;
}
