/* SPDX-License-Identifier: Apache-2.0 */
/* cli: the commands, each in a file of its own; see command.h. */
#ifndef RUNTIME_CLI_CLI_H
#define RUNTIME_CLI_CLI_H

#include "runtime/cli/command.h"

enum { EXIT_USAGE = 2 };

extern const struct command command_accel, command_advise, command_check, command_complete, command_completion,
    command_config, command_help_of, command_launch, command_schema;
extern const struct command command_merge_weights, command_test,
    command_to_fsdp2, command_tpu_config;
extern const struct command command_setup;	/* its words alone */
extern const struct command command_env, command_estimate;
extern const struct command command_probe;
extern const struct command command_run_any, command_runs;
#endif
