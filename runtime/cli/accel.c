/* SPDX-License-Identifier: Apache-2.0 */
/* accel: the table of commands. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

/* One row a command, in the order of --help. */
static const struct command *const commands[] = {
	&command_advise,
	&command_check,
	&command_config,
	&command_env,
	&command_estimate,
	&command_launch,
	&command_merge_weights,
	&command_probe,
	&command_run_any,
	&command_runs,
	&command_test,
	&command_to_fsdp2,
	&command_tpu_config,
	&command_schema,
	&command_completion,
	&command_complete,
	&command_help_of,
	NULL
};

struct accel {
	bool	version;
};
static const struct option options[] = {
	SWITCH(struct accel, version, "version", 0, "the version"),
	OPTIONS_END
};

static int
run(struct call *call, struct err *err)
{
	const struct accel *o = call->options;

	(void)err;
	if (o->version) {
		printf("accel %s\n", PACKAGE_VERSION);
		return 0;
	}
	command_help(call->command, stderr);
	return EXIT_USAGE;
}

const struct command command_accel = {
	"", "set up and launch distributed training", .run = run,
	.about = "Sets up and launches distributed training.  accel-setup is "
	    "the wizard.",
	.page = "accel(1)", .options = options, .size = sizeof(struct accel),
	.below = commands,
};

/* accel help COMMAND...: the same text as --help. */
static int
help(struct call *call, struct err *err)
{
	const struct command *c = &command_accel, *next;

	for (int i = 0; i < call->argc; i++, c = next)
		if (!(next = command_below(c, call->argv[i]))) {
			err_set(err, "there is no command \"%s\"",
			    call->argv[i]);
			err_hint(err, "\"accel --help\" lists them");
			return EXIT_USAGE;
		}
	command_help(c, stdout);
	return 0;
}
const struct command command_help_of = {
	"help", "say more about a command", .run = help,
	.words = "[COMMAND ...]", .most = -1, .takes = TAKES_COMMAND,
	.page = "accel(1)",
};

int
main(int argc, char **argv)
{
	return command_run(&command_accel, argc ? argc - 1 : 0,
	    argv + (argc ? 1 : 0));
}
