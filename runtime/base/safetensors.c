/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

/* The types of safetensors 0.8 (safetensors/src/tensor.rs). */
static const struct dtype dtypes[] = {
	{ "F4",		4 },
	{ "F6_E2M3",	6 },
	{ "F6_E3M2",	6 },
	{ "BOOL",	8 },
	{ "U8",		8 },
	{ "I8",		8 },
	{ "F8_E5M2",	8 },
	{ "F8_E4M3",	8 },
	{ "F8_E8M0",	8 },
	{ "F8_E4M3FNUZ",	8 },
	{ "F8_E5M2FNUZ",	8 },
	{ "I16",	16 },
	{ "U16",	16 },
	{ "F16",	16 },
	{ "BF16",	16 },
	{ "I32",	32 },
	{ "U32",	32 },
	{ "F32",	32 },
	{ "C64",	64 },
	{ "F64",	64 },
	{ "I64",	64 },
	{ "U64",	64 },
};

const struct dtype *
dtype_of(const char *name)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (!strcmp(dtypes[i].name, name))
			return &dtypes[i];
	return NULL;
}

void
safetensors_clear(struct safetensors *st)
{
	for (size_t i = 0; i < st->count; i++) {
		free(st->tensor[i].name);
		free(st->tensor[i].shape);
	}
	free(st->tensor);
	free(st->by_name);
	strv_clear(&st->metadata);
	*st = (struct safetensors)SAFETENSORS_INIT;
}

/* A number of a shape or a place: an integer, not negative. */
static int
take_number(const json_t *value, uint64_t *out)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -1;
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

static int
take_shape(struct tensor *t, const json_t *shape, const char *file,
    struct err *err)
{
	t->rank = json_array_size(shape);
	t->elements = 1;
	if (!json_is_array(shape))
		return err_set(err, "%s: tensor \"%s\" has no shape", file,
		    t->name);
	t->shape = calloc(t->rank ? t->rank : 1, sizeof *t->shape);
	if (!t->shape)
		return err_nomem(err);
	for (size_t i = 0; i < t->rank; i++) {
		if (take_number(json_array_get(shape, i), &t->shape[i]) < 0)
			return err_set(err, "%s: tensor \"%s\": its shape is "
			    "not made of whole numbers", file, t->name);
		if (__builtin_mul_overflow(t->elements, t->shape[i],
		    &t->elements))
			return err_set(err, "%s: tensor \"%s\": its shape is "
			    "too large", file, t->name);
	}
	return 0;
}

static int
take_tensor(struct tensor *t, const char *name, const json_t *row,
    const char *file, struct err *err)
{
	const json_t	*place = json_object_get(row, "data_offsets");
	const char	*type = json_string_value(json_object_get(row,
	    "dtype"));
	uint64_t	 bits;

	t->name = strdup(name);
	if (!t->name)
		return err_nomem(err);
	if (!type || !(t->dtype = dtype_of(type))) {
		err_set(err, "%s: tensor \"%s\" has the element type %s, which "
		    "is none of safetensors'", file, name, type ? type : "?");
		return err_hint(err, "such as F32 or BF16");
	}
	if (take_shape(t, json_object_get(row, "shape"), file, err) < 0)
		return -1;
	if (json_array_size(place) != 2 ||
	    take_number(json_array_get(place, 0), &t->begin) < 0 ||
	    take_number(json_array_get(place, 1), &t->end) < 0 ||
	    t->end < t->begin)
		return err_set(err, "%s: tensor \"%s\": data_offsets is not "
		    "[begin, end]", file, name);
	if (__builtin_mul_overflow(t->elements, t->dtype->bits, &bits) ||
	    bits % 8 || bits / 8 != t->end - t->begin)
		return err_set(err, "%s: tensor \"%s\" lies at %llu to %llu, "
		    "which is not the size of its shape and type", file, name,
		    (unsigned long long)t->begin, (unsigned long long)t->end);
	return 0;
}

static int
take_metadata(struct strv *v, json_t *object, const char *file,
    struct err *err)
{
	const char	*name;
	json_t		*value;

	if (!json_is_object(object))
		return err_set(err, "%s: __metadata__ is not a mapping", file);
	json_object_foreach(object, name, value) {
		if (!json_is_string(value))
			return err_set(err, "%s: __metadata__: \"%s\" is not a "
			    "text", file, name);
		if (strv_addf(v, "%s=%s", name, json_string_value(value)) < 0)
			return err_nomem(err);
	}
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct tensor	*x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int
by_name(const void *a, const void *b, void *list)
{
	const struct tensor	*tensor = list;

	return strcmp(tensor[*(const size_t *)a].name,
	    tensor[*(const size_t *)b].name);
}

/* Sorts, and refuses holes and overlaps. */
static int
settle(struct safetensors *st, const char *file, struct err *err)
{
	uint64_t	at = 0;

	if (st->count)
		qsort(st->tensor, st->count, sizeof *st->tensor, by_place);
	for (size_t i = 0; i < st->count; i++) {
		if (st->tensor[i].begin != at) {
			err_set(err, "%s: tensor \"%s\" begins at byte %llu "
			    "of the data, where %llu was expected", file,
			    st->tensor[i].name,
			    (unsigned long long)st->tensor[i].begin,
			    (unsigned long long)at);
			return err_hint(err, "tensors lie side by side: the "
			    "file is damaged");
		}
		at = st->tensor[i].end;
	}
	if (at != st->size) {
		err_set(err, "%s: the header speaks of %llu bytes of data, the "
		    "file has %llu", file, (unsigned long long)at,
		    (unsigned long long)st->size);
		return err_hint(err, "a download that was cut short? Fetch it "
		    "again");
	}
	st->by_name = calloc(st->count ? st->count : 1, sizeof *st->by_name);
	if (!st->by_name)
		return err_nomem(err);
	for (size_t i = 0; i < st->count; i++)
		st->by_name[i] = i;
	qsort_r(st->by_name, st->count, sizeof *st->by_name, by_name,
	    st->tensor);
	return 0;
}

int
safetensors_parse(struct safetensors *st, const char *header, size_t n,
    uint64_t size, const char *file, struct err *err)
{
	struct safetensors	 new = SAFETENSORS_INIT;
	json_error_t		 where;
	json_t			*root, *row;
	const char		*name;
	int			 ret = -1;

	new.size = size;
	new.data = n + 8;
	root = n && *header == '{' ?
	    json_loadb(header, n, JSON_REJECT_DUPLICATES, &where) : NULL;
	if (!root && (!n || *header != '{')) {
		err_set(err, "%s: not a safetensors file: its header does not "
		    "begin with \"{\"", file);
		goto out;
	}
	if (!root) {
		err_set(err, "%s: byte %d of the header: %s", file,
		    where.position, where.text);
		goto out;
	}
	new.tensor = calloc(json_object_size(root) + 1, sizeof *new.tensor);
	if (!new.tensor) {
		err_nomem(err);
		goto out;
	}
	json_object_foreach(root, name, row) {
		if (!strcmp(name, "__metadata__")) {
			if (take_metadata(&new.metadata, row, file, err) < 0)
				goto out;
		} else if (take_tensor(&new.tensor[new.count++], name, row,
		    file, err) < 0)
			goto out;
	}
	if (settle(&new, file, err) < 0)
		goto out;
	*st = new;
	new = (struct safetensors)SAFETENSORS_INIT;
	ret = 0;
out:
	if (ret < 0)
		*st = (struct safetensors)SAFETENSORS_INIT;
	safetensors_clear(&new);
	json_decref(root);
	return ret;
}

static int
read_all(int fd, void *to, size_t n)
{
	for (char *p = to; n;) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

int
safetensors_open(struct safetensors *st, const char *path, struct err *err)
{
	unsigned char	 head[8];
	uint64_t	 n = 0;
	struct stat	 info;
	char		*header = NULL;
	int		 fd, ret = -1;

	*st = (struct safetensors)SAFETENSORS_INIT;
	/* A pipe by that name would wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &info) < 0) {
		err_set(err, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(info.st_mode)) {
		err_set(err, "%s is not a file", path);
		goto out;
	}
	if (info.st_size < 8 || read_all(fd, head, sizeof head) < 0) {
		err_set(err, "%s: not a safetensors file: it is shorter than "
		    "8 bytes", path);
		goto out;
	}
	for (int i = 7; i >= 0; i--)
		n = n << 8 | head[i];
	if (n > SAFETENSORS_HEADER_MAX || n > (uint64_t)info.st_size - 8) {
		err_set(err, "%s: not a safetensors file: its header would "
		    "have %llu bytes", path, (unsigned long long)n);
		err_hint(err, "the file has %lld; a header has at most %d",
		    (long long)info.st_size, SAFETENSORS_HEADER_MAX);
		goto out;
	}
	header = malloc(n + 1);
	if (!header) {
		err_nomem(err);
		goto out;
	}
	if (read_all(fd, header, n) < 0) {
		err_set(err, "%s: the header cannot be read", path);
		goto out;
	}
	ret = safetensors_parse(st, header, n,
	    (uint64_t)info.st_size - 8 - n, path, err);
out:
	free(header);
	if (fd >= 0)
		close(fd);
	return ret;
}

const struct tensor *
safetensors_find(const struct safetensors *st, const char *name)
{
	size_t	low = 0, high = st->count;

	while (low < high) {
		size_t		 middle = low + (high - low) / 2;
		struct tensor	*t = &st->tensor[st->by_name[middle]];
		int		 order = strcmp(name, t->name);

		if (!order)
			return t;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
