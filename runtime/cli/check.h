/* SPDX-License-Identifier: Apache-2.0 */
/* check: shows what accel check found. */
#ifndef RUNTIME_CLI_CHECK_H
#define RUNTIME_CLI_CHECK_H

struct checked;

/* Both are for supervise_options.checked. */
void check_print_text(void *unused, const struct checked *result);
void check_print_json(void *unused, const struct checked *result);
#endif
