/* SPDX-License-Identifier: Apache-2.0 */
/* intern: what the files of this folder share. */
#ifndef RUNTIME_CONFIG_INTERN_H
#define RUNTIME_CONFIG_INTERN_H

#include "runtime/config/schema.h"

struct extra {
	char	*group, *key;	/* owned */
	char	*text;		/* owned: what stands behind "key:", with \n */
};

static inline void *
config_at(const struct config *c, const struct field *f)
{
	return (char *)c + f->offset;
}

enum scalar {			/* what PyYAML makes of a plain scalar */
	SCALAR_TEXT, SCALAR_NULL, SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT,
	SCALAR_OTHER		/* dates, "=", "<<" */
};
enum scalar scalar_of(const char *text);
/* The number of an int scalar.  0, or -1 where it is too large. */
int  scalar_int(const char *text, long *out);
bool scalar_true(const char *text);

/* Adds a text so that PyYAML reads the same text; "bare" lets it be a number
 * or a bool. */
void yaml_quote(struct buf *out, const char *text, bool bare);
/* Any YAML value, from text, in flow style on one line. */
int  yaml_flow(const char *text, struct buf *out, struct err *err);
/* Row of a section's key (with the peer's prefix rules), or -1. */
int  config_key_in(const char *group, const char *key);
bool config_is_group(const char *key);
/* True where a user's text is that name, with "-" for "_" as they like. */
bool config_named(const char *text, const char *name);
#endif
