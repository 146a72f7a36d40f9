/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs: what ranks write, byte for byte, in files of the launcher's machine:
 *
 *	FOLDER/attempt_0/RANK/stdout.log, stderr.log
 *
 * FOLDER is new and the user's alone; a name in it is made of numbers that the
 * launcher checked, so no host decides where anything is written.
 */
#ifndef RUNTIME_LAUNCH_LOGS_H
#define RUNTIME_LAUNCH_LOGS_H

#include <stddef.h>

struct buf;
struct err;
struct logs;

/* Makes the folder, which must not be there; those above it may be.  Gives the
 * logs in *out. */
int  logs_new(const char *folder, struct logs **out, struct err *err);
/* Makes the files of an attempt (0, and one more for each restart) with "world"
 * ranks.  keep[i] has the STREAM_ bits of what is kept of rank i. */
int  logs_begin(struct logs *l, unsigned attempt, const unsigned char *keep,
    size_t world, struct err *err);
void logs_write(struct logs *l, size_t rank, int stream, const char *data,
    size_t n);
/* Borrowed. */
const char *logs_folder(const struct logs *l);
/* Adds the path of a rank's file; nothing where there is none. */
void logs_path(const struct logs *l, size_t rank, int stream, struct buf *out);
/* Closes all.  -1 where something could not be written. */
int  logs_free(struct logs *l, struct err *err);
#endif
