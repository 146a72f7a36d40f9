/* SPDX-License-Identifier: Apache-2.0 */
/* config: the commands below "accel config", one file each, and what they
 * share. */
#ifndef RUNTIME_CLI_CONFIG_H
#define RUNTIME_CLI_CONFIG_H

#include "runtime/cli/command.h"
#include "runtime/config/schema.h"

extern const struct command command_config_check, command_config_default,
    command_config_diff, command_config_explain, command_config_export,
    command_config_new, command_config_set, command_config_show,
    command_config_update;

/* Reads the file that is meant, "given" or else the default one, into *c, under
 * the flags that are in it already, and prints the warnings.  Where it is not
 * there: -1 with the way to one.  "optional" is for a launch, and what looks at
 * one: the default file may be missing, and, as Accelerate has it, does not
 * count with --cpu. */
int  cli_config_load(struct config *c, const char *given, bool optional,
    struct err *err);

/* The file of a command that takes it alone or by --config_file; NULL where
 * neither is there.  0, or -1 where both are. */
int  cli_config_file(const struct call *call, const char *option,
    const char **file, struct err *err);

/* Writes *is to the file that *was was read from, and says what changed; the
 * file stays untouched where that is nothing, or with "dry".  "how" is for
 * config_save().  An exit code, or -1. */
int  cli_config_save(const struct config *was, const struct config *is,
    unsigned how, bool dry, struct err *err);
#endif
