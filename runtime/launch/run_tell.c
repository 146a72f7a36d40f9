/* SPDX-License-Identifier: Apache-2.0 */
/* run_tell: what a program that follows a run is told beside the ranks' lines
 * (--output json): where the ranks are, how far each host is, and why the run
 * fails, as it happens.  Without JSON nothing is said. */
#include "runtime/launch/run.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/launch/logs.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

/* Adds ,"name":"text". */
static void
add_text(struct buf *to, const char *name, const char *text)
{
	buf_addf(to, "%s\"%s\":", to->len ? "," : "", name);
	clean_json(to, text, strlen(text));
}

static bool
silent(const struct run *run)
{
	return run->options->output.mode != OUTPUT_JSON;
}

void
run_tell_plan(struct run *run)
{
	const struct plan		*plan = run->plan;
	const struct supervise_options	*options = run->options;
	struct buf			 m = BUF_INIT;

	if (silent(run))
		return;
	add_text(&m, "folder", plan->folder);
	if (options->record)
		add_text(&m, "record", options->record);
	if (options->output.logs)
		add_text(&m, "logs", logs_folder(options->output.logs));
	buf_adds(&m, ",\"hosts\":[");
	for (size_t h = 0; h < hosts(run); h++) {
		buf_adds(&m, h ? "," : "");
		clean_json(&m, label(run, h), strlen(label(run, h)));
	}
	buf_adds(&m, "],\"ranks\":[");
	for (size_t i = 0; i < plan->world; i++)
		buf_addf(&m, "%s%zu", i ? "," : "", plan->rank[i].host);
	buf_adds(&m, "]");
	if (plan->devices) {
		buf_adds(&m, ",\"gpus\":[");
		for (size_t i = 0; i < plan->world; i++)
			buf_addf(&m, "%s%ld", i ? "," : "", plan->rank[i].gpu);
		buf_adds(&m, "]");
	}
	output_event(&run->output, "plan", plan->world, buf_text(&m));
	buf_clear(&m);
}

static void
tell_host(struct run *run, size_t host, const char *state, const char *what)
{
	struct buf m = BUF_INIT;

	add_text(&m, "host", label(run, host));
	buf_addf(&m, ",\"number\":%zu,\"state\":\"%s\"", host, state);
	if (what)
		add_text(&m, "what", what);
	output_event(&run->output, "host", run->plan->world, buf_text(&m));
	buf_clear(&m);
}

void
run_tell_trouble(struct run *run, size_t host, bool fatal, const char *what,
    const char *hint)
{
	struct buf m = BUF_INIT;

	if (silent(run))
		return;
	add_text(&m, "host", label(run, host));
	buf_addf(&m, ",\"number\":%zu", host);
	add_text(&m, "what", what);
	if (*hint)
		add_text(&m, "hint", hint);
	output_event(&run->output, fatal ? "problem" : "warning",
	    run->plan->world, buf_text(&m));
	buf_clear(&m);
}

/* Where a host is, in a word that is not freed. */
static const char *
state_of(const struct run *run, const struct peer *peer, const char **what)
{
	*what = NULL;
	if (peer->bad)
		return "unfit";
	if (peer->done)
		return "done";
	if (peer->closed)
		return "lost";
	if (run->step == RUN)
		return "running";
	if (peer->checked)
		return "ready";
	*what = peer->greeted ? NULL : peer->transport->phase(peer->link);
	return peer->greeted ? "checking" : "connecting";
}

void
run_tell_hosts(struct run *run)
{
	if (silent(run))
		return;
	for (size_t h = 0; h < hosts(run); h++) {
		struct peer	*peer = &run->peer[h];
		const char	*what, *state = state_of(run, peer, &what);

		if (state == peer->told && what == peer->told_what)
			continue;
		peer->told = state;
		peer->told_what = what;
		tell_host(run, h, state, what);
	}
}

void
run_tell_failure(struct run *run)
{
	const struct failure	*f = &run->failure;
	const struct tail	*tail;
	struct buf		 m = BUF_INIT;

	if (silent(run))
		return;
	if (f->rank == run->plan->world) {
		add_text(&m, "host", label(run, f->host));
	} else {
		buf_addf(&m, "\"after_s\":%.3f", (double)f->after_ms / 1e3);
	}
	add_text(&m, "why", f->reason);
	if (f->rank < run->plan->world) {
		tail = &run->output.rank[f->rank].tail;
		buf_adds(&m, ",\"lines\":[");
		for (size_t i = 0; tail_get(tail, i); i++) {
			buf_adds(&m, i ? "," : "");
			clean_json(&m, tail_get(tail, i),
			    strlen(tail_get(tail, i)));
		}
		buf_adds(&m, "]");
	}
	output_event(&run->output, "failure", f->rank, buf_text(&m));
	buf_clear(&m);
}

void
run_tell_stopping(struct run *run)
{
	if (!silent(run))
		output_event(&run->output, "stopping", run->plan->world, "");
}
