/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/yaml_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/banned.h"

enum {
	DEEPEST = 64,		/* levels, with aliases followed */
	HEAVIEST = 100000	/* nodes, likewise: no file has as many */
};

struct compose {
	struct tree	*tree;
	struct err	*err;
	uint32_t	*byte_of;	/* by character; NULL: all ASCII */
	struct buf	 joined;	/* JSON, its pairs made one; or empty */
	size_t		 characters;
	size_t		 bom;		/* bytes in front, unseen by libyaml */
	struct node	*stack[DEEPEST];
	unsigned	 depth;
	size_t		 at;		/* a place that was looked up, and */
	int		 line, column;	/* where that is */
};

static void
place(struct compose *c, size_t byte, int *line, int *column)
{
	const char	*text = c->tree->text;

	if (byte < c->at || !c->line) {
		c->at = c->bom;
		c->line = c->column = 1;
	}
	for (; c->at < byte; c->at++) {
		if (text[c->at] == '\n' || (text[c->at] == '\r' &&
		    (c->at + 1 == c->tree->size || text[c->at + 1] != '\n'))) {
			c->line++;
			c->column = 1;
		} else if ((text[c->at] & 0xc0) != 0x80)
			c->column++;
	}
	*line = c->line;
	*column = c->column;
}

static int
fail(struct compose *c, size_t byte)
{
	int	line, column;

	place(c, byte, &line, &column);
	return err_at(c->err, "%s:%d:%d", c->tree->name, line, column);
}

int
node_fail(const struct tree *tree, const struct node *node, struct err *err)
{
	return err_at(err, "%s:%d:%d", tree->name, node->line, node->column);
}

/* libyaml counts characters; a file is changed in bytes. */
static size_t
byte_at(const struct compose *c, const yaml_mark_t *mark)
{
	size_t	i = mark->index;

	if (!c->byte_of)
		i += c->bom;
	else
		i = c->byte_of[i < c->characters ? i : c->characters];
	return i < c->tree->size ? i : c->tree->size;
}

static int
count_bytes(struct compose *c)
{
	const struct tree	*t = c->tree;
	bool			 ascii = true;

	for (size_t i = c->bom; i < t->size; i++)
		ascii = ascii && !(t->text[i] & 0x80);
	if (ascii)
		return 0;
	c->byte_of = calloc(t->size - c->bom + 1, sizeof(*c->byte_of));
	if (!c->byte_of)
		return err_nomem(c->err);
	for (size_t i = c->bom; i < t->size; i++)
		if ((t->text[i] & 0xc0) != 0x80)
			c->byte_of[c->characters++] = (uint32_t)i;
	c->byte_of[c->characters] = (uint32_t)t->size;
	return 0;
}

/* JSON's pairs of escapes made one; byte_of leads to the bytes that are. */
static int
join_pairs(struct compose *c)
{
	const struct tree	*t = c->tree;

	if (!t->size || !memmem(t->text, t->size, "\\u", 2))
		return 0;
	free(c->byte_of);
	c->byte_of = calloc(t->size - c->bom + 1, sizeof(*c->byte_of));
	if (!c->byte_of)
		return err_nomem(c->err);
	c->characters = tree_join(t, c->bom, &c->joined, c->byte_of);
	return buf_failed(&c->joined) ? err_nomem(c->err) : 0;
}

static struct node *
node_new(struct compose *c, enum node_type type, const yaml_event_t *event)
{
	struct tree	*t = c->tree;
	struct node	*node;

	if (t->count == t->room) {
		size_t		  room = t->room ? 2 * t->room : 64;
		struct node	**all = realloc(t->all, room * sizeof(*all));

		if (!all)
			return NULL;
		t->all = all;
		t->room = room;
	}
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	t->all[t->count++] = node;
	node->type = type;
	node->start = byte_at(c, &event->start_mark);
	node->stop = byte_at(c, &event->end_mark);
	if (node->stop < node->start)
		node->stop = node->start;
	node->end = node->stop;
	node->height = 1;
	node->weight = 1;
	place(c, node->start, &node->line, &node->column);
	return node;
}

/* Puts a finished node, or a collection that begins, into what is around it. */
static int
attach(struct compose *c, struct node *node)
{
	struct node	*up = c->depth ? c->stack[c->depth - 1] : NULL;

	if (!up) {
		c->tree->root = node;
		return 0;
	}
	if (up->count == up->room) {
		size_t		  room = up->room ? 2 * up->room : 8;
		struct node	**item = realloc(up->item,
		    room * sizeof(*item));

		if (!item)
			return err_nomem(c->err);
		up->item = item;
		up->room = room;
	}
	up->item[up->count++] = node;
	return 0;
}

static int
too_deep(struct compose *c, const struct node *node)
{
	err_set(c->err, "more than %d levels within each other", DEEPEST);
	err_hint(c->err, "a configuration has three");
	return fail(c, node->start);
}

/* What a finished node means for those around it. */
static int
account(struct compose *c, const struct node *node)
{
	struct node	*up = c->depth ? c->stack[c->depth - 1] : NULL;

	if (c->depth + node->height > DEEPEST)
		return too_deep(c, node);
	if (!up)
		return 0;
	if (up->height < node->height + 1)
		up->height = node->height + 1;
	up->weight += node->weight;
	if (up->weight > HEAVIEST || c->tree->count > HEAVIEST) {
		err_set(c->err, "more than %d values, aliases followed",
		    HEAVIEST);
		err_hint(c->err, "a configuration has some hundred");
		return fail(c, node->start);
	}
	return 0;
}

static struct node *
anchored(const struct tree *t, const char *name)
{
	for (size_t i = t->count; i-- > 0;)
		if (t->all[i]->anchor && !strcmp(t->all[i]->anchor, name))
			return t->all[i];
	return NULL;
}

static int
give_anchor(struct compose *c, struct node *node, const char *anchor)
{
	const struct node	*other = anchor ? anchored(c->tree, anchor) :
	    NULL;

	if (other) {
		err_set(c->err, "the anchor &%.80s stands on line %d already",
		    anchor, other->line);
		err_hint(c->err, "give one of them another name");
		return fail(c, node->start);
	}
	if (anchor && !(node->anchor = strdup(anchor)))
		return err_nomem(c->err);
	return 0;
}

static bool
tag_is(const char *tag, const char *name)
{
	static const char	front[] = "tag:yaml.org,2002:";

	return !strncmp(tag, front, sizeof(front) - 1) &&
	    !strcmp(tag + sizeof(front) - 1, name);
}

static int
bad_tag(struct compose *c, const struct node *node, const char *tag)
{
	err_set(c->err, "the tag %.80s is not for a value like this", tag);
	err_hint(c->err, "remove the tag: a configuration needs none");
	return fail(c, node->start);
}

/* Dates that are none and "0x_" have a form that Python then refuses; "=" and
 * "<<" are words for keys alone. */
static int
refuse_form(struct compose *c, struct node *node)
{
	const struct node	*up = c->depth ? c->stack[c->depth - 1] : NULL;
	bool			 key = up && up->type == NODE_MAP &&
	    up->count % 2 == 0;

	if (node->kind == SCALAR_VALUE && key)
		node->kind = SCALAR_TEXT;
	if (!(node->kind == SCALAR_INT && !scalar_digits(node->text)) &&
	    !(node->kind == SCALAR_DATE && !scalar_date(node->text)) &&
	    node->kind != SCALAR_VALUE &&
	    !(node->kind == SCALAR_MERGE && !key))
		return 0;
	err_set(c->err, "%.80s is no value", node->text);
	err_hint(c->err, "where a text is meant, write it in quotes: '%.80s'",
	    node->text);
	return fail(c, node->start);
}

static int
give_kind(struct compose *c, struct node *node, const char *tag, bool plain)
{
	static const struct { const char *tag; enum scalar kind; } tags[] = {
		{ "bool", SCALAR_BOOL }, { "int", SCALAR_INT },
		{ "float", SCALAR_FLOAT }, { "timestamp", SCALAR_DATE } };
	enum scalar	form = scalar_of(node->text);

	if (!tag || !strcmp(tag, "!")) {
		node->kind = plain ? form : SCALAR_TEXT;
		return 0;
	}
	if (tag_is(tag, "str")) {
		node->kind = SCALAR_TEXT;
		return 0;
	}
	if (tag_is(tag, "null")) {
		node->kind = SCALAR_NULL;
		return 0;
	}
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (tag_is(tag, tags[i].tag) && form == tags[i].kind) {
			node->kind = form;
			return 0;
		}
	return bad_tag(c, node, tag);
}

static int
scalar(struct compose *c, const yaml_event_t *event)
{
	struct node	*node = node_new(c, NODE_SCALAR, event);
	const char	*value = (const char *)event->data.scalar.value;
	const char	*anchor = (const char *)event->data.scalar.anchor;
	const char	*tag = (const char *)event->data.scalar.tag;

	if (!node)
		return err_nomem(c->err);
	node->marked = anchor || tag;
	node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	node->block = event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
	    event->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
	/* the blanks behind a block scalar are no part of its lines */
	while (node->quoted && node->end > node->start &&
	    strchr(" \n\r", c->tree->text[node->end - 1]))
		node->end--;
	if (strlen(value) != event->data.scalar.length) {
		err_set(c->err, "a text has a zero byte in it");
		err_hint(c->err, "take \\0 out of the quotes");
		return fail(c, node->start);
	}
	node->text = strdup(value);
	if (!node->text)
		return err_nomem(c->err);
	if (give_kind(c, node, tag, !node->quoted ||
	    event->data.scalar.plain_implicit) ||
	    refuse_form(c, node) || give_anchor(c, node, anchor) ||
	    attach(c, node))
		return -1;
	return account(c, node);
}

static int
open_node(struct compose *c, const yaml_event_t *event, bool map)
{
	struct node	*node = node_new(c, map ? NODE_MAP : NODE_LIST, event);
	const char	*anchor, *tag;

	if (!node)
		return err_nomem(c->err);
	if (map) {
		anchor = (const char *)event->data.mapping_start.anchor;
		tag = (const char *)event->data.mapping_start.tag;
		node->flow = event->data.mapping_start.style ==
		    YAML_FLOW_MAPPING_STYLE;
	} else {
		anchor = (const char *)event->data.sequence_start.anchor;
		tag = (const char *)event->data.sequence_start.tag;
		node->flow = event->data.sequence_start.style ==
		    YAML_FLOW_SEQUENCE_STYLE;
	}
	node->marked = anchor || tag;
	node->open = true;
	if (tag && strcmp(tag, "!") && !tag_is(tag, map ? "map" : "seq"))
		return bad_tag(c, node, tag);
	if (give_anchor(c, node, anchor))
		return -1;
	if (c->depth == DEEPEST)
		return too_deep(c, node);
	if (attach(c, node))
		return -1;
	c->stack[c->depth++] = node;
	return 0;
}

static int
check_merge(struct compose *c, const struct node *from)
{
	const struct node	*map = node_of(from);

	if (map->type == NODE_MAP)
		return 0;
	err_set(c->err, "<< needs a mapping, or a list of mappings");
	err_hint(c->err, "put the mapping under an anchor (&name) and write "
	    "<<: *name");
	return fail(c, from->start);
}

/* Whoever takes the pairs finds scalars as keys, and mappings to merge. */
static int
check_pairs(struct compose *c, const struct node *map)
{
	for (size_t i = 0; i + 1 < map->count; i += 2) {
		const struct node	*key = node_of(map->item[i]);
		const struct node	*value = node_of(map->item[i + 1]);

		if (key->type != NODE_SCALAR) {
			err_set(c->err, "a key is %s, and no text",
			    key->type == NODE_MAP ? "a mapping" : "a list");
			err_hint(c->err, "write lines of the form key: value");
			return fail(c, map->item[i]->start);
		}
		if (key->kind != SCALAR_MERGE)
			continue;
		if (value->type != NODE_LIST && check_merge(c, value))
			return -1;
		for (size_t j = 0; j < value->count &&
		    value->type == NODE_LIST; j++)
			if (check_merge(c, value->item[j]))
				return -1;
	}
	return 0;
}

static int
close_node(struct compose *c, const yaml_event_t *event)
{
	struct node	*node = c->stack[--c->depth];

	node->open = false;
	node->stop = byte_at(c, &event->end_mark);
	if (node->stop < node->start)
		node->stop = node->start;
	/* libyaml ends a block where the next word begins; its lines end with
	 * the last of what it holds */
	if (node->flow)
		node->end = node->stop;
	else if (node->count)
		node->end = node->item[node->count - 1]->end;
	if (node->type == NODE_MAP && check_pairs(c, node))
		return -1;
	return account(c, node);
}

static int
alias(struct compose *c, const yaml_event_t *event)
{
	const char	*name = (const char *)event->data.alias.anchor;
	struct node	*node = node_new(c, NODE_ALIAS, event);

	if (!node)
		return err_nomem(c->err);
	node->target = anchored(c->tree, name);
	if (!node->target) {
		err_set(c->err, "no anchor &%.80s stands before this alias",
		    name);
		err_hint(c->err, "put &%.80s in front of the value that is "
		    "meant", name);
		return fail(c, node->start);
	}
	if (node->target->open) {
		err_set(c->err, "the alias *%.80s stands in what it stands for",
		    name);
		err_hint(c->err, "write the value out");
		return fail(c, node->start);
	}
	node->height = node->target->height;
	node->weight = node->target->weight;
	if (attach(c, node))
		return -1;
	return account(c, node);
}

/* A line of the text, for a message. */
static void
quote_line(const struct tree *t, size_t at, char *out, size_t room)
{
	size_t	from = at, n = 0;

	while (from > 0 && at - from < 40 && !strchr("\r\n", t->text[from - 1]))
		from--;
	while (from < t->size && (t->text[from] & 0xc0) == 0x80)
		from++;
	while (from < t->size && strchr(" \t", t->text[from]))
		from++;
	for (; from < t->size && n + 1 < room &&
	    !strchr("\r\n", t->text[from]); from++)
		out[n++] = (unsigned char)t->text[from] < ' ' ? '?' :
		    t->text[from];
	while (n > 0 && (out[n - 1] & 0x80))	/* perhaps half a character */
		n--;
	out[n] = '\0';
}

static int
syntax(struct compose *c, const yaml_parser_t *parser)
{
	size_t		at;
	char		line[61];
	const char	*what = parser->problem ? parser->problem : "no YAML";

	if (parser->error == YAML_MEMORY_ERROR)
		return err_nomem(c->err);
	if (parser->error == YAML_READER_ERROR) {
		at = c->bom + parser->problem_offset;
		err_set(c->err, "%s: byte 0x%02x", what,
		    at < c->tree->size ? (unsigned char)c->tree->text[at] : 0);
		err_hint(c->err, "save the file as UTF-8 text");
		return fail(c, at < c->tree->size ? at : c->tree->size);
	}
	at = byte_at(c, &parser->problem_mark);
	quote_line(c->tree, at, line, sizeof(line));
	if (*line)
		err_set(c->err, "%s: \"%s\"", what, line);
	else
		err_set(c->err, "%s", what);
	err_hint(c->err, "check indents, colons, quotes and brackets there%s%s",
	    parser->context ? ": this was found " : "",
	    parser->context ? parser->context : "");
	return fail(c, at);
}

static int
refuse_tabs(struct compose *c)
{
	const struct tree	*t = c->tree;
	size_t			 at = tree_tab(t, c->bom);

	if (at == t->size)
		return 0;
	err_set(c->err, t->text[at] == '#' ? "no space in front of a comment" :
	    "a tab between words");
	err_hint(c->err, "use spaces: PyYAML, and so Accelerate, refuses this");
	return fail(c, at);
}

static int
compose(struct compose *c, yaml_parser_t *parser)
{
	bool	done = false;
	int	rc = 0, documents = 0;

	while (!done && !rc) {
		yaml_event_t	event;

		if (!yaml_parser_parse(parser, &event))
			return syntax(c, parser);
		switch (event.type) {
		case YAML_DOCUMENT_START_EVENT:
			if (documents++) {
				err_set(c->err, "another document begins");
				err_hint(c->err, "keep one configuration a "
				    "file: remove what stands from \"---\" on");
				rc = fail(c, byte_at(c, &event.start_mark));
			}
			break;
		case YAML_SCALAR_EVENT:
			rc = scalar(c, &event);
			break;
		case YAML_SEQUENCE_START_EVENT:
		case YAML_MAPPING_START_EVENT:
			rc = open_node(c, &event,
			    event.type == YAML_MAPPING_START_EVENT);
			break;
		case YAML_SEQUENCE_END_EVENT:
		case YAML_MAPPING_END_EVENT:
			rc = close_node(c, &event);
			break;
		case YAML_ALIAS_EVENT:
			rc = alias(c, &event);
			break;
		case YAML_STREAM_END_EVENT:
			done = true;
			break;
		default:
			break;
		}
		yaml_event_delete(&event);
	}
	return rc;
}

int
tree_read(struct tree *tree, const char *text, size_t n, const char *name,
    unsigned flags, struct err *err)
{
	struct compose	c = { .tree = tree, .err = err };
	yaml_parser_t	parser;
	int		rc;

	*tree = (struct tree){ .name = name, .text = text, .size = n };
	if (n >= 2 && (!memcmp(text, "\xff\xfe", 2) ||
	    !memcmp(text, "\xfe\xff", 2))) {
		err_set(err, "%s:1:1: the file is UTF-16", name);
		return err_hint(err, "save it as UTF-8");
	}
	c.bom = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	rc = count_bytes(&c);
	if (!rc && flags & TREE_JSON)
		rc = join_pairs(&c);
	if (!rc && !yaml_parser_initialize(&parser))
		rc = err_nomem(err);
	if (rc)
		goto out;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, c.joined.len ?
	    (const unsigned char *)c.joined.data :
	    (const unsigned char *)text + c.bom,
	    c.joined.len ? c.joined.len : n - c.bom);
	rc = compose(&c, &parser);
	if (!rc && !(flags & (TREE_TABS | TREE_JSON)))
		rc = refuse_tabs(&c);
	yaml_parser_delete(&parser);
out:
	buf_clear(&c.joined);
	free(c.byte_of);
	if (rc)
		tree_clear(tree);
	return rc;
}

void
tree_clear(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		free(tree->all[i]->text);
		free(tree->all[i]->anchor);
		free(tree->all[i]->item);
		free(tree->all[i]);
	}
	free(tree->all);
	*tree = (struct tree){ 0 };
}
