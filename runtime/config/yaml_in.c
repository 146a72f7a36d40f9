/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Accelerate's YAML (JSON is a part of it), as PyYAML understands it. */
#include "runtime/config/intern.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/near.h"
#include "runtime/base/banned.h"

/* PyYAML's implicit resolvers, YAML 1.1, in its order. */
static const struct { enum scalar kind; const char *form; } forms[] = {
	{ SCALAR_BOOL, "^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|"
	    "FALSE|on|On|ON|off|Off|OFF)$" },
	{ SCALAR_FLOAT, "^([-+]?[0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|"
	    "\\.[0-9][0-9_]*([eE][-+][0-9]+)?|"
	    "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*|"
	    "[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN))$" },
	{ SCALAR_INT, "^([-+]?0b[01_]+|[-+]?0[0-7_]+|"
	    "[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|"
	    "[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+)$" },
	{ SCALAR_NULL, "^(~|null|Null|NULL|)$" },
	{ SCALAR_OTHER, "^(<<|=|[0-9]{4}-[0-9]{2}-[0-9]{2}|"
	    "[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt]|[ \t]+)[0-9][0-9]?:"
	    "[0-9]{2}:[0-9]{2}(\\.[0-9]*)?"
	    "([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?)$" },
};

enum scalar
scalar_of(const char *text)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		regex_t	form;
		int	miss;

		if (regcomp(&form, forms[i].form, REG_EXTENDED | REG_NOSUB))
			return SCALAR_OTHER;
		miss = regexec(&form, text, 0, NULL, 0);
		regfree(&form);
		if (!miss)
			return forms[i].kind;
	}
	return SCALAR_TEXT;
}

bool
scalar_true(const char *text)
{
	return strchr("yYtT", text[0]) || !strcmp(text, "on") ||
	    !strcmp(text, "On") || !strcmp(text, "ON");
}

int
scalar_int(const char *text, long *out)
{
	long	 sum = 0, part = 0;
	int	 base = 10;
	bool	 minus = *text == '-';

	if (*text == '-' || *text == '+')
		text++;
	if (text[0] == '0' && text[1]) {
		base = text[1] == 'b' ? 2 : text[1] == 'x' ? 16 : 8;
		text += base == 8 ? 1 : 2;
	}
	for (; *text; text++) {
		int	digit;

		if (*text == '_')
			continue;
		if (*text == ':') {
			if (__builtin_add_overflow(sum, part, &sum) ||
			    __builtin_mul_overflow(sum, 60, &sum))
				return -1;
			part = 0;
			continue;
		}
		digit = *text <= '9' ? *text - '0' : (*text | 32) - 'a' + 10;
		if (__builtin_mul_overflow(part, base, &part) ||
		    __builtin_add_overflow(part, digit, &part))
			return -1;
	}
	if (__builtin_add_overflow(sum, part, &sum))
		return -1;
	*out = minus ? -sum : sum;
	return 0;
}

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

struct reader {
	struct config	*c;
	yaml_document_t	 doc;
	const char	*name;
	struct err	*err;
	bool		 typed;		/* distributed_type was there */
	bool		 old_fp16;
};

static int
fail_at(struct reader *r, const yaml_node_t *node)
{
	return err_at(r->err, "%s:%zu", r->name, node->start_mark.line + 1);
}

static const char *
text_of(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

static enum scalar
kind_of(const yaml_node_t *node)
{
	if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return SCALAR_TEXT;
	return scalar_of(text_of(node));
}

static const char *
kind_name(enum scalar kind)
{
	static const char *const names[] = { "a text", "null", "a bool",
	    "a whole number", "a real number", "a date" };

	return names[kind];
}

static int
wrong(struct reader *r, const yaml_node_t *node, const struct field *f,
    const char *want)
{
	const char	*got = node->type == YAML_MAPPING_NODE ? "a mapping" :
	    node->type == YAML_SEQUENCE_NODE ? "a list" :
	    kind_name(kind_of(node));

	err_set(r->err, "%s needs %s, not %s", f->key, want, got);
	return fail_at(r, node);
}

static int
read_list(struct reader *r, int id, const yaml_node_t *node)
{
	const struct field	*f = &fields[id];
	struct buf		 all = BUF_INIT;
	int			 rc;

	if (node->type == YAML_SCALAR_NODE) {
		buf_addf(&all, "%s\n", text_of(node));
	} else if (node->type != YAML_SEQUENCE_NODE) {
		return wrong(r, node, f, "a list");
	} else {
		for (yaml_node_item_t *i = node->data.sequence.items.start;
		    i < node->data.sequence.items.top; i++) {
			yaml_node_t	*item = yaml_document_get_node(&r->doc,
			    *i);

			if (item->type != YAML_SCALAR_NODE ||
			    strchr(text_of(item), '\n')) {
				buf_clear(&all);
				return wrong(r, item, f, "lines of text");
			}
			buf_addf(&all, "%s\n", text_of(item));
		}
	}
	rc = config_set(r->c, (enum field_id)id, buf_text(&all), ORIGIN_FILE,
	    r->err);
	buf_clear(&all);
	return rc ? fail_at(r, node) : 0;
}

static void render(struct reader *, struct buf *, const yaml_node_t *, int);

static int
read_tree(struct reader *r, int id, const yaml_node_t *node)
{
	struct buf	text = BUF_INIT;
	int		rc;

	text.max = 1 << 20;
	render(r, &text, node, 0);
	if (buf_failed(&text))
		rc = err_set(r->err, "%s is too large, or refers to itself",
		    fields[id].key);
	else
		rc = config_set(r->c, (enum field_id)id, buf_text(&text),
		    ORIGIN_FILE, r->err);
	buf_clear(&text);
	return rc ? fail_at(r, node) : 0;
}

static int
read_field(struct reader *r, int id, const yaml_node_t *node)
{
	const struct field	*f = &fields[id];
	const char		*text;
	enum scalar		 kind;
	char			 number[32];
	long			 n;

	if (node->type == YAML_SCALAR_NODE && kind_of(node) == SCALAR_NULL)
		return 0;
	r->c->in_file[id] = true;
	r->c->line[id] = (int)node->start_mark.line + 1;
	if (r->c->origin[id] > ORIGIN_FILE)
		return 0;
	if (f->type == TYPE_LIST)
		return read_list(r, id, node);
	if (f->flags & FIELD_TREE)
		return read_tree(r, id, node);
	if (node->type != YAML_SCALAR_NODE)
		return wrong(r, node, f, "one value");
	text = text_of(node);
	kind = kind_of(node);
	switch (f->type) {
	case TYPE_BOOL:
		if (kind != SCALAR_BOOL && kind != SCALAR_TEXT)
			return wrong(r, node, f, "true or false");
		break;
	case TYPE_INT:
		if (kind == SCALAR_INT && !scalar_int(text, &n)) {
			snprintf(number, sizeof(number), "%ld", n);
			text = number;
		} else if (kind != SCALAR_TEXT && kind != SCALAR_INT) {
			return wrong(r, node, f, "a whole number");
		}
		break;
	case TYPE_CHOICE:
		/* "NO" and "no" unquoted are the bool false in YAML 1.1 */
		if (kind == SCALAR_BOOL && !scalar_true(text))
			text = f->choice[0].word[0] == 'n' ? "no" : "NO";
		break;
	case TYPE_TEXT:
		if (*text == '\0' || !strcmp(text, "null")) {
			/* quoted: a text like any other, not null */
			char	**at = config_at(r->c, f);
			char	*copy = strdup(text);

			if (!copy)
				return err_nomem(r->err);
			free(*at);
			*at = copy;
			r->c->origin[id] = ORIGIN_FILE;
			return 0;
		}
		if (kind == SCALAR_BOOL && f->flags & FIELD_BARE)
			text = scalar_true(text) ? "true" : "false";
		break;
	default:
		break;
	}
	if (f->type != TYPE_TEXT && !*text)
		return wrong(r, node, f, "a value");
	if (config_set(r->c, (enum field_id)id, text, ORIGIN_FILE, r->err))
		return fail_at(r, node);
	return 0;
}

/* Renders what no row knows, as it will be written; depth counts indents. */
static void
render(struct reader *r, struct buf *out, const yaml_node_t *node, int depth)
{
	if (depth > 60)			/* an alias to what is around it */
		out->failed = true;
	if (buf_failed(out))
		return;
	if (node->type == YAML_SCALAR_NODE) {
		bool	plain = node->data.scalar.style ==
		    YAML_PLAIN_SCALAR_STYLE;

		if (plain && !*text_of(node))
			buf_adds(out, "null");
		else if (depth > 0 && strchr(text_of(node), ',') &&
		    !text_of(node)[strspn(text_of(node), "0123456789,.")])
			/* 0,1: a comma ends a plain text inside [] and {} */
			buf_addf(out, "'%s'", text_of(node));
		else if (plain && scalar_of(text_of(node)) != SCALAR_TEXT)
			buf_adds(out, text_of(node));
		else
			yaml_quote(out, text_of(node), false);
		return;
	}
	if (node->type == YAML_SEQUENCE_NODE) {	/* flow: no indents to mind */
		buf_adds(out, "[");
		for (yaml_node_item_t *i = node->data.sequence.items.start;
		    i < node->data.sequence.items.top; i++) {
			if (i > node->data.sequence.items.start)
				buf_adds(out, ", ");
			render(r, out, yaml_document_get_node(&r->doc, *i),
			    depth + 1);
		}
		buf_adds(out, "]");
		return;
	}
	buf_adds(out, "{");
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
	    p < node->data.mapping.pairs.top; p++) {
		if (p > node->data.mapping.pairs.start)
			buf_adds(out, ", ");
		render(r, out, yaml_document_get_node(&r->doc, p->key),
		    depth + 1);
		buf_adds(out, ": ");
		render(r, out, yaml_document_get_node(&r->doc, p->value),
		    depth + 1);
	}
	buf_adds(out, "}");
}

static int
keep(struct reader *r, const char *group, const char *key,
    const yaml_node_t *node)
{
	struct config	*c = r->c;
	struct buf	 text = BUF_INIT;
	struct extra	*grown, *e = NULL;
	char		*ready;

	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, group) &&
		    !strcmp(c->extra[i].key, key))
			e = &c->extra[i];
	text.max = 1 << 20;
	render(r, &text, node, 0);
	ready = buf_detach(&text);
	if (!ready) {
		buf_clear(&text);
		err_set(r->err, "%s is too large, or refers to itself", key);
		return fail_at(r, node);
	}
	if (e) {			/* the last of two wins */
		free(e->text);
		e->text = ready;
		return 0;
	}
	grown = realloc(c->extra, (c->extra_count + 1) * sizeof(*grown));
	if (!grown) {
		free(ready);
		return err_nomem(r->err);
	}
	c->extra = grown;
	e = &grown[c->extra_count];
	*e = (struct extra){ strdup(group), strdup(key), ready };
	c->extra_count++;
	if (!e->group || !e->key)
		return err_nomem(r->err);
	return 0;
}

static int
read_group(struct reader *r, const char *group, const yaml_node_t *node)
{
	if (node->type == YAML_SCALAR_NODE && kind_of(node) == SCALAR_NULL)
		return 0;
	if (node->type != YAML_MAPPING_NODE) {
		err_set(r->err, "%s needs a mapping", group);
		return fail_at(r, node);
	}
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
	    p < node->data.mapping.pairs.top; p++) {
		yaml_node_t	*k = yaml_document_get_node(&r->doc, p->key);
		yaml_node_t	*v = yaml_document_get_node(&r->doc, p->value);
		int		 id;

		if (k->type != YAML_SCALAR_NODE) {
			err_set(r->err, "a key in %s is no text", group);
			return fail_at(r, k);
		}
		id = config_key_in(group, text_of(k));
		if (id >= 0 ? read_field(r, id, v) :
		    keep(r, group, text_of(k), v))
			return -1;
	}
	return 0;
}

static int
unknown(struct reader *r, const yaml_node_t *k)
{
	const char	*key = text_of(k), *best = NULL;
	size_t		 least = 99;

	for (int i = 0; i < FIELD_COUNT; i++) {
		const char	*name = *fields[i].group ? fields[i].group :
		    fields[i].key;
		size_t		 d = near_distance(key, name);

		if (!(fields[i].flags & FIELD_FLAGONLY) && d < least &&
		    near_enough(key, name)) {
			least = d;
			best = name;
		}
	}
	err_set(r->err, "unknown key %s", key);
	if (config_retired(key))
		err_hint(r->err, "%s", config_retired(key));
	else if (config_field_of(key) >= 0 &&
	    fields[config_field_of(key)].flags & FIELD_FLAGONLY)
		err_hint(r->err, "it is a flag and no key: accel launch --%s",
		    key);
	else if (best)
		err_hint(r->err, "did you mean %s?", best);
	else
		err_hint(r->err, "remove the line; accel.yaml(5) lists all "
		    "keys");
	return fail_at(r, k);
}

static int
read_top(struct reader *r, const yaml_node_t *k, const yaml_node_t *v)
{
	const char	*key;
	int		 id;

	if (k->type != YAML_SCALAR_NODE) {
		err_set(r->err, "a key is no text");
		return fail_at(r, k);
	}
	key = text_of(k);
	if (config_is_group(key))
		return read_group(r, key, v);
	id = config_key_in("", key);
	if (id == FIELD_main_distributed_type)
		r->typed = true;
	if (id >= 0)
		return read_field(r, id, v);
	if (!strcmp(key, "dynamo_backend"))		/* before 0.13 */
		return read_field(r, FIELD_dynamo_backend, v);
	if (!strcmp(key, "fp16")) {			/* before 0.5 */
		r->old_fp16 = v->type == YAML_SCALAR_NODE &&
		    kind_of(v) == SCALAR_BOOL && scalar_true(text_of(v));
		return 0;
	}
	return unknown(r, k);
}

/* A file has the keys of its own compute_environment alone. */
static int
check_place(struct reader *r)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (r->c->in_file[i] &&
		    !config_belongs(r->c, (enum field_id)i)) {
			err_set(r->err, "%s: %s is no key with "
			    "compute_environment %s", r->name,
			    *fields[i].group ? fields[i].group : fields[i].key,
			    fields[i].flags & FIELD_CLOUD ? "LOCAL_MACHINE" :
			    "AMAZON_SAGEMAKER");
			return err_hint(r->err, "remove it, or change "
			    "compute_environment");
		}
	return 0;
}

static int
read_root(struct reader *r)
{
	yaml_node_t	*root = yaml_document_get_root_node(&r->doc);

	if (!root || (root->type == YAML_SCALAR_NODE && !*text_of(root))) {
		err_set(r->err, "%s: the file is empty", r->name);
		return err_hint(r->err, "run accel config to write one");
	}
	if (root->type != YAML_MAPPING_NODE) {
		err_set(r->err, "%s: needs lines of the form key: value",
		    r->name);
		return err_hint(r->err, "accel.yaml(5) shows one");
	}
	for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
	    p < root->data.mapping.pairs.top; p++)
		if (read_top(r, yaml_document_get_node(&r->doc, p->key),
		    yaml_document_get_node(&r->doc, p->value)))
			return -1;
	if (!r->typed &&
	    r->c->origin[FIELD_main_distributed_type] <= ORIGIN_FILE) {
		err_set(r->err, "%s: distributed_type is missing", r->name);
		return err_hint(r->err, "add: distributed_type: 'NO'");
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
	struct reader	r = { .c = c, .name = name, .err = err };
	yaml_parser_t	parser;
	int		rc;

	if (!yaml_parser_initialize(&parser))
		return err_nomem(err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	if (!yaml_parser_load(&parser, &r.doc)) {
		err_set(err, "%s:%zu: %s", name,
		    parser.problem_mark.line + 1,
		    parser.problem ? parser.problem : "no YAML");
		yaml_parser_delete(&parser);
		return err_hint(err, "check indents, colons and quotes there");
	}
	rc = read_root(&r);
	yaml_document_delete(&r.doc);
	yaml_parser_delete(&parser);
	return rc;
}

int
yaml_flow(const char *text, struct buf *out, struct err *err)
{
	struct reader	r = { .name = "value", .err = err };
	yaml_parser_t	parser;
	yaml_node_t	*root;
	int		rc = 0;

	if (!yaml_parser_initialize(&parser))
		return err_nomem(err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text,
	    strlen(text));
	if (!yaml_parser_load(&parser, &r.doc)) {
		err_set(err, "%s", parser.problem ? parser.problem : "no YAML");
		yaml_parser_delete(&parser);
		return err_hint(err, "such as {key: value}");
	}
	root = yaml_document_get_root_node(&r.doc);
	out->max = 1 << 20;
	if (root)
		render(&r, out, root, 0);
	if (!root || buf_failed(out))
		rc = err_set(err, root ? "too large, or refers to itself" :
		    "no value");
	yaml_document_delete(&r.doc);
	yaml_parser_delete(&parser);
	return rc;
}

int
config_read(struct config *c, const char *path, struct err *err)
{
	struct buf	text = BUF_INIT;
	int		rc;

	text.max = 1 << 20;
	rc = file_read(path, &text, err);
	if (!rc)
		rc = config_parse(c, buf_text(&text), text.len, path, err);
	buf_clear(&text);
	if (rc)
		return rc;
	free(c->path);
	c->path = strdup(path);
	return c->path ? 0 : err_nomem(err);
}
