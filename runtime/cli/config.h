/* SPDX-License-Identifier: Apache-2.0 */
/* config: the commands below "accel config", one file each, and what they
 * share. */
#ifndef RUNTIME_CLI_CONFIG_H
#define RUNTIME_CLI_CONFIG_H

#include "runtime/cli/command.h"
#include "runtime/config/schema.h"

extern const struct command command_config_show;

/* Reads the file that is meant, "given" or else the default one, into *c, under
 * the flags that are in it already.  Where it is not there: -1 with the way to
 * one; but 0 for the default file if that is "optional".  *path, if not NULL,
 * gets the path, to free(), even then. */
int  cli_config_load(struct config *c, const char *given, bool optional,
    char **path, struct err *err);
#endif
