/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network between hosts, measured in rounds.  In a round each host has one
 * partner at most, and one direction at a time: no link is shared by two
 * measurements, but those that all hosts share, as a switch's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/launch/survey_state.h"

#include "runtime/base/banned.h"

enum {
	BULK_MS = 500,
	LISTEN_MS = 5000, MEASURE_MS = 15000	/* beyond the agent's own */
};

void
survey_round(size_t n, size_t round, size_t *partner)
{
	size_t m = n + n % 2, last = m - 1;	/* even: one may rest */

	for (size_t i = 0; i < n; i++) {
		size_t p;

		/* The last stands still, and the others turn around it. */
		if (i == last)
			p = round % last;
		else if (i == round % last)
			p = last;
		else
			p = (2 * (round % last) + last - i) % last;
		partner[i] = p < n ? p : n;
	}
}

static void
note(struct survey *s, size_t from, size_t to, double latency_us,
    double gbit_s, const char *problem)
{
	struct between *b = fleet_add_between(s->fleet);

	if (!b) {
		s->failed = true;
		return;
	}
	b->from = (unsigned)(s->first + from);
	b->to = (unsigned)(s->first + to);
	b->latency_us = latency_us;
	b->gbit_s = gbit_s;
	if (problem && *problem) {
		b->problem = strdup(problem);
		s->failed = s->failed || !b->problem;
		for (char *c = b->problem; c && *c; c++)
			if ((unsigned char)*c < ' ' || *c == 127)
				*c = '?';
	}
	s->told++;
	if (s->options->measured)
		s->options->measured(s->options->user, b, s->told, s->of);
}

static void
say_listen(struct survey *s, size_t host)
{
	struct buf	*out = &s->asked[host].out;
	size_t		 frame = wire_begin(out, WIRE_LISTEN);

	wire_put_text(out, s->token);
	wire_end(out, frame);
	s->asked[host].listens = true;
}

/* Addresses that mean another machine to each machine. */
static bool
is_private(const char *address)
{
	return !strncmp(address, "127.", 4) || !strcmp(address, "::1") ||
	    !strncmp(address, "169.254.", 8) || !strncmp(address, "fe80:", 5);
}

/* The address that ssh came to leads there from here, and most likely from the
 * others; else the first of an interface that is up. */
static size_t
addresses(const struct survey *s, size_t host, const char *out[2])
{
	const struct machine	*m = survey_machine(s, host);
	const char		*first = s->asked[host].address;
	size_t			 n = 0;

	if (*first && !is_private(first))
		out[n++] = first;
	for (size_t i = 0; i < m->ifaces && n < 2; i++) {
		const struct iface *f = &m->iface[i];

		if (f->up && !f->loopback && f->address &&
		    !is_private(f->address) && !strchr(f->address, '%') &&
		    (!n || strcmp(out[0], f->address)))
			out[n++] = f->address;
	}
	return n;
}

static void
say_measure(struct survey *s, size_t from, size_t to)
{
	struct buf	*out = &s->asked[from].out;
	const char	*address[2];
	size_t		 n = addresses(s, to, address), frame;

	frame = wire_begin(out, WIRE_MEASURE);
	wire_put(out, s->asked[to].port);
	wire_put_text(out, s->token);
	wire_put(out, BULK_MS);
	wire_put(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		wire_put_text(out, address[i]);
	wire_end(out, frame);
	s->asked[from].measures = true;
}

static void
hear_network(struct survey *s, size_t host, struct wire_frame *frame)
{
	struct asked	*a = &s->asked[host];
	char		*text;
	uint32_t	 ns, kbit;

	if (frame->type == WIRE_HELD && a->listens) {
		a->port = wire_get(frame);
		a->listens = false;
	} else if (frame->type == WIRE_MEASURED && a->measures) {
		text = wire_get_text(frame);
		ns = wire_get(frame);
		kbit = wire_get(frame);
		a->measures = false;
		note(s, host, s->partner[host], ns / 1e3, kbit / 1e6,
		    !text || frame->bad ? "a broken answer" : text);
		free(text);
	}
}

static bool
any(const struct survey *s, bool measures)
{
	for (size_t h = 0; h < s->hosts->count; h++)
		if (!s->asked[h].gone && (measures ? s->asked[h].measures :
		    s->asked[h].listens))
			return true;
	return false;
}

/* One direction of a round: from the smaller number, or to it. */
static void
measure(struct survey *s, bool up)
{
	size_t	n = s->hosts->count;
	int64_t	until = clock_ms() + MEASURE_MS;

	for (size_t h = 0; h < n; h++) {
		size_t p = s->partner[h];

		if (p >= n || (h < p) != up)
			continue;
		if (s->asked[h].gone || s->asked[p].gone || !s->asked[p].port)
			note(s, h, p, 0, 0, s->asked[h].gone ?
			    "the host that would measure is not there" :
			    s->asked[p].gone ? "the other host is not there" :
			    "the other host cannot listen");
		else
			say_measure(s, h, p);
	}
	while (any(s, true) && clock_ms() < until && !s->failed)
		survey_turn(s, 200, hear_network);
	for (size_t h = 0; h < n; h++)
		if (s->asked[h].measures) {
			s->asked[h].measures = false;
			note(s, h, s->partner[h], 0, 0, s->asked[h].gone ?
			    "the host was lost while it measured" :
			    "no answer in 15 s");
		}
}

void
survey_network(struct survey *s)
{
	size_t	n = s->hosts->count, rounds = n + n % 2 - 1;
	int64_t	until = clock_ms() + LISTEN_MS;

	if (n < 2)
		return;
	if (!(s->partner = calloc(n, sizeof *s->partner))) {
		s->failed = true;
		return;
	}
	s->of = n * (n - 1);
	for (size_t h = 0; h < n; h++)
		if (!s->asked[h].gone)
			say_listen(s, h);
	while (any(s, false) && clock_ms() < until && !s->failed)
		survey_turn(s, 200, hear_network);
	for (size_t r = 0; r < rounds && !s->failed; r++) {
		survey_round(n, r, s->partner);
		measure(s, true);
		measure(s, false);
	}
	free(s->partner);
	s->partner = NULL;
}
