/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_tree: a YAML text as a tree, as PyYAML's safe_load composes it.
 *
 * libyaml finds the words; what they mean (YAML 1.1, explicit tags, merge keys,
 * one document, no tabs between words) is said here, since its own document
 * type forgets tags and sees no difference between 5 and !!str 5.  A node
 * knows its bytes in the text, so that a file can be changed in place.
 * An alias to what is around it, and aliases that blow a small file up, are
 * refused here: whoever walks the tree needs no guard of its own.
 */
#ifndef RUNTIME_CONFIG_YAML_TREE_H
#define RUNTIME_CONFIG_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum scalar {			/* what PyYAML makes of a scalar */
	SCALAR_TEXT, SCALAR_NULL, SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT,
	SCALAR_DATE,
	SCALAR_MERGE, SCALAR_VALUE	/* "<<" and "=" without quotes */
};

/* Of a plain scalar, by its form. */
enum scalar scalar_of(const char *text);
/* "null", "a bool", "a whole number"... */
const char *scalar_name(enum scalar kind);
/* The value of a scalar of that kind.  0, or -1 where it is too large. */
int  scalar_int(const char *text, long *out);
int  scalar_float(const char *text, double *out);
bool scalar_true(const char *text);
/* A date that the calendar has. */
bool scalar_date(const char *text);
/* True for a number that is one: "0x_" has the form alone. */
bool scalar_digits(const char *text);

enum node_type { NODE_SCALAR, NODE_LIST, NODE_MAP, NODE_ALIAS };

struct node {
	enum node_type	  type;
	enum scalar	  kind;		/* of a scalar */
	bool		  quoted;	/* in quotes, or a block scalar: */
	bool		  block;	/* behind | or > */
	bool		  flow;		/* [] or {} */
	bool		  marked;	/* has an anchor or a tag */
	bool		  open;		/* still being read */
	char		 *text, *anchor;	/* of a scalar; or NULL */
	struct node	**item;		/* of a mapping: key, value, key... */
	struct node	 *target;	/* of an alias */
	size_t		  count, room;	/* of items */
	size_t		  start, end;	/* bytes: [start, end) */
	size_t		  stop;		/* end, with the blanks behind it */
	int		  line, column;	/* of start, from 1 */
	unsigned	  height;	/* levels, with aliases followed */
	size_t		  weight;	/* nodes, with aliases followed */
};

struct tree {
	const char	 *name, *text;	/* borrowed */
	size_t		  size;
	struct node	 *root;		/* NULL: there is none */
	struct node	**all;		/* in the order of the text */
	size_t		  count, room;
};

enum {
	TREE_TABS = 1 << 0,	/* tabs between words are fine */
	TREE_JSON = 1 << 1	/* the same, and \ud83d\ude00 is a character */
};
/* What a file of that name is read with. */
unsigned tree_flags(const char *name);

/* *tree is overwritten; the name and the text stay the caller's and must live
 * as long.  On error it is empty. */
int  tree_read(struct tree *tree, const char *text, size_t n,
    const char *name, unsigned flags, struct err *err);
void tree_clear(struct tree *tree);

/* The first byte that PyYAML refuses and libyaml takes: a tab between words, a
 * comment without a space in front; or the size of the text. */
size_t tree_tab(const struct tree *tree, size_t from);

/* Adds the text with JSON's pairs of escapes made one that YAML knows, and for
 * each character of that its byte in the text.  How many characters. */
size_t tree_join(const struct tree *tree, size_t from, struct buf *out,
    uint32_t *byte_of);

/* What an alias stands for; another node is itself. */
static inline const struct node *
node_of(const struct node *node)
{
	return node->type == NODE_ALIAS ? node->target : node;
}

static inline bool
node_is(const struct node *node, enum scalar kind)
{
	node = node_of(node);
	return node->type == NODE_SCALAR && node->kind == kind;
}

struct pair {
	const struct node	*key, *value;
	const struct node	*before;	/* an equal key, same mapping */
	bool			 merged;	/* it came by "<<" */
};

/* Gives the pairs of a mapping as PyYAML's dict has them: merge keys ("<<")
 * followed, of equal keys the last.  All keys are scalars.  The caller frees
 * *out.  0, or -1 without memory. */
int  node_pairs(const struct node *map, struct pair **out, size_t *count);

/* Puts "name:line:column" in front of the text.  Returns -1. */
int  node_fail(const struct tree *tree, const struct node *node,
    struct err *err);
#endif
