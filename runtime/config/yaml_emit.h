/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_emit: YAML as PyYAML's safe_dump writes it.
 *
 * libyaml's emitter is PyYAML's in C: the same quotes, indents and folds at 80
 * columns.  What it lacks is said here: which plain word is a text.  (One
 * thing differs: where a text in double quotes is folded.)
 */
#ifndef RUNTIME_CONFIG_YAML_EMIT_H
#define RUNTIME_CONFIG_YAML_EMIT_H

#include <stdbool.h>
#include <yaml.h>

#include "runtime/config/yaml_tree.h"

struct buf;

enum emit_style {
	EMIT_BLOCK,		/* a document, folded at 80 columns */
	EMIT_LINE,		/* what stands behind "key: ", in one line */
	EMIT_FLOW		/* the same within {} */
};

struct emit {
	yaml_emitter_t	 yaml;
	struct buf	*out;	/* borrowed; added to at the end */
	struct buf	*text;
	enum emit_style	 style;
	unsigned	 depth;
	yaml_scalar_style_t quotes;	/* of texts; 0: as needed */
	bool		 failed;
};

/* Every emit_begin() has its emit_end(), which says whether all went well: 0,
 * or -1 (no memory). */
void emit_begin(struct emit *e, enum emit_style style, struct buf *out);
int  emit_end(struct emit *e);

void emit_map(struct emit *e);
void emit_map_end(struct emit *e);
void emit_list(struct emit *e);
void emit_list_end(struct emit *e);
/* A text is quoted where it would be read as something else. */
void emit_text(struct emit *e, const char *text);
/* Number, bool, null: as it stands. */
void emit_plain(struct emit *e, const char *text);
/* A node with all below, aliases and merge keys followed, keys sorted. */
void emit_node(struct emit *e, const struct node *node);
#endif
