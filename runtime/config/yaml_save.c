/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a configuration, written so that nothing is lost. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/config/intern.h"
#include "runtime/base/banned.h"

static bool
same_file(const char *a, const char *b)
{
	struct stat	x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
	    x.st_ino == y.st_ino;
}

static void
json_text(const char *text, struct buf *out)
{
	buf_adds(out, "\"");
	for (const char *s = text; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addf(out, "\\%c", *s);
		else if (*s == '\n')
			buf_adds(out, "\\n");
		else if ((unsigned char)*s < ' ')
			buf_addf(out, "\\u%04x", (unsigned)*s);
		else
			buf_add(out, s, 1);
	}
	buf_adds(out, "\"");
}

/* What JSON has no word for, a date or 0x10, stays a text. */
static void
json_scalar(const struct node *node, struct buf *out)
{
	const char	*text = node->text;
	double		 real;
	long		 n;

	if (node->kind == SCALAR_NULL)
		buf_adds(out, "null");
	else if (node->kind == SCALAR_BOOL)
		buf_adds(out, scalar_true(text) ? "true" : "false");
	else if (node->kind == SCALAR_INT && !scalar_int(text, &n))
		buf_addf(out, "%ld", n);
	else if (node->kind == SCALAR_FLOAT && !num_parse_real(text, -1e308,
	    1e308, &real) && text[0] != '.' && text[0] != '+')
		buf_adds(out, text);
	else
		json_text(text, out);
}

static void
json_node(const struct node *node, unsigned depth, struct buf *out)
{
	bool	map = node->type == NODE_MAP;
	size_t	step = map ? 2 : 1;

	if (node->type == NODE_SCALAR) {
		json_scalar(node, out);
		return;
	}
	if (!node->count) {
		buf_adds(out, map ? "{}" : "[]");
		return;
	}
	buf_adds(out, map ? "{" : "[");
	for (size_t i = 0; i < node->count; i += step) {
		buf_addf(out, "%s\n%*s", i ? "," : "", (int)depth * 2 + 2, "");
		if (map) {
			json_text(node_of(node->item[i])->text, out);
			buf_adds(out, ": ");
		}
		json_node(node_of(node->item[i + step - 1]), depth + 1, out);
	}
	buf_addf(out, "\n%*s%s", (int)depth * 2, "", map ? "}" : "]");
}

int
config_print_json(const struct config *c, struct buf *out)
{
	struct buf	yaml = BUF_INIT;
	struct tree	tree = { 0 };
	int		rc = -1;

	if (!config_print(c, &yaml) && !tree_read(&tree, buf_text(&yaml),
	    yaml.len, "json", 0, NULL) && tree.root) {
		json_node(tree.root, 0, out);
		buf_adds(out, "\n");
		rc = buf_failed(out) ? -1 : 0;
	}
	tree_clear(&tree);
	buf_clear(&yaml);
	return rc;
}

int
config_text(const struct config *c, const char *path, unsigned how,
    struct buf *out, const char **notice, struct err *err)
{
	struct buf	old = BUF_INIT, text = BUF_INIT;
	bool		json = tree_flags(path) & TREE_JSON;
	int		rc = 1;

	*notice = NULL;
	if (c->path && same_file(c->path, path))
		rc = file_read(path, &old, err) ? -1 : config_update_text(c,
		    buf_text(&old), old.len, path, how, &text, notice, err);
	/* Python's JSON has its own form; an unchanged file keeps what it has */
	if (!rc && json && (text.len != old.len ||
	    memcmp(buf_text(&text), buf_text(&old), old.len)))
		rc = 1;
	if (rc > 0) {
		buf_clear(&text);
		rc = (json ? config_print_json : config_print)(c, &text) ?
		    err_nomem(err) : 0;
	}
	if (!rc && buf_add(out, buf_text(&text), text.len))
		rc = err_nomem(err);
	buf_clear(&old);
	buf_clear(&text);
	return rc;
}

int
config_save(const struct config *c, const char *path, unsigned how,
    const char **notice, struct err *err)
{
	struct buf	old = BUF_INIT, text = BUF_INIT;
	int		rc;

	rc = config_text(c, path, how, &text, notice, err);
	/* what cannot be read is replaced, or file_replace() says why not */
	if (!rc && (file_read(path, &old, NULL) || old.len != text.len ||
	    memcmp(buf_text(&old), buf_text(&text), text.len)))
		rc = file_replace(path, buf_text(&text), text.len, 0644, err);
	buf_clear(&old);
	buf_clear(&text);
	return rc;
}

int
config_write(const struct config *c, const char *path, struct err *err)
{
	const char	*notice;

	return config_save(c, path, 0, &notice, err);
}
