/* SPDX-License-Identifier: Apache-2.0 */
/* templates: configurations to start from, built in from templates/. */
#ifndef RUNTIME_CONFIG_TEMPLATES_H
#define RUNTIME_CONFIG_TEMPLATES_H

struct buf;

struct template {
	const char	*name;		/* "fsdp" */
	const char	*text;		/* the YAML, with its comments */
};
/* In the order of their names; the last has a NULL name. */
extern const struct template templates[];

/* By name, perhaps with ".yaml"; NULL where there is none. */
const struct template *template_find(const char *name);
/* The nearest name, or NULL. */
const char *template_near(const char *name);

/* What it is for: its first comment, without the full stop. */
int template_about(const struct template *t, struct buf *out);

/* Its text without the licence's line, which is about this project. */
const char *template_body(const struct template *t);
#endif
