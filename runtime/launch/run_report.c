/* SPDX-License-Identifier: Apache-2.0 */
/* run_report: the one block at the end.  What hosts and ranks said goes through
 * clean_line(), so that it does nothing to a terminal. */
#include "runtime/launch/run.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/launch/logs.h"
#include "runtime/launch/ranks.h"
#include "runtime/launch/supervise.h"

#include "runtime/base/banned.h"

enum { SHOWN_RANGES = 12 };

/* Prints n blanks and a line of somebody else's. */
static void
print_theirs(int n, const char *text, const char *end)
{
	struct buf	clean = BUF_INIT;

	clean_line(&clean, text, strlen(text), false);
	fprintf(stderr, "%*s%s%s", n, "", buf_text(&clean), end);
	buf_clear(&clean);
}

static void
print_time(int64_t wall_ms)
{
	time_t		seconds = (time_t)(wall_ms / 1000);
	struct tm	tm;
	char		text[40] = "";

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof text, "%H:%M:%S", &tm);
	fprintf(stderr, "%s", text);
}

/* The same words, whatever numbers (ports, pids, ranks) are in them? */
static bool
alike(const char *a, const char *b)
{
	while (*a || *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		} else if (*a++ != *b++)
			return false;
	}
	return true;
}

/* The other ranks that failed by themselves: a line for each kind of end.  How
 * many there are. */
static size_t
report_others(const struct run *run)
{
	size_t		world = run->plan->world, n = 0;
	struct ranks	said = RANKS_INIT(world);

	for (size_t i = 0; i < world; i++) {
		const struct rank_end	*end = &run->end[i];
		struct ranks		 like = RANKS_INIT(world);
		struct buf		 text = BUF_INIT;

		if (i == run->failure.rank || !run_rank_failed(run, i) ||
		    ranks_has(&said, i) || !end->why)
			continue;
		for (size_t k = i; k < world; k++)
			if (k != run->failure.rank && run_rank_failed(run, k) &&
			    run->end[k].why &&
			    alike(run->end[k].why, end->why)) {
				ranks_add(&like, k);
				ranks_add(&said, k);
			}
		ranks_text(&like, SHOWN_RANGES, &text);
		if (like.count == 1)
			fprintf(stderr, "  then rank %s", buf_text(&text));
		else
			fprintf(stderr, "  then %zu ranks alike (%s)",
			    like.count, buf_text(&text));
		fprintf(stderr, ", %.1f s after the start: ",
		    (double)end->after_ms / 1000);
		print_theirs(0, end->why, "\n");
		n += like.count;
		ranks_clear(&like);
		buf_clear(&text);
	}
	ranks_clear(&said);
	return n;
}

static void
report_rank(const struct run *run)
{
	const struct failure	*f = &run->failure;
	const struct tail	*tail = &run->output.rank[f->rank].tail;
	const char		*role = run->options->role;
	struct buf		 path = BUF_INIT;

	fprintf(stderr, "accel: rank %zu failed on %s (local rank %ld", f->rank,
	    label(run, f->host), run->plan->rank[f->rank].local_rank);
	if (f->pid)
		fprintf(stderr, ", pid %ld", (long)f->pid);
	if (role && strcmp(role, "default"))
		fprintf(stderr, ", role %s", role);
	fprintf(stderr, "), %.1f s after the start, at ",
	    (double)f->after_ms / 1000);
	print_time(f->wall_ms);
	fprintf(stderr, run->options->quiet ? ": " : "\n  ");
	print_theirs(0, f->reason, "\n");
	if (run->options->quiet)
		return;
	if (tail->lines)
		fprintf(stderr, "  its last lines on stderr:\n");
	for (size_t i = 0; tail_get(tail, i); i++)
		print_theirs(4, tail_get(tail, i), "\n");
	if (run->options->output.logs) {
		logs_path(run->options->output.logs, f->rank, 2, &path);
		if (!path.len)
			logs_path(run->options->output.logs, f->rank, 1, &path);
		if (path.len)
			fprintf(stderr, "  its log: %s\n", buf_text(&path));
	}
	buf_clear(&path);
}

static void
report_failure(const struct run *run)
{
	const struct failure	*f = &run->failure;
	size_t			 world = run->plan->world, left = world;
	size_t			 well = 0;

	if (f->rank == world) {
		fprintf(stderr, "accel: host %s was lost, %.1f s after the "
		    "start, at ", label(run, f->host),
		    (double)f->after_ms / 1000);
		print_time(f->wall_ms);
		fprintf(stderr, ": ");
		print_theirs(0, f->reason, "\n");
	} else {
		report_rank(run);
		left--;
	}
	if (run->options->quiet)
		return;
	left -= report_others(run);
	for (size_t i = 0; i < world; i++)
		well += run->end[i].ended && !run->end[i].status;
	left -= well;
	if (well)
		fprintf(stderr, "  %zu rank%s ended well\n", well,
		    well == 1 ? "" : "s");
	if (left)
		fprintf(stderr, "  the other %zu rank%s stopped\n", left,
		    left == 1 ? " was" : "s were");
}

/* The same in one line, for the record. */
static void
summarize(const struct run *run, char *text, size_t size)
{
	const struct failure *f = &run->failure;

	if (f->happened && f->rank == run->plan->world)
		snprintf(text, size, "host %s was lost: %s",
		    label(run, f->host), f->reason);
	else if (f->happened)
		snprintf(text, size, "rank %zu on %s: %s", f->rank,
		    label(run, f->host), f->reason);
	else if (run->caught)
		snprintf(text, size, "stopped by %s",
		    signal_name(run->caught));
	else if (run->problems) {
		size_t bad = 0, first = 0;

		for (size_t h = hosts(run); h-- > 0;)
			if (run->peer[h].bad) {
				first = h;
				bad++;
			}
		if (bad && run->peer[first].troubles)
			snprintf(text, size, "not started: %s%s: %s",
			    label(run, first), bad > 1 ? " and others" : "",
			    run->peer[first].trouble[0].what);
	} else
		*text = '\0';
}

/* For JSON: the last event. */
static void
tell_end(struct run *run, int code, const char *why)
{
	struct buf members = BUF_INIT;

	buf_addf(&members, "\"exit_code\":%d", code);
	if (*why) {
		buf_adds(&members, ",\"why\":");
		clean_json(&members, why, strlen(why));
	}
	output_event(&run->output, "end", run->plan->world, buf_text(&members));
	output_flush(&run->output, true);
	buf_clear(&members);
}

/* Says all, and gives the exit code. */
static int
report(struct run *run)
{
	int status;

	if (run->failure.happened) {
		status = run->failure.status;
		report_failure(run);
		return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
		    WEXITSTATUS(status);
	}
	if (run->caught) {
		fprintf(stderr, "accel: stopped by %s\n",
		    signal_name(run->caught));
		return 128 + run->caught;
	}
	if (run->options->check)
		return run_check_result(run);
	if (run->problems) {
		run_check_report(run);
		return 1;
	}
	return 0;
}

int
run_report(struct run *run)
{
	char	why[SUPERVISE_WHY] = "";
	int	code;
	size_t	blamed = run->failure.rank;

	run_blame(run);
	if (run->failure.rank != blamed)
		run_tell_failure(run);
	summarize(run, why, sizeof why);
	if (run->options->why)
		memcpy(run->options->why, why, sizeof why);
	code = report(run);
	tell_end(run, code, why);
	return code;
}
