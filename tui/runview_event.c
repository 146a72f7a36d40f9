/* SPDX-License-Identifier: Apache-2.0 */
/* runview_event: from lines of "accel launch --output json" to the model.  The
 * launcher is ours, but a host's words are in what it says: nothing is taken on
 * trust, and what cannot be is left out. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/runview_intern.h"

#include "runtime/base/banned.h"

enum { LINES_MAX = 20 };

/* A text of the object, or NULL. */
static const char *
text_of(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

/* A copy that does nothing to a terminal; NULL where there is none. */
static char *
copy_of(const json_t *o, const char *name)
{
	const char	*text = text_of(o, name);
	struct buf	 clean = BUF_INIT;

	if (!text)
		return NULL;
	log_clean(&clean, text, strlen(text));
	return clean.len ? buf_detach(&clean) : strdup("");
}

/* A number from 0 on, or -1. */
static double
number_of(const json_t *o, const char *name)
{
	const json_t	*value = json_object_get(o, name);
	double		 n = json_number_value(value);

	return json_is_number(value) && isfinite(n) && n >= 0 ? n : -1;
}

/* An index below "most"; "most" where it is none. */
static size_t
index_of(const json_t *value, size_t most)
{
	json_int_t n = json_integer_value(value);

	return json_is_integer(value) && n >= 0 && n < (json_int_t)most ?
	    (size_t)n : most;
}

static size_t
rank_of(const struct run_view *v, const json_t *o)
{
	return index_of(json_object_get(o, "rank"), v->world);
}

static size_t
host_of(const struct run_view *v, const json_t *o)
{
	return index_of(json_object_get(o, "number"), v->hosts);
}

static void
hear_plan(struct run_view *v, const json_t *o)
{
	const json_t	*hosts = json_object_get(o, "hosts");
	const json_t	*ranks = json_object_get(o, "ranks");
	const json_t	*gpus = json_object_get(o, "gpus");
	size_t		 n = json_array_size(hosts);
	size_t		 world = json_array_size(ranks), *of;

	if (!n || !world || n > VIEW_WORLD || world > VIEW_WORLD ||
	    !(of = calloc(world, sizeof *of)))
		return;
	for (size_t i = 0; i < world; i++) {
		of[i] = index_of(json_array_get(ranks, i), n);
		if (of[i] == n) {
			free(of);
			return;
		}
	}
	if (runview_set_plan(v, n, world, of) == 0) {
		for (size_t h = 0; h < n; h++) {
			const char	*name = json_string_value(
					    json_array_get(hosts, h));
			struct buf	 clean = BUF_INIT;

			log_clean(&clean, name ? name : "?",
			    name ? strlen(name) : 1);
			v->host[h].name = buf_detach(&clean);
			if (!v->host[h].name)
				v->host[h].name = strdup("?");
		}
		for (size_t i = 0; i < world; i++)
			if (index_of(json_array_get(gpus, i), 4096) < 4096)
				v->rank[i].gpu = (long)index_of(
				    json_array_get(gpus, i), 4096);
	}
	free(of);
	free(v->record);
	free(v->logs);
	v->record = copy_of(o, "record");
	v->logs = copy_of(o, "logs");
	v->phase = RUN_BEGINS;
	v->failure.known = false;
	if (v->attempts++)
		log_add(&v->log, NULL, 1, "---- a new attempt ----", 23);
}

static void
hear_host(struct run_view *v, const json_t *o)
{
	static const struct { const char *word; enum run_state state; } all[] = {
		{ "connecting", STATE_CONNECTING },
		{ "checking", STATE_CHECKING }, { "ready", STATE_READY },
		{ "unfit", STATE_UNFIT }, { "running", STATE_RUNNING },
		{ "done", STATE_ENDED }, { "lost", STATE_LOST },
	};
	size_t		 h = host_of(v, o);
	const char	*word = text_of(o, "state");
	char		*what;

	for (size_t i = 0; h < v->hosts && word &&
	    i < sizeof all / sizeof *all; i++)
		if (!strcmp(word, all[i].word))
			v->host[h].state = all[i].state;
	if (h == v->hosts)
		return;
	what = copy_of(o, "what");
	snprintf(v->host[h].what, sizeof v->host[h].what, "%s",
	    what ? what : "");
	free(what);
	if (v->host[h].state == STATE_LOST)
		for (size_t i = 0; i < v->world; i++)
			if (v->rank[i].host == h &&
			    v->rank[i].state <= STATE_RUNNING)
				v->rank[i].state = STATE_LOST;
}

static void
hear_trouble(struct run_view *v, const json_t *o, bool fatal)
{
	struct run_trouble *t = &v->trouble[v->troubles];

	if (v->troubles == VIEW_TROUBLES)
		return;
	*t = (struct run_trouble){ copy_of(o, "host"), copy_of(o, "what"),
	    copy_of(o, "hint"), fatal };
	if (t->host && t->what) {
		v->troubles++;
		return;
	}
	free(t->host);
	free(t->what);
	free(t->hint);
}

static void
hear_start(struct run_view *v, const json_t *o)
{
	size_t r = rank_of(v, o);

	if (r == v->world)
		return;
	v->rank[r].state = STATE_RUNNING;
	v->rank[r].pid = (long)number_of(o, "pid");
	if (v->phase == RUN_BEGINS)
		v->phase = RUN_RUNS;
}

static void
hear_exit(struct run_view *v, const json_t *o)
{
	size_t		 r = rank_of(v, o);
	const char	*sig = text_of(o, "signal");
	double		 code = number_of(o, "exit_code");
	struct run_rank	*rank;

	if (r == v->world)
		return;
	rank = &v->rank[r];
	rank->use = (struct run_use){ -1, -1, -1, -1 };
	rank->end[0] = '\0';
	if (!sig && code == 0) {
		rank->state = STATE_ENDED;
		return;
	}
	/* What ends as it was told to did not fail. */
	rank->state = v->phase == RUN_STOPS && !(v->failure.known &&
	    v->failure.rank == r) && sig ? STATE_STOPPED : STATE_FAILED;
	if (sig)
		snprintf(rank->end, sizeof rank->end, "%.20s", sig);
	else
		snprintf(rank->end, sizeof rank->end, "exit %.0f", code);
}

static void
hear_failure(struct run_view *v, const json_t *o)
{
	struct run_failure	*f = &v->failure;
	const json_t		*lines = json_object_get(o, "lines");
	size_t			 n = json_array_size(lines);

	free(f->host);
	free(f->why);
	strv_clear(&f->lines);
	*f = (struct run_failure){ .known = true, .rank = rank_of(v, o),
	    .host = copy_of(o, "host"), .why = copy_of(o, "why") };
	for (size_t i = n > LINES_MAX ? n - LINES_MAX : 0; i < n; i++) {
		const char	*line = json_string_value(
				    json_array_get(lines, i));
		struct buf	 clean = BUF_INIT;

		if (!line)
			continue;
		log_clean(&clean, line, strlen(line));
		strv_add(&f->lines, buf_text(&clean));
		buf_clear(&clean);
	}
	if (f->rank < v->world)
		v->rank[f->rank].state = STATE_FAILED;
}

static void
hear_gpus(struct run_host *h, const json_t *gpus)
{
	h->gpus = 0;
	for (size_t i = 0; i < json_array_size(gpus) &&
	    h->gpus < VIEW_GPUS; i++) {
		const json_t *o = json_array_get(gpus, i);

		h->gpu[h->gpus++] = (struct run_gpu){
		    (long)index_of(json_object_get(o, "index"), 4096),
		    number_of(o, "busy"), number_of(o, "memory"),
		    number_of(o, "memory_total") };
	}
}

static void
hear_usage(struct run_view *v, const json_t *o)
{
	size_t		 h = host_of(v, o);
	const json_t	*ranks = json_object_get(o, "ranks");

	if (h == v->hosts || v->phase == RUN_OVER)
		return;
	v->host[h].cpus = number_of(o, "cpus");
	v->host[h].use.cpu = number_of(o, "cpu");
	v->host[h].use.memory = number_of(o, "memory");
	v->host[h].memory = number_of(o, "memory_total");
	hear_gpus(&v->host[h], json_object_get(o, "gpus"));
	for (size_t i = 0; i < json_array_size(ranks); i++) {
		const json_t	*one = json_array_get(ranks, i);
		size_t		 r = rank_of(v, one);

		if (r < v->world && v->rank[r].host == h &&
		    v->rank[r].state == STATE_RUNNING)
			v->rank[r].use = (struct run_use){
			    number_of(one, "cpu"), number_of(one, "memory"),
			    -1, number_of(one, "gpu_memory") };
	}
}

static void
hear_line(struct run_view *v, int64_t now, const json_t *o)
{
	const json_t	*text = json_object_get(o, "text");
	const char	*stream = text_of(o, "stream");
	size_t		 r = rank_of(v, o), n;
	struct number	 number[NUMBERS_MAX];
	const char	*line = json_string_value(text);

	if (!line || r == v->world)
		return;
	n = json_string_length(text);
	runview_line(v, now, r, stream && !strcmp(stream, "stderr") ? 2 : 1,
	    line, n);
	if (n > LOG_WIDTH)
		n = LOG_WIDTH;
	n = numbers_read(line, n, number);
	for (size_t i = 0; i < n; i++)
		runview_value(v, r, number[i].name, number[i].value,
		    false);
}

/* Events of libaccel (runtime/train/track.h): its numbers by name, and rows in
 * all, whose growth is a rate. */
static void
hear_track(struct run_view *v, const json_t *o)
{
	const json_t	*t = json_object_get(o, "track"), *value;
	const char	*event = text_of(t, "event"), *key, *word;
	size_t		 r = rank_of(v, o);
	double		 time = number_of(t, "time");
	double		 samples = number_of(t, "samples"), n = NAN;

	if (!event || r == v->world)
		return;
	if (!strcmp(event, "log") && (key = text_of(t, "key"))) {
		struct buf clean = BUF_INIT;

		value = json_object_get(t, "value");
		word = json_string_value(value);
		if (json_is_number(value))
			n = json_number_value(value);
		else if (word && !strcmp(word, "inf"))
			n = INFINITY;
		else if (word && !strcmp(word, "-inf"))
			n = -INFINITY;
		log_clean(&clean, key, strnlen(key, SERIES_NAME - 1));
		runview_value(v, r, buf_text(&clean), n, true);
		buf_clear(&clean);
	} else if (!strcmp(event, "step") && samples >= 0 && time >= 0) {
		if (v->samples >= 0 && time > v->samples_at &&
		    samples >= v->samples)
			runview_value(v, r, "samples/s",
			    (samples - v->samples) / (time - v->samples_at),
			    true);
		v->samples = samples;
		v->samples_at = time;
	}
}

void
runview_event(struct run_view *v, int64_t now, const char *line, size_t n)
{
	json_t		*o = json_loadb(line, n, JSON_ALLOW_NUL, NULL);
	const char	*event = text_of(o, "event");

	if (!o && n)
		log_add(&v->log, NULL, 1, line, n);
	if (!event)
		;
	else if (!strcmp(event, "line"))
		hear_line(v, now, o);
	else if (!strcmp(event, "usage"))
		hear_usage(v, o);
	else if (!strcmp(event, "track"))
		hear_track(v, o);
	else if (!strcmp(event, "plan"))
		hear_plan(v, o);
	else if (!strcmp(event, "host"))
		hear_host(v, o);
	else if (!strcmp(event, "problem") || !strcmp(event, "warning"))
		hear_trouble(v, o, *event == 'p');
	else if (!strcmp(event, "start"))
		hear_start(v, o);
	else if (!strcmp(event, "exit"))
		hear_exit(v, o);
	else if (!strcmp(event, "failure"))
		hear_failure(v, o);
	else if (!strcmp(event, "stopping") && v->phase != RUN_OVER)
		v->phase = RUN_STOPS;
	json_decref(o);
}
