/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/beside.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/config/yaml_emit.h"
#include "runtime/config/yaml_tree.h"
#include "runtime/launch/hosts.h"

#include "runtime/base/banned.h"

static const struct { const char *key; size_t offset; } keys[] = {
	{ "hosts", offsetof(struct beside, hosts) },
	{ "ssh_config", offsetof(struct beside, ssh_config) },
};
enum { KEYS = sizeof keys / sizeof *keys };

static char **
member(struct beside *b, size_t key)
{
	return (char **)(void *)((char *)b + keys[key].offset);
}

char *
beside_path(const char *config_file)
{
	static const char *const ends[] = { ".yaml", ".yml", ".json" };
	size_t	 n = strlen(config_file);
	char	*path;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t end = strlen(ends[i]);

		if (n > end && !strcmp(config_file + n - end, ends[i])) {
			n -= end;
			break;
		}
	}
	return asprintf(&path, "%.*s.accel.yaml", (int)n, config_file) < 0 ?
	    NULL : path;
}

/* A text, or a list of them with commas between; NULL where it is neither. */
static char *
text_of(const struct node *value)
{
	const struct node	*v = node_of(value);
	struct buf		 all = BUF_INIT;

	if (v->type == NODE_SCALAR)
		return strdup(v->text);
	if (v->type != NODE_LIST)
		return NULL;
	for (size_t i = 0; i < v->count; i++) {
		const struct node *item = node_of(v->item[i]);

		if (item->type != NODE_SCALAR) {
			buf_clear(&all);
			return NULL;
		}
		buf_addf(&all, "%s%s", i ? "," : "", item->text);
	}
	return all.len ? buf_detach(&all) : strdup("");
}

static int
take(struct beside *b, const struct tree *tree, const struct pair *pair,
    struct err *err)
{
	const char	*name = node_of(pair->key)->text;
	char		**to = NULL;

	for (size_t i = 0; i < KEYS; i++)
		if (!strcmp(name, keys[i].key))
			to = member(b, i);
	if (!to) {
		err_set(err, "\"%s\" is not known", name);
		err_hint(err, "here are hosts and ssh_config; the rest belongs "
		    "into the configuration itself");
		return node_fail(tree, pair->key, err);
	}
	if (node_is(pair->value, SCALAR_NULL))
		return 0;
	if (!(*to = text_of(pair->value)) || strchr(*to, '\n')) {
		err_set(err, "\"%s\" is not a text", name);
		err_hint(err, "such as hosts: node1:8,node2:4");
		return node_fail(tree, pair->value, err);
	}
	return 0;
}

static int
parse(struct beside *b, const struct buf *text, const char *path,
    struct err *err)
{
	struct hosts	 hosts = HOSTS_INIT;
	struct tree	 tree;
	struct pair	*pairs = NULL;
	size_t		 n = 0;
	int		 status = 0;

	if (tree_read(&tree, buf_text(text), text->len, path, 0, err) < 0)
		return -1;
	if (tree.root && !node_is(tree.root, SCALAR_NULL)) {
		if (node_of(tree.root)->type != NODE_MAP)
			status = err_set(err, "%s: here are no \"key: value\" "
			    "pairs", path);
		else if (node_pairs(node_of(tree.root), &pairs, &n) < 0)
			status = err_nomem(err);
	}
	for (size_t i = 0; i < n && !status; i++)
		status = take(b, &tree, &pairs[i], err);
	free(pairs);
	tree_clear(&tree);
	if (!status && b->hosts && *b->hosts &&
	    hosts_add(&hosts, b->hosts, err) < 0)
		status = err_at(err, "%s", path);
	hosts_clear(&hosts);
	return status;
}

int
beside_read(struct beside *b, const char *config_file, struct err *err)
{
	struct buf	 text = { .max = 4 << 20 };
	char		*path = beside_path(config_file);
	int		 status = path ? 0 : err_nomem(err);

	if (path && access(path, F_OK) == 0)
		status = file_read(path, &text, err) < 0 ||
		    parse(b, &text, path, err) < 0 ? -1 : 0;
	buf_clear(&text);
	free(path);
	if (status)
		beside_clear(b);
	return status;
}

static int
print(const struct beside *b, struct buf *out)
{
	struct emit e;

	buf_adds(out, "# Hosts of the configuration beside this file, for "
	    "accel launch.\n");
	emit_begin(&e, EMIT_BLOCK, out);
	emit_map(&e);
	for (size_t i = 0; i < KEYS; i++) {
		const char *value = *member((struct beside *)b, i);

		if (!value || !*value)
			continue;
		emit_text(&e, keys[i].key);
		emit_text(&e, value);
	}
	emit_map_end(&e);
	return emit_end(&e) || buf_failed(out) ? -1 : 0;
}

int
beside_write(const struct beside *b, const char *config_file, struct err *err)
{
	struct beside	 old = BESIDE_INIT;
	struct buf	 text = BUF_INIT;
	char		*path;
	int		 status;

	if (beside_read(&old, config_file, err) < 0)
		return -1;
	beside_clear(&old);
	if (!(path = beside_path(config_file)))
		return err_nomem(err);
	if ((!b->hosts || !*b->hosts) && (!b->ssh_config || !*b->ssh_config))
		status = unlink(path) && errno != ENOENT ? err_set(err,
		    "%s: %s", path, strerror(errno)) : 0;
	else if (print(b, &text) < 0)
		status = err_nomem(err);
	else
		status = file_replace(path, buf_text(&text), text.len, 0644,
		    err);
	buf_clear(&text);
	free(path);
	return status;
}

void
beside_clear(struct beside *b)
{
	for (size_t i = 0; i < KEYS; i++) {
		free(*member(b, i));
		*member(b, i) = NULL;
	}
}
