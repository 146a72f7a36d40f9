/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/yaml_emit.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/banned.h"

static int
write_out(void *data, unsigned char *bytes, size_t n)
{
	return buf_add(data, bytes, n) == 0;
}

/* "ready" is what a yaml_..._event_initialize gave: 0 without memory.  The
 * emitter takes the event in any case. */
static void
send(struct emit *e, int ready, yaml_event_t *event)
{
	if (!ready)
		e->failed = true;
	else if (e->failed)
		yaml_event_delete(event);
	else if (!yaml_emitter_emit(&e->yaml, event))
		e->failed = true;
}

void
emit_begin(struct emit *e, enum emit_style style, struct buf *out)
{
	yaml_event_t	event;

	*e = (struct emit){ .style = style, .out = out };
	e->text = calloc(1, sizeof(*e->text));
	if (!e->text || !yaml_emitter_initialize(&e->yaml)) {
		free(e->text);
		e->text = NULL;
		e->failed = true;
		return;
	}
	yaml_emitter_set_output(&e->yaml, write_out, e->text);
	yaml_emitter_set_width(&e->yaml, style == EMIT_BLOCK ? 80 : -1);
	send(e, yaml_stream_start_event_initialize(&event,
	    YAML_UTF8_ENCODING), &event);
	send(e, yaml_document_start_event_initialize(&event, NULL, NULL, NULL,
	    1), &event);
	if (style != EMIT_BLOCK) {	/* behind a key, as it will stand */
		emit_map(e);
		emit_plain(e, "k");
	}
}

int
emit_end(struct emit *e)
{
	yaml_event_t	 event;
	const char	*text;
	size_t		 n;

	if (!e->text)
		return -1;
	if (e->style != EMIT_BLOCK)
		emit_map_end(e);
	send(e, yaml_document_end_event_initialize(&event, 1), &event);
	send(e, yaml_stream_end_event_initialize(&event), &event);
	yaml_emitter_delete(&e->yaml);
	text = buf_text(e->text);
	n = e->text->len;
	if (e->style != EMIT_BLOCK) {	/* "k: value\n", "{k: value}\n" */
		size_t	front = e->style == EMIT_FLOW ? 4 : 3;
		size_t	back = e->style == EMIT_FLOW ? 2 : 1;

		if (n < front + back)
			e->failed = true;
		else {
			text += front;
			n -= front + back;
		}
	}
	if (!e->failed && !buf_failed(e->text))
		e->failed = buf_add(e->out, text, n) != 0;
	buf_clear(e->text);
	free(e->text);
	e->text = NULL;
	return e->failed ? -1 : 0;
}

/* Of a line, the mapping around it alone is a block. */
static bool
in_flow(const struct emit *e)
{
	return e->style == EMIT_FLOW || (e->style == EMIT_LINE && e->depth > 0);
}

void
emit_map(struct emit *e)
{
	yaml_event_t	event;
	bool		flow = in_flow(e);

	e->depth++;
	send(e, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
	    flow ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE),
	    &event);
}

void
emit_map_end(struct emit *e)
{
	yaml_event_t	event;

	e->depth--;
	send(e, yaml_mapping_end_event_initialize(&event), &event);
}

void
emit_list(struct emit *e)
{
	yaml_event_t	event;

	send(e, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
	    in_flow(e) ? YAML_FLOW_SEQUENCE_STYLE :
	    YAML_BLOCK_SEQUENCE_STYLE), &event);
	e->depth++;
}

void
emit_list_end(struct emit *e)
{
	yaml_event_t	event;

	e->depth--;
	send(e, yaml_sequence_end_event_initialize(&event), &event);
}

static void
scalar(struct emit *e, const char *text, bool plain, yaml_scalar_style_t style)
{
	yaml_event_t	event;

	/* a line break would need more lines than one */
	if (e->style != EMIT_BLOCK && text[strcspn(text, "\r\n")])
		style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	send(e, yaml_scalar_event_initialize(&event, NULL, NULL,
	    (const yaml_char_t *)text, (int)strlen(text), plain, 1, style),
	    &event);
}

void
emit_text(struct emit *e, const char *text)
{
	scalar(e, text, scalar_of(text) == SCALAR_TEXT, e->quotes);
}

void
emit_plain(struct emit *e, const char *text)
{
	scalar(e, text, true, YAML_ANY_SCALAR_STYLE);
}

/* 1:30 cannot stand plain within [] and {}, and in quotes it is a text. */
static void
tagged(struct emit *e, const struct node *node)
{
	const char	*tag = node->kind == SCALAR_DATE ? YAML_TIMESTAMP_TAG :
	    node->kind == SCALAR_INT ? YAML_INT_TAG : YAML_FLOAT_TAG;
	yaml_event_t	event;

	send(e, yaml_scalar_event_initialize(&event, NULL,
	    (const yaml_char_t *)tag, (const yaml_char_t *)node->text, -1, 0,
	    0, YAML_SINGLE_QUOTED_SCALAR_STYLE), &event);
}

static void
emit_scalar(struct emit *e, const struct node *node)
{
	if (node->kind == SCALAR_TEXT)
		emit_text(e, node->text);
	else if (node->kind == SCALAR_NULL)
		emit_plain(e, "null");
	else if (strchr(node->text, ':') && in_flow(e) && e->depth > 1)
		tagged(e, node);
	else
		emit_plain(e, node->text);
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(node_of(((const struct pair *)a)->key)->text,
	    node_of(((const struct pair *)b)->key)->text);
}

void
emit_node(struct emit *e, const struct node *node)
{
	struct pair	*pair;
	size_t		 count;

	node = node_of(node);
	if (node->type == NODE_SCALAR) {
		emit_scalar(e, node);
		return;
	}
	if (node->type == NODE_LIST) {
		emit_list(e);
		for (size_t i = 0; i < node->count; i++)
			emit_node(e, node->item[i]);
		emit_list_end(e);
		return;
	}
	if (node_pairs(node, &pair, &count)) {
		e->failed = true;
		return;
	}
	if (count)
		qsort(pair, count, sizeof(*pair), by_key);
	emit_map(e);
	for (size_t i = 0; i < count; i++) {
		emit_scalar(e, node_of(pair[i].key));
		emit_node(e, pair[i].value);
	}
	emit_map_end(e);
	free(pair);
}
