/* SPDX-License-Identifier: Apache-2.0 */
/* cli: one function a command; each gets the words behind its name and gives an
 * exit code. */
#ifndef RUNTIME_CLI_CLI_H
#define RUNTIME_CLI_CLI_H

enum { EXIT_USAGE = 2 };

int cli_launch(int argc, char **argv);
#endif
