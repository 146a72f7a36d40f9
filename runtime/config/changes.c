/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/changes.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/intern.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

/* Takes the buffers' texts. */
static int
add(struct changes *out, int field, bool effect, struct buf *path,
    struct buf *was, struct buf *is)
{
	struct change	 new = { field, NULL, NULL, NULL, effect };
	struct change	*more;

	/* An empty buffer has no text to give. */
	buf_adds(path, "");
	buf_adds(was, "");
	buf_adds(is, "");
	new.path = buf_detach(path);
	new.was = buf_detach(was);
	new.is = buf_detach(is);
	more = realloc(out->item, (out->count + 1) * sizeof *more);
	if (more)
		out->item = more;
	if (!more || !new.path || !new.was || !new.is) {
		free(new.path);
		free(new.was);
		free(new.is);
		return -1;
	}
	out->item[out->count++] = new;
	return 0;
}

static int
compare_field(struct changes *out, const struct config *was,
    const struct config *is, enum field_id id)
{
	struct buf	path = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
	int		ret = 0;

	if (config_say(was, id, &a) < 0 || config_say(is, id, &b) < 0)
		ret = -1;
	else if (strcmp(buf_text(&a), buf_text(&b)) ||
	    config_null(was, id) != config_null(is, id)) {
		field_path(id, &path);
		ret = add(out, (int)id, config_applies(was, id) ||
		    config_applies(is, id), &path, &a, &b);
	}
	buf_clear(&path);
	buf_clear(&a);
	buf_clear(&b);
	return ret;
}

static const struct extra *
find_extra(const struct config *c, const struct extra *like)
{
	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, like->group) &&
		    !strcmp(c->extra[i].key, like->key))
			return &c->extra[i];
	return NULL;
}

/* Those of "one" that the other lacks or has otherwise.  What is in both is
 * seen from the first alone. */
static int
compare_extras(struct changes *out, const struct config *one,
    const struct config *other, bool first)
{
	for (size_t i = 0; i < one->extra_count; i++) {
		const struct extra	*e = &one->extra[i];
		const struct extra	*o = find_extra(other, e);
		struct buf		 path = BUF_INIT, a = BUF_INIT;
		struct buf		 b = BUF_INIT;
		int			 ret;

		if (o && (!first || !strcmp(o->text, e->text)))
			continue;
		buf_addf(&path, "%s%s%s", e->group, *e->group ? "." : "",
		    e->key);
		buf_adds(first ? &a : &b, e->text);
		buf_adds(first ? &b : &a, o ? o->text : "absent");
		ret = add(out, -1, true, &path, &a, &b);
		buf_clear(&path);
		buf_clear(&a);
		buf_clear(&b);
		if (ret < 0)
			return -1;
	}
	return 0;
}

int
changes_find(struct changes *out, const struct config *was,
    const struct config *is, struct err *err)
{
	struct changes	new = CHANGES_INIT;

	for (int i = 0; i < FIELD_COUNT; i++)
		if (compare_field(&new, was, is, (enum field_id)i) < 0)
			goto nomem;
	if (compare_extras(&new, was, is, true) < 0 ||
	    compare_extras(&new, is, was, false) < 0)
		goto nomem;
	changes_clear(out);
	*out = new;
	return 0;
nomem:
	changes_clear(&new);
	return err_nomem(err);
}

int
changes_print(const struct changes *c, struct buf *out)
{
	for (size_t i = 0; i < c->count; i++)
		buf_addf(out, "%s: %s -> %s%s\n", c->item[i].path,
		    c->item[i].was, c->item[i].is, c->item[i].effect ? "" :
		    "  (no effect)");
	return buf_failed(out) ? -1 : 0;
}

void
changes_clear(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->item[i].path);
		free(c->item[i].was);
		free(c->item[i].is);
	}
	free(c->item);
	*c = (struct changes)CHANGES_INIT;
}
