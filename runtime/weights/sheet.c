/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/weights/sheet.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/safetensors_write.h"

#include "runtime/base/banned.h"

int
sheet_put(struct sheet *s, uint64_t at, const void *data, size_t n,
    struct err *err)
{
	if (s->patches == s->room) {
		size_t		 room = s->room ? s->room * 2 : 16;
		struct patch	*grown = realloc(s->patch,
		    room * sizeof *grown);

		if (!grown)
			return err_nomem(err);
		s->patch = grown;
		s->room = room;
	}
	s->patch[s->patches++] = (struct patch){ at, s->text.len, n };
	if (at + n > s->size)
		s->size = at + n;
	return buf_add(&s->text, data, n) < 0 ? err_nomem(err) : 0;
}

void
sheet_clear(struct sheet *s)
{
	free(s->name);
	free(s->tensor);
	free(s->at);
	free(s->patch);
	buf_clear(&s->text);
	*s = (struct sheet){ 0 };
}

/* As the format's own library has it: by type, from the end of its list on (so
 * large elements come first, and each tensor is aligned), then by name.  The
 * table behind dtype_of is in the order of that list. */
static int
by_size(const void *a, const void *b, void *list)
{
	const struct weights	*w = list;
	const struct whole	*x = &w->tensor[*(const size_t *)a];
	const struct whole	*y = &w->tensor[*(const size_t *)b];

	if (x->dtype != y->dtype)
		return x->dtype > y->dtype ? -1 : 1;
	return strcmp(weights_name(x), weights_name(y));
}

int
sheet_safetensors(struct sheet *s, const struct weights *w, struct err *err)
{
	static const char *const metadata[] = { "format", "pt", NULL };
	struct safetensors_row	*row = calloc(s->tensors + 1, sizeof *row);
	struct buf		 head = { .max = (size_t)1 << 30 };
	uint64_t		 at = 0;
	int			 ret = -1;

	s->text.max = head.max;
	if (!row) {
		err_nomem(err);
		goto out;
	}
	if (s->tensors)
		qsort_r(s->tensor, s->tensors, sizeof *s->tensor, by_size,
		    (void *)(uintptr_t)w);
	for (size_t i = 0; i < s->tensors; i++) {
		const struct whole *t = &w->tensor[s->tensor[i]];

		row[i] = (struct safetensors_row){ weights_name(t), t->dtype,
		    t->shape, t->rank, at, at + t->bytes };
		at += t->bytes;
	}
	if (safetensors_header(&head, row, s->tensors, metadata, err) < 0 ||
	    sheet_put(s, 0, head.data, head.len, err) < 0)
		goto out;
	for (size_t i = 0; i < s->tensors; i++)
		s->at[i] = head.len + row[i].begin;
	s->size = head.len + at;
	ret = 0;
out:
	buf_clear(&head);
	free(row);
	return ret;
}
