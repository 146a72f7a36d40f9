/* SPDX-License-Identifier: Apache-2.0 */
/* state_model: the parameters alone, for others' loaders, in a folder that may
 * have other files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/train/state.h"
#include "runtime/train/state_folder.h"

#include "runtime/base/banned.h"

#define ONE "model.safetensors"
#define INDEX "model.safetensors.index.json"

/* model-00001-of-00003.safetensors */
static bool
is_shard(const char *name)
{
	unsigned k, n;
	int end = 0;

	return sscanf(name, "model-%5u-of-%5u.safetensors%n", &k, &n,
	    &end) == 2 && end > 0 && name[end] == '\0';
}

static int
move_shard(int from, int to, const char *name)
{
	return strcmp(name, INDEX) == 0 ? 0 :
	    renameat(from, name, to, name);
}

static int
drop_shard(int dir, int other, const char *name)
{
	return is_shard(name) ? state_folder_drop(dir, other, name) : 0;
}

static int
drop(int dir, const char *path, const char *name, struct err *err)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return err_set(err, "%s/%s: %s", path, name, strerror(errno));
}

/*
 * One file replaces in one step.  Several cannot: their index goes first and
 * comes last, so that a loader who looks in between finds no model, and not
 * one of old and new parts.
 */
static int
put_in_place(int temp, int dir, const char *path, struct err *err)
{
	if (faccessat(temp, INDEX, F_OK, 0) != 0) {
		if (renameat(temp, ONE, dir, ONE) < 0)
			return err_set(err, "%s/%s: %s", path, ONE,
			    strerror(errno));
		return drop(dir, path, INDEX, err) != 0 ? -1 :
		    state_folder_each(dir, path, drop_shard, -1, err);
	}
	if (drop(dir, path, INDEX, err) != 0 ||
	    state_folder_each(dir, path, drop_shard, -1, err) != 0 ||
	    state_folder_each(temp, path, move_shard, dir, err) != 0)
		return -1;
	if (renameat(temp, INDEX, dir, INDEX) < 0)
		return err_set(err, "%s/%s: %s", path, INDEX, strerror(errno));
	return drop(dir, path, ONE, err);
}

static int
write_model(const struct state_set *s, const char *path, uint64_t shard,
    struct err *err)
{
	struct err ignored = ERR_INIT;
	char *temp_path;
	int dir, temp = -1, ret = -1;

	if (file_mkdirs(path, 0777, err) != 0)
		return -1;
	if (asprintf(&temp_path, "%s/.model-XXXXXX", path) < 0)
		return err_nomem(err);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && mkdtemp(temp_path) != NULL)
		temp = open(temp_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (temp < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
	} else {
		ret = state_set_write(s, temp, temp_path, shard, false, err);
		if (ret == 0)
			ret = put_in_place(temp, dir, path, err);
		state_folder_each(temp, temp_path, state_folder_drop, -1,
		    &ignored);
		close(temp);
		rmdir(temp_path);
	}
	if (dir >= 0) {
		fsync(dir);
		close(dir);
	}
	free(temp_path);
	return ret;
}

accel_status
accel_save_model(accel *a, const char *dir, size_t shard_bytes)
{
	struct state_set s = STATE_SET_INIT;
	struct state_cursor c = { 0, 0, 0 };
	struct state_array x;
	struct state_room room = { NULL, 0 };
	struct state_fetch f;
	const struct state_fetch *fetch = state_fetch_of(a, &f);
	accel_status st = ACCEL_OK;

	if (dir == NULL || *dir == '\0' || !a->prepared)
		st = accel__fail(a->prepared ? ACCEL_EINVAL : ACCEL_ESTATE,
		    "accel_save_model: %s", a->prepared ? "no folder is named" :
		    "before accel_prepare");
	while (st == ACCEL_OK && a->rank == 0 &&
	    state_next(a, STATE_VALUES, &c, &x))
		if (strcmp(x.stem, STATE_MODEL) == 0 && state_set_add(&s,
		    x.stem, x.name, state_dtype(x.dtype), x.shape, x.ndim,
		    x.data, x.bytes, accel__err()) != 0)
			st = ACCEL_ENOMEM;
	if (st == ACCEL_OK && a->rank == 0 && fetch != NULL &&
	    state_set_move(&s, &room, fetch, accel__err()) != 0)
		st = ACCEL_EIO;
	if (st == ACCEL_OK && a->rank == 0 && write_model(&s, dir,
	    shard_bytes != 0 ? shard_bytes : STATE_SHARD_BYTES,
	    accel__err()) != 0)
		st = ACCEL_EIO;
	state_set_clear(&s);
	free(room.data);
	return state_agree(a, st);
}
