/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    const char *id, struct err *err)
{
	struct streams	 tee = STREAMS_INIT;
	struct buf	 folder = BUF_INIT;
	char		*records;
	int		 ret = 0;
	bool		 all = output->mode == OUTPUT_FILES || (order->log_dir &&
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
	/* Where nobody says, beside the record: they go with it. */
	records = order->log_dir ? strdup(order->log_dir) : record_folder();
	buf_addf(&folder, "%s/%s", records ? records : "", id);
	free(records);
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
	struct record_facts	facts = {
		.command = order->command, .argv = order->argv,
		.config_file = order->config_file, .plan = plan,
	};
	struct err		noted = ERR_INIT;
	char			id[RECORD_ID];
	int			ret;

	*v = (struct view){ .record = RECORD_INIT, .hidden = STREAMS_INIT };
	choose(&how->output, order->flags);
	if (how->check)
		return 0;
	record_id(id, order->job);
	if ((ret = choose_logs(v, order, plan, &how->output, id, err)))
		return ret;
	if (v->logs)
		facts.logs = logs_folder(v->logs);
	/* A home that cannot be written keeps nobody from training. */
	if (record_begin(&v->record, id, &facts, &noted) < 0)
		fprintf(stderr, "accel: there will be no record of this run: "
		    "%s\n", noted.text);
	how->output.logs = v->logs;
	how->input = order->flags->input;
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

	if (record_end(&v->record, code, v->why, &err) < 0)
		err_print("accel", &err);
	record_clear(&v->record);
	if (v->logs && logs_free(v->logs, &err) < 0)
		err_print("accel", &err);
	streams_clear(&v->hidden);
}
