/* SPDX-License-Identifier: Apache-2.0 */
/* view: what "accel launch" and "accel run" have in common: how the output of
 * ranks is shown and kept, and what is recorded. */
#ifndef RUNTIME_CLI_VIEW_H
#define RUNTIME_CLI_VIEW_H

#include <stdbool.h>

#include "runtime/cli/command.h"
#include "runtime/launch/record.h"
#include "runtime/launch/streams.h"
#include "runtime/launch/supervise.h"

struct err;
struct logs;
struct plan;

struct view_flags {
	const char	*output, *fold, *usage, *view;
	bool		 input;
};

/* Rows of an options table whose struct "s" has a struct view_flags "m". */
#define VIEW_OPTIONS(s, m)	\
	CHOICE_OF(s, m.output, "output", "WAY",	\
	    "lines rank0 files json", "lines, rank0, files or json"),	\
	CHOICE_OF(s, m.fold, "fold", "WHEN", "auto always never",	\
	    "one line for many ranks': auto, always, never"),	\
	VALUE(s, m.usage, "usage", 0, "SECONDS", TAKES_TEXT,	\
	    "with json: how often what ranks use is told"),	\
	CHOICE_OF(s, m.view, "view", "WAY", "lines screen",	\
	    "screen: hosts, ranks and output on the terminal"),	\
	SWITCH(s, m.input, "stdin", 0, "rank 0 reads what accel reads")

struct view_order {
	const struct view_flags	*flags;
	const char	*log_dir, *tee, *redirects;	/* or NULL */
	const char	*job;
	const char	*command;	/* "launch", for the record */
	char *const	*argv;		/* the program and its words */
	const char	*config_file;	/* or NULL */
};

struct view {
	const struct view_order	*order;		/* borrowed */
	const struct plan	*plan;		/* that runs; borrowed */
	struct logs		*logs;
	struct record		 record;
	char			*record_path;
	struct streams		 tee, hidden;
	unsigned		 attempts;
	char			 id[RECORD_ID];
	char			 why[SUPERVISE_WHY];
};

/* With --view screen, and a terminal for it: becomes that screen, which runs the
 * same words of ours again.  0 where it is not wanted, -1 or EXIT_USAGE. */
int  view_screen(const struct call *call, const struct view_flags *flags,
    struct err *err);
/* Where that screen asks for us; 0 where we ask ourselves (transport.h).  Once,
 * before view_begin(). */
int  view_ask_fd(void);
/* Fills in how->output and the like.  0, -1, or EXIT_USAGE with the reason;
 * view_end() ends what it began, also after a failure. */
int  view_begin(struct view *v, const struct view_order *order,
    struct supervise_options *how, struct err *err);
/* The plan's ranks are about to start, for the first time or again; the plan
 * must stay until they have ended. */
int  view_attempt(struct view *v, const struct plan *plan,
    struct supervise_options *how, struct err *err);
/* All is over, with that exit code. */
void view_end(struct view *v, int code);
#endif
