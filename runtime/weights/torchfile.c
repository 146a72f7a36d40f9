/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/weights/torchfile.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/weights/pickle.h"
#include "runtime/weights/torchtype.h"
#include "runtime/weights/zip.h"

#include "runtime/base/banned.h"

static bool
is_int(const struct pickle_value *v, int64_t *out)
{
	if (v->kind != PICKLE_INT || v->number < 0)
		return false;
	*out = v->number;
	return true;
}

int
torch_numbers(const struct pickle_value *v, int *rank,
    int64_t out[WEIGHTS_RANK])
{
	if (v && pickle_is(v, "torch Size") && v->args->n == 1)
		v = v->args->item[0];
	if (!v || v->kind != PICKLE_TUPLE || v->n > WEIGHTS_RANK)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		if (!is_int(v->item[i], &out[i]))
			return -1;
	*rank = (int)v->n;
	return 0;
}

/* ("storage", class, key, device, elements) */
static int
read_storage(struct torchfile *t, const struct zip *z,
    const struct pickle_value *v, bool untyped, struct err *err)
{
	const struct pickle_value	*id = v->args, *class;
	char				 name[80];
	int64_t				 count;
	uint64_t			 bytes;
	size_t				 n;
	int				 ret;

	if (v->kind != PICKLE_PERSISTENT || id->kind != PICKLE_TUPLE ||
	    id->n != 5 || id->item[0]->kind != PICKLE_TEXT ||
	    strcmp(id->item[0]->text, "storage") ||
	    id->item[1]->kind != PICKLE_NAME ||
	    id->item[2]->kind != PICKLE_TEXT || !is_int(id->item[4], &count))
		return err_set(err, "its storage is not described as "
		    "torch.save does");
	class = id->item[1];
	if (untyped ? strcmp(class->text, TORCH_UNTYPED) :
	    !torchtype_of_storage(class->text))
		return err_set(err, "its storage is of the class %s, which is "
		    "not known", class->text);
	if (!untyped)
		t->dtype = dtype_of(torchtype_of_storage(class->text)->name);
	if (__builtin_mul_overflow((uint64_t)count, untyped ? 1 :
	    t->dtype->bits / 8, &bytes))
		return err_set(err, "its storage is too large");
	if (id->item[2]->n > 40)
		return err_set(err, "its storage has no plain name");
	snprintf(name, sizeof name, "data/%s", id->item[2]->text);
	ret = zip_find(z, name, &t->begin, &n, err);
	if (ret == 0)
		return err_set(err, "the archive has no \"%s\"", name);
	if (ret < 0)
		return -1;
	t->end = t->begin + n;
	if (n != bytes)
		return err_set(err, "its storage has %zu bytes, where %llu "
		    "were announced", n, (unsigned long long)bytes);
	return 0;
}

/* (storage, offset, shape, stride, requires_grad, hooks[, dtype][, more]) */
static int
read_tensor(struct torchfile *t, const struct zip *z,
    const struct pickle_value *v, struct err *err)
{
	const struct pickle_value	*args;
	int64_t				 offset;
	uint64_t			 bytes;
	bool				 untyped;
	size_t				 fixed;
	int				 strides;

	if (pickle_is(v, TORCH_PARAMETER) && v->args->n >= 1)
		v = v->args->item[0];
	untyped = pickle_is(v, TORCH_TENSOR3);
	if (!untyped && !pickle_is(v, TORCH_TENSOR)) {
		err_set(err, "what was saved is no tensor%s%s",
		    v->kind == PICKLE_OBJECT ? " but " : "",
		    v->kind == PICKLE_OBJECT ? v->text : "");
		return err_hint(err, "only plain tensors can be merged");
	}
	args = v->args;
	fixed = untyped ? 7 : 6;
	if (args->n < fixed || args->n > fixed + 1)
		return err_set(err, "the tensor is not described as torch.save "
		    "does");
	if (args->n > fixed && !(args->item[fixed]->kind == PICKLE_NONE ||
	    (args->item[fixed]->kind == PICKLE_DICT && !args->item[fixed]->n)))
		return err_set(err, "the tensor is a conjugate or negative "
		    "view, which safetensors cannot say");
	if (untyped) {
		const struct pickle_value	*name = args->item[6];
		const struct torchtype		*type = name->kind ==
		    PICKLE_NAME ? torchtype_of(name->text) : NULL;

		if (!type)
			return err_set(err, "its element type is not known");
		t->dtype = dtype_of(type->name);
	}
	if (!is_int(args->item[1], &offset) ||
	    torch_numbers(args->item[2], &t->rank, t->shape) < 0 ||
	    torch_numbers(args->item[3], &strides, t->stride) < 0 ||
	    strides != t->rank)
		return err_set(err, "its shape is not made of at most %d "
		    "numbers", WEIGHTS_RANK);
	if (read_storage(t, z, args->item[0], untyped, err) < 0)
		return -1;
	if (__builtin_mul_overflow((uint64_t)offset, t->dtype->bits / 8,
	    &bytes) || bytes > t->end - t->begin)
		return err_set(err, "it begins beyond its storage");
	t->first = t->begin + bytes;
	return 0;
}

int
torchfile_read(struct torchfile *t, const void *data, size_t n,
    struct err *err)
{
	const unsigned char	*p = data;
	struct pickle		 tree = PICKLE_INIT;
	struct zip		 z;
	size_t			 at, len;
	int			 ret;

	*t = (struct torchfile){ 0 };
	if (zip_open(&z, data, n, err) < 0)
		return -1;
	ret = zip_find(&z, "byteorder", &at, &len, err);
	if (ret < 0)
		return -1;
	if (ret && (len != 6 || memcmp(p + at, "little", 6))) {
		err_set(err, "it was written on a machine of another byte "
		    "order");
		return err_hint(err, "only little-endian data are served");
	}
	ret = zip_find(&z, "data.pkl", &at, &len, err);
	if (ret == 0)
		return err_set(err, "the archive has no data.pkl");
	if (ret < 0)
		return -1;
	if (pickle_read(&tree, p + at, len, torch_known, err) < 0)
		return err_at(err, "data.pkl");
	ret = read_tensor(t, &z, tree.root, err);
	pickle_clear(&tree);
	return ret;
}
