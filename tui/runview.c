/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/runview.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/launch/clean.h"
#include "runtime/launch/fold.h"
#include "tui/runview_intern.h"

#include "runtime/base/banned.h"

enum { FOLD_MS = 100 };

const char *const run_state_words[] = {
	[STATE_WAITS] = "waits", [STATE_CONNECTING] = "connecting",
	[STATE_CHECKING] = "checking", [STATE_READY] = "ready",
	[STATE_RUNNING] = "running", [STATE_ENDED] = "ended",
	[STATE_STOPPED] = "stopped", [STATE_FAILED] = "failed",
	[STATE_UNFIT] = "unfit", [STATE_LOST] = "lost",
};

int
runview_init(struct run_view *v, const char *command, int64_t now)
{
	*v = (struct run_view){ .began = now, .follow = true, .samples = -1,
	    .said.max = VIEW_SAID, .part.max = LOG_WIDTH * 2, .list_h = 1,
	    .log_h = 1 };
	v->command = strdup(command);
	return v->command ? 0 : -1;
}

/* What one launcher told. */
static void
forget(struct run_view *v)
{
	for (size_t i = 0; i < v->troubles; i++) {
		free(v->trouble[i].host);
		free(v->trouble[i].what);
		free(v->trouble[i].hint);
	}
	v->troubles = 0;
	free(v->failure.host);
	free(v->failure.why);
	strv_clear(&v->failure.lines);
	v->failure = (struct run_failure){ .known = false };
	free(v->record);
	free(v->logs);
	v->record = v->logs = NULL;
	buf_clear(&v->said);
	buf_clear(&v->part);
}

void
runview_forget_plan(struct run_view *v)
{
	if (v->fold)
		fold_flush(v->fold);
	fold_free(v->fold);
	v->fold = NULL;
	for (size_t h = 0; h < v->hosts; h++)
		free(v->host[h].name);
	free(v->host);
	free(v->rank);
	free(v->order);
	free(v->row);
	v->host = NULL;
	v->rank = NULL;
	v->order = NULL;
	v->row = NULL;
	v->hosts = v->world = v->rows = 0;
}

void
runview_clear(struct run_view *v)
{
	runview_forget_plan(v);
	forget(v);
	log_clear(&v->log);
	ranks_clear(&v->only);
	free(v->command);
	explicit_bzero(v->typed, sizeof v->typed);
	v->command = NULL;
}

void
runview_again(struct run_view *v, int64_t now)
{
	static const char mark[] = "---- started again ----";

	forget(v);
	if (v->fold)
		fold_flush(v->fold);
	log_add(&v->log, NULL, 1, mark, sizeof mark - 1);
	for (size_t i = 0; i < v->world; i++) {
		v->rank[i].state = STATE_WAITS;
		v->rank[i].pid = 0;
		v->rank[i].end[0] = '\0';
		v->rank[i].use = (struct run_use){ -1, -1, -1, -1 };
	}
	for (size_t h = 0; h < v->hosts; h++) {
		v->host[h].state = STATE_WAITS;
		v->host[h].what[0] = '\0';
	}
	v->phase = RUN_BEGINS;
	v->began = now;
	v->ended = 0;
	v->code = 0;
	v->stop_asked = false;
	v->attempts = 0;
	v->serieses = 0;
	v->samples = -1;
	runview_follow(v);
}

static void
emit(void *user, const struct ranks *ranks, int stream, const char *line,
    size_t n)
{
	struct run_view *v = user;

	log_add(&v->log, ranks, stream, line, n);
}

/* All ranks of a host stand together, in the order of their numbers. */
static void
set_order(struct run_view *v)
{
	size_t at = 0;

	for (size_t i = 0; i < v->world; i++)
		v->host[v->rank[i].host].count++;
	for (size_t h = 0; h < v->hosts; h++) {
		v->host[h].first = at;
		at += v->host[h].count;
		v->host[h].count = 0;
	}
	for (size_t i = 0; i < v->world; i++) {
		struct run_host *host = &v->host[v->rank[i].host];

		v->order[host->first + host->count++] = i;
	}
}

int
runview_set_plan(struct run_view *v, size_t hosts, size_t world,
    const size_t *of)
{
	bool same = hosts == v->hosts && world == v->world;

	runview_forget_plan(v);
	v->host = calloc(hosts, sizeof *v->host);
	v->rank = calloc(world, sizeof *v->rank);
	v->order = calloc(world, sizeof *v->order);
	v->row = calloc(hosts + world, sizeof *v->row);
	v->fold = world > 1 ? fold_new(world, FOLD_MS, emit, v) : NULL;
	if (!v->host || !v->rank || !v->order || !v->row ||
	    (world > 1 && !v->fold)) {
		runview_forget_plan(v);
		return -1;
	}
	v->hosts = hosts;
	v->world = world;
	for (size_t i = 0; i < world; i++)
		v->rank[i] = (struct run_rank){ .host = of[i], .gpu = -1,
		    .use = { -1, -1, -1, -1 } };
	for (size_t h = 0; h < hosts; h++) {
		v->host[h].use = (struct run_use){ -1, -1, -1, -1 };
		v->host[h].cpus = v->host[h].memory =
		    v->host[h].gpu_memory = -1;
		/* Many ranks: first of all, the hosts. */
		v->host[h].closed = hosts > 1 && world > 16;
	}
	set_order(v);
	if (!same) {
		runview_unfilter(v);
		v->cursor = v->top = 0;
	}
	runview_set_rows(v);
	return 0;
}

void
runview_line(struct run_view *v, int64_t now, size_t rank, int stream,
    const char *line, size_t n)
{
	struct ranks one = RANKS_INIT(v->world);

	if (v->fold)
		fold_line(v->fold, now, rank, stream, line, n);
	else if (ranks_add(&one, rank) == 0)
		log_add(&v->log, &one, stream, line, n);
	ranks_clear(&one);
}

void
runview_value(struct run_view *v, size_t rank, const char *name, double value,
    bool told)
{
	struct series *s = NULL;
	bool	       new;

	for (size_t i = 0; i < v->serieses; i++)
		if (!strcmp(v->series[i].name, name))
			s = &v->series[i];
	new = !s && v->serieses < VIEW_SERIES;
	if (new)
		s = &v->series[v->serieses++];
	/* One curve, not a mix: the lowest rank that says it, and libaccel
	 * rather than a line that has the same. */
	if (!s || (!new && (told < s->told || (told == s->told &&
	    rank > s->rank))))
		return;
	if (new || told > s->told || rank < s->rank) {
		*s = (struct series){ .rank = rank, .told = told };
		snprintf(s->name, sizeof s->name, "%s", name);
	}
	series_add(s, value);
}

static void
say_line(struct run_view *v)
{
	/* A progress that is written over is not worth a line. */
	const char *text = buf_text(&v->part), *cr = strrchr(text, '\r');

	text = cr ? cr + 1 : text;
	if (v->fold)		/* what ranks said before stands before */
		fold_flush(v->fold);
	if (*text)
		log_add(&v->log, NULL, 2, text, strlen(text));
	v->part.len = 0;
}

/* Of too many words, the last are those that tell how it ended. */
static void
keep_said(struct run_view *v, const char *bytes, size_t n)
{
	enum { HALF = VIEW_SAID / 2 };
	const char *nl;

	if (n > HALF) {
		bytes += n - HALF;
		n = HALF;
	}
	if (v->said.len + n > VIEW_SAID) {
		nl = memchr(v->said.data + HALF, '\n', v->said.len - HALF);
		buf_take(&v->said, nl ? (size_t)(nl + 1 - v->said.data) :
		    HALF);
	}
	buf_add(&v->said, bytes, n);
}

void
runview_say(struct run_view *v, const char *bytes, size_t n)
{
	keep_said(v, bytes, n);
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || v->part.len >= LOG_WIDTH)
			say_line(v);
		if (bytes[i] != '\n' && bytes[i])
			buf_add(&v->part, &bytes[i], 1);
	}
}

void
runview_over(struct run_view *v, int64_t now, int code)
{
	if (v->fold)
		fold_flush(v->fold);
	if (v->part.len)
		say_line(v);
	v->phase = RUN_OVER;
	v->ended = now;
	v->code = code;
	v->note[0] = '\0';
	if (v->ask == ASK_STOP || v->ask == ASK_SECRET)
		v->ask = ASK_NOTHING;
	/* Of what it did not say an end of, none is known. */
	for (size_t i = 0; i < v->world; i++) {
		v->rank[i].use = (struct run_use){ -1, -1, -1, -1 };
		if (v->rank[i].state == STATE_RUNNING)
			v->rank[i].state = STATE_LOST;
	}
	for (size_t h = 0; h < v->hosts; h++) {
		v->host[h].use = (struct run_use){ -1, -1, -1, -1 };
		v->host[h].gpus = 0;
		v->host[h].what[0] = '\0';
		if (v->host[h].state == STATE_RUNNING)
			v->host[h].state = STATE_LOST;
	}
}

int64_t
runview_tick(struct run_view *v, int64_t now)
{
	if (!v->fold)
		return -1;
	fold_tick(v->fold, now);
	return fold_due(v->fold);
}

size_t
runview_count(const struct run_view *v, size_t host, enum run_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < v->world; i++)
		n += v->rank[i].state == state &&
		    (host == v->hosts || v->rank[i].host == host);
	return n;
}

void
runview_host_gpu(const struct run_view *v, size_t host, double *busy,
    double *memory, double *total)
{
	const struct run_host	*h = &v->host[host];
	size_t			 n = 0;

	*busy = *memory = *total = -1;
	for (size_t g = 0; g < h->gpus; g++) {
		if (h->gpu[g].busy >= 0) {
			*busy = (n ? *busy : 0) + h->gpu[g].busy;
			n++;
		}
		if (h->gpu[g].memory >= 0)
			*memory = (*memory < 0 ? 0 : *memory) +
			    h->gpu[g].memory;
		if (h->gpu[g].total >= 0)
			*total = (*total < 0 ? 0 : *total) + h->gpu[g].total;
	}
	if (n)
		*busy /= (double)n;
}

void
runview_rank_gpu(const struct run_view *v, size_t rank, double *busy,
    double *memory)
{
	const struct run_rank	*r = &v->rank[rank];
	const struct run_host	*h = &v->host[r->host];

	*busy = -1;
	*memory = r->use.gpu_memory;
	if (r->state != STATE_RUNNING)
		return;
	for (size_t g = 0; r->gpu >= 0 && g < h->gpus; g++)
		if (h->gpu[g].index == r->gpu) {
			*busy = h->gpu[g].busy;
			if (*memory < 0)
				*memory = h->gpu[g].memory;
		}
}

void
runview_elapsed(const struct run_view *v, int64_t now, char text[24])
{
	long long s = ((v->phase == RUN_OVER ? v->ended : now) - v->began) /
	    1000;

	if (s >= 3600)
		snprintf(text, 24, "%lld:%02d:%02d", s / 3600,
		    (int)(s / 60 % 60), (int)(s % 60));
	else
		snprintf(text, 24, "%02d:%02d", (int)(s / 60), (int)(s % 60));
}

void
runview_summary(const struct run_view *v, char *text, size_t room)
{
	size_t ready = 0, running;

	if (v->phase == RUN_OVER && v->code == 0)
		snprintf(text, room, "ended well");
	else if (v->phase == RUN_OVER && v->stop_asked)
		snprintf(text, room, "stopped");
	else if (v->phase == RUN_OVER)
		snprintf(text, room, "failed: exit code %d", v->code);
	else if (v->phase == RUN_STOPS)
		snprintf(text, room, "stopping: %zu still run",
		    runview_count(v, v->hosts, STATE_RUNNING));
	else if (v->phase == RUN_BEGINS) {
		for (size_t h = 0; h < v->hosts; h++)
			ready += v->host[h].state == STATE_READY;
		if (v->hosts)
			snprintf(text, room, "%zu of %zu hosts ready", ready,
			    v->hosts);
		else
			snprintf(text, room, "starting");
	} else {
		running = runview_count(v, v->hosts, STATE_RUNNING);
		if (running == v->world)
			snprintf(text, room, "running");
		else
			snprintf(text, room, "running: %zu of %zu", running,
			    v->world);
	}
}

void
runview_farewell(const struct run_view *v, struct buf *out)
{
	char time[24], number[16];

	runview_elapsed(v, v->ended, time);
	buf_addf(out, "accel: %s %s", v->code ? "it ran for" :
	    "ended well after", time);
	for (size_t i = 0; i < v->serieses; i++) {
		series_number(v->series[i].last, number);
		buf_addf(out, ", %s %s", v->series[i].name, number);
	}
	buf_adds(out, "\n");
	if (v->record)
		buf_addf(out, "accel: its record is %s\n", v->record);
	if (v->logs)
		buf_addf(out, "accel: its logs are in %s\n", v->logs);
}
