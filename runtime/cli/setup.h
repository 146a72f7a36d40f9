/* SPDX-License-Identifier: Apache-2.0 */
/* setup: the flags of accel-setup: for itself, and for accel's completion. */
#ifndef RUNTIME_CLI_SETUP_H
#define RUNTIME_CLI_SETUP_H

#include "runtime/cli/command.h"

struct setup {
	const char	*config_file, *machine, *model, *sequence, *batch,
	    *optimizer, *total;
	struct strv	 set;
	bool		 write, defaults, force, print, list_new, minimal, check,
	    diff, facts, plain, ascii, no_color, no_mouse, launch, follow,
	    version;
};

extern const struct command command_setup;
#endif
