/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Accelerate's YAML (JSON is a part of it), as PyYAML understands it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/config/intern.h"
#include "runtime/config/yaml_emit.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/banned.h"

enum { LARGEST = 1 << 20 };	/* bytes of a file */

static int
wrong(struct reader *r, const struct node *at, const struct field *f,
    const char *want)
{
	const struct node	*node = node_of(at);

	if (node->type == NODE_SCALAR)
		err_set(r->err, "%s: \"%.120s\" is %s, and not %s", f->key,
		    node->text, scalar_name(node->kind), want);
	else
		err_set(r->err, "%s is %s, and not %s", f->key,
		    node->type == NODE_MAP ? "a mapping" : "a list", want);
	err_hint(r->err, "%s", f->help);
	return node_fail(&r->tree, at, r->err);
}

static int
read_list(struct reader *r, int id, const struct node *at)
{
	const struct field	*f = &fields[id];
	const struct node	*node = node_of(at);
	struct buf		 all = BUF_INIT;
	int			 rc;

	if (node->type == NODE_MAP)
		return wrong(r, at, f, "a list");
	if (node->type == NODE_SCALAR) {
		if (strchr(node->text, '\n'))
			return wrong(r, at, f, "one line");
		buf_addf(&all, "%s\n", node->text);
	}
	for (size_t i = 0; i < node->count; i++) {
		const struct node	*item = node_of(node->item[i]);

		if (item->type != NODE_SCALAR || strchr(item->text, '\n')) {
			buf_clear(&all);
			return wrong(r, node->item[i], f, "one line of text");
		}
		buf_addf(&all, "%s\n", item->text);
	}
	rc = config_set(r->c, (enum field_id)id, buf_text(&all), ORIGIN_FILE,
	    r->err);
	buf_clear(&all);
	return rc ? node_fail(&r->tree, at, r->err) : 0;
}

/* A value of any kind. */
static int
read_tree(struct reader *r, int id, const struct node *at)
{
	struct buf	text = BUF_INIT;
	struct emit	e;
	int		rc;

	text.max = LARGEST;
	emit_begin(&e, EMIT_LINE, &text);
	emit_node(&e, at);
	if (emit_end(&e)) {
		err_set(r->err, "%s is too large", fields[id].key);
		rc = err_hint(r->err, "at most a million bytes are read");
	} else
		rc = config_set(r->c, (enum field_id)id, buf_text(&text),
		    ORIGIN_FILE, r->err);
	buf_clear(&text);
	return rc ? node_fail(&r->tree, at, r->err) : 0;
}

/* True where Python would print the scalar's value as it stands. */
static bool
same_in_python(const struct node *node)
{
	const char	*text = node->text, *dot;
	char		 number[32];
	long		 n;

	switch (node->kind) {
	case SCALAR_BOOL:
		return false;
	case SCALAR_INT:
		if (scalar_int(text, &n))
			return true;	/* longer than ours */
		snprintf(number, sizeof(number), "%ld", n);
		return !strcmp(number, text);
	case SCALAR_FLOAT:
		dot = strchr(text, '.');
		return dot != text && strlen(text) < 16 &&
		    !text[strspn(text, "0123456789.")] && dot[1] &&
		    (!strcmp(dot, ".0") || text[strlen(text) - 1] != '0') &&
		    (*text != '0' || dot == text + 1);
	default:
		return true;
	}
}

/* Texts stay as written: 2.10 is a version, whatever YAML makes of it. */
static int
read_text(struct reader *r, int id, const struct node *at)
{
	const struct field	*f = &fields[id];
	const struct node	*node = node_of(at);
	const char		*text = node->text;
	char			**to = config_at(r->c, f), *copy, number[32];
	long			 n;

	if (node->kind == SCALAR_TEXT && (!*text || !strcmp(text, "null"))) {
		copy = strdup(text);	/* a text like any other, not null */
		if (!copy)
			return err_nomem(r->err);
		free(*to);
		*to = copy;
		r->c->origin[id] = ORIGIN_FILE;
		return 0;
	}
	if (f->flags & FIELD_BARE) {
		if (node->kind == SCALAR_BOOL)
			text = scalar_true(text) ? "true" : "false";
		else if (node->kind == SCALAR_INT && !scalar_int(text, &n)) {
			snprintf(number, sizeof(number), "%ld", n);
			text = number;
		}
	} else if (!same_in_python(node) && reader_warn(r, at, "%s: %.80s is "
	    "%s to Accelerate, and not this text: write '%.80s'", f->key, text,
	    scalar_name(node->kind), text))
		return -1;
	return config_set(r->c, (enum field_id)id, text, ORIGIN_FILE, r->err) ?
	    node_fail(&r->tree, at, r->err) : 0;
}

/* An unquoted no is a bool; for a choice it is the word that says so. */
static const char *
choice_word(const struct field *f, const struct node *node)
{
	if (node->kind == SCALAR_BOOL && !scalar_true(node->text))
		for (int i = 0; f->choice[i].word; i++)
			if (!strcasecmp(f->choice[i].word, "no"))
				return f->choice[i].word;
	return node->text;
}

static int
read_scalar(struct reader *r, int id, const struct node *at)
{
	const struct field	*f = &fields[id];
	const struct node	*node = node_of(at);
	const char		*text = node->text;
	char			 number[40];
	double			 real;
	long			 n;

	if (node->kind == SCALAR_VALUE || node->kind == SCALAR_MERGE)
		return wrong(r, at, f, "a value");
	if (f->type != TYPE_TEXT && !*text)
		return wrong(r, at, f, "a value");
	switch (f->type) {
	case TYPE_BOOL:
		if (node->kind == SCALAR_INT && !scalar_int(text, &n)) {
			snprintf(number, sizeof(number), "%ld", n);
			text = number;
		} else if (node->kind != SCALAR_BOOL &&
		    node->kind != SCALAR_TEXT)
			return wrong(r, at, f, "true or false");
		break;
	case TYPE_INT:
		if (node->kind == SCALAR_INT && !scalar_int(text, &n)) {
			snprintf(number, sizeof(number), "%ld", n);
			text = number;
		} else if (node->kind != SCALAR_TEXT &&
		    node->kind != SCALAR_INT)
			return wrong(r, at, f, "a whole number");
		break;
	case TYPE_REAL:
		if (node->kind == SCALAR_INT && !scalar_int(text, &n)) {
			snprintf(number, sizeof(number), "%ld", n);
			text = number;
		} else if (node->kind == SCALAR_FLOAT &&
		    !scalar_float(text, &real)) {
			snprintf(number, sizeof(number), "%.17g", real);
			text = number;
		}
		break;
	case TYPE_CHOICE:
		text = choice_word(f, node);
		break;
	default:
		return read_text(r, id, at);
	}
	if (config_set(r->c, (enum field_id)id, text, ORIGIN_FILE, r->err))
		return node_fail(&r->tree, at, r->err);
	return 0;
}

static int
read_value(struct reader *r, int id, const struct pair *pair)
{
	const struct field	*f = &fields[id];
	const struct node	*at = pair->value;

	if (node_is(at, SCALAR_NULL))
		return 0;
	r->at[id] = pair->key;
	r->c->in_file[id] = true;
	r->c->line[id] = at->line;
	if (id == FIELD_main_distributed_type)
		r->typed = true;
	if (r->c->origin[id] > ORIGIN_FILE)
		return 0;
	if (f->type == TYPE_LIST)
		return read_list(r, id, at);
	if (f->flags & FIELD_TREE)
		return read_tree(r, id, at);
	if (node_of(at)->type != NODE_SCALAR)
		return wrong(r, at, f, "one value");
	return read_scalar(r, id, at);
}

static int
read_field(struct reader *r, int id, const struct pair *pair)
{
	return reader_go_on(r, read_value(r, id, pair), id);
}

/* Two keys in one mapping: PyYAML takes the last and says nothing. */
static int
warn_twice(struct reader *r, const struct pair *pair)
{
	if (!pair->before || pair->merged)
		return 0;
	return reader_warn(r, pair->key, "%.120s stands on line %d already; "
	    "this one counts", node_of(pair->key)->text, pair->before->line);
}

static int
read_group(struct reader *r, const char *group, const struct node *at)
{
	const struct node	*map = node_of(at);
	struct pair		*pair;
	size_t			 count;
	int			 rc = 0;

	if (node_is(at, SCALAR_NULL))
		return 0;
	if (map->type != NODE_MAP) {
		err_set(r->err, "%s is %s, and not a mapping", group,
		    map->type == NODE_LIST ? "a list" :
		    scalar_name(map->kind));
		err_hint(r->err, "write its keys below it, each with two "
		    "spaces in front");
		return node_fail(&r->tree, at, r->err);
	}
	if (node_pairs(map, &pair, &count))
		return err_nomem(r->err);
	for (size_t i = 0; i < count && !rc; i++) {
		int	id = config_key_in(group, node_of(pair[i].key)->text);

		rc = warn_twice(r, &pair[i]);
		if (!rc)
			rc = id >= 0 ? read_field(r, id, &pair[i]) :
			    reader_keep(r, group, pair[i].key, pair[i].value);
	}
	free(pair);
	return rc;
}

static int
read_top(struct reader *r, const struct pair *pair)
{
	const char	*key = node_of(pair->key)->text;
	int		 id;

	if (config_is_group(key))
		return reader_go_on(r, read_group(r, key, pair->value), -1);
	if (!strcmp(key, "fp16")) {
		r->old_fp16 = node_is(pair->value, SCALAR_BOOL) &&
		    scalar_true(node_of(pair->value)->text);
		return 0;
	}
	id = config_key_at_top(key);
	return id >= 0 ? read_field(r, id, pair) :
	    reader_keep(r, "", pair->key, pair->value);
}

/* A file has the keys of its own compute_environment alone. */
static int
check_place(struct reader *r)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (r->at[i] &&
		    !config_belongs(r->c, (enum field_id)i)) {
			err_set(r->err, "%s is no key with "
			    "compute_environment %s", fields[i].key,
			    fields[i].flags & FIELD_CLOUD ? "LOCAL_MACHINE" :
			    "AMAZON_SAGEMAKER");
			err_hint(r->err, "remove it, or change "
			    "compute_environment");
			if (reader_go_on(r, node_fail(&r->tree, r->at[i],
			    r->err), i))
				return -1;
		}
	return 0;
}

static int
read_root(struct reader *r)
{
	const struct node	*root = r->tree.root;
	struct pair		*pair;
	size_t			 count;
	int			 rc = 0;

	if (!root || (root->type == NODE_SCALAR && !*root->text)) {
		err_set(r->err, "%s:1:1: the file is empty", r->tree.name);
		return err_hint(r->err, "run accel config to write one");
	}
	if (root->type != NODE_MAP) {
		err_set(r->err, "%s, and not lines of the form key: value",
		    root->type == NODE_LIST ? "a list" :
		    scalar_name(root->kind));
		err_hint(r->err, "accel.yaml(5) shows a file");
		return node_fail(&r->tree, root, r->err);
	}
	if (node_pairs(root, &pair, &count))
		return err_nomem(r->err);
	for (size_t i = 0; i < count && !rc; i++) {
		rc = warn_twice(r, &pair[i]);
		if (!rc)
			rc = read_top(r, &pair[i]);
	}
	free(pair);
	if (rc)
		return rc;
	if (r->unknown_count)
		return reader_refuse_unknown(r);
	if (!r->typed &&
	    r->c->origin[FIELD_main_distributed_type] <= ORIGIN_FILE) {
		err_set(r->err, "%s: distributed_type is missing",
		    r->tree.name);
		err_hint(r->err, "add: distributed_type: 'NO'");
		if (reader_go_on(r, -1, FIELD_main_distributed_type))
			return -1;
	}
	if (check_place(r))
		return -1;
	if (r->old_fp16 &&
	    r->c->origin[FIELD_main_mixed_precision] < ORIGIN_FILE)
		return config_set(r->c, FIELD_main_mixed_precision, "fp16",
		    ORIGIN_FILE, r->err);
	return 0;
}

int
config_parse(struct config *c, const char *text, size_t n, const char *name,
    struct err *err)
{
	struct err	own = ERR_INIT;
	struct reader	r = { .c = c, .err = err ? err : &own };
	int		rc;

	if (tree_read(&r.tree, text, n, name, tree_flags(name), err))
		return -1;
	rc = read_root(&r);
	buf_clear(&r.unknown);
	tree_clear(&r.tree);
	return rc;
}

int
config_read(struct config *c, const char *path, struct err *err)
{
	struct buf	text = BUF_INIT;
	char		*copy;
	int		rc;

	text.max = LARGEST;
	rc = file_read(path, &text, err);
	if (!rc)
		rc = config_parse(c, buf_text(&text), text.len, path, err);
	buf_clear(&text);
	if (rc)
		return rc;
	copy = strdup(path);
	if (!copy)
		return err_nomem(err);
	free(c->path);
	c->path = copy;
	return 0;
}
