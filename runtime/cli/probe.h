/* SPDX-License-Identifier: Apache-2.0 */
/* probe: parts of "accel probe" that other commands have as well. */
#ifndef RUNTIME_CLI_PROBE_H
#define RUNTIME_CLI_PROBE_H

struct err;
struct fleet;
struct strv;

/* Adds the machines of files of --machine; warnings go to stderr. */
int  probe_read_files(struct fleet *fleet, const struct strv *paths,
    struct err *err);
#endif
