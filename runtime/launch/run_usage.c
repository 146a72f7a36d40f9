/* SPDX-License-Identifier: Apache-2.0 */
/* run_usage: where it is wanted, asks each host from time to time what its
 * ranks use, and tells it as JSON.  An agent sends counters; what is told is
 * what they grew by since the last answer. */
#include "runtime/launch/run.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

enum { FIRST_MS = 500 };	/* a rate wants two answers: soon */

struct use_host {
	bool		known;
	uint32_t	at_ms, busy_ms;
};
struct use_rank {
	bool		known;
	uint32_t	at_ms, cpu_ms;
};
struct run_usage {
	int64_t		 due;		/* of the next host */
	size_t		 asked;		/* hosts, one after the other */
	struct use_host	*host;
	struct use_rank	*rank;
};

int
run_usage_init(struct run *run)
{
	struct run_usage *u;

	if (run->options->usage_ms <= 0 ||
	    run->options->output.mode != OUTPUT_JSON)
		return 0;
	if (!(run->usage = u = calloc(1, sizeof *u)))
		return -1;
	u->host = calloc(hosts(run), sizeof *u->host);
	u->rank = calloc(run->plan->world, sizeof *u->rank);
	return u->host && u->rank ? 0 : -1;
}

void
run_usage_clear(struct run *run)
{
	if (run->usage) {
		free(run->usage->host);
		free(run->usage->rank);
	}
	free(run->usage);
	run->usage = NULL;
	buf_clear(&run->track);
}

/* From a host's turn to its next. */
static int64_t
round_ms(const struct run *run)
{
	return run->usage->asked < hosts(run) &&
	    run->options->usage_ms > FIRST_MS ? FIRST_MS :
	    run->options->usage_ms;
}

void
run_usage_tick(struct run *run, int64_t *wait_ms)
{
	struct run_usage	*u = run->usage;
	int64_t			 now = clock_ms();

	if (!u || run->step != RUN || run->pausing)
		return;
	if (!u->due)
		u->due = now;
	/* One by one, not all at a time: each has its turn in a round. */
	while (now >= u->due) {
		struct peer *peer = &run->peer[u->asked % hosts(run)];

		if (peer->greeted && !peer->closed && !peer->done)
			wire_end(&peer->out, wire_begin(&peer->out,
			    WIRE_USAGE));
		u->asked++;
		u->due += round_ms(run) / (int64_t)hosts(run) + 1;
		if (u->asked % hosts(run) == 0 && u->due < now)
			u->due = now;	/* it was late: no haste */
	}
	if (u->due - now < *wait_ms)
		*wait_ms = u->due - now;
}

/* ,"name":number in units of that many bytes; nothing where it is unknown. */
static void
add_bytes(struct buf *to, const char *name, uint32_t number, int shift)
{
	if (number != WIRE_UNKNOWN)
		buf_addf(to, ",\"%s\":%llu", name,
		    (unsigned long long)number << shift);
}

/* ,"cpu":how many CPUs were busy since the last answer. */
static void
add_rate(struct buf *to, uint32_t at_ms, uint32_t ms, uint32_t was_at,
    uint32_t was_ms)
{
	uint32_t span = at_ms - was_at, used = ms - was_ms;

	/* Children that nobody waited for take their time along. */
	if (used > UINT32_MAX / 2)
		used = 0;
	if (span)
		buf_addf(to, ",\"cpu\":%.2f", (double)used / (double)span);
}

static void
hear_gpus(struct wire_frame *frame, struct buf *m)
{
	uint32_t n = wire_get(frame);

	for (uint32_t i = 0; i < n && !frame->bad; i++) {
		uint32_t index = wire_get(frame), busy = wire_get(frame);
		uint32_t used = wire_get(frame), all = wire_get(frame);

		if (frame->bad)
			return;
		buf_addf(m, "%s{\"index\":%lu", i ? "," : ",\"gpus\":[",
		    (unsigned long)index);
		if (busy != WIRE_UNKNOWN)
			buf_addf(m, ",\"busy\":%.2f", (double)busy / 100);
		add_bytes(m, "memory", used, 20);
		add_bytes(m, "memory_total", all, 20);
		buf_adds(m, i + 1 == n ? "}]" : "}");
	}
}

static void
hear_ranks(struct run *run, size_t host, uint32_t at, struct wire_frame *frame,
    struct buf *m)
{
	uint32_t	n = wire_get(frame);
	bool		any = false;

	buf_adds(m, ",\"ranks\":[");
	for (uint32_t i = 0; i < n && !frame->bad; i++) {
		uint32_t	 rank = wire_get(frame), ms = wire_get(frame);
		uint32_t	 kib = wire_get(frame), gpu = wire_get(frame);
		uint32_t	 processes = wire_get(frame);
		struct use_rank	*was;

		if (frame->bad || rank >= run->plan->world ||
		    run->plan->rank[rank].host != host)
			continue;
		was = &run->usage->rank[rank];
		buf_addf(m, "%s{\"rank\":%lu", any ? "," : "",
		    (unsigned long)rank);
		if (was->known)
			add_rate(m, at, ms, was->at_ms, was->cpu_ms);
		add_bytes(m, "memory", kib, 10);
		add_bytes(m, "gpu_memory", gpu, 20);
		buf_addf(m, ",\"processes\":%lu}", (unsigned long)processes);
		*was = (struct use_rank){ true, at, ms };
		any = true;
	}
	buf_adds(m, "]");
}

void
run_usage_hear(struct run *run, size_t host, struct wire_frame *frame)
{
	struct use_host	*was;
	struct buf	 m = BUF_INIT;
	uint32_t	 at, cpus, busy, used, all;

	if (!run->usage)	/* nobody asked */
		return;
	was = &run->usage->host[host];
	at = wire_get(frame);
	cpus = wire_get(frame);
	busy = wire_get(frame);
	used = wire_get(frame);
	all = wire_get(frame);
	buf_adds(&m, "\"host\":");
	clean_json(&m, label(run, host), strlen(label(run, host)));
	buf_addf(&m, ",\"number\":%zu", host);
	if (cpus != WIRE_UNKNOWN)
		buf_addf(&m, ",\"cpus\":%lu", (unsigned long)cpus);
	if (was->known && busy != WIRE_UNKNOWN)
		add_rate(&m, at, busy, was->at_ms, was->busy_ms);
	*was = (struct use_host){ busy != WIRE_UNKNOWN, at, busy };
	add_bytes(&m, "memory", used, 20);
	add_bytes(&m, "memory_total", all, 20);
	hear_gpus(frame, &m);
	hear_ranks(run, host, at, frame, &m);
	if (!frame->bad)
		output_event(&run->output, "usage", run->plan->world,
		    buf_text(&m));
	buf_clear(&m);
}
