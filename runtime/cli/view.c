/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/install.h"
#include "runtime/base/num.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/config.h"
#include "runtime/launch/descriptors.h"
#include "runtime/launch/logs.h"
#include "runtime/launch/plan.h"

#include "runtime/base/banned.h"

enum { FOLLOWED_MS = 2000 };	/* from sample to sample, for a screen */

static void
choose(struct output_options *to, const struct view_flags *flags)
{
	static const char *const words[] = {	/* as enum output_mode */
		"lines", "rank0", "files", "json" };
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

static int
choose_usage(struct supervise_options *how, const struct view_flags *flags,
    struct err *err)
{
	double seconds;

	if (!flags->usage)
		return 0;
	if (num_parse_real(flags->usage, 0.1, 86400, &seconds) < 0) {
		err_set(err, "--usage %s: not a number of seconds",
		    flags->usage);
		err_hint(err, "from 0.1 to 86400, such as --usage 2");
		return EXIT_USAGE;
	}
	if (how->output.mode != OUTPUT_JSON) {
		err_set(err, "--usage is told as JSON alone");
		err_hint(err, "give --output json as well");
		return EXIT_USAGE;
	}
	how->usage_ms = (long)(seconds * 1000);
	return 0;
}

/* Do all streams of all ranks go to files?  A folder that was asked for gets
 * all of them, unless it is said which. */
static bool
all_kept(const struct view *v, const struct supervise_options *how)
{
	return how->output.mode == OUTPUT_FILES || (v->order->log_dir &&
	    !v->order->tee && !v->order->redirects);
}

int
view_screen(const struct call *call, const struct view_flags *flags,
    struct err *err)
{
	struct strv	 argv = STRV_INIT;
	const char	*term = getenv("TERM");
	char		*program;
	bool		 bad;

	if (!flags->view || strcmp(flags->view, "screen") ||
	    getenv("ACCEL_FOLLOWED"))
		return 0;
	if (flags->output || flags->input || flags->usage) {
		err_set(err, "--view screen excludes %s", flags->output ?
		    "--output" : flags->input ? "--stdin" : "--usage");
		err_hint(err, "the screen has the terminal for itself");
		return EXIT_USAGE;
	}
	if (!isatty(0) || !isatty(1) || !term || !*term ||
	    !strcmp(term, "dumb") || getenv("ACCESSIBLE"))
		return 0;
	program = install_program("accel-setup");
	bad = !program || strv_add(&argv, "accel-setup") < 0 ||
	    strv_add(&argv, "--follow") < 0 ||
	    strv_add(&argv, call->command->name) < 0;
	for (char *const *word = call->words; !bad && *word; word++)
		bad = strv_add(&argv, *word) < 0;
	if (bad) {
		err_nomem(err);
	} else {
		execv(program, argv.item);
		err_set(err, "%s: %s", program, strerror(errno));
		err_hint(err, "--view lines needs no other program");
	}
	free(program);
	strv_clear(&argv);
	return -1;
}

int
view_ask_fd(void)
{
	const char	*number = getenv("ACCEL_FOLLOWED");
	long		 fd;

	if (!number || num_parse(number, 3, 1 << 20, &fd) < 0 ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return 0;
	return (int)fd;
}

/* A screen runs us (tui/runview_child.h): what we tell is for it. */
static void
choose_followed(struct supervise_options *how)
{
	if (!getenv("ACCEL_FOLLOWED"))
		return;
	how->output.mode = OUTPUT_JSON;
	how->output.watched = true;
	how->usage_ms = FOLLOWED_MS;
	unsetenv("ACCEL_FOLLOWED");
}

int
view_begin(struct view *v, const struct view_order *order,
    struct supervise_options *how, struct err *err)
{
	struct buf	 folder = BUF_INIT;
	char		*above;
	int		 ret = 0;

	*v = (struct view){ .order = order, .record = RECORD_INIT,
	    .tee = STREAMS_INIT, .hidden = STREAMS_INIT };
	choose(&how->output, order->flags);
	if (how->check)
		return 0;
	choose_followed(how);
	if ((ret = choose_usage(how, order->flags, err)))
		return ret;
	if (order->tee && streams_parse(&v->tee, "tee", order->tee, err) < 0)
		return EXIT_USAGE;
	if (order->redirects && streams_parse(&v->hidden, "redirects",
	    order->redirects, err) < 0)
		return EXIT_USAGE;
	record_id(v->id, order->job);
	v->record_path = record_path(v->id);
	how->input = order->flags->input;
	how->hidden = &v->hidden;
	how->why = v->why;
	if (!all_kept(v, how) && !streams_any(&v->tee) &&
	    !streams_any(&v->hidden))
		return 0;
	/* Where nobody says, beside the record: they go with it. */
	descriptors_raise();
	above = order->log_dir ? strdup(order->log_dir) : record_folder();
	buf_addf(&folder, "%s/%s", above ? above : "", v->id);
	ret = above ? logs_new(buf_text(&folder), &v->logs, err) :
	    err_nomem(err);
	free(above);
	buf_clear(&folder);
	how->output.logs = v->logs;
	if (!ret && how->output.mode == OUTPUT_FILES)
		fprintf(stderr, "accel: the output goes to %s\n",
		    logs_folder(v->logs));
	return ret;
}

static int
begin_logs(struct view *v, const struct plan *plan,
    const struct supervise_options *how, struct err *err)
{
	unsigned char	*keep = calloc(plan->world + 1, 1);
	int		 ret;

	if (!keep)
		return err_nomem(err);
	for (size_t i = 0; i < plan->world; i++) {
		long local = plan->rank[i].local_rank;

		keep[i] = (unsigned char)(all_kept(v, how) ? STREAM_BOTH :
		    streams_of(&v->tee, local) | streams_of(&v->hidden, local));
	}
	ret = logs_begin(v->logs, v->attempts, keep, plan->world, err);
	free(keep);
	return ret;
}

/* While the agents start. */
static void
record_attempt(void *user)
{
	struct view		*v = user;
	struct record_facts	 facts = {
		.command = v->order->command, .argv = v->order->argv,
		.config_file = v->order->config_file, .plan = v->plan,
		.logs = v->logs ? logs_folder(v->logs) : NULL,
	};
	struct err		 err = ERR_INIT;
	int			 ret;

	ret = v->attempts > 1 ? record_again(&v->record, v->plan, &err) :
	    record_begin(&v->record, v->id, &facts, &err);
	/* A home that cannot be written keeps nobody from training. */
	if (ret < 0)
		fprintf(stderr, "accel: there will be no record of this run: "
		    "%s\n", err.text);
}

int
view_attempt(struct view *v, const struct plan *plan,
    struct supervise_options *how, struct err *err)
{
	if (how->check)
		return 0;
	if (v->logs && begin_logs(v, plan, how, err) < 0)
		return -1;
	v->attempts++;
	v->plan = plan;
	how->record = v->record_path;
	how->meanwhile = record_attempt;
	how->user = v;
	return 0;
}

void
view_end(struct view *v, int code)
{
	struct err err = ERR_INIT;

	if (record_end(&v->record, code, v->why, &err) < 0)
		err_print("accel", &err);
	record_clear(&v->record);
	free(v->record_path);
	if (v->logs && logs_free(v->logs, &err) < 0)
		err_print("accel", &err);
	streams_clear(&v->tee);
	streams_clear(&v->hidden);
}
