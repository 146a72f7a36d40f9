/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/run.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/banned.h"

enum { TRACK_LINE = 4096 };	/* a longer one is none of libaccel's */

int
run_track_env(const struct run *run, size_t rank, struct strv *env)
{
	const struct strv *theirs = &run->plan->rank[rank].env;

	/* Who has a use for the descriptor keeps it. */
	if (!run->usage || rank || getenv("ACCEL_TRACK_FD") ||
	    strv_getenv(theirs, "ACCEL_TRACK_FD"))
		return 0;
	return strv_add(env, "ACCEL_TRACK_FD=");	/* of the agent's pipe */
}

/* A line is told where it is an object, in one line again. */
static void
tell(struct run *run, size_t rank)
{
	json_t	*o = json_loadb(buf_text(&run->track), run->track.len,
		    JSON_REJECT_DUPLICATES, NULL);
	char	*text = json_is_object(o) ? json_dumps(o, JSON_COMPACT |
		    JSON_REAL_PRECISION(15)) : NULL;
	struct buf m = BUF_INIT;

	if (text) {
		buf_addf(&m, "\"track\":%s", text);
		output_event(&run->output, "track", rank, buf_text(&m));
	}
	free(text);
	buf_clear(&m);
	json_decref(o);
}

void
run_track_hear(struct run *run, size_t rank, const char *bytes, size_t n)
{
	if (!run->usage || rank)	/* nobody asked */
		return;
	while (n) {
		const char	*nl = memchr(bytes, '\n', n);
		size_t		 part = nl ? (size_t)(nl - bytes) : n;

		if (run->track.len + part > TRACK_LINE)
			run->track_cut = true;
		else if (part)
			buf_add(&run->track, bytes, part);
		n -= part + (nl != NULL);
		bytes += part + (nl != NULL);
		if (!nl)
			continue;
		if (run->track.len && !run->track_cut)
			tell(run, rank);
		run->track.len = 0;
		run->track_cut = false;
	}
}
