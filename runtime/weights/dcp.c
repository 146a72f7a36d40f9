/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of torch.distributed.checkpoint: ".metadata" says which tensors
 * there are, in which chunks, and in which file, from which byte on, each chunk
 * lies; there stands what torch.save makes of a tensor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/weights/pickle.h"
#include "runtime/weights/torchfile.h"
#include "runtime/weights/torchtype.h"
#include "runtime/weights/weights.h"

#include "runtime/base/banned.h"

#define MODULE	"torch.distributed.checkpoint.metadata "

/* A key that can be written: UTF-8 without NUL (jansson checks the rest). */
static bool
is_key(const struct pickle_value *v)
{
	return v->kind == PICKLE_TEXT && v->n && strlen(v->text) == v->n;
}

static int
add_tensor(struct weights *w, const char *key, const struct pickle_value *v,
    struct err *err)
{
	const struct pickle_value	*p = pickle_get(v, "properties");
	const struct torchtype		*type;
	int64_t				 shape[WEIGHTS_RANK];
	int				 rank;

	/* The state of the properties is a tuple whose first is the type. */
	if (!pickle_is(p, MODULE "TensorProperties") || !p->state ||
	    p->state->kind != PICKLE_TUPLE || !p->state->n ||
	    p->state->item[0]->kind != PICKLE_NAME)
		return err_set(err, "tensor \"%s\": its properties are not "
		    "described as PyTorch does", key);
	type = torchtype_of(p->state->item[0]->text);
	if (!type)
		return err_set(err, "tensor \"%s\": its type %s is not known",
		    key, p->state->item[0]->text);
	if (torch_numbers(pickle_get(v, "size"), &rank, shape) < 0)
		return err_set(err, "tensor \"%s\": its shape is not made of "
		    "at most %d numbers", key, WEIGHTS_RANK);
	return weights_add(w, key, dtype_of(type->name), rank, shape, err) < 0 ?
	    -1 : 0;
}

/* *entries gets, for each tensor's number, what was said of it. */
static int
add_tensors(struct weights *w, const struct pickle_value *root,
    const struct pickle_value ***entries, struct err *err)
{
	const struct pickle_value *all =
	    pickle_get(root, "state_dict_metadata");

	if (!all || all->kind != PICKLE_DICT)
		return err_set(err, "no state_dict_metadata");
	*entries = calloc(all->n / 2 + 1, sizeof **entries);
	if (!*entries)
		return err_nomem(err);
	for (size_t i = 0; i + 1 < all->n; i += 2) {
		const struct pickle_value *key = all->item[i];
		const struct pickle_value *v = all->item[i + 1];

		if (!is_key(key))
			return err_set(err, "the key of entry %zu is no text",
			    i / 2);
		if (pickle_is(v, MODULE "BytesStorageMetadata")) {
			if (strv_add(&w->objects, key->text) < 0)
				return err_nomem(err);
		} else if (!pickle_is(v, MODULE "TensorStorageMetadata"))
			return err_set(err, "\"%s\" is of the class %s, which "
			    "cannot be merged", key->text,
			    v->kind == PICKLE_OBJECT ? v->text : "?");
		else if (add_tensor(w, key->text, v, err) < 0)
			return -1;
		else
			(*entries)[w->tensors - 1] = v;
	}
	return 0;
}

/* The path of a value in the nested dict that was saved, such as
 * ("model", "layer.0.weight").  Where all are below one key, as Accelerate
 * saves them, that key goes. */
static int
join_path(struct buf *out, const struct pickle_value *path, size_t from)
{
	for (size_t i = from; i < path->n; i++) {
		const struct pickle_value *v = path->item[i];

		if (i > from)
			buf_adds(out, ".");
		if (v->kind == PICKLE_INT)
			buf_addf(out, "%lld", (long long)v->number);
		else if (v->kind == PICKLE_TEXT && strlen(v->text) == v->n)
			buf_adds(out, v->text);
		else
			return -1;
	}
	return 0;
}

static const struct pickle_value *
one_top(const struct pickle_value *plan)
{
	const struct pickle_value *top = NULL;

	for (size_t i = 0; i + 1 < plan->n; i += 2) {
		const struct pickle_value *path = plan->item[i + 1];

		if (path->kind != PICKLE_TUPLE || path->n < 2 ||
		    path->item[0]->kind != PICKLE_TEXT)
			return NULL;
		if (!top)
			top = path->item[0];
		else if (strcmp(top->text, path->item[0]->text))
			return NULL;
	}
	return top;
}

static int
rename_tensors(struct weights *w, const struct pickle_value *root,
    struct err *err)
{
	const struct pickle_value *plan = pickle_get(root, "planner_data");
	size_t			   from;

	if (!plan || plan->kind != PICKLE_DICT)
		return 0;
	from = one_top(plan) ? 1 : 0;
	for (size_t i = 0; i + 1 < plan->n; i += 2) {
		const struct pickle_value *path = plan->item[i + 1];
		struct buf		   name = BUF_INIT;
		int64_t			   at;

		at = is_key(plan->item[i]) ?
		    weights_find(w, plan->item[i]->text) : -1;
		if (at < 0)
			continue;
		if (path->kind != PICKLE_TUPLE ||
		    join_path(&name, path, from) < 0) {
			buf_clear(&name);
			return err_set(err, "tensor \"%s\": its path is not "
			    "made of texts", plan->item[i]->text);
		}
		free(w->tensor[at].name);
		w->tensor[at].name = buf_detach(&name);
		if (!w->tensor[at].name)
			return err_nomem(err);
	}
	return 0;
}

static bool
is_chunk(const struct pickle_value *v, const struct whole *t, struct box *box)
{
	int64_t	at[WEIGHTS_RANK];
	int	rank;

	return torch_numbers(pickle_get(v, "offsets"), &rank, at) == 0 &&
	    rank == t->rank &&
	    !memcmp(at, box->at, (size_t)rank * sizeof *at) &&
	    torch_numbers(pickle_get(v, "sizes"), &rank, box->shape) == 0 &&
	    rank == t->rank;
}

/* The sizes of the chunk that begins there.  The index says where in the list
 * it probably is. */
static int
find_chunk(const struct pickle_value *entry, const struct pickle_value *index,
    const struct whole *t, struct box *box)
{
	const struct pickle_value *chunks = pickle_get(entry, "chunks");
	const struct pickle_value *hint = pickle_get(index, "index");

	if (!chunks || chunks->kind != PICKLE_LIST)
		return -1;
	if (hint && hint->kind == PICKLE_INT && hint->number >= 0 &&
	    (uint64_t)hint->number < chunks->n &&
	    is_chunk(chunks->item[hint->number], t, box))
		return 0;
	for (size_t i = 0; i < chunks->n; i++)
		if (is_chunk(chunks->item[i], t, box))
			return 0;
	return -1;
}

struct place {			/* of a chunk, as .metadata has it */
	const char	*key, *path;
	int64_t		 offset, length;
};

static int
read_place(struct place *p, const struct pickle_value *index,
    const struct pickle_value *info, struct err *err)
{
	const struct pickle_value *key = pickle_get(index, "fqn");
	const struct pickle_value *path = pickle_get(info, "relative_path");
	const struct pickle_value *offset = pickle_get(info, "offset");
	const struct pickle_value *length = pickle_get(info, "length");
	const struct pickle_value *packed =
	    pickle_get(info, "transform_descriptors");

	if (!pickle_is(index, MODULE "MetadataIndex") || !key ||
	    !is_key(key))
		return err_set(err, "a key of storage_data is no "
		    "MetadataIndex");
	p->key = key->text;
	if (!pickle_is(info, "torch.distributed.checkpoint.filesystem "
	    "_StorageInfo") || !path || !is_key(path) || !offset || !length ||
	    offset->kind != PICKLE_INT || length->kind != PICKLE_INT ||
	    offset->number < 0 || length->number < 0)
		return err_set(err, "\"%s\": its place is not described as "
		    "PyTorch does", p->key);
	/* Out of the checkpoint's folder there is nothing of it. */
	if (*path->text == '/' || strstr(path->text, ".."))
		return err_set(err, "\"%s\": its file %s is not in the folder",
		    p->key, path->text);
	if (packed && (packed->kind == PICKLE_LIST ||
	    packed->kind == PICKLE_TUPLE) && packed->n)
		return err_set(err, "\"%s\" was transformed by %s when it was "
		    "written, which is not served", p->key,
		    packed->item[0]->kind == PICKLE_TEXT ?
		    packed->item[0]->text : "?");
	p->path = path->text;
	p->offset = offset->number;
	p->length = length->number;
	return 0;
}

static int
read_chunk(struct weights *w, const struct place *at, struct piece *p,
    struct err *err)
{
	const struct whole	*t = &w->tensor[p->tensor];
	struct weights_file	*f = &w->file[p->file];
	struct torchfile	 saved;

	if ((uint64_t)at->offset > f->n ||
	    (uint64_t)at->length > f->n - (uint64_t)at->offset) {
		err_set(err, "%s: tensor \"%s\" lies at byte %lld, of %lld "
		    "bytes, beyond the file's end", f->path, t->key,
		    (long long)at->offset, (long long)at->length);
		return err_hint(err, "the file was cut short?  It has %zu "
		    "bytes", f->n);
	}
	if (torchfile_read(&saved, f->data + at->offset, (size_t)at->length,
	    err) < 0)
		return err_at(err, "%s: tensor \"%s\" at byte %lld", f->path,
		    t->key, (long long)at->offset);
	if (saved.dtype != t->dtype || saved.rank != t->rank ||
	    memcmp(saved.shape, p->box.shape,
	    (size_t)t->rank * sizeof *saved.shape))
		return err_set(err, "%s: tensor \"%s\" at byte %lld has "
		    "another type or shape than .metadata says", f->path,
		    t->key, (long long)at->offset);
	memcpy(p->stride, saved.stride, sizeof p->stride);
	p->first = (uint64_t)at->offset + saved.first;
	return weights_add_piece(w, p, (uint64_t)at->offset + saved.begin,
	    (uint64_t)at->offset + saved.end, err);
}

static int
add_pieces(struct weights *w, const char *folder,
    const struct pickle_value *root, const struct pickle_value **entry,
    struct err *err)
{
	const struct pickle_value *all = pickle_get(root, "storage_data");

	if (!all || all->kind != PICKLE_DICT)
		return err_set(err, "%s/.metadata: no storage_data", folder);
	for (size_t i = 0; i + 1 < all->n; i += 2) {
		struct piece	 p = { 0 };
		struct place	 at = { NULL, NULL, 0, 0 };
		int64_t		 found;
		char		*path;
		int		 rank;

		if (read_place(&at, all->item[i], all->item[i + 1], err) < 0)
			return err_at(err, "%s/.metadata", folder);
		found = weights_find(w, at.key);
		if (found < 0)
			continue;	/* an object */
		p.tensor = (size_t)found;
		if (torch_numbers(pickle_get(all->item[i], "offset"), &rank,
		    p.box.at) < 0 || rank != w->tensor[found].rank ||
		    find_chunk(entry[found], all->item[i], &w->tensor[found],
		    &p.box) < 0)
			return err_set(err, "%s/.metadata: tensor \"%s\" has "
			    "no such chunk", folder, at.key);
		if (asprintf(&path, "%s/%s", folder, at.path) < 0)
			return err_nomem(err);
		found = weights_map(w, path, err);
		free(path);
		if (found < 0)
			return -1;
		p.file = (size_t)found;
		if (read_chunk(w, &at, &p, err) < 0)
			return -1;
	}
	return 0;
}

int
weights_read_dcp(struct weights *w, const char *folder, struct err *err)
{
	const struct pickle_value	**entry = NULL;
	struct pickle			  tree = PICKLE_INIT;
	char				 *path;
	int64_t				  file;
	int				  ret = -1;

	if (asprintf(&path, "%s/.metadata", folder) < 0)
		return err_nomem(err);
	file = weights_map(w, path, err);
	if (file < 0)
		goto out;
	if (pickle_read(&tree, w->file[file].data, w->file[file].n,
	    torch_known, err) < 0) {
		err_at(err, "%s", path);
		goto out;
	}
	if (!pickle_is(tree.root, MODULE "Metadata")) {
		err_set(err, "%s holds no Metadata of "
		    "torch.distributed.checkpoint", path);
		goto out;
	}
	if (add_tensors(w, tree.root, &entry, err) < 0 ||
	    rename_tensors(w, tree.root, err) < 0) {
		err_at(err, "%s", path);
		goto out;
	}
	ret = add_pieces(w, folder, tree.root, entry, err);
out:
	free(entry);
	pickle_clear(&tree);
	free(path);
	return ret;
}
