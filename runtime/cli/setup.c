/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of accel-setup, for completion: accel does not link it.  A test
 * compares them with its --help. */
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

struct setup {			/* nothing is read into it */
	const char	*config_file, *set, *launch;
	bool		 flag;
};

static const struct option options[] = {
	CONFIG_FILE(struct setup),
	VALUE(struct setup, set, "set", 0, "KEY=VALUE", TAKES_SETTING,
	    "set a field first"),
	SWITCH(struct setup, flag, "write", 0, "write without asking"),
	SWITCH(struct setup, flag, "defaults", 0,
	    "a new file with what fits this machine, unasked"),
	SWITCH(struct setup, flag, "force", 0, "--defaults may replace a file"),
	SWITCH(struct setup, flag, "print", 0,
	    "print the file instead of writing it"),
	SWITCH(struct setup, flag, "machine", 0,
	    "print what was found on this machine"),
	SWITCH(struct setup, flag, "plain", 0,
	    "a conversation, without a full screen"),
	SWITCH(struct setup, flag, "ascii", 0, "no line drawing characters"),
	SWITCH(struct setup, flag, "no-color", 0, "no colours"),
	VALUE(struct setup, launch, "launch", 0, "SCRIPT", TAKES_FILE,
	    "offer to launch that script at the end"),
	SWITCH(struct setup, flag, "version", 0, "the version"),
	OPTIONS_END
};

const struct command command_setup = {
	"accel-setup", "set up a training run", .page = "accel-setup(1)",
	.options = options, .size = sizeof(struct setup),
};
