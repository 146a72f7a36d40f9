/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle: reads Python's pickles as plain data.
 *
 * Nothing is ever run, imported or looked up: a class is its name, and an
 * object is that name with its arguments and its state.  Names that the caller
 * does not know, and opcodes that no writer of checkpoints uses, are refused
 * with their place.  The result is a graph: what was memoised is shared, and a
 * hostile file can make a cycle, so walk it by what you expect, not by
 * recursion.
 */
#ifndef RUNTIME_WEIGHTS_PICKLE_H
#define RUNTIME_WEIGHTS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum pickle_kind {
	PICKLE_NONE, PICKLE_BOOL, PICKLE_INT, PICKLE_REAL,
	PICKLE_TEXT,		/* text, n; a NUL stands behind it */
	PICKLE_BYTES,		/* the same */
	PICKLE_NAME,		/* text: "module name" */
	PICKLE_TUPLE,		/* item[0] .. item[n - 1] */
	PICKLE_LIST,
	PICKLE_DICT,		/* item[0] is a key, item[1] its value, ... */
	PICKLE_OBJECT,		/* text: of its class or call; args, state */
	PICKLE_PERSISTENT	/* args: the id of something outside */
};

/* There are millions of them in a large checkpoint: look at the kind first. */
struct pickle_value {
	enum pickle_kind	kind;
	size_t			n;	/* of the text, or of items */
	union {
		int64_t	number;		/* BOOL, INT */
		double	real;
		struct {		/* TEXT to NAME, OBJECT, PERSISTENT */
			const char		*text;
			struct pickle_value	*args, *state;
		};
		struct {		/* TUPLE, LIST, DICT */
			struct pickle_value   **item;
			size_t			room;
		};
	};
};

struct pickle {
	struct pickle_value	*root;
	struct pickle_block	*blocks;
};
#define PICKLE_INIT { NULL, NULL }

/* "known" tells which "module name" may occur.  The value copies what it needs
 * of the data. */
int  pickle_read(struct pickle *p, const void *data, size_t n,
    bool (*known)(const char *name), struct err *err);
void pickle_clear(struct pickle *p);

/* The value of a text key in a dict, or in the state of an object; else NULL.
 * Values are borrowed from the pickle. */
const struct pickle_value *pickle_get(const struct pickle_value *v,
    const char *key);
/* True for an object of that class. */
bool pickle_is(const struct pickle_value *v, const char *name);
#endif
