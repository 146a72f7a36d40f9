/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_change: the changes to one pair of a file, collected as splices. */
#ifndef RUNTIME_CONFIG_YAML_CHANGE_H
#define RUNTIME_CONFIG_YAML_CHANGE_H

#include "runtime/config/schema.h"
#include "runtime/config/yaml_splice.h"
#include "runtime/config/yaml_tree.h"

struct editor {
	const struct config	*c;
	struct config		 was;	/* what the file says */
	struct config		 plain;	/* defaults */
	struct tree		 tree;
	struct splices		 splices;
	const char		*why;	/* it cannot be done */
	bool			 rename;	/* old keys and words go */
};

/* The key of a mapping's i-th pair; "" where it is no text. */
const char *pair_key(const struct node *map, size_t i);
/* The spaces in front of a block's lines. */
const char *node_indent(const struct node *map);

/* Adds the value, in one line, in the quotes that were there before (or 0). */
void editor_value(struct editor *ed, int id, bool flow, char quote,
    struct buf *out);
/* Adds "key: value", or a list or mapping in lines. */
void editor_lines(struct editor *ed, int id, const char *indent,
    struct buf *out);

/* Puts the field's value in place of what stands there. */
void editor_set(struct editor *ed, int id, const struct node *key,
    const struct node *value, bool flow);
/* Takes the i-th pair of a mapping out. */
void editor_remove(struct editor *ed, const struct node *map, size_t i);
/* Where lines for a new key go: in order, where the file has one, else at the
 * end. */
size_t editor_place(const struct editor *ed, const struct node *map,
    const char *key);
/* Adds "key: value" to a mapping in braces, in the form of its last pair; the
 * value is the field's, or a text. */
void editor_add_flow(struct editor *ed, const struct node *map, const char *key,
    int id, const char *value);
/* Puts today's key and word in place of an old one. */
void editor_rename(struct editor *ed, int id, const struct node *key,
    const struct node *value, bool flow);
#endif
