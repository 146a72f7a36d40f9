/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/launch/logs.h"
#include "runtime/launch/plan.h"

#include "runtime/base/banned.h"

static void
choose(struct output_options *to, const struct view_flags *flags)
{
	static const char *const words[] = { "lines", "rank0", "files", "json" };
	const char	*no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	bool		 plain = (no_colour && *no_colour) || !term ||
			     !strcmp(term, "dumb");

	for (size_t i = 0; flags->output &&
	    i < sizeof words / sizeof *words; i++)
		if (!strcmp(flags->output, words[i]))
			to->mode = (enum output_mode)i;
	for (int s = 0; s < 2; s++) {
		to->terminal[s] = isatty(s + 1);
		to->colour[s] = to->terminal[s] && !plain;
	}
	to->fold = flags->fold && strcmp(flags->fold, "auto") ?
	    !strcmp(flags->fold, "always") : to->terminal[0];
}

/* The streams that go to files.  A folder that was asked for gets all of them,
 * unless it is said which. */
static int
choose_logs(struct view *v, const struct view_order *order,
    const struct plan *plan, const struct output_options *output,
    struct err *err)
{
	struct streams	tee = STREAMS_INIT;
	struct buf	folder = BUF_INIT;
	char		stamp[32] = "";
	time_t		now = time(NULL);
	struct tm	tm;
	int		ret = 0;
	bool		all = output->mode == OUTPUT_FILES || (order->log_dir &&
			    !order->tee && !order->redirects);

	if (order->tee && streams_parse(&tee, "tee", order->tee, err) < 0)
		return EXIT_USAGE;
	if (order->redirects && streams_parse(&v->hidden, "redirects",
	    order->redirects, err) < 0) {
		streams_clear(&tee);
		return EXIT_USAGE;
	}
	if (!all && !streams_any(&tee) && !streams_any(&v->hidden))
		return 0;
	if (localtime_r(&now, &tm))
		strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
	buf_addf(&folder, "%s/%s-%.4s", order->log_dir ? order->log_dir : "logs",
	    stamp, order->job);
	ret = logs_new(buf_text(&folder), plan->world, &v->logs, err);
	for (size_t i = 0; !ret && i < plan->world; i++) {
		long local = plan->rank[i].local_rank;

		logs_keep(v->logs, i, all ? STREAM_BOTH :
		    streams_of(&tee, local) | streams_of(&v->hidden, local));
	}
	if (!ret)
		ret = logs_begin(v->logs, 0, err);
	buf_clear(&folder);
	streams_clear(&tee);
	return ret;
}

int
view_begin(struct view *v, const struct view_order *order,
    const struct plan *plan, struct supervise_options *how, struct err *err)
{
	int ret;

	*v = (struct view){ .hidden = STREAMS_INIT };
	choose(&how->output, order->flags);
	if ((ret = choose_logs(v, order, plan, &how->output, err)))
		return ret;
	how->output.logs = v->logs;
	how->hidden = &v->hidden;
	how->why = v->why;
	if (v->logs && how->output.mode == OUTPUT_FILES)
		fprintf(stderr, "accel: the output goes to %s\n",
		    logs_folder(v->logs));
	return 0;
}

void
view_end(struct view *v, int code)
{
	struct err err = ERR_INIT;

	(void)code;
	if (v->logs && logs_free(v->logs, &err) < 0)
		err_print("accel", &err);
	streams_clear(&v->hidden);
}
