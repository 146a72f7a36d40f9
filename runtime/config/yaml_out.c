/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the configuration as PyYAML's safe_dump would. */
#include "runtime/config/intern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/banned.h"

static void
double_quote(struct buf *out, const char *text)
{
	const unsigned char	*s = (const unsigned char *)text;

	buf_adds(out, "\"");
	while (*s) {
		uint32_t	u = *s++;
		int		more = u < 0xc0 ? 0 : u < 0xe0 ? 1 :
		    u < 0xf0 ? 2 : 3;

		if (more)
			u &= 0x3fU >> more;
		while (more-- && *s)
			u = u << 6 | (*s++ & 0x3f);
		if (u == '"' || u == '\\')
			buf_addf(out, "\\%c", (int)u);
		else if (u == '\n')
			buf_adds(out, "\\n");
		else if (u == '\t')
			buf_adds(out, "\\t");
		else if (u >= ' ' && u < 0x7f)
			buf_addf(out, "%c", (int)u);
		else if (u < 0x100)
			buf_addf(out, "\\x%02X", u);
		else if (u < 0x10000)
			buf_addf(out, "\\u%04X", u);
		else
			buf_addf(out, "\\U%08X", u);
	}
	buf_adds(out, "\"");
}

/* Inside [] and {} a few more characters end a plain text; quoting there and
 * here alike costs nothing that a reader would see. */
static bool
plain(const char *s)
{
	size_t	n = strlen(s);

	if (!n || strchr("#,[]{}&*!|>'\"%@`?:- ", *s) || s[n - 1] == ' ' ||
	    s[n - 1] == ':' || !strncmp(s, "...", 3))
		return false;
	return !strstr(s, ": ") && !strstr(s, " #") &&
	    !strpbrk(s, "[]{}");
}

void
yaml_quote(struct buf *out, const char *text, bool bare)
{
	enum scalar	kind = scalar_of(text);

	for (const char *s = text; *s; s++)
		if ((unsigned char)*s < ' ' || (unsigned char)*s > '~') {
			double_quote(out, text);
			return;
		}
	if (bare && (kind == SCALAR_BOOL || kind == SCALAR_INT ||
	    kind == SCALAR_FLOAT)) {
		buf_adds(out, text);
		return;
	}
	if (kind == SCALAR_TEXT && plain(text) && !strchr(text, ',')) {
		buf_adds(out, text);
		return;
	}
	if (kind == SCALAR_TEXT && plain(text) && !strstr(text, ", ")) {
		buf_adds(out, text);	/* 0,1 */
		return;
	}
	buf_adds(out, "'");
	for (const char *s = text; *s; s++)
		buf_addf(out, *s == '\'' ? "''" : "%c", *s);
	buf_adds(out, "'");
}

static void
print_value(const struct config *c, int id, struct buf *out, const char *in)
{
	const struct field	*f = &fields[id];
	struct buf		 text = BUF_INIT;
	const char		*s, *end;

	config_get(c, (enum field_id)id, &text);
	if (f->type == TYPE_LIST) {
		s = buf_text(&text);
		buf_adds(out, *s ? "\n" : " []\n");
		for (; (end = strchr(s, '\n')); s = end + 1) {
			struct buf	item = BUF_INIT;

			buf_add(&item, s, (size_t)(end - s));
			buf_addf(out, "%s- ", in);
			yaml_quote(out, buf_text(&item),
			    f->flags & FIELD_BARE);
			buf_adds(out, "\n");
			buf_clear(&item);
		}
	} else {
		buf_adds(out, " ");
		if (f->flags & FIELD_TREE)
			buf_adds(out, buf_text(&text));
		else if (f->type == TYPE_TEXT || f->type == TYPE_CHOICE)
			yaml_quote(out, buf_text(&text),
			    f->flags & FIELD_BARE);
		else
			buf_adds(out, buf_text(&text));
		buf_adds(out, "\n");
	}
	buf_clear(&text);
}

static bool
printed(const struct config *c, int id)
{
	const struct field	*f = &fields[id];

	if (f->flags & FIELD_FLAGONLY || config_null(c, (enum field_id)id) ||
	    !config_belongs(c, (enum field_id)id))
		return false;
	if (c->origin[id] != ORIGIN_DEFAULT)
		return true;
	return !*f->group && f->type != TYPE_LIST &&
	    config_applies(c, (enum field_id)id);
}

struct line {
	const char	*key, *text;	/* borrowed */
	int		 id;		/* or -1: text; -2: a group */
};

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->key,
	    ((const struct line *)b)->key);
}

static void
print_group(const struct config *c, const char *group, struct buf *out)
{
	struct line	*lines;
	size_t		 n = 0;
	const char	*in = *group ? "  " : "";

	lines = calloc(2 * FIELD_COUNT + c->extra_count + 2, sizeof(*lines));
	if (!lines) {
		out->failed = true;
		return;
	}
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (!strcmp(fields[i].group, group) && printed(c, i))
			lines[n++] = (struct line){ fields[i].key, NULL, i };
		if (!*group && *fields[i].group && (!i ||
		    strcmp(fields[i].group, fields[i - 1].group)))
			lines[n++] = (struct line){ fields[i].group, NULL,
			    -2 };
	}
	for (size_t i = 0; i < c->extra_count; i++)
		if (!strcmp(c->extra[i].group, group))
			lines[n++] = (struct line){ c->extra[i].key,
			    c->extra[i].text, -1 };
	qsort(lines, n, sizeof(*lines), by_key);
	for (size_t i = 0; i < n; i++) {
		if (lines[i].id == -2) {
			struct buf	sub = BUF_INIT;

			print_group(c, lines[i].key, &sub);
			if (sub.len)
				buf_addf(out, "%s:\n%s", lines[i].key,
				    buf_text(&sub));
			buf_clear(&sub);
			continue;
		}
		buf_adds(out, in);
		yaml_quote(out, lines[i].key, false);
		buf_adds(out, ":");
		if (lines[i].id == -1)
			buf_addf(out, " %s\n", lines[i].text);
		else
			print_value(c, lines[i].id, out, in);
	}
	free(lines);
}

int
config_print(const struct config *c, struct buf *out)
{
	print_group(c, "", out);
	return buf_failed(out) ? -1 : 0;
}

int
config_write(const struct config *c, const char *path, struct err *err)
{
	struct buf	text = BUF_INIT;
	int		rc;

	rc = config_print(c, &text) ? err_nomem(err) :
	    file_replace(path, buf_text(&text), text.len, 0644, err);
	buf_clear(&text);
	return rc;
}
