/* SPDX-License-Identifier: Apache-2.0 */
/* accel config update: an older file in today's words. */
#include "runtime/cli/config.h"

#include <stdio.h>

#include "runtime/base/err.h"
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

struct update {
	const char	*config_file;
	bool		 dry_run;
};

static const struct option options[] = {
	CONFIG_FILE(struct update),
	SWITCH(struct update, dry_run, "dry_run", 'n',
	    "print the difference, write nothing"),
	OPTIONS_END
};

static int
run(struct call *call, struct err *err)
{
	const struct update	*o = call->options;
	struct config		 c;
	const char		*file;
	int			 code = -1;

	if (cli_config_file(call, o->config_file, &file, err) < 0)
		return EXIT_USAGE;
	config_init(&c);
	c.keep_unknown = true;		/* it is written again */
	if (cli_config_load(&c, file, false, err) == 0)
		code = cli_config_save(&c, &c, CONFIG_RENAME, o->dry_run,
		    err);
	config_clear(&c);
	return code;
}

const struct command command_config_update = {
	"update", "write an older file in today's words", .run = run,
	.path = "config update",
	.about = "Reads the file, with all that older versions wrote, and "
	    "writes it with\ntoday's keys and values.  Its meaning, its comments and "
	    "its order stay.",
	.words = "[FILE]", .most = 1, .takes = TAKES_YAML,
	.page = "accel-config(1)", .options = options,
	.size = sizeof(struct update),
};
