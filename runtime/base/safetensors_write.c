/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/safetensors_write.h"

#include <jansson.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/safetensors.h"

#include "runtime/base/banned.h"

static int
add_json(const char *data, size_t n, void *out)
{
	return buf_add(out, data, n);
}

static json_t *
row_json(const struct safetensors_row *r)
{
	json_t *shape = json_array();

	for (int i = 0; i < r->rank; i++)
		json_array_append_new(shape, json_integer(r->shape[i]));
	return json_pack("{s:s, s:o, s:[I, I]}", "dtype", r->dtype->name,
	    "shape", shape, "data_offsets", (json_int_t)r->begin,
	    (json_int_t)r->end);
}

int
safetensors_header(struct buf *out, const struct safetensors_row *row,
    size_t n, const char *const metadata[], struct err *err)
{
	struct buf	 text = { .max = SAFETENSORS_HEADER_MAX };
	json_t		*root = json_object(), *more = json_object();
	unsigned char	 head[8];
	int		 ret = -1;

	for (size_t i = 0; metadata[i]; i += 2)
		json_object_set_new(more, metadata[i],
		    json_string(metadata[i + 1]));
	json_object_set_new(root, "__metadata__", more);
	for (size_t i = 0; i < n; i++)
		if (json_object_set_new(root, row[i].name,
		    row_json(&row[i])) < 0) {
			err_set(err, "tensor \"%s\": its name is not UTF-8",
			    row[i].name);
			goto out;
		}
	if (json_dump_callback(root, add_json, &text, JSON_COMPACT) < 0 ||
	    buf_failed(&text)) {
		err_set(err, "the header of %zu tensors is longer than the "
		    "%d bytes that safetensors allows", n,
		    SAFETENSORS_HEADER_MAX);
		err_hint(err, "write several files: --max_shard_size");
		goto out;
	}
	while (text.len % 8)
		buf_adds(&text, " ");
	for (int i = 0; i < 8; i++)
		head[i] = (unsigned char)((uint64_t)text.len >> (8 * i));
	buf_add(out, head, sizeof head);
	buf_add(out, text.data, text.len);
	ret = buf_failed(out) || buf_failed(&text) ? err_nomem(err) : 0;
out:
	buf_clear(&text);
	json_decref(root);
	return ret;
}
