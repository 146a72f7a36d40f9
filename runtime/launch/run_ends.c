/* SPDX-License-Identifier: Apache-2.0 */
/* run_ends: how each rank ended, and which of them is to blame. */
#include "runtime/launch/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/base/clock.h"

#include "runtime/base/banned.h"

enum { CAUSE_MS = 2000 };	/* a cause may be heard of that much later */

void
run_rank_started(struct run *run, size_t rank, pid_t pid)
{
	char members[40];

	run->pid[rank] = pid;
	snprintf(members, sizeof members, "\"pid\":%ld", (long)pid);
	output_event(&run->output, "start", rank, members);
}

void
run_rank_ended(struct run *run, size_t rank, int status, const char *reason)
{
	struct rank_end	*end = &run->end[rank];
	struct buf	 members = BUF_INIT;
	char		 why[600];

	output_end(&run->output, rank);
	tail_why(&run->output.rank[rank].tail, status, reason, why, sizeof why);
	if (!end->ended) {
		*end = (struct rank_end){
			.ended = true, .status = status,
			.told = run->stopping || run->caught,
			.after_ms = clock_ms() - run->started,
			.wall_ms = clock_wall_ms(),
			.why = status ? strdup(why) : NULL,
		};
	}
	if (WIFSIGNALED(status))
		buf_addf(&members, "\"signal\":\"%s\"",
		    signal_name(WTERMSIG(status)));
	else
		buf_addf(&members, "\"exit_code\":%d", WEXITSTATUS(status));
	if (status) {
		buf_adds(&members, ",\"why\":");
		clean_json(&members, why, strlen(why));
	}
	output_event(&run->output, "exit", rank, buf_text(&members));
	buf_clear(&members);
}

/* Did it end by itself, and not by what we did to it? */
static bool
by_itself(const struct rank_end *end)
{
	int sig = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;

	if (!end->ended || !end->status)
		return false;
	return !end->told || !(sig == SIGTERM || sig == SIGKILL ||
	    sig == SIGINT || sig == SIGHUP || sig == SIGQUIT ||
	    end->status == (128 + SIGTERM) << 8);
}

/* Ranks that lose their peer may be heard of before that peer: the one whose
 * words are not those of a victim is the cause. */
void
run_blame(struct run *run)
{
	struct failure	*f = &run->failure;
	size_t		 world = run->plan->world, best = world;
	int64_t		 latest;

	if (!f->happened || f->rank >= world ||
	    !tail_of_peer(&run->output.rank[f->rank].tail))
		return;
	latest = f->after_ms + CAUSE_MS;
	for (size_t i = 0; i < world; i++) {
		const struct rank_end *end = &run->end[i];

		if (by_itself(end) && end->after_ms <= latest &&
		    !tail_of_peer(&run->output.rank[i].tail) &&
		    (best == world ||
		    end->after_ms < run->end[best].after_ms))
			best = i;
	}
	if (best == world)
		return;
	f->rank = best;
	f->host = run->plan->rank[best].host;
	f->pid = run->pid[best];
	f->status = run->end[best].status;
	f->after_ms = run->end[best].after_ms;
	f->wall_ms = run->end[best].wall_ms;
	snprintf(f->reason, sizeof f->reason, "%s", run->end[best].why ?
	    run->end[best].why : "");
}

bool
run_rank_failed(const struct run *run, size_t rank)
{
	return by_itself(&run->end[rank]);
}
