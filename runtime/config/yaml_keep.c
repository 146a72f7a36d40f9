/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that no row of the table knows: what was meant, and keeping them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/config/intern.h"
#include "runtime/config/rules.h"
#include "runtime/config/yaml_emit.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/near.h"
#include "runtime/base/banned.h"

enum { WARNINGS = 64, LARGEST = 1 << 20 };

bool
config_is_group(const char *key)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (*fields[i].group && !strcmp(fields[i].group, key))
			return true;
	return false;
}

int
config_key_in(const char *group, const char *key)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];
		size_t			 skip = strcspn(f->key, "_");

		if (strcmp(f->group, group) || f->flags & FIELD_FLAGONLY)
			continue;
		if (!strcmp(f->key, key) || (*group && f->alias &&
		    !strcmp(f->alias, key)))
			return i;
		if (*group && f->flag && !strcmp(f->flag, key))
			return i;
		/* "version" for "fsdp_version", as the peer takes it */
		if ((!strcmp(group, "fsdp_config") ||
		    !strcmp(group, "dynamo_config")) && f->key[skip] &&
		    !strcmp(f->key + skip + 1, key))
			return i;
	}
	return -1;
}

int
config_key_at_top(const char *key)
{
	if (!strcmp(key, "dynamo_backend"))		/* before 0.17 */
		return FIELD_dynamo_backend;
	if (!strcmp(key, "fp16"))			/* before 0.5 */
		return FIELD_main_mixed_precision;
	return config_key_in("", key);
}

static void
nearer(const char *key, const char *word, const char **best, size_t *least)
{
	size_t	distance;

	if (!near_enough(key, word))
		return;
	distance = near_distance(key, word);
	if (distance < *least) {
		*least = distance;
		*best = word;
	}
}

void
config_key_hint(const char *group, const char *key, struct err *err)
{
	const char	*best = NULL;
	size_t		 least = 99;

	if (config_retired(key)) {
		err_hint(err, "%s", config_retired(key));
		return;
	}
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];

		if (!strcmp(f->key, key) && f->flags & FIELD_FLAGONLY) {
			err_hint(err, "it is a flag alone: accel launch --%s",
			    f->flag ? f->flag : f->key);
			return;
		}
		if (!strcmp(f->key, key) && strcmp(f->group, group)) {
			if (*f->group)
				err_hint(err, "it belongs in %s", f->group);
			else
				err_hint(err, "it belongs outside of %s",
				    group);
			return;
		}
		if (f->flags & FIELD_FLAGONLY)
			continue;
		if (!strcmp(f->group, group))
			nearer(key, f->key, &best, &least);
		else if (!*group)
			nearer(key, f->group, &best, &least);
	}
	if (best)
		err_hint(err, "did you mean %s?", best);
	else
		err_hint(err, "accel.yaml(5) lists all keys");
}

int
reader_warn(struct reader *r, const struct node *node, const char *fmt, ...)
{
	struct strv	*all = &r->c->warnings;
	char		 text[480];
	va_list		 ap;

	if (all->count > WARNINGS)
		return 0;
	if (all->count == WARNINGS)
		return strv_addf(all, "%s: and more of this kind",
		    r->tree.name) ? err_nomem(r->err) : 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strv_addf(all, "%s:%d:%d: %s", r->tree.name, node->line,
	    node->column, text))
		return err_nomem(r->err);
	return 0;
}

int
reader_go_on(struct reader *r, int rc, int field)
{
	struct err	one = *r->err;

	if (!rc || !r->c->faults)
		return rc;
	*r->err = (struct err)ERR_INIT;
	return problems_add(r->c->faults, "reading", true, field, one.text,
	    one.hint) ? err_nomem(r->err) : 0;
}

static int
count_unknown(struct reader *r, const struct node *key)
{
	struct err	one = ERR_INIT;

	if (r->unknown.len > 300 && !r->c->faults) {
		r->unknown_count++;	/* see reader_refuse_unknown */
		return 0;
	}
	err_set(&one, "unknown key %.120s", node_of(key)->text);
	node_fail(&r->tree, key, &one);
	config_key_hint("", node_of(key)->text, &one);
	if (r->c->faults) {
		*r->err = one;
		return reader_go_on(r, -1, -1);
	}
	if (!r->unknown_count++)
		r->first_unknown = one;
	r->unknown_named++;
	buf_addf(&r->unknown, "%s%s", r->unknown.len ? "; " : "", one.text);
	if (!strncmp(one.hint, "did you", 7))
		buf_addf(&r->unknown, " (%s)", one.hint);
	return 0;
}

int
reader_refuse_unknown(struct reader *r)
{
	size_t	more = r->unknown_count - r->unknown_named;

	if (r->unknown_count == 1) {
		*r->err = r->first_unknown;
		if (!strncmp(r->err->hint, "accel.yaml", 10))
			err_hint(r->err, "remove it (accel.yaml(5) lists all "
			    "keys), or keep it with --keep-unknown");
		return -1;
	}
	if (more)
		buf_addf(&r->unknown, "; and %zu more", more);
	err_set(r->err, "%s", buf_text(&r->unknown));
	return err_hint(r->err, "remove or rename them (accel.yaml(5) lists "
	    "all keys), or keep them with --keep-unknown");
}

static int
add(struct reader *r, const char *group, const struct node *key, char *text)
{
	struct config	*c = r->c;
	struct extra	*e = NULL, *grown;

	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, group) &&
		    !strcmp(c->extra[i].key, key->text))
			e = &c->extra[i];
	if (e) {
		free(e->text);
		e->text = text;
		return 0;
	}
	grown = realloc(c->extra, (c->extra_count + 1) * sizeof(*grown));
	if (!grown) {
		free(text);
		return err_nomem(r->err);
	}
	c->extra = grown;
	e = &grown[c->extra_count];
	*e = (struct extra){ strdup(group), strdup(key->text), text,
	    key->kind };
	c->extra_count++;
	return e->group && e->key ? 0 : err_nomem(r->err);
}

int
reader_keep(struct reader *r, const char *group, const struct node *key,
    const struct node *value)
{
	const char	*word = node_of(key)->text;
	struct buf	 text = BUF_INIT;
	struct err	 hint = ERR_INIT;
	struct emit	 e;
	int		 rc;

	if (!*group && !r->c->keep_unknown)
		return count_unknown(r, key);
	text.max = LARGEST;
	emit_begin(&e, EMIT_LINE, &text);
	emit_node(&e, value);
	if (emit_end(&e)) {
		buf_clear(&text);
		err_set(r->err, "%.120s is too large to be kept", word);
		err_hint(r->err, "remove it: no part of accel reads it");
		return node_fail(&r->tree, key, r->err);
	}
	rc = add(r, group, node_of(key), buf_detach(&text));
	if (rc || r->c->warnings.count > WARNINGS)
		return rc;
	config_key_hint(group, word, &hint);
	return reader_warn(r, key, "unknown key %.120s%s%s is kept; %s", word,
	    *group ? " in " : "", group, hint.hint);
}
