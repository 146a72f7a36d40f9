/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_out: the values of fields as YAML, for whoever writes one. */
#ifndef RUNTIME_CONFIG_YAML_OUT_H
#define RUNTIME_CONFIG_YAML_OUT_H

#include "runtime/config/schema.h"
#include "runtime/config/yaml_emit.h"

/* A word; "bare" lets it be a number or a bool. */
void emit_word(struct emit *e, const char *text, bool bare);
void emit_field(struct emit *e, const struct config *c, int id);
#endif
