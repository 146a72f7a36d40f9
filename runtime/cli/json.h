/* SPDX-License-Identifier: Apache-2.0 */
/* json: what --json prints. */
#ifndef RUNTIME_CLI_JSON_H
#define RUNTIME_CLI_JSON_H

#include <jansson.h>

struct err;

/* Prints *json, indented, and a line end.  NULL is an error: memory ran out
 * while it was made. */
int json_print(const json_t *json, struct err *err);
#endif
