/* SPDX-License-Identifier: Apache-2.0 */
/* file: whole files, read with a ceiling and replaced in one step. */
#ifndef RUNTIME_BASE_FILE_H
#define RUNTIME_BASE_FILE_H

#include <stddef.h>

struct buf;
struct err;

/* Adds the file's bytes to *out (its ceiling holds). */
int file_read(const char *path, struct buf *out, struct err *err);

/* Writes beside the file and renames, so that a reader sees the old or the new
 * content, whole.  Missing folders are made.  "mode" is for a new file; an old
 * one keeps its own. */
int file_replace(const char *path, const void *data, size_t n, unsigned mode,
    struct err *err);

/* The same by pieces: "next" puts at most "room" bytes in "to" and returns how
 * many; 0 is the end. */
typedef size_t (*file_next)(void *user, char *to, size_t room);
int file_replace_by(const char *path, file_next next, void *user,
    unsigned mode, struct err *err);

/* file_replace for what may be lost when the machine stops at once: it does not
 * wait for the disk. */
int file_note(const char *path, const void *data, size_t n, unsigned mode,
    struct err *err);

/* Makes a folder and those above it; there already is fine. */
int file_mkdirs(const char *path, unsigned mode, struct err *err);

/* The user's home, from HOME or the password file.  Borrowed; never NULL. */
const char *file_home(void);
#endif
