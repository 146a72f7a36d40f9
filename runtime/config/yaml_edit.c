/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a file in place: the lines of those fields that differ, and no other
 * byte.  The result is read again; where it is not what was meant (a value
 * that an alias shares, a form that nobody foresaw), the caller is told so.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/intern.h"
#include "runtime/config/yaml_change.h"
#include "runtime/config/yaml_out.h"
#include "runtime/base/banned.h"

enum act { KEEP, SET, REMOVE };

/* A field's value as text, the default's where it is null: a file says null and
 * nothing at all in the same way. */
static void
value_of(const struct editor *ed, const struct config *c, int id,
    struct buf *out)
{
	config_get(config_null(c, (enum field_id)id) ? &ed->plain : c,
	    (enum field_id)id, out);
}

static bool
same(const struct editor *ed, const struct config *a, const struct config *b,
    int id)
{
	struct buf	x = BUF_INIT, y = BUF_INIT;
	bool		equal;

	value_of(ed, a, id, &x);
	value_of(ed, b, id, &y);
	equal = !buf_failed(&x) && !buf_failed(&y) &&
	    !strcmp(buf_text(&x), buf_text(&y));
	buf_clear(&x);
	buf_clear(&y);
	return equal;
}

static enum act
act_of(const struct editor *ed, int id)
{
	bool	known = ed->was.origin[id] != ORIGIN_DEFAULT;

	if (fields[id].flags & FIELD_FLAGONLY)
		return KEEP;
	if (ed->c->origin[id] == ORIGIN_DEFAULT ||
	    !config_belongs(ed->c, (enum field_id)id) ||
	    config_null(ed->c, (enum field_id)id))
		return known ? REMOVE : KEEP;
	return known && same(ed, ed->c, &ed->was, id) ? KEEP : SET;
}

/* The row of a mapping's pair, or -1. */
static int
id_of(const struct node *map, size_t i, const char *group)
{
	const char	*key = pair_key(map, i);

	return *group ? config_key_in(group, key) : config_key_at_top(key);
}

/* The section's pair in the root, or NULL. */
static struct node *const *
section(const struct editor *ed, const char *group)
{
	const struct node	*root = ed->tree.root;

	for (size_t i = root->count / 2; i-- > 0;)
		if (!strcmp(pair_key(root, i), group))
			return &root->item[2 * i];
	return NULL;
}

/* True where a pair keeps its place: its value is changed there. */
static bool
stays(const struct node *map, size_t i, const char *group, const enum act *acts)
{
	int	id = id_of(map, i, group);

	if (id < 0 || acts[id] == KEEP)
		return true;
	/* not what an old file has at the top: fp16, dynamo_backend */
	return acts[id] == SET && !strcmp(fields[id].group, group) &&
	    strcmp(pair_key(map, i), "fp16");
}

/* The changes to what a mapping has; "taken" says which fields were there. */
static void
edit_map(struct editor *ed, const struct node *map, const char *group,
    const enum act *acts, bool *taken)
{
	for (size_t i = map->count / 2; i-- > 0;) {
		int	id = id_of(map, i, group);

		if (!stays(map, i, group, acts)) {
			editor_remove(ed, map, i);
			continue;
		}
		if (id >= 0 && ed->rename && acts[id] == KEEP)
			editor_rename(ed, id, map->item[2 * i],
			    map->item[2 * i + 1], map->flow);
		if (id < 0 || acts[id] == KEEP || taken[id])
			continue;	/* of equal keys the last counts */
		editor_set(ed, id, map->item[2 * i], map->item[2 * i + 1],
		    map->flow);
		taken[id] = true;
	}
}

struct addition {
	const char	*key;
	int		 id;		/* or -1: a section */
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct addition *)a)->key,
	    ((const struct addition *)b)->key);
}

/* What a group lacks, in the order of the keys. */
static size_t
additions(const char *group, const enum act *acts, const bool *taken,
    struct addition *out)
{
	size_t	n = 0;

	for (int id = 0; id < FIELD_COUNT; id++)
		if (!strcmp(fields[id].group, group) && acts[id] == SET &&
		    !taken[id])
			out[n++] = (struct addition){ fields[id].key, id };
	if (n)
		qsort(out, n, sizeof(*out), by_name);
	return n;
}

/* A section's lines, or the section in braces. */
static void
add_section(struct editor *ed, const struct addition *add, size_t n,
    bool braces, struct buf *out)
{
	struct buf	indent = BUF_INIT;
	struct emit	e;

	buf_addf(&indent, "%s  ", node_indent(ed->tree.root));
	for (size_t i = 0; i < n && !braces; i++)
		editor_lines(ed, add[i].id, buf_text(&indent), out);
	buf_clear(&indent);
	if (!braces)
		return;
	emit_begin(&e, EMIT_FLOW, out);
	e.quotes = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	emit_map(&e);
	for (size_t i = 0; i < n; i++) {
		emit_text(&e, fields[add[i].id].key);
		emit_field(&e, ed->c, add[i].id);
	}
	emit_map_end(&e);
	if (emit_end(&e))
		out->failed = true;
}

/* A section that is not there, or empty. */
static void
begin_section(struct editor *ed, const char *group, struct node *const *pair,
    const struct addition *add, size_t n)
{
	const struct tree	*t = &ed->tree;
	struct buf		 lines = BUF_INIT;
	size_t			 at, from;

	if (pair && t->root->flow) {
		add_section(ed, add, n, true, &lines);
		splice_buf(&ed->splices, pair[1]->start, pair[1]->end, &lines);
		return;
	}
	if (t->root->flow) {
		add_section(ed, add, n, true, &lines);
		editor_add_flow(ed, t->root, group, -1, buf_text(&lines));
		buf_clear(&lines);
		return;
	}
	if (pair) {			/* "key: {}  # comment", or null */
		for (from = pair[1]->start; from > pair[0]->end &&
		    t->text[from - 1] == ' '; from--)
			;
		splice_text(&ed->splices, from, pair[1]->end, "");
		at = tree_next_line(t, pair[1]->end);
	} else {
		at = editor_place(ed, t->root, group);
		buf_addf(&lines, "%s%s:%s", node_indent(t->root), group,
		    ed->splices.newline);
	}
	add_section(ed, add, n, false, &lines);
	splice_buf(&ed->splices, at, at, &lines);
}

static void
add_field(struct editor *ed, const struct node *map, int id)
{
	struct buf	lines = BUF_INIT;
	size_t		at;

	if (map->flow) {
		editor_add_flow(ed, map, fields[id].key, id, NULL);
		return;
	}
	at = editor_place(ed, map, fields[id].key);
	editor_lines(ed, id, node_indent(map), &lines);
	splice_buf(&ed->splices, at, at, &lines);
}

/* The changes to a section that is there.  False where it has none of its own
 * and is to be begun. */
static bool
edit_section(struct editor *ed, const char *group, const enum act *acts,
    bool *taken)
{
	struct node *const	*pair = section(ed, group);
	const struct node	*map = pair ? pair[1] : NULL;
	struct addition		 add[FIELD_COUNT];
	size_t			 n, left = 0;

	if (!map || map->type == NODE_SCALAR ||
	    (map->type == NODE_MAP && !map->count && !map->marked))
		return false;
	if (map->type == NODE_ALIAS || map->marked) {
		for (int id = 0; id < FIELD_COUNT; id++)
			if (!strcmp(fields[id].group, group) &&
			    acts[id] != KEEP)
				ed->why = "it has anchors or tags";
		return true;
	}
	for (size_t i = 0; i < map->count / 2; i++)
		left += stays(map, i, group, acts);
	if (!left && !additions(group, acts, taken, add)) {
		editor_remove(ed, ed->tree.root,
		    (size_t)(pair - ed->tree.root->item) / 2);
		return true;
	}
	edit_map(ed, map, group, acts, taken);
	n = additions(group, acts, taken, add);
	for (size_t i = 0; i < n; i++)
		add_field(ed, map, add[i].id);
	return true;
}

static void
edit_all(struct editor *ed)
{
	enum act	 acts[FIELD_COUNT];
	bool		 taken[FIELD_COUNT] = { false };
	struct addition	 top[2 * FIELD_COUNT], add[FIELD_COUNT];
	size_t		 n, m;

	for (int id = 0; id < FIELD_COUNT; id++)
		acts[id] = act_of(ed, id);
	for (size_t i = 0; i < ed->tree.root->count / 2 && ed->rename; i++) {
		int	id = id_of(ed->tree.root, i, "");

		/* fp16, dynamo_backend: they go where they belong today, or
		 * away where they say nothing */
		if (id >= 0 && acts[id] == KEEP && (*fields[id].group ||
		    !strcmp(pair_key(ed->tree.root, i), "fp16")))
			acts[id] = ed->was.origin[id] != ORIGIN_DEFAULT ?
			    SET : REMOVE;
	}
	edit_map(ed, ed->tree.root, "", acts, taken);
	n = additions("", acts, taken, top);
	for (int id = 0; id < FIELD_COUNT; id++) {
		const char	*group = fields[id].group;

		if (*group && (!id || strcmp(group, fields[id - 1].group)) &&
		    !edit_section(ed, group, acts, taken) &&
		    additions(group, acts, taken, add))
			top[n++] = (struct addition){ group, -1 };
	}
	if (n)
		qsort(top, n, sizeof(*top), by_name);
	for (size_t i = 0; i < n; i++) {
		if (top[i].id >= 0) {
			add_field(ed, ed->tree.root, top[i].id);
			continue;
		}
		m = additions(top[i].key, acts, taken, add);
		begin_section(ed, top[i].key, section(ed, top[i].key), add, m);
	}
}

/* Does the new text say what was meant, and keep what no row knows? */
static bool
holds(const struct editor *ed, const struct buf *text)
{
	struct config	now;
	bool		fine;

	config_init(&now);
	now.keep_unknown = true;
	fine = !config_parse(&now, buf_text(text), text->len, ed->tree.name,
	    NULL) && now.extra_count == ed->was.extra_count;
	for (int id = 0; id < FIELD_COUNT && fine; id++)
		fine = fields[id].flags & FIELD_FLAGONLY ||
		    !config_belongs(ed->c, (enum field_id)id) ||
		    same(ed, &now, ed->c, id);
	for (size_t i = 0; i < now.extra_count && fine; i++)
		fine = !strcmp(now.extra[i].text, ed->was.extra[i].text);
	config_clear(&now);
	return fine;
}

int
config_update_text(const struct config *c, const char *text, size_t n,
    const char *name, unsigned how, struct buf *out, const char **why,
    struct err *err)
{
	struct editor	ed = { .c = c, .rename = how & CONFIG_RENAME };
	struct buf	result = BUF_INIT;
	int		rc = -1;

	*why = NULL;
	config_init(&ed.was);
	config_init(&ed.plain);
	ed.was.keep_unknown = true;
	if (config_parse(&ed.was, text, n, name, err))
		goto out;
	if (tree_read(&ed.tree, text, n, name, tree_flags(name), err))
		goto out;
	splices_init(&ed.splices, &ed.tree);
	edit_all(&ed);
	if (ed.splices.failed) {
		err_nomem(err);
		goto out;
	}
	if (!ed.why && (splices_apply(&ed.splices, &result) ||
	    !holds(&ed, &result)))
		ed.why = "its form leaves no place for a change";
	if (!ed.why && buf_add(out, buf_text(&result), result.len)) {
		err_nomem(err);
		goto out;
	}
	*why = ed.why;
	rc = ed.why ? 1 : 0;
out:
	splices_clear(&ed.splices);
	tree_clear(&ed.tree);
	buf_clear(&result);
	config_clear(&ed.was);
	config_clear(&ed.plain);
	return rc;
}
