/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_folder: a checkpoint's folder appears as a whole or not at all.
 *
 * It is written as .NAME.saving beside NAME, synced, and renamed; where NAME is
 * a checkpoint already, the two change places in one step (renameat2) and the
 * old one is removed.  Whenever the process is killed, NAME is absent, or the
 * old one, or the new one.  What a killed process left is removed by the next
 * save to the same name.
 *
 * A folder with files that no checkpoint has is never replaced nor removed.
 */
#ifndef RUNTIME_TRAIN_STATE_FOLDER_H
#define RUNTIME_TRAIN_STATE_FOLDER_H

struct err;

struct state_folder {
	char	*path;		/* in the end */
	char	*temp;		/* until then */
	int	 fd;		/* of temp; locked */
};

/* Makes the empty folder to write into. */
int  state_folder_begin(struct state_folder *f, const char *path,
    struct err *err);
/* Puts it in place; frees in any case, and on failure removes it. */
int  state_folder_commit(struct state_folder *f, struct err *err);
/* Removes it and frees. */
void state_folder_abort(struct state_folder *f);

/* Calls fn for each name in the folder that is open as "dir" (path: for
 * messages), until it returns -1 with errno.  "other" is passed on. */
int  state_folder_each(int dir, const char *path, int (*fn)(int dir,
    int other, const char *name), int other, struct err *err);
/* For it: removes that file. */
int  state_folder_drop(int dir, int other, const char *name);

/* Automatic names, as Accelerate's: FOLDER/checkpoints/checkpoint_N.  The next
 * one is the highest there plus one, and the last one the highest; the caller
 * frees.  Last: NULL with an error where there is none. */
char *state_folder_next(const char *folder, struct err *err);
char *state_folder_last(const char *folder, struct err *err);
/* Removes the lowest of them until "limit" are left. */
int  state_folder_limit(const char *folder, int limit, struct err *err);
#endif
