/* SPDX-License-Identifier: Apache-2.0 */
/* The changes to one pair of a file: its value, its lines, its key. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/config/intern.h"
#include "runtime/config/yaml_change.h"
#include "runtime/config/yaml_out.h"
#include "runtime/base/banned.h"

const char *
pair_key(const struct node *map, size_t i)
{
	const struct node	*key = node_of(map->item[2 * i]);

	return key->type == NODE_SCALAR && key->kind != SCALAR_MERGE ?
	    key->text : "";
}

const char *
node_indent(const struct node *map)
{
	static const char	spaces[] = "                                ";
	size_t			n = (size_t)(map->column - 1);

	return n < sizeof(spaces) ? spaces + sizeof(spaces) - 1 - n : spaces;
}

/* The value, in one line, in the quotes that were there before. */
void
editor_value(struct editor *ed, int id, bool flow, char quote, struct buf *out)
{
	struct emit	e;

	emit_begin(&e, flow ? EMIT_FLOW : EMIT_LINE, out);
	e.quotes = quote == '"' ? YAML_DOUBLE_QUOTED_SCALAR_STYLE :
	    quote == '\'' ? YAML_SINGLE_QUOTED_SCALAR_STYLE :
	    YAML_ANY_SCALAR_STYLE;
	emit_field(&e, ed->c, id);
	if (emit_end(&e))
		out->failed = true;
}

static void
add_item(struct editor *ed, const char *item, size_t n, bool bare,
    struct buf *out)
{
	char		*copy = strndup(item, n);
	struct emit	 e;

	if (!copy) {
		ed->splices.failed = true;
		return;
	}
	emit_begin(&e, EMIT_LINE, out);
	emit_word(&e, copy, bare);
	if (emit_end(&e))
		out->failed = true;
	free(copy);
}

/* A value of any depth in lines, each behind the indent. */
static void
add_tree(struct editor *ed, int id, const char *indent, struct buf *out)
{
	struct buf	text = BUF_INIT;
	struct emit	e;

	emit_begin(&e, EMIT_BLOCK, &text);
	emit_field(&e, ed->c, id);
	if (emit_end(&e))
		out->failed = true;
	for (const char *line = buf_text(&text), *end;
	    (end = strchr(line, '\n')); line = end + 1)
		buf_addf(out, "%s%.*s%s", indent, (int)(end - line), line,
		    ed->splices.newline);
	buf_clear(&text);
}

/* True for a mapping that has something in it. */
static bool
is_map(struct editor *ed, int id)
{
	struct buf	text = BUF_INIT;
	struct tree	tree;
	bool		map = false;

	if (!(fields[id].flags & FIELD_TREE))
		return false;
	config_get(ed->c, (enum field_id)id, &text);
	if (!tree_read(&tree, buf_text(&text), text.len, "value", 0, NULL)) {
		map = tree.root && tree.root->type == NODE_MAP &&
		    tree.root->count;
		tree_clear(&tree);
	}
	buf_clear(&text);
	return map;
}

/* "key: value", or a list or mapping in lines. */
void
editor_lines(struct editor *ed, int id, const char *indent, struct buf *out)
{
	const struct field	*f = &fields[id];
	const char		*nl = ed->splices.newline;
	struct buf		 list = BUF_INIT, deeper = BUF_INIT;
	const char		*item, *end;

	if (is_map(ed, id)) {
		buf_addf(out, "%s%s:%s", indent, f->key, nl);
		buf_addf(&deeper, "%s  ", indent);
		add_tree(ed, id, buf_text(&deeper), out);
		buf_clear(&deeper);
		return;
	}
	buf_addf(out, "%s%s:", indent, f->key);
	if (f->type == TYPE_LIST)
		config_get(ed->c, (enum field_id)id, &list);
	if (!list.len) {
		buf_adds(out, " ");
		editor_value(ed, id, false, 0, out);
		buf_adds(out, nl);
		return;
	}
	buf_adds(out, nl);
	for (item = buf_text(&list); (end = strchr(item, '\n'));
	    item = end + 1) {
		buf_addf(out, "%s- ", indent);
		add_item(ed, item, (size_t)(end - item), f->flags & FIELD_BARE,
		    out);
		buf_adds(out, nl);
	}
	buf_clear(&list);
}

/* How many items at both ends of a list stay as they are. */
static void
common(const struct node *list, char *const *want, size_t n, size_t *front,
    size_t *back)
{
	size_t	most = list->count < n ? list->count : n, i = 0, j = 0;

	while (i < most && !strcmp(node_of(list->item[i])->text, want[i]))
		i++;
	while (j < most - i && !strcmp(
	    node_of(list->item[list->count - 1 - j])->text, want[n - 1 - j]))
		j++;
	*front = i;
	*back = j;
}

/* A list in lines: those items that differ. */
static void
set_items(struct editor *ed, int id, const struct node *key,
    const struct node *list)
{
	const struct tree	*t = &ed->tree;
	struct buf		 text = BUF_INIT, lines = BUF_INIT;
	struct strv		 want = STRV_INIT;
	const char		*item, *end;
	size_t			 front, back, from, to, last;

	config_get(ed->c, (enum field_id)id, &text);
	for (item = buf_text(&text); (end = strchr(item, '\n')); item = end + 1)
		if (strv_addf(&want, "%.*s", (int)(end - item), item))
			ed->splices.failed = true;
	common(list, want.item, want.count, &front, &back);
	last = list->count - back;
	from = front ? tree_next_line(t, list->item[front - 1]->end) :
	    tree_line(t, list->item[0]->start);
	to = last > front ? tree_next_line(t, list->item[last - 1]->end) : from;
	splices_comments(&ed->splices, from, to, &lines);
	for (size_t i = front; i < want.count - back; i++) {
		buf_addf(&lines, "%s- ", node_indent(list));
		add_item(ed, want.item[i], strlen(want.item[i]),
		    fields[id].flags & FIELD_BARE, &lines);
		buf_adds(&lines, ed->splices.newline);
	}
	if (!want.count) {
		const char	*colon = memchr(t->text + key->end, ':',
		    t->size - key->end);

		if (colon)
			splice_text(&ed->splices, (size_t)(colon - t->text) + 1,
			    (size_t)(colon - t->text) + 1, " []");
	}
	splice_buf(&ed->splices, from, to, &lines);
	strv_clear(&want);
	buf_clear(&text);
}

void
editor_set(struct editor *ed, int id, const struct node *key,
    const struct node *value, bool flow)
{
	struct buf	text = BUF_INIT, comments = BUF_INIT;
	size_t		next = tree_next_line(&ed->tree, value->end);
	char		quote = value->start < value->end ?
	    ed->tree.text[value->start] : 0;

	if (flow && quote != '\'' && ed->tree.text[key->start] == '"')
		quote = '"';			/* JSON */
	if (value->marked) {
		ed->why = "it has anchors or tags";
		return;
	}
	if (fields[id].type == TYPE_LIST && value->type == NODE_LIST &&
	    !value->flow && value->count) {
		set_items(ed, id, key, value);
		return;
	}
	if (value->type == NODE_MAP && !value->flow && is_map(ed, id)) {
		size_t	from = tree_line(&ed->tree, value->start);

		splices_comments(&ed->splices, from, next, &text);
		add_tree(ed, id, node_indent(value), &text);
		splice_buf(&ed->splices, from, next, &text);
		return;
	}
	if (value->start == value->end)		/* "key:" and nothing */
		buf_adds(&text, " ");
	editor_value(ed, id, flow, quote, &text);
	splice_buf(&ed->splices, value->start, value->end, &text);
	if (value->type == NODE_LIST || value->type == NODE_MAP)
		splices_comments(&ed->splices, value->start, value->end,
		    &comments);
	if (comments.len)
		splice_buf(&ed->splices, next, next, &comments);
}

/* Takes the i-th pair of a mapping out. */
void
editor_remove(struct editor *ed, const struct node *map, size_t i)
{
	const struct tree	*t = &ed->tree;
	const struct node	*key = map->item[2 * i];
	const struct node	*value = map->item[2 * i + 1];
	size_t			 start = tree_line(t, key->start);

	if (!map->flow) {
		splice_cut(&ed->splices, start, tree_next_line(t, value->end));
		return;
	}
	if (i > 0)
		splice_text(&ed->splices, map->item[2 * i - 1]->end,
		    value->end, "");
	else
		splice_text(&ed->splices, key->start, map->count > 2 ?
		    map->item[2]->start : value->end, "");
}

/* Where lines for a new key go: in order, where the file has one, else at the
 * end. */
size_t
editor_place(const struct editor *ed, const struct node *map, const char *key)
{
	const struct tree	*t = &ed->tree;
	size_t			 n = map->count / 2, after = n;

	for (size_t i = 1; i < n; i++)
		if (strcmp(pair_key(map, i - 1), pair_key(map, i)) > 0)
			return tree_next_line(t, map->item[2 * n - 1]->end);
	for (after = 0; after < n && strcmp(pair_key(map, after), key) < 0;)
		after++;
	return after ? tree_next_line(t, map->item[2 * after - 1]->end) :
	    tree_line(t, map->item[0]->start);
}

/* Adds "key: value" to a mapping in braces, in the form of its last pair. */
void
editor_add_flow(struct editor *ed, const struct node *map, const char *key,
    int id, const char *value)
{
	const struct tree	*t = &ed->tree;
	const struct node	*last = map->item[map->count - 1];
	struct buf		 text = BUF_INIT;
	size_t			 from = 0, n = 0;
	char			 quote = t->text[map->item[0]->start];

	if (map->count > 2) {
		from = map->item[map->count - 3]->end;
		n = map->item[map->count - 2]->start - from;
	}
	if (n && !memchr(t->text + from, '#', n))
		buf_add(&text, t->text + from, n);
	else
		buf_adds(&text, ", ");
	buf_addf(&text, quote == '"' ? "\"%s\": " : "%s: ", key);
	if (value)
		buf_adds(&text, value);
	else
		editor_value(ed, id, true, quote, &text);
	splice_buf(&ed->splices, last->end, last->end, &text);
}

/* Today's key and word in place of an old one. */
void
editor_rename(struct editor *ed, int id, const struct node *key,
    const struct node *value, bool flow)
{
	struct buf	text = BUF_INIT;
	char		quote[2] = "";

	if (key->type != NODE_SCALAR || key->marked)
		return;
	if (strcmp(key->text, fields[id].key)) {
		if (key->quoted)
			quote[0] = ed->tree.text[key->start];
		buf_addf(&text, "%s%s%s", quote, fields[id].key, quote);
		splice_buf(&ed->splices, key->start, key->end, &text);
	}
	if (fields[id].type != TYPE_CHOICE || value->type != NODE_SCALAR ||
	    value->kind != SCALAR_TEXT)
		return;
	config_get(ed->c, (enum field_id)id, &text);
	if (strcmp(value->text, buf_text(&text)))
		editor_set(ed, id, key, value, flow);
	buf_clear(&text);
}
