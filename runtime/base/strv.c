/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/strv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/banned.h"

/* Takes the text; frees it when it cannot be kept. */
static int
strv_push(struct strv *v, char *text)
{
	char **grown;

	if (!text)
		return -1;
	grown = realloc(v->item, (v->count + 2) * sizeof *grown);
	if (!grown) {
		free(text);
		return -1;
	}
	v->item = grown;
	v->item[v->count++] = text;
	v->item[v->count] = NULL;
	return 0;
}

int
strv_add(struct strv *v, const char *text)
{
	return strv_push(v, strdup(text));
}

int
strv_addf(struct strv *v, const char *fmt, ...)
{
	va_list	 ap;
	char	*text;
	int	 n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? -1 : strv_push(v, text);
}

static char **
strv_find(const struct strv *v, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < v->count; i++)
		if (!strncmp(v->item[i], name, n) && v->item[i][n] == '=')
			return &v->item[i];
	return NULL;
}

int
strv_setenv(struct strv *v, const char *name, const char *value)
{
	char **old = strv_find(v, name), *text;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		return -1;
	if (!old)
		return strv_push(v, text);
	free(*old);
	*old = text;
	return 0;
}

int
strv_setenvs(struct strv *v, const struct strv *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const char	*item = from->item[i];
		size_t		 n = strcspn(item, "=");
		char		*name = strndup(item, n);
		int		 ret = name ? strv_setenv(v, name,
				    item + n + (item[n] == '=')) : -1;

		free(name);
		if (ret < 0)
			return -1;
	}
	return 0;
}

const char *
strv_getenv(const struct strv *v, const char *name)
{
	char **found = strv_find(v, name);

	return found ? *found + strlen(name) + 1 : NULL;
}

void
strv_clear(struct strv *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->item[i]);
	free(v->item);
	*v = (struct strv)STRV_INIT;
}
