/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the configuration as PyYAML's safe_dump would. */
#include "runtime/config/yaml_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/intern.h"
#include "runtime/base/banned.h"

/* As PyYAML: "1e-05" would be a text, so a point goes in. */
static void
emit_real(struct emit *e, const char *text)
{
	char	dotted[48];
	size_t	n = strcspn(text, "e");

	if (!text[n] || strchr(text, '.')) {
		emit_plain(e, text);
		return;
	}
	snprintf(dotted, sizeof(dotted), "%.*s.0%s", (int)n, text, text + n);
	emit_plain(e, dotted);
}

void
emit_word(struct emit *e, const char *text, bool bare)
{
	enum scalar	kind = scalar_of(text);

	if (bare && (kind == SCALAR_BOOL || kind == SCALAR_INT ||
	    kind == SCALAR_FLOAT))
		emit_plain(e, text);
	else
		emit_text(e, text);
}

static void
emit_yaml(struct emit *e, const char *text)
{
	struct tree	tree;

	if (tree_read(&tree, text, strlen(text), "value", 0, NULL) ||
	    !tree.root)
		e->failed = true;
	else
		emit_node(e, tree.root);
	tree_clear(&tree);
}

void
emit_field(struct emit *e, const struct config *c, int id)
{
	const struct field	*f = &fields[id];
	bool			 bare = f->flags & FIELD_BARE;
	struct buf		 text = BUF_INIT;

	if (config_get(c, (enum field_id)id, &text))
		e->failed = true;
	if (f->flags & FIELD_TREE) {
		emit_yaml(e, buf_text(&text));
	} else if (f->type == TYPE_REAL) {
		emit_real(e, buf_text(&text));
	} else if (f->type == TYPE_LIST) {
		const char	*item = buf_text(&text), *end;

		emit_list(e);
		for (; (end = strchr(item, '\n')); item = end + 1) {
			char	*copy = strndup(item, (size_t)(end - item));

			if (copy)
				emit_word(e, copy, bare);
			else
				e->failed = true;
			free(copy);
		}
		emit_list_end(e);
	} else if (f->type == TYPE_TEXT || f->type == TYPE_CHOICE)
		emit_word(e, buf_text(&text), bare);
	else
		emit_plain(e, buf_text(&text));
	buf_clear(&text);
}

static bool
printed(const struct config *c, int id)
{
	const struct field	*f = &fields[id];

	if (f->flags & FIELD_FLAGONLY || config_null(c, (enum field_id)id) ||
	    !config_belongs(c, (enum field_id)id))
		return false;
	if (c->origin[id] != ORIGIN_DEFAULT)
		return true;
	return !*f->group && f->type != TYPE_LIST &&
	    config_applies(c, (enum field_id)id);
}

struct line {
	const char		*key;	/* borrowed */
	const struct extra	*extra;	/* or NULL: */
	int			 id;	/* a field; -1: a group */
};

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->key,
	    ((const struct line *)b)->key);
}

static bool
group_is_empty(const struct config *c, const char *group)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(fields[i].group, group) && printed(c, i))
			return false;
	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, group))
			return false;
	return true;
}

static void
emit_extra(struct emit *e, const struct extra *extra)
{
	if (extra->kind == SCALAR_TEXT)
		emit_text(e, extra->key);
	else
		emit_plain(e, extra->key);
	emit_yaml(e, extra->text);
}

static void
emit_group(struct emit *e, const struct config *c, const char *group)
{
	struct line	*lines;
	size_t		 n = 0;

	lines = calloc(2 * FIELD_COUNT + c->extra_count + 2, sizeof(*lines));
	if (!lines) {
		e->failed = true;
		return;
	}
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (!strcmp(fields[i].group, group) && printed(c, i))
			lines[n++] = (struct line){ fields[i].key, NULL, i };
		if (!*group && *fields[i].group && (!i ||
		    strcmp(fields[i].group, fields[i - 1].group)) &&
		    !group_is_empty(c, fields[i].group))
			lines[n++] = (struct line){ fields[i].group, NULL,
			    -1 };
	}
	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, group))
			lines[n++] = (struct line){ c->extra[i].key,
			    &c->extra[i], 0 };
	if (n)
		qsort(lines, n, sizeof(*lines), by_key);
	emit_map(e);
	for (size_t i = 0; i < n; i++) {
		if (lines[i].extra) {
			emit_extra(e, lines[i].extra);
			continue;
		}
		emit_text(e, lines[i].key);
		if (lines[i].id < 0)
			emit_group(e, c, lines[i].key);
		else
			emit_field(e, c, lines[i].id);
	}
	emit_map_end(e);
	free(lines);
}

int
yaml_flow(const char *text, struct buf *out, struct err *err)
{
	struct tree	tree;
	struct emit	e;
	int		rc = 0;

	if (tree_read(&tree, text, strlen(text), "value", 0, err))
		return -1;
	out->max = 1 << 20;
	emit_begin(&e, EMIT_LINE, out);
	if (tree.root)
		emit_node(&e, tree.root);
	else
		emit_plain(&e, "null");
	if (emit_end(&e))
		rc = err_set(err, "the value is too large");
	tree_clear(&tree);
	return rc;
}

int
config_print(const struct config *c, struct buf *out)
{
	struct emit	e;

	emit_begin(&e, EMIT_BLOCK, out);
	emit_group(&e, c, "");
	return emit_end(&e);
}
