/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_names: the hosts that ssh_config(5) names, for completion and for lists to
 * pick from. */
#ifndef RUNTIME_LAUNCH_SSH_NAMES_H
#define RUNTIME_LAUNCH_SSH_NAMES_H

struct strv;

/* Adds each name behind "Host" once, patterns left out, of a file (NULL: the
 * user's) and of those that it includes.  What cannot be read names nobody; -1
 * only without memory. */
int ssh_names(struct strv *names, const char *file);
#endif
