/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes: what differs between two configurations, by meaning: how a value is
 * spelled, in which order keys stand, and whether a default was written down
 * count nothing.
 */
#ifndef RUNTIME_CONFIG_CHANGES_H
#define RUNTIME_CONFIG_CHANGES_H

#include "runtime/config/schema.h"

struct change {
	int	 field;		/* or -1: a key that no row knows */
	char	*path;		/* "fsdp_config.fsdp_version" */
	char	*was, *is;	/* as config_say() has it, or "absent" */
	bool	 effect;	/* in one of the two at least */
};

struct changes {
	struct change	*item;
	size_t		 count;
};

#define CHANGES_INIT { NULL, 0 }

/* Replaces what is in *out by what differs, in the order of the table.  On -1
 * *out is as it was. */
int  changes_find(struct changes *out, const struct config *was,
    const struct config *is, struct err *err);

/* "path: was -> is", a line each. */
int  changes_print(const struct changes *c, struct buf *out);

void changes_clear(struct changes *c);
#endif
