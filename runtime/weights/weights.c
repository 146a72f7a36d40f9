/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, pieces and files, and whether the pieces make the tensors. */
#include "runtime/weights/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/hash.h"

#include "runtime/base/banned.h"

static int
grow(void *array, size_t count, size_t *room, size_t size, struct err *err)
{
	void	**at = array, *grown;
	size_t	  want = *room ? *room * 2 : 64;

	if (count < *room)
		return 0;
	grown = realloc(*at, want * size);
	if (!grown)
		return err_nomem(err);
	*at = grown;
	*room = want;
	return 0;
}

void
weights_clear(struct weights *w)
{
	for (size_t i = 0; i < w->tensors; i++) {
		free(w->tensor[i].key);
		free(w->tensor[i].name);
	}
	for (size_t i = 0; i < w->files; i++) {
		free(w->file[i].path);
		if (w->file[i].n)
			munmap((void *)(uintptr_t)w->file[i].data,
			    w->file[i].n);
	}
	free(w->tensor);
	free(w->piece);
	free(w->file);
	free(w->table);
	strv_clear(&w->objects);
	*w = (struct weights)WEIGHTS_INIT;
}

int64_t
weights_map(struct weights *w, const char *path, struct err *err)
{
	struct weights_file	 f = { NULL, NULL, 0 };
	struct stat		 st;
	int			 fd;

	/* Files come one after the other: the last is the likeliest. */
	for (size_t i = w->files; i-- > 0;)
		if (!strcmp(w->file[i].path, path))
			return (int64_t)i;
	if (grow(&w->file, w->files, &w->file_room, sizeof f, err) < 0)
		return -1;
	/* A pipe by that name would wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		goto bad;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, "%s is not a file", path);
		goto bad;
	}
	f.n = (size_t)st.st_size;
	if (f.n) {
		void *data = mmap(NULL, f.n, PROT_READ, MAP_SHARED, fd, 0);

		if (data == MAP_FAILED) {
			err_set(err, "%s: %s", path, strerror(errno));
			goto bad;
		}
		f.data = data;
	}
	close(fd);
	f.path = strdup(path);
	w->file[w->files++] = f;
	if (!f.path)
		return err_nomem(err);
	return (int64_t)w->files - 1;
bad:
	if (fd >= 0)
		close(fd);
	return -1;
}

static size_t *
slot(const struct weights *w, const char *key)
{
	size_t at = hash_bytes(key, strlen(key)) & (w->table_room - 1);

	while (w->table[at] != SIZE_MAX &&
	    strcmp(w->tensor[w->table[at]].key, key))
		at = (at + 1) & (w->table_room - 1);
	return &w->table[at];
}

int64_t
weights_find(const struct weights *w, const char *key)
{
	size_t *at = w->table_room ? slot(w, key) : NULL;

	return at && *at != SIZE_MAX ? (int64_t)*at : -1;
}

/* The table is at most half full. */
static int
grow_table(struct weights *w, struct err *err)
{
	size_t room = w->table_room ? w->table_room * 2 : 256, *table;

	if (w->tensors * 2 < w->table_room)
		return 0;
	table = malloc(room * sizeof *table);
	if (!table)
		return err_nomem(err);
	memset(table, 0xff, room * sizeof *table);
	free(w->table);
	w->table = table;
	w->table_room = room;
	for (size_t i = 0; i < w->tensors; i++)
		*slot(w, w->tensor[i].key) = i;
	return 0;
}

/* Bytes of a tensor; -1 where they are beyond all measure. */
static int
bytes_of(const struct dtype *dtype, int rank, const int64_t *shape,
    uint64_t *bytes)
{
	int64_t n = dtype->bits / 8;
	bool	empty = false;

	for (int i = 0; i < rank; i++) {
		if (shape[i] < 0 || shape[i] > INT64_MAX / 16)
			return -1;
		empty = empty || !shape[i];
	}
	for (int i = 0; i < rank && !empty; i++)
		if (__builtin_mul_overflow(n, shape[i], &n))
			return -1;
	*bytes = empty ? 0 : (uint64_t)n;
	return 0;
}

int64_t
weights_add(struct weights *w, const char *key, const struct dtype *dtype,
    int rank, const int64_t *shape, struct err *err)
{
	struct whole	t = { .dtype = dtype, .rank = rank };
	size_t		*at;

	if (rank > WEIGHTS_RANK)
		return err_set(err, "tensor \"%s\" has %d dimensions; at most "
		    "%d are served", key, rank, WEIGHTS_RANK);
	if (dtype->bits % 8)
		return err_set(err, "tensor \"%s\" is of %s, whose elements "
		    "are smaller than a byte: not served", key, dtype->name);
	if (bytes_of(dtype, rank, shape, &t.bytes) < 0)
		return err_set(err, "tensor \"%s\": its shape is too large",
		    key);
	for (int i = 0; i < rank; i++)
		t.shape[i] = shape[i];
	if (grow(&w->tensor, w->tensors, &w->tensor_room, sizeof t, err) < 0 ||
	    grow_table(w, err) < 0)
		return -1;
	at = slot(w, key);
	if (*at != SIZE_MAX)
		return err_set(err, "tensor \"%s\" is there twice", key);
	if (!(t.key = strdup(key)))
		return err_nomem(err);
	w->tensor[w->tensors] = t;
	*at = w->tensors;
	return (int64_t)w->tensors++;
}

int
weights_reshape(struct weights *w, size_t tensor, const int64_t *shape,
    struct err *err)
{
	struct whole *t = &w->tensor[tensor];

	if (bytes_of(t->dtype, t->rank, shape, &t->bytes) < 0)
		return err_set(err, "tensor \"%s\": its shape is too large",
		    t->key);
	memcpy(t->shape, shape, (size_t)t->rank * sizeof *shape);
	return 0;
}

static bool
box_empty(const struct box *b, int rank)
{
	for (int i = 0; i < rank; i++)
		if (!b->shape[i])
			return true;
	return false;
}

int
weights_add_piece(struct weights *w, const struct piece *p, uint64_t begin,
    uint64_t end, struct err *err)
{
	const struct whole	*t = &w->tensor[p->tensor];
	const char		*path = w->file[p->file].path;
	int64_t			 last = 0, step;
	uint64_t		 bytes;

	for (int i = 0; i < t->rank; i++)
		if (p->box.at[i] < 0 || p->box.shape[i] < 0 ||
		    p->box.at[i] > t->shape[i] ||
		    p->box.shape[i] > t->shape[i] - p->box.at[i])
			return err_set(err, "%s: a piece of tensor \"%s\" "
			    "lies outside it", path, t->key);
	if (box_empty(&p->box, t->rank))
		return 0;
	for (int i = 0; i < t->rank; i++)
		if (p->stride[i] < 0 || __builtin_mul_overflow(p->stride[i],
		    p->box.shape[i] - 1, &step) ||
		    __builtin_add_overflow(last, step, &last))
			goto outside;
	if (__builtin_mul_overflow((uint64_t)last + 1, t->dtype->bits / 8,
	    &bytes) || end > w->file[p->file].n || begin > end ||
	    p->first < begin || p->first > end || bytes > end - p->first)
		goto outside;
	if (grow(&w->piece, w->pieces, &w->piece_room, sizeof *p, err) < 0)
		return -1;
	w->piece[w->pieces++] = *p;
	return 0;
outside:
	err_set(err, "%s: the elements of tensor \"%s\" lie outside the file's "
	    "data", path, t->key);
	return err_hint(err, "the file was cut short?  It has %zu bytes",
	    w->file[p->file].n);
}

/* Boxes from the first to the last element; equal ones side by side. */
static int
by_tensor(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->tensor != y->tensor)
		return x->tensor < y->tensor ? -1 : 1;
	for (int i = 0; i < WEIGHTS_RANK; i++)
		if (x->box.at[i] != y->box.at[i])
			return x->box.at[i] < y->box.at[i] ? -1 : 1;
	for (int i = 0; i < WEIGHTS_RANK; i++)
		if (x->box.shape[i] != y->box.shape[i])
			return x->box.shape[i] < y->box.shape[i] ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static bool
boxes_meet(const struct box *a, const struct box *b, int rank)
{
	for (int i = 0; i < rank; i++)
		if (a->at[i] >= b->at[i] + b->shape[i] ||
		    b->at[i] >= a->at[i] + a->shape[i])
			return false;
	return true;
}

/* No two pieces meet, and together they are as large as the tensor: then they
 * are the tensor. */
static int
check_one(const struct weights *w, struct whole *t, struct err *err)
{
	struct piece	*p = w->piece + t->piece;
	uint64_t	 sum = 0;

	for (size_t i = 0; i < t->pieces; i++) {
		uint64_t n;

		p[i].again = i && !memcmp(&p[i].box, &p[i - 1].box,
		    sizeof p->box);
		if (p[i].again)
			continue;
		bytes_of(t->dtype, t->rank, p[i].box.shape, &n);
		for (size_t k = i + 1; k < t->pieces; k++) {
			if (t->rank && p[k].box.at[0] >=
			    p[i].box.at[0] + p[i].box.shape[0])
				break;
			if (memcmp(&p[i].box, &p[k].box, sizeof p->box) &&
			    boxes_meet(&p[i].box, &p[k].box, t->rank))
				return err_set(err, "tensor \"%s\": pieces in "
				    "%s and %s overlap", t->key,
				    w->file[p[i].file].path,
				    w->file[p[k].file].path);
		}
		sum += n;	/* disjoint boxes of t: no overflow */
	}
	if (sum == t->bytes)
		return 0;
	err_set(err, "tensor \"%s\" is not complete: %llu of its %llu bytes "
	    "are there", t->key, (unsigned long long)sum,
	    (unsigned long long)t->bytes);
	return err_hint(err, "is a rank's file missing?  %zu were read",
	    w->files);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Two keys must not have become one name. */
static int
check_names(const struct weights *w, struct err *err)
{
	const char	**name = calloc(w->tensors + 1, sizeof *name);
	int		  ret = 0;

	if (!name)
		return err_nomem(err);
	for (size_t i = 0; i < w->tensors; i++)
		name[i] = weights_name(&w->tensor[i]);
	qsort(name, w->tensors, sizeof *name, by_text);
	for (size_t i = 1; i < w->tensors && ret == 0; i++)
		if (!strcmp(name[i], name[i - 1]))
			ret = err_set(err, "two tensors would be called \"%s\"",
			    name[i]);
	free(name);
	return ret;
}

int
weights_check(struct weights *w, struct err *err)
{
	size_t at = 0;

	if (w->pieces)
		qsort(w->piece, w->pieces, sizeof *w->piece, by_tensor);
	for (size_t i = 0; i < w->tensors; i++) {
		struct whole *t = &w->tensor[i];

		t->piece = at;
		while (at < w->pieces && w->piece[at].tensor == i)
			at++;
		t->pieces = at - t->piece;
		if (check_one(w, t, err) < 0)
			return -1;
	}
	return check_names(w, err);
}

int
weights_read(struct weights *w, const char *folder, struct err *err)
{
	static const char *const below[] = {
		"pytorch_model_fsdp_0", "optimizer_0"
	};
	char	path[4200];
	int	ret;

	if (access(folder, F_OK) < 0)
		return err_set(err, "%s: %s", folder, strerror(errno));
	snprintf(path, sizeof path, "%s/.metadata", folder);
	if (access(path, F_OK) == 0)
		ret = weights_read_dcp(w, folder, err);
	else
		ret = weights_read_shards(w, folder, err);
	if (ret < 0)
		return -1;
	if (w->tensors)
		return weights_check(w, err);
	err_set(err, "%s holds no tensors: neither .metadata of "
	    "torch.distributed.checkpoint nor *.safetensors", folder);
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		snprintf(path, sizeof path, "%s/%s/.metadata", folder,
		    below[i]);
		if (access(path, F_OK) == 0)
			return err_hint(err, "did you mean %s/%s?", folder,
			    below[i]);
	}
	return err_hint(err, "give the folder that has the files themselves");
}
