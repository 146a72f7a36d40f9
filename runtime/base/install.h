/* SPDX-License-Identifier: Apache-2.0 */
/*
 * install: where the other programs of this accel are.  An installation may be
 * moved as a whole, and a build folder needs none.
 */
#ifndef RUNTIME_BASE_INSTALL_H
#define RUNTIME_BASE_INSTALL_H

/* "accel-agent": beside the running program, in the libexec or bin beside its
 * folder, or where accel was configured to be installed; the name alone, for
 * PATH, if nowhere.  The caller's to free; NULL: no memory. */
char *install_program(const char *name);
#endif
