/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/survey.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "probes/facts.h"
#include "probes/probe.h"
#include "probes/smi.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/clean.h"
#include "runtime/launch/descriptors.h"
#include "runtime/launch/survey_state.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

enum { PHASE_MS = 60000, FACTS_MOST = 100000 };

struct machine *
survey_machine(const struct survey *s, size_t host)
{
	return &s->fleet->machine[s->first + host];
}

static void
tell(struct survey *s, size_t host)
{
	if (s->asked[host].known)
		return;
	s->asked[host].known = true;
	if (s->options->row)
		s->options->row(s->options->user, host, survey_machine(s, host));
}

void
survey_lose(struct survey *s, size_t host, const char *problem,
    const char *hint)
{
	struct asked	*a = &s->asked[host];
	struct machine	*m = survey_machine(s, host);

	a->gone = true;
	if (a->known)
		return;
	m->problem = clean_text(problem);
	m->hint = hint && *hint ? clean_text(hint) : NULL;
	s->failed = s->failed || !m->problem;
	tell(s, host);
}

static void
say_machine(struct survey *s, size_t host)
{
	struct buf	*out = &s->asked[host].out;
	size_t		 frame = wire_begin(out, WIRE_MACHINE);

	wire_put_text(out, s->options->folder ? s->options->folder : "/");
	wire_put_text(out, "");
	wire_end(out, frame);
}

static void
hear_hello(struct survey *s, size_t host, struct wire_frame *frame)
{
	struct asked	*a = &s->asked[host];
	struct machine	*m = survey_machine(s, host);
	char		*name, *address;

	if (a->greeted)
		return;
	if (wire_get(frame) != WIRE_VERSION) {
		survey_lose(s, host, "the agent there is another version",
		    "remove ~/.cache/accel there");
		return;
	}
	name = wire_get_text(frame);
	address = wire_get_text(frame);
	if (name && *name) {
		free(m->hostname);
		m->hostname = clean_text(name);
	}
	if (address)
		snprintf(a->address, sizeof a->address, "%s", address);
	free(name);
	free(address);
	a->greeted = true;
	say_machine(s, host);
}

/* This machine is asked here, where drivers' libraries can be opened. */
static int
take_own(struct survey *s, size_t host)
{
	struct machine	*m = survey_machine(s, host), own;
	struct err	 err;

	if ((s->options->no_python ? machine_probe_quickly(&own, &err) :
	    machine_probe(&own, &err)) < 0)
		return -1;
	own.host = m->host;
	m->host = NULL;
	machine_clear(m);
	*m = own;
	m->here = true;
	return 0;
}

/* What others count on. */
static void
complete(struct machine *m)
{
	m->cpus = m->cpus ? m->cpus : 1;
	m->cores = m->cores ? m->cores : m->cpus;
	m->numa = m->numa ? m->numa : 1;
	m->packages = m->packages ? m->packages : 1;
	if (!m->hostname)
		m->hostname = strdup(m->host);
}

static void
hear_facts(struct survey *s, size_t host, struct wire_frame *frame)
{
	struct machine	*m = survey_machine(s, host);
	struct strv	 facts = STRV_INIT;
	uint32_t	 n = wire_get(frame);
	int		 status = 0;

	if (s->asked[host].known)
		return;
	for (uint32_t i = 0; i < n && !frame->bad; i++) {
		wire_get(frame);
		free(wire_get_text(frame));
		free(wire_get_text(frame));
	}
	n = wire_get(frame);
	for (uint32_t i = 0; i < n && i < FACTS_MOST && !frame->bad; i++) {
		char *fact = wire_get_text(frame);

		if (fact && (!s->options->no_python ||
		    (strncmp(fact, "python", 6) && strncmp(fact, "torch", 5) &&
		    strncmp(fact, "accelerate", 10))))
			status = status || strv_add(&facts, fact);
		free(fact);
	}
	if (host_is_local(&s->hosts->host[host]))
		status = take_own(s, host);
	else if (!status)
		status = machine_take(m, &facts) || machine_take_smi(m, &facts)
		    || machine_relate(m);
	complete(m);
	s->failed = s->failed || status;
	strv_clear(&facts);
	tell(s, host);
}

static void
hear(struct survey *s, size_t host, struct wire_frame *frame)
{
	if (frame->type == WIRE_HELLO)
		hear_hello(s, host, frame);
	else if (frame->type == WIRE_CHECKED)
		hear_facts(s, host, frame);
}

static void
end_of(struct survey *s, size_t host)
{
	struct asked	*a = &s->asked[host];
	struct err	 err = ERR_INIT;

	if (a->transport->result(a->link, &err) == 0)
		err_set(&err, "the connection ended");
	survey_lose(s, host, err.text, err.hint);
}

static void
read_host(struct survey *s, size_t host,
    void (*each)(struct survey *s, size_t host, struct wire_frame *frame))
{
	struct asked		*a = &s->asked[host];
	struct wire_frame	 frame;
	struct buf		 view;
	int			 got = wire_fill(a->transport->fd(a->link),
				    &a->in);
	int			 next = 0;

	a->heard = clock_ms();
	if (!a->heard_agent) {
		next = wire_skip_noise(&a->in);
		a->heard_agent = next == 1;
	}
	view = a->in;
	while (a->heard_agent && !a->gone &&
	    (next = wire_next(&view, &frame)) == 1) {
		each(s, host, &frame);
		wire_skip(&view);
	}
	buf_take(&a->in, a->in.len - view.len);
	if (a->gone)
		return;
	if (next < 0)
		survey_lose(s, host, "its agent sent something that cannot be "
		    "read", NULL);
	else if (got != 1)
		end_of(s, host);
}

/* A host that gets nowhere is given up; whoever is asked for a passphrase may
 * think. */
static void
look_at_clock(struct survey *s, size_t host, int64_t now)
{
	struct asked	*a = &s->asked[host];
	const char	*phase = a->greeted ? "looking at it" :
			    a->transport->phase(a->link);
	char		 text[200];

	if (phase != a->phase) {
		a->phase = phase;
		a->phase_at = now;
	}
	if (a->greeted && now - a->heard > WIRE_SILENCE_MS) {
		survey_lose(s, host, "nothing was heard from it for 10 s", NULL);
	} else if (!a->known && now - a->phase_at > PHASE_MS &&
	    !strstr(phase, "waiting for an answer")) {
		snprintf(text, sizeof text, "not ready after %d s, while %s",
		    PHASE_MS / 1000, phase);
		survey_lose(s, host, text, NULL);
	} else if (a->greeted && now - a->said >= WIRE_BEAT_MS) {
		wire_end(&a->out, wire_begin(&a->out, WIRE_BEAT));
		a->said = now;
	}
}

void
survey_turn(struct survey *s, int wait_ms,
    void (*each)(struct survey *s, size_t host, struct wire_frame *frame))
{
	size_t		 n = s->hosts->count;
	struct pollfd	*fds = calloc(n, sizeof *fds);

	if (!fds) {
		s->failed = true;
		return;
	}
	for (size_t h = 0; h < n; h++) {
		struct asked *a = &s->asked[h];

		fds[h] = (struct pollfd){
			a->gone ? -1 : a->transport->fd(a->link),
			(short)(POLLIN | (a->out.len ? POLLOUT : 0)), 0 };
	}
	if (poll(fds, n, wait_ms) > 0)
		for (size_t h = 0; h < n; h++)
			if (fds[h].fd >= 0 &&
			    fds[h].revents & (POLLIN | POLLHUP | POLLERR))
				read_host(s, h, each);
	for (size_t h = 0; h < n; h++) {
		struct asked *a = &s->asked[h];

		if (!a->gone)
			look_at_clock(s, h, clock_ms());
		if (!a->gone)
			/* An agent that is gone is noticed by reading. */
			(void)wire_flush(a->transport->fd(a->link), &a->out);
	}
	free(fds);
}

static int
open_all(struct survey *s, struct err *err)
{
	for (size_t h = 0; h < s->hosts->count; h++)
		if (!fleet_add(s->fleet) || !(survey_machine(s, h)->host =
		    strdup(s->hosts->host[h].name)))
			return err_nomem(err);
	for (size_t h = 0; h < s->hosts->count; h++) {
		const struct host	*host = &s->hosts->host[h];
		struct asked		*a = &s->asked[h];
		struct err		 wrong = ERR_INIT;

		a->transport = host_is_local(host) ? &transport_exec :
		    transport_remote(s->options->transport, &wrong);
		a->heard = a->said = clock_ms();
		if (!a->transport || a->transport->open(s->options->transport,
		    host->name, &a->link, &wrong) < 0)
			survey_lose(s, h, wrong.text, wrong.hint);
	}
	return 0;
}

static bool
all_known(const struct survey *s)
{
	for (size_t h = 0; h < s->hosts->count; h++)
		if (!s->asked[h].known)
			return false;
	return true;
}

static int
make_token(struct survey *s, struct err *err)
{
	unsigned char	bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return err_set(err, "no random numbers from the kernel");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int
survey(const struct hosts *hosts, const struct survey_options *options,
    struct fleet *fleet, struct err *err)
{
	struct survey	 s = { .hosts = hosts, .options = options,
			    .fleet = fleet, .first = fleet->count };
	void		(*old)(int) = signal(SIGPIPE, SIG_IGN);
	size_t		 limit = descriptors_raise();
	int		 status = -1;

	if (limit < hosts->count + 64) {
		err_set(err, "%zu hosts need more open files than the %zu that "
		    "are allowed here", hosts->count, limit);
		err_hint(err, "raise the hard limit: ulimit -Hn, or "
		    "/etc/security/limits.conf");
	} else if (!(s.asked = calloc(hosts->count + 1, sizeof *s.asked))) {
		err_nomem(err);
	} else if (make_token(&s, err) == 0 && open_all(&s, err) == 0) {
		while (!all_known(&s) && !s.failed)
			survey_turn(&s, WIRE_BEAT_MS, hear);
		if (options->network && !s.failed)
			survey_network(&s);
		status = s.failed ? err_nomem(err) : 0;
	}
	for (size_t h = 0; s.asked && h < hosts->count; h++) {
		if (s.asked[h].link)
			s.asked[h].transport->close(s.asked[h].link,
			    s.asked[h].greeted);
		buf_clear(&s.asked[h].in);
		buf_clear(&s.asked[h].out);
	}
	free(s.asked);
	signal(SIGPIPE, old);
	return status;
}
