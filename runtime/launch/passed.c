/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/passed.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"

#include "runtime/base/banned.h"

static int
set(struct strv *env, const char *name, size_t n, const char *value,
    struct err *err)
{
	char	*copy = strndup(name, n);
	int	 ret = copy ? strv_setenv(env, copy, value) : -1;

	free(copy);
	return ret < 0 ? err_nomem(err) : 0;
}

static int
add_pattern(struct strv *env, const char *pattern, char *const *from,
    struct err *err)
{
	for (; *from; from++) {
		size_t	 n = strcspn(*from, "=");
		char	*name;
		bool	 fits;

		if (!(*from)[n] || !n)
			continue;
		name = strndup(*from, n);
		if (!name)
			return err_nomem(err);
		fits = fnmatch(pattern, name, 0) == 0;
		free(name);
		if (fits && set(env, *from, n, *from + n + 1, err) < 0)
			return -1;
	}
	return 0;
}

int
passed_add(struct strv *env, const char *item, char *const *from,
    struct err *err)
{
	size_t n = strcspn(item, "=");

	if (n == 0) {
		err_set(err, "--env %s: no name", item);
		return err_hint(err, "write --env NAME or --env NAME=VALUE");
	}
	if (item[n] == '=')
		return set(env, item, n, item + n + 1, err);
	if (strpbrk(item, "*?["))
		return add_pattern(env, item, from, err);
	for (; *from; from++)
		if (!strncmp(*from, item, n) && (*from)[n] == '=')
			return set(env, item, n, *from + n + 1, err);
	err_set(err, "--env %s: not set here", item);
	return err_hint(err, "set it, or give it: --env %s=VALUE", item);
}

struct text {			/* a file that is being read */
	const char	*path, *at, *end;
	int		 line;
};

static int
bad(const struct text *t, int line, const char *what, struct err *err)
{
	/* Never the line itself: it may be a secret. */
	err_set(err, "%s:%d: %s", t->path, line, what);
	return err_hint(err, "a line is NAME=VALUE, with quotes around a value "
	    "that has blanks or quotes in it");
}

static void
skip_line(struct text *t)
{
	while (t->at < t->end && *t->at != '\n')
		t->at++;
}

static bool
is_name(char c, bool first)
{
	return isalpha((unsigned char)c) || c == '_' ||
	    (!first && isdigit((unsigned char)c));
}

static char
escaped(char c)
{
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case 'r': return '\r';
	default:  return c;
	}
}

/* Adds what quotes hold, behind the first of them. */
static int
read_quoted(struct text *t, struct buf *value, struct err *err)
{
	char	quote = *t->at++;
	int	line = t->line;

	while (t->at < t->end && *t->at != quote) {
		char c = *t->at++;

		t->line += c == '\n';
		if (quote == '"' && c == '\\' && t->at < t->end) {
			if (!strchr("nrt\"\\$`", *t->at))
				buf_add(value, "\\", 1);
			c = escaped(*t->at++);
		}
		buf_add(value, &c, 1);
	}
	if (t->at == t->end)
		return bad(t, line, "a quote without its end", err);
	t->at++;
	return 0;
}

static int
read_value(struct text *t, struct buf *value, struct err *err)
{
	const char *from;

	if (t->at < t->end && strchr("'\"", *t->at)) {
		if (read_quoted(t, value, err) < 0)
			return -1;
		while (t->at < t->end && strchr(" \t\r", *t->at))
			t->at++;
		if (t->at < t->end && *t->at != '\n' && *t->at != '#')
			return bad(t, t->line, "something behind the quote", err);
		skip_line(t);
		return 0;
	}
	from = t->at;
	while (t->at < t->end && *t->at != '\n' && !(*t->at == '#' &&
	    (t->at == from || strchr(" \t", t->at[-1]))))
		t->at++;
	buf_add(value, from, (size_t)(t->at - from));
	while (value->len && strchr(" \t\r", value->data[value->len - 1]))
		value->data[--value->len] = '\0';
	skip_line(t);
	return 0;
}

static int
read_line(struct text *t, struct strv *env, struct err *err)
{
	const char	*name;
	struct buf	 value = BUF_INIT;
	size_t		 n;
	int		 ret, line = t->line;

	while (t->at < t->end && strchr(" \t\r", *t->at))
		t->at++;
	if (t->at == t->end || *t->at == '\n' || *t->at == '#') {
		skip_line(t);
		return 0;
	}
	if (t->end - t->at > 7 && !strncmp(t->at, "export", 6) &&
	    strchr(" \t", t->at[6]))
		for (t->at += 6; t->at < t->end && strchr(" \t", *t->at);)
			t->at++;
	name = t->at;
	while (t->at < t->end && is_name(*t->at, t->at == name))
		t->at++;
	n = (size_t)(t->at - name);
	if (n == 0 || t->at == t->end || *t->at != '=')
		return bad(t, line, "not NAME=VALUE", err);
	t->at++;
	if (read_value(t, &value, err) < 0) {
		buf_clear(&value);
		return -1;
	}
	if (value.len && memchr(value.data, '\0', value.len))
		ret = bad(t, line, "a NUL in it", err);
	else if (buf_failed(&value))
		ret = err_nomem(err);
	else
		ret = set(env, name, n, buf_text(&value), err);
	if (value.data)
		explicit_bzero(value.data, value.len);
	buf_clear(&value);
	return ret;
}

int
passed_read(struct strv *env, const char *path, struct err *err)
{
	struct buf	file = BUF_INIT;
	struct text	t = { .path = path, .line = 1 };
	int		ret = 0;

	if (file_read(path, &file, err) < 0) {
		buf_clear(&file);
		return err_at(err, "--env_file");
	}
	t.at = buf_text(&file);
	t.end = t.at + file.len;
	while (!ret && t.at < t.end) {
		ret = read_line(&t, env, err);
		if (t.at < t.end && *t.at == '\n') {
			t.at++;
			t.line++;
		}
	}
	if (file.data)
		explicit_bzero(file.data, file.len);
	buf_clear(&file);
	return ret;
}
