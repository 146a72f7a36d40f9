/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/launch/supervise.h"

#include "runtime/base/banned.h"

static void
print_last(void *user, const char *text)
{
	(void)user;
	fprintf(stderr, "    %s\n", text);
}

static const char *
signal_name(int sig)
{
	static char	 other[16];
	const char	*name = sigabbrev_np(sig);

	snprintf(other, sizeof other, "SIG%s", name ? name : "?");
	return other;
}

static void
report_failure(const struct run *run)
{
	const struct failure	*f = &run->failure;
	size_t			 left = 0;

	for (size_t i = 0; i < run->plan->world; i++)
		left += i != f->rank;
	if (f->rank == run->plan->world) {
		fprintf(stderr, "accel: host %s was lost: %s\n",
		    label(run, f->host), f->reason);
	} else {
		fprintf(stderr, "accel: rank %zu failed on %s (local rank %ld",
		    f->rank, label(run, f->host),
		    run->plan->rank[f->rank].local_rank);
		if (f->pid)
			fprintf(stderr, ", pid %ld", (long)f->pid);
		fprintf(stderr, "), %.1f s after the start: ",
		    (double)f->after_ms / 1000);
		if (f->reason[0])
			fprintf(stderr, "%s\n", f->reason);
		else if (WIFSIGNALED(f->status))
			fprintf(stderr, "ended by %s (%s)\n",
			    signal_name(WTERMSIG(f->status)),
			    strsignal(WTERMSIG(f->status)));
		else
			fprintf(stderr, "exit code %d\n", WEXITSTATUS(f->status));
		if (run->output.rank[f->rank].lines) {
			fprintf(stderr, "  its last lines on stderr:\n");
			output_last(&run->output, f->rank, print_last, NULL);
		}
	}
	if (left)
		fprintf(stderr, "  the other %zu rank%s stopped\n", left,
		    left == 1 ? " was" : "s were");
}

int
run_report(const struct run *run)
{
	int status = run->failure.status;

	if (run->failure.happened) {
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
