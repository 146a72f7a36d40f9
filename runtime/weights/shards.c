/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of safetensors files, which may hold slices of tensors.
 *
 * accel's own say so in each file's __metadata__: accel.rank, accel.world, and
 * for a sliced tensor "accel.slice.NAME": {"shape": [...], "offset": [...]},
 * the whole tensor's shape and where this part begins.  PyTorch's
 * HuggingFaceStorageWriter has one entry, DCP_SHARDING_INFO, with the offsets
 * alone: there the parts together make the shape.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/weights/weights.h"

#include "runtime/base/banned.h"

#define SLICE	"accel.slice."

struct shard {
	char			*path;
	struct safetensors	 head;
	json_t			*slices;	/* name to {shape?, offset} */
	long			 rank, world;	/* world 0: not accel's own */
};

static void
shard_clear(struct shard *s)
{
	free(s->path);
	safetensors_clear(&s->head);
	json_decref(s->slices);
}

/* The texts of the metadata, as JSON. */
static int
read_slices(struct shard *s, struct err *err)
{
	static const struct { const char *key; size_t offset; } numbers[] = {
		{ "accel.rank", offsetof(struct shard, rank) },
		{ "accel.world", offsetof(struct shard, world) },
	};
	const char *info = strv_getenv(&s->head.metadata, "DCP_SHARDING_INFO");

	for (size_t i = 0; i < 2; i++) {
		const char *text = strv_getenv(&s->head.metadata,
		    numbers[i].key);

		if (text && num_parse(text, (long)i, 1 << 20,
		    (long *)((char *)s + numbers[i].offset)) < 0)
			return err_set(err, "%s: __metadata__: %s is \"%s\", "
			    "no number", s->path, numbers[i].key, text);
	}
	if (s->world && s->rank >= s->world)
		return err_set(err, "%s: accel.rank is %ld, and there are %ld",
		    s->path, s->rank, s->world);
	s->slices = info ? json_loads(info, 0, NULL) : json_object();
	if (!json_is_object(s->slices))
		return err_set(err, "%s: DCP_SHARDING_INFO is no JSON object",
		    s->path);
	for (size_t i = 0; i < s->head.metadata.count; i++) {
		const char	*item = s->head.metadata.item[i];
		const char	*value = strstr(item, "={");
		json_t		*slice;
		char		*name;

		if (strncmp(item, SLICE, strlen(SLICE)))
			continue;
		if (!value)
			return err_set(err, "%s: __metadata__: its slice is "
			    "not {\"shape\": [...], \"offset\": [...]}: %s",
			    s->path, item);
		item += strlen(SLICE);
		name = strndup(item, (size_t)(value - item));
		slice = json_loads(value + 1, JSON_REJECT_DUPLICATES, NULL);
		if (!name || json_object_set_new(s->slices, name, slice) < 0) {
			err_set(err, "%s: accel.slice.%s is no JSON object",
			    s->path, name ? name : "");
			free(name);
			return -1;
		}
		free(name);
	}
	return 0;
}

/* 1 and the numbers, 0 where there are none, -1. */
static int
read_array(const json_t *array, size_t n, int64_t *out)
{
	if (!array)
		return 0;
	if (!json_is_array(array) || json_array_size(array) != n ||
	    n > WEIGHTS_RANK)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(array, i);

		if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		    json_integer_value(v) > INT64_MAX / 16)
			return -1;
		out[i] = json_integer_value(v);
	}
	return 1;
}

/* Where a file's tensor stands in the whole, whose shape goes to "shape";
 * "open" says that other parts may make it larger. */
static int
read_box(const struct shard *s, const struct tensor *t, struct box *box,
    int64_t *shape, bool *open, struct err *err)
{
	const json_t	*slice = json_object_get(s->slices, t->name);
	const json_t	*offset = json_object_get(slice, "offset");
	int		 got;

	if (t->rank > WEIGHTS_RANK)
		return err_set(err, "%s: tensor \"%s\" has %zu dimensions; at "
		    "most %d are served", s->path, t->name, t->rank,
		    WEIGHTS_RANK);
	*box = (struct box){ 0 };
	for (size_t i = 0; i < t->rank; i++) {
		if (t->shape[i] > INT64_MAX / 16)
			return err_set(err, "%s: tensor \"%s\": its shape is "
			    "too large", s->path, t->name);
		box->shape[i] = (int64_t)t->shape[i];
	}
	if (!offset)
		offset = json_object_get(slice, "saved_offsets");
	if (slice && read_array(offset, t->rank, box->at) < 1)
		goto bad;
	got = read_array(json_object_get(slice, "shape"), t->rank, shape);
	if (got < 0)
		goto bad;
	*open = slice && !got;
	for (size_t i = 0; i < t->rank && !got; i++)
		shape[i] = box->at[i] + box->shape[i];
	return 0;
bad:
	return err_set(err, "%s: tensor \"%s\": its slice is not {\"shape\": "
	    "[...], \"offset\": [...]} with %zu numbers each", s->path,
	    t->name, t->rank);
}

static int
add_whole(struct weights *w, const struct shard *s, const struct tensor *t,
    struct err *err)
{
	int64_t		 shape[WEIGHTS_RANK] = { 0 };
	struct whole	*whole;
	struct box	 box;
	int64_t		 at;
	bool		 open;

	if (read_box(s, t, &box, shape, &open, err) < 0)
		return -1;
	at = weights_find(w, t->name);
	if (at < 0)
		return weights_add(w, t->name, t->dtype, (int)t->rank, shape,
		    err) < 0 ? err_at(err, "%s", s->path) : 0;
	whole = &w->tensor[at];
	if (whole->dtype != t->dtype || whole->rank != (int)t->rank)
		goto differs;
	for (int i = 0; i < whole->rank; i++) {
		if (open && shape[i] < whole->shape[i])
			shape[i] = whole->shape[i];
		else if (!open && shape[i] != whole->shape[i])
			goto differs;
	}
	return weights_reshape(w, (size_t)at, shape, err);
differs:
	err_set(err, "%s: tensor \"%s\" has another type or shape than in an "
	    "earlier file", s->path, t->name);
	return err_hint(err, "are these the files of one checkpoint?");
}

static int
add_part(struct weights *w, const struct shard *s, size_t file,
    const struct tensor *t, struct err *err)
{
	struct piece	p = { .file = file };
	int64_t		shape[WEIGHTS_RANK], whole = 1;
	bool		open;

	if (read_box(s, t, &p.box, shape, &open, err) < 0)
		return -1;
	p.tensor = (size_t)weights_find(w, t->name);
	for (size_t i = t->rank; i-- > 0;) {
		p.stride[i] = whole;
		whole *= p.box.shape[i] ? p.box.shape[i] : 1;
	}
	p.first = s->head.data + t->begin;
	return weights_add_piece(w, &p, p.first, s->head.data + t->end, err);
}

/* Those of one set: all ranks, and of one size. */
static int
check_ranks(const struct shard *shard, size_t n, struct err *err)
{
	long	 world = 0;
	bool	*seen;
	int	 ret = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && shard[i].world != world)
			return err_set(err, "%s: accel.world is %ld; in %s it "
			    "is %ld", shard[i].path, shard[i].world,
			    shard[0].path, world);
		world = shard[i].world;
	}
	if (!world)
		return 0;
	seen = calloc((size_t)world, sizeof *seen);
	if (!seen)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		seen[shard[i].rank] = true;
	for (long i = 0; i < world && ret == 0; i++)
		if (!seen[i])
			ret = err_set(err, "rank %ld of %ld has no file beside "
			    "%s", i, world, shard[0].path);
	free(seen);
	return ret;
}

/* The files of an index, as a JSON object; NULL without one.  0 or -1. */
static int
read_index(const char *folder, const char *name, json_t **files,
    struct err *err)
{
	json_error_t	 where;
	json_t		*root, *map, *value;
	const char	*key;
	char		*path;
	int		 ret = 0;

	if (*files)
		return err_set(err, "%s has more than one index, %s as well",
		    folder, name);
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return err_nomem(err);
	root = json_load_file(path, 0, &where);
	map = json_object_get(root, "weight_map");
	if (!root)
		ret = err_set(err, "%s:%d:%d: %s", path, where.line,
		    where.column, where.text);
	else if (!map)
		map = root;	/* Accelerate takes an index to be the map */
	*files = json_object();
	json_object_foreach(map, key, value)
		if (ret == 0 && json_object_set_new(*files,
		    json_is_string(value) ? json_string_value(value) : "",
		    json_true()) < 0)
			ret = err_nomem(err);
	if (ret == 0 && (!json_is_object(map) || json_object_get(*files, "")))
		ret = err_set(err, "%s: weight_map is not a mapping from names "
		    "to files", path);
	json_decref(root);
	free(path);
	return ret;
}

static bool
ends(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the files, sorted; *files as read_index gives it. */
static int
list(const char *folder, struct strv *names, json_t **files, struct err *err)
{
	DIR		*dir = opendir(folder);
	struct dirent	*e;
	int		 ret = 0;

	if (!dir)
		return err_set(err, "%s: %s", folder, strerror(errno));
	while (ret == 0 && (e = readdir(dir))) {
		if (ends(e->d_name, ".safetensors.index.json"))
			ret = read_index(folder, e->d_name, files, err);
		else if (ends(e->d_name, ".safetensors") &&
		    strv_add(names, e->d_name) < 0)
			ret = err_nomem(err);
	}
	closedir(dir);
	if (names->count)
		qsort(names->item, names->count, sizeof *names->item, by_text);
	return ret;
}

/* 1 where the file belongs to the checkpoint, 0, or -1. */
static int
open_shard(struct shard *s, const char *folder, const char *name,
    const json_t *files, struct err *err)
{
	bool listed = !files || json_object_get(files, name);

	*s = (struct shard){ 0 };
	if (asprintf(&s->path, "%s/%s", folder, name) < 0) {
		s->path = NULL;
		return err_nomem(err);
	}
	/* An index names one file a tensor.  The other files with slices are
	 * accel's own, or belong to something else. */
	if (safetensors_open(&s->head, s->path, err) < 0 ||
	    read_slices(s, err) < 0)
		return listed ? -1 : 0;
	return listed || s->world;
}

int
weights_read_shards(struct weights *w, const char *folder, struct err *err)
{
	struct shard	*shard = NULL;
	struct strv	 names = STRV_INIT;
	json_t		*files = NULL, *value;
	const char	*key;
	size_t		 n = 0;
	int		 ret = -1, got;

	if (list(folder, &names, &files, err) < 0)
		goto out;
	shard = calloc(names.count + 1, sizeof *shard);
	if (!shard) {
		err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < names.count; i++) {
		got = open_shard(&shard[n], folder, names.item[i], files, err);
		json_object_del(files, names.item[i]);
		if (got == 0)
			shard_clear(&shard[n]);
		else
			n++;
		if (got < 0)
			goto out;
	}
	json_object_foreach(files, key, value) {
		err_set(err, "%s: the index names %s, which is not there",
		    folder, key);
		goto out;
	}
	if (check_ranks(shard, n, err) < 0)
		goto out;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < shard[i].head.count; k++)
			if (add_whole(w, &shard[i], &shard[i].head.tensor[k],
			    err) < 0)
				goto out;
	for (size_t i = 0; i < n; i++) {
		int64_t file = weights_map(w, shard[i].path, err);

		if (file < 0)
			goto out;
		for (size_t k = 0; k < shard[i].head.count; k++)
			if (add_part(w, &shard[i], (size_t)file,
			    &shard[i].head.tensor[k], err) < 0)
				goto out;
	}
	ret = 0;
out:
	while (n-- > 0)
		shard_clear(&shard[n]);
	free(shard);
	json_decref(files);
	strv_clear(&names);
	return ret;
}
