/* SPDX-License-Identifier: Apache-2.0 */
/* words: fields and their values as people write and read them. */
#ifndef RUNTIME_CONFIG_WORDS_H
#define RUNTIME_CONFIG_WORDS_H

#include "runtime/config/schema.h"

/* The field that a user means: a key, a flag (dashes in front are fine) or an
 * alias, "-" for "_", perhaps behind its section ("fsdp_config.fsdp_version").
 * Its id, or -1 with the nearest one named. */
int  field_named(const char *name, struct err *err);

/* "fsdp_config.fsdp_version"; "num_processes" where there is no section. */
int  field_path(enum field_id id, struct buf *out);

/* The flag without "--", or NULL where there is none. */
const char *field_flag(enum field_id id);

/* When the field has a meaning, in words: "distributed_type is FSDP"; nothing
 * where that is always. */
int  field_needs(enum field_id id, struct buf *out);

/* As config_set(), with a list in one line: a,b or [a, b]. */
int  config_put(struct config *c, enum field_id id, const char *text,
    enum origin origin, struct err *err);

/* Back to its default, and out of the file when that is written. */
int  config_unset(struct config *c, enum field_id id, struct err *err);

/* Takes what a launch takes from its own environment, unless a flag said it:
 * OMP_NUM_THREADS. */
int  config_environ(struct config *c, struct err *err);

/* The value in one line: null where it is, [a, b] for a list. */
int  config_say(const struct config *c, enum field_id id, struct buf *out);

/* Where the value comes from: "FILE:3", "flag --debug", "environment
 * OMP_NUM_THREADS", "default". */
int  config_whence(const struct config *c, enum field_id id, struct buf *out);
#endif
