/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xla: how a script runs on a host with a TPU.  There is one process for each
 * host; it imports the script, and PyTorch/XLA starts the function that
 * --main_training_function names once for each chip, as Accelerate has it.
 */
#ifndef RUNTIME_LAUNCH_XLA_H
#define RUNTIME_LAUNCH_XLA_H

#include <stdbool.h>

struct config;
struct err;
struct strv;

/* True where the configuration wants a TPU. */
bool xla_wanted(const struct config *c);

/* Adds the words of that process; "script" is the script and its arguments,
 * ended by NULL. */
int  xla_argv(const struct config *c, const char *python,
    char *const script[], struct strv *argv, struct err *err);
#endif
