/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/ignore.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/strv.h"

#include "runtime/base/banned.h"

int
ignore_parse(struct strv *patterns, const struct buf *text)
{
	const char *at = buf_text(text), *end = at + text->len;

	while (at < end) {
		const char	*stop = memchr(at, '\n', (size_t)(end - at));
		size_t		 n = (size_t)((stop ? stop : end) - at);
		const char	*line = at;

		at += n + (stop != NULL);
		while (n && strchr(" \t\r", line[n - 1]) &&
		    !(n > 1 && line[n - 2] == '\\'))
			n--;
		if (n && *line != '#' && !memchr(line, '\0', n) &&
		    strv_addf(patterns, "%.*s", (int)n, line) < 0)
			return -1;
	}
	return 0;
}

/* [a-z!] behind the "[": does it have c?  NULL where it has no end. */
static const char *
in_set(const char *p, char c, bool *has)
{
	bool not = *p == '!' || *p == '^';

	*has = false;
	p += not;
	for (bool first = true; *p && (first || *p != ']'); first = false) {
		unsigned char	lo = (unsigned char)*p++, hi = lo;

		if (lo == '\\' && *p)
			lo = hi = (unsigned char)*p++;
		if (*p == '-' && p[1] && p[1] != ']') {
			hi = (unsigned char)p[1];
			p += 2;
		}
		if ((unsigned char)c >= lo && (unsigned char)c <= hi)
			*has = true;
	}
	if (not)
		*has = !*has;
	return *p ? p + 1 : NULL;
}

/* The pattern, up to "end", against the whole text. */
static bool
fits(const char *p, const char *end, const char *text)
{
	for (; p < end; text++) {
		if (p[0] == '*' && p + 1 < end && p[1] == '*') {
			const char *rest = p + 2;

			if (rest < end && *rest == '/' && fits(rest + 1, end, text))
				return true;	/* no folder at all */
			for (const char *t = text; ; t++) {
				if (fits(rest, end, t))
					return true;
				if (!*t)
					return false;
			}
		}
		if (*p == '*') {
			do {
				if (fits(p + 1, end, text))
					return true;
			} while (*text && *text++ != '/');
			return false;
		}
		if (!*text)
			return false;
		if (*p == '[') {
			bool		 has;
			const char	*next = in_set(p + 1, *text, &has);

			if (!next || next > end || !has || *text == '/')
				return false;
			p = next;
			continue;
		}
		if (*p == '\\' && p + 1 < end)
			p++;
		else if (*p == '?' && *text != '/') {
			p++;
			continue;
		}
		if (*p++ != *text)
			return false;
	}
	return *text == '\0';
}

bool
ignore_path(const struct strv *patterns, const char *path, bool folder)
{
	const char	*base = strrchr(path, '/');
	bool		 out = false;

	base = base ? base + 1 : path;
	for (size_t i = 0; i < patterns->count; i++) {
		const char	*p = patterns->item[i];
		bool		 not = *p == '!';
		const char	*end;

		p += not;
		end = p + strlen(p);
		if (end > p && end[-1] == '/') {
			if (!folder)
				continue;
			end--;
		}
		if (memchr(p, '/', (size_t)(end - p))) {
			if (fits(p + (*p == '/'), end, path))
				out = !not;
		} else if (end > p && fits(p, end, base))
			out = !not;
	}
	return out;
}
