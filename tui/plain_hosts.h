/* SPDX-License-Identifier: Apache-2.0 */
/* plain_hosts: the question for the machines, in a conversation. */
#ifndef TUI_PLAIN_HOSTS_H
#define TUI_PLAIN_HOSTS_H

#include <stdbool.h>
#include <stdio.h>

struct form;

/* What may be answered, beside names. */
void plain_hosts_tell(const struct form *f, FILE *out);
/* Takes an answer and asks the hosts, a line each as they come.  False where it
 * was none, which is said. */
bool plain_hosts_take(struct form *f, const char *text, FILE *out);
#endif
