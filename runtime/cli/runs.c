/* SPDX-License-Identifier: Apache-2.0 */
/* accel runs: what was started here, and how it ended. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/launch/clean.h"
#include "runtime/launch/record.h"

#include "runtime/base/banned.h"

struct runs {
	bool	json;
};

static const struct option options[] = {
	SWITCH(struct runs, json, "json", 0, "as JSON"),
	OPTIONS_END
};

/* A member's text, or "". */
static const char *
text_of(const json_t *run, const char *name)
{
	const char *text = json_string_value(json_object_get(run, name));

	return text ? text : "";
}

/* A name or a word may hold anything. */
static void
add_clean(struct buf *to, const char *text)
{
	clean_line(to, text, strlen(text), false);
}

static void
add_program(struct buf *to, const json_t *run)
{
	const json_t	*words = json_object_get(run, "program"), *word;
	struct buf	 line = BUF_INIT;
	size_t		 i;

	json_array_foreach(words, i, word) {
		buf_adds(&line, i ? " " : "");
		buf_add_word(&line, json_string_value(word) ?
		    json_string_value(word) : "");
	}
	for (i = 0; i < line.len; i++)
		if (line.data[i] == '\n')
			line.data[i] = ' ';
	add_clean(to, buf_text(&line));
	buf_clear(&line);
}

static void
add_end(struct buf *to, const json_t *run)
{
	const char	*state = text_of(run, "state");
	json_int_t	 code = json_integer_value(json_object_get(run,
			    "exit_code"));

	if (strcmp(state, "ended"))
		add_clean(to, state);
	else if (code)
		buf_addf(to, "exit %d", (int)code);
	else
		buf_adds(to, "ok");
}

/* 75 s as "1m15s". */
static void
add_time(struct buf *to, double seconds)
{
	long s = (long)seconds;

	if (seconds < 10)
		buf_addf(to, "%.1fs", seconds);
	else if (s < 60)
		buf_addf(to, "%lds", s);
	else if (s < 3600)
		buf_addf(to, "%ldm%02lds", s / 60, s % 60);
	else
		buf_addf(to, "%ldh%02ldm", s / 3600, s / 60 % 60);
}

/* The time of day here, from a record's. */
static void
add_date(struct buf *to, const char *utc, const char *form)
{
	struct tm	tm = { 0 };
	time_t		t;
	char		text[40] = "";

	if (strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm)) {
		t = timegm(&tm);
		if (localtime_r(&t, &tm))
			strftime(text, sizeof text, form, &tm);
	}
	buf_adds(to, text);
}

static void
print_row(const json_t *run)
{
	struct buf	when = BUF_INIT, took = BUF_INIT, end = BUF_INIT;
	struct buf	program = BUF_INIT;
	const json_t	*seconds = json_object_get(run, "seconds");

	add_date(&when, text_of(run, "started"), "%m-%d %H:%M");
	if (seconds)
		add_time(&took, json_number_value(seconds));
	add_end(&end, run);
	add_program(&program, run);
	printf("%-20s  %-11s  %7s  %-8s  %5d  %s\n", text_of(run, "id"),
	    buf_text(&when), buf_text(&took), buf_text(&end),
	    (int)json_integer_value(json_object_get(run, "ranks")),
	    buf_text(&program));
	buf_clear(&when);
	buf_clear(&took);
	buf_clear(&end);
	buf_clear(&program);
}

static void
print_line(const char *name, struct buf *value)
{
	if (value->len)
		printf("%-9s %s\n", name, buf_text(value));
	buf_clear(value);
}

static void
print_one(const json_t *run)
{
	static const struct { const char *name, *member; } texts[] = {
		{ "why", "why" }, { "logs", "logs" }, { "folder", "folder" },
		{ "file", "config_file" }, { "from", "launcher" },
	};
	const json_t	*host, *hosts = json_object_get(run, "hosts");
	struct buf	 text = BUF_INIT;
	size_t		 i;

	buf_addf(&text, "%s (accel %s)", text_of(run, "id"),
	    text_of(run, "command"));
	print_line("run", &text);
	add_program(&text, run);
	print_line("program", &text);
	add_date(&text, text_of(run, "started"), "%Y-%m-%d %H:%M:%S");
	print_line("started", &text);
	add_date(&text, text_of(run, "ended"), "%Y-%m-%d %H:%M:%S");
	if (text.len) {
		buf_adds(&text, ", after ");
		add_time(&text, json_number_value(json_object_get(run,
		    "seconds")));
	}
	print_line("ended", &text);
	add_end(&text, run);
	print_line("end", &text);
	buf_addf(&text, "%d", (int)json_integer_value(json_object_get(run,
	    "ranks")));
	print_line("ranks", &text);
	json_array_foreach(hosts, i, host) {
		buf_adds(&text, i ? "," : "");
		add_clean(&text, text_of(host, "name"));
		buf_addf(&text, ":%d", (int)json_integer_value(
		    json_object_get(host, "ranks")));
	}
	print_line("hosts", &text);
	for (i = 0; i < sizeof texts / sizeof *texts; i++) {
		add_clean(&text, text_of(run, texts[i].member));
		print_line(texts[i].name, &text);
	}
}

/* The run that is meant: "last", its id, or a part of it that no other has. */
static const json_t *
find(const json_t *all, const char *which, struct err *err)
{
	const json_t	*run, *found = NULL;
	size_t		 i, n = 0;

	if (!strcmp(which, "last") && json_array_size(all))
		return json_array_get(all, 0);
	json_array_foreach(all, i, run) {
		if (!strcmp(text_of(run, "id"), which))
			return run;
		if (*which && strstr(text_of(run, "id"), which)) {
			found = run;
			n++;
		}
	}
	if (n == 1)
		return found;
	if (n)
		err_set(err, "%zu runs have \"%s\" in their names", n, which);
	else
		err_set(err, "there is no run \"%s\"", which);
	err_hint(err, "\"accel runs\" lists them");
	return NULL;
}

static int
run(struct call *call, struct err *err)
{
	const struct runs	*o = call->options;
	json_t			*all = records_read(err);
	const json_t		*one = NULL, *row;
	size_t			 i;
	int			 ret = 0;

	if (!all)
		return -1;
	if (call->argc && !(one = find(all, call->argv[0], err)))
		ret = -1;
	else if (o->json)
		ret = json_print(one ? one : all, err);
	else if (one)
		print_one(one);
	else if (!json_array_size(all))
		printf("nothing was started yet\n");
	else {
		printf("%-20s  %-11s  %7s  %-8s  %5s  %s\n", "RUN", "STARTED",
		    "TOOK", "END", "RANKS", "PROGRAM");
		json_array_foreach(all, i, row)
			print_row(row);
	}
	json_decref(all);
	return ret;
}

const struct command command_runs = {
	"runs", "list what was started, and how it ended", .run = run,
	.words = "[RUN]", .most = 1, .takes = TAKES_TEXT,
	.about = "Lists the launches of this user, the newest first; with RUN "
	    "(a name, a part of\none, or last) says all about one.",
	.page = "accel-runs(1)", .options = options,
	.size = sizeof(struct runs),
};
