/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of "accel probe", read: what is known is checked, and what is not is
 * a warning, since the machine may have another version of accel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/attribute.h"
#include "probes/fleet.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/config/yaml_tree.h"
#include "runtime/base/banned.h"

enum { WARNINGS = 20, FILE_MAX = 16 << 20 };

struct reader {
	const struct tree	*tree;
	struct strv		*warnings;	/* or NULL */
	struct err		*err;
};

/* Beyond twenty, more of them say nothing more. */
static int
warn(struct reader *r, const struct node *at, const char *what,
    const char *which)
{
	if (!r->warnings || r->warnings->count >= WARNINGS)
		return 0;
	if (strv_addf(r->warnings, "%s:%d:%d: %s \"%.80s\" is not known here",
	    r->tree->name, at->line, at->column, what, which) < 0)
		return err_nomem(r->err);
	return 0;
}

static int
wrong(struct reader *r, const struct node *at, const char *key,
    const char *want)
{
	err_set(r->err, "\"%s\" is not %s", key, want);
	err_hint(r->err, "this file is written by: accel probe --yaml");
	return node_fail(r->tree, at, r->err);
}

static const char *
wants(enum attribute_type type)
{
	static const char *const words[] = {
		[ATTRIBUTE_TEXT] = "a text", [ATTRIBUTE_BOOL] = "true or false",
		[ATTRIBUTE_COUNT] = "a whole number from 0 to 16777216",
		[ATTRIBUTE_INDEX] = "a whole number, or -1 for none",
		[ATTRIBUTE_SPEED] = "a number of Mbit/s",
		[ATTRIBUTE_BYTES] = "a number of bytes",
		[ATTRIBUTE_REAL] = "a number that is not negative",
		[ATTRIBUTE_CAPABILITY] = "a capability as \"9.0\"",
		[ATTRIBUTE_LINK] = "a kind of link",
	};

	return words[type];
}

static int
read_value(struct reader *r, const struct attribute *a, void *object,
    const struct node *value)
{
	const struct node *v = node_of(value);
	int status;

	if (node_is(value, SCALAR_NULL))
		return 0;
	if (v->type != NODE_SCALAR)
		return wrong(r, value, a->key, wants(a->type));
	status = attribute_set(a, object, v->text);
	if (status == -2)
		return err_nomem(r->err);
	/* A later version may have more kinds of links. */
	if (status && a->type == ATTRIBUTE_LINK)
		return warn(r, value, "the link", v->text);
	return status ? wrong(r, value, a->key, wants(a->type)) : 0;
}

static int read_object(struct reader *r, const struct attribute *table,
    const struct attribute_list *lists, void *object,
    const struct node *node);

static int
read_list(struct reader *r, const struct attribute_list *l, void *owner,
    const struct node *value)
{
	const struct node *list = node_of(value);

	if (node_is(value, SCALAR_NULL))
		return 0;
	if (list->type != NODE_LIST)
		return wrong(r, value, l->key, "a list");
	if (list->count > l->limit) {
		err_set(r->err, "\"%s\" has %zu entries, and %zu are the most",
		    l->key, list->count, l->limit);
		return node_fail(r->tree, value, r->err);
	}
	for (size_t i = 0; i < list->count; i++) {
		void *one = l->add(owner);

		if (!one)
			return err_nomem(r->err);
		if (read_object(r, l->of, l->of == machine_attributes ?
		    machine_lists : NULL, one, list->item[i]) < 0)
			return -1;
	}
	return 0;
}

static int
read_pair(struct reader *r, const struct attribute *table,
    const struct attribute_list *lists, void *object, const struct pair *pair)
{
	const char *key = node_of(pair->key)->text;

	for (const struct attribute *a = table; a && a->key; a++)
		if (!strcmp(a->key, key))
			return read_value(r, a, object, pair->value);
	for (const struct attribute_list *l = lists; l && l->key; l++)
		if (!strcmp(l->key, key))
			return read_list(r, l, object, pair->value);
	if (!table && !strcmp(key, "accel_probe"))
		return 0;
	return warn(r, pair->key, "the key", key);
}

static int
read_object(struct reader *r, const struct attribute *table,
    const struct attribute_list *lists, void *object, const struct node *node)
{
	struct pair	*pairs;
	size_t		 n;
	int		 status = 0;

	if (node_of(node)->type != NODE_MAP) {
		err_set(r->err, "here are no \"key: value\" pairs");
		err_hint(r->err, "this file is written by: accel probe --yaml");
		return node_fail(r->tree, node, r->err);
	}
	if (node_pairs(node_of(node), &pairs, &n) < 0)
		return err_nomem(r->err);
	for (size_t i = 0; i < n && !status; i++)
		status = read_pair(r, table, lists, object, &pairs[i]);
	free(pairs);
	return status;
}

/* Numbers that lead nowhere would be believed by all who read them. */
static int
check(const struct fleet *f, const char *name, struct err *err)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct machine *m = &f->machine[i];

		for (size_t k = 0; k < m->links; k++)
			if (m->link[k].a >= m->gpus || m->link[k].b >= m->gpus ||
			    m->link[k].a >= m->link[k].b)
				return err_set(err, "%s: machine %zu: link %zu "
				    "is from GPU %u to %u, of %zu GPUs", name,
				    i, k, m->link[k].a, m->link[k].b, m->gpus);
		for (size_t k = 0; k < m->gpus; k++)
			if (!m->gpu[k].vendor)
				return err_set(err, "%s: machine %zu: GPU %zu "
				    "has no vendor", name, i, k);
		for (size_t k = 0; k < m->ifaces; k++)
			if (!m->iface[k].name)
				return err_set(err, "%s: machine %zu: interface "
				    "%zu has no name", name, i, k);
	}
	for (size_t k = 0; k < f->pairs; k++)
		if (f->between[k].from >= f->count ||
		    f->between[k].to >= f->count)
			return err_set(err, "%s: network %zu is from machine %u "
			    "to %u, of %zu", name, k, f->between[k].from,
			    f->between[k].to, f->count);
	return 0;
}

/* What others count on: a name, a core. */
static int
complete(struct fleet *f, struct err *err)
{
	for (size_t i = 0; i < f->count; i++) {
		struct machine *m = &f->machine[i];

		if (!m->hostname && !(m->hostname = strdup(m->host ? m->host :
		    "described")))
			return err_nomem(err);
		if (m->problem)
			continue;
		m->cpus = m->cpus ? m->cpus : m->cores ? m->cores : 1;
		m->cores = m->cores ? m->cores : m->cpus;
		m->numa = m->numa ? m->numa : 1;
		m->packages = m->packages ? m->packages : 1;
	}
	return 0;
}

/* The version stands in the file; which form it has, too: a row of "accel probe
 * --json --hosts" is one machine alone. */
static int
read_root(struct reader *r, struct fleet *f, const struct node *root)
{
	const struct node	*version = NULL;
	struct machine		*one;
	struct pair		*pairs;
	size_t			 n;
	long			 said;
	bool			 whole = false, named = false;

	if (!root || node_of(root)->type != NODE_MAP) {
		err_set(r->err, "%s: no facts of machines", r->tree->name);
		return err_hint(r->err, "write it there: accel probe --yaml");
	}
	if (node_pairs(node_of(root), &pairs, &n) < 0)
		return err_nomem(r->err);
	for (size_t i = 0; i < n; i++) {
		const char *key = node_of(pairs[i].key)->text;

		whole = whole || !strcmp(key, "machines");
		named = named || !strcmp(key, "host") ||
		    !strcmp(key, "hostname");
		if (!strcmp(key, "accel_probe"))
			version = pairs[i].value;
	}
	free(pairs);
	if (!whole) {
		if (version || !named) {
			err_set(r->err, "%s: it has no \"machines\"",
			    r->tree->name);
			return err_hint(r->err, "write it there: accel probe "
			    "--yaml");
		}
		one = fleet_add(f);
		return one ? read_object(r, machine_attributes, machine_lists,
		    one, root) : err_nomem(r->err);
	}
	if (!version) {
		err_set(r->err, "%s: it has no \"accel_probe\"", r->tree->name);
		return err_hint(r->err, "write it there: accel probe --yaml");
	}
	if (node_of(version)->type != NODE_SCALAR ||
	    num_parse(node_of(version)->text, 1, 1 << 20, &said) < 0)
		return wrong(r, version, "accel_probe", "a version");
	if (said != FLEET_VERSION && r->warnings && strv_addf(r->warnings,
	    "%s: version %ld of the form; this accel knows %d, and reads what "
	    "it can", r->tree->name, said, FLEET_VERSION) < 0)
		return err_nomem(r->err);
	return read_object(r, NULL, fleet_lists, f, root);
}

int
fleet_parse(struct fleet *f, const char *text, size_t n, const char *name,
    struct strv *warnings, struct err *err)
{
	struct fleet	 found = FLEET_INIT;
	struct tree	 tree;
	struct reader	 r = { &tree, warnings, err };
	size_t		 base = f->count;
	int		 status;

	if (tree_read(&tree, text, n, name, n && *text == '{' ? TREE_JSON : 0,
	    err) < 0)
		return -1;
	status = read_root(&r, &found, tree.root);
	tree_clear(&tree);
	if (!status)
		status = check(&found, name, err) || complete(&found, err);
	for (size_t i = 0; i < found.count && !status; i++) {
		struct machine *to = fleet_add(f);

		if (!to)
			status = err_nomem(err);
		else {
			*to = found.machine[i];
			found.machine[i] = (struct machine){ .host = NULL };
		}
	}
	for (size_t i = 0; i < found.pairs && !status; i++) {
		struct between *to = fleet_add_between(f);

		if (!to)
			status = err_nomem(err);
		else {
			*to = found.between[i];
			to->from += (unsigned)base;
			to->to += (unsigned)base;
			found.between[i].problem = NULL;
		}
	}
	fleet_clear(&found);
	return status ? -1 : 0;
}

int
fleet_parse_row(struct fleet *f, const char *text, size_t n, struct err *err)
{
	static const char	 name[] = "a row of accel probe";
	struct tree		 tree;
	struct reader		 r = { &tree, NULL, err };
	const struct node	*root;
	struct between		*b;
	int			 status;

	if (tree_read(&tree, text, n, name, TREE_JSON, err) < 0)
		return -1;
	root = tree.root ? node_of(tree.root) : NULL;
	if (!root || root->type != NODE_MAP || root->count != 2 ||
	    node_of(root->item[0])->type != NODE_SCALAR ||
	    strcmp(node_of(root->item[0])->text, "network")) {
		tree_clear(&tree);
		return fleet_parse(f, text, n, name, NULL, err);
	}
	b = fleet_add_between(f);
	status = b ? read_object(&r, between_attributes, NULL, b,
	    root->item[1]) : err_nomem(err);
	if (status && b) {
		free(b->problem);
		f->pairs--;
	}
	tree_clear(&tree);
	return status;
}

int
fleet_read(struct fleet *f, const char *path, struct strv *warnings,
    struct err *err)
{
	struct buf	text = { .max = FILE_MAX };
	int		status;

	if (file_read(path, &text, err) < 0)
		return -1;
	status = fleet_parse(f, buf_text(&text), text.len, path, warnings, err);
	buf_clear(&text);
	return status;
}
