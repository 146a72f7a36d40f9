/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin: parts of accel that are loaded when they are needed, so that a
 * program without them (MPI, CUDA, libssh) starts, and starts at once.
 */
#ifndef RUNTIME_BASE_PLUGIN_H
#define RUNTIME_BASE_PLUGIN_H

struct err;

/*
 * Opens libaccel-NAME.so and returns its symbol, or NULL with the reason.  It
 * is looked for in $ACCEL_PLUGIN_DIR where that is set, else in the n bytes of
 * "folder" (that of the caller's own file; 0 where unknown), in accel, .libs
 * and ../lib/accel there, and where accel was configured to be installed.  Never closed again: MPI
 * and CUDA leave threads and handlers behind.  "all" makes its symbols, and
 * those of its libraries, visible to what is loaded later.
 */
void *plugin_symbol(const char *name, const char *symbol, const char *folder,
    int n, int all, struct err *err);
/* The same, with the folder of the library (or program) that this is part of. */
void *plugin_beside(const char *name, const char *symbol, int all,
    struct err *err);
#endif
