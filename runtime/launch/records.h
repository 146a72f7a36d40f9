/* SPDX-License-Identifier: Apache-2.0 */
/* records: the folder of records; see record.h.  For the files of records. */
#ifndef RUNTIME_LAUNCH_RECORDS_H
#define RUNTIME_LAUNCH_RECORDS_H

#include <sys/types.h>

/* Removes the oldest, but for those of runs that go on; many at a time, so that
 * most runs have none to remove. */
void records_prune(const char *folder);

/* When a process of this machine began, in the kernel's ticks; 0 where there is
 * none: tells it from a later one with its number. */
unsigned long long process_born(pid_t pid);
#endif
