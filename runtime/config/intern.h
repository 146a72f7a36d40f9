/* SPDX-License-Identifier: Apache-2.0 */
/* intern: what the files of this folder share. */
#ifndef RUNTIME_CONFIG_INTERN_H
#define RUNTIME_CONFIG_INTERN_H

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/schema.h"
#include "runtime/config/yaml_tree.h"

struct extra {
	char		*group, *key;	/* owned; group "" is the top */
	char		*text;		/* owned: the value, one line of YAML */
	enum scalar	 kind;		/* of the key */
};

static inline void *
config_at(const struct config *c, const struct field *f)
{
	return (char *)c + f->offset;
}

/* Any YAML value, from text, in one line. */
int  yaml_flow(const char *text, struct buf *out, struct err *err);
/* Row of a section's key (with the peer's prefix rules), or -1. */
int  config_key_in(const char *group, const char *key);
/* Row of a key at the top, those of old files too, or -1. */
int  config_key_at_top(const char *key);
bool config_is_group(const char *key);
/* True where a user's text is that name, with "-" for "_" as they like. */
bool config_named(const char *text, const char *name);
/* What to do about an unknown key of a group ("" for the top), as a hint. */
void config_key_hint(const char *group, const char *key, struct err *err);

/* A reading under way. */
struct reader {
	struct config	*c;
	struct tree	 tree;
	struct err	*err;
	const struct node *at[FIELD_COUNT];	/* the fields' keys */
	struct buf	 unknown;	/* keys at the top that no row knows: */
	size_t		 unknown_count;	/* a text of them all, or of the */
	size_t		 unknown_named;	/* first few */
	struct err	 first_unknown;	/* and what to do about the first */
	bool		 typed;		/* distributed_type was there */
	bool		 old_fp16;
};

/* Adds "name:line:column: ..." to the warnings. */
int  reader_warn(struct reader *r, const struct node *node, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
/* The unknown keys at the top as one error.  Returns -1. */
int  reader_refuse_unknown(struct reader *r);
/* Where c->faults is wanted, puts *r->err there, about the field or -1, and
 * gives 0; else gives rc. */
int  reader_go_on(struct reader *r, int rc, int field);
/* Keeps a key that no row knows, with a warning; at the top only where that is
 * wanted, else it is counted as an error. */
int  reader_keep(struct reader *r, const char *group, const struct node *key,
    const struct node *value);
#endif
