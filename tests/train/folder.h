/* SPDX-License-Identifier: Apache-2.0 */
/* folder: a fresh folder of a test, removed at its end. */
#ifndef TESTS_TRAIN_FOLDER_H
#define TESTS_TRAIN_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/accel-test-XXXXXX";

/* A path in it; good until the fourth next call. */
static inline const char *
in_folder(const char *name)
{
	static char path[4][400];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static int
remove_one(const char *name, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(name);
}

static inline int
folder_make(void)
{
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static inline void
folder_remove(void)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
#endif
